"""What a user box declares to keep: in Python, in text, and wrongly."""

from typing import Any

import pytest

from aurora import AuroraError, Network, from_text, to_text

FIELDS = "g int, h int, s string"


def box(keeps: Any, **options: Any) -> Network:
    network = Network("keeping")
    one, two = network.input("one", FIELDS), network.input("two", FIELDS)
    given: dict[str, Any] = {
        "inputs": {"a": one, "b": two},
        "outputs": {"x": "g bigint, h int, s int", "y": "n int, k int"},
        "key": {"a": ["g", "h"], "b": ["h", "s"]},
    }
    network.output("x", network.user("math:sqrt", **{**given, **options}, keeps=keeps, name="own"))
    return network


def test_what_is_declared_survives_the_text() -> None:
    network = box({"x": ["g"]}, key={"a": ["g", "h"], "b": ["g", "h"]})
    again = from_text(to_text(network))
    assert again == network
    assert again.boxes["own"].operator.keeps("x") == ({"g": "g"}, {"g": "g"})
    assert again.boxes["own"].operator.keeps("y") == ({}, {})
    assert network != box({}, key={"a": ["g", "h"], "b": ["g", "h"]})


SAME = {"a": ["g", "h"], "b": ["g", "h"]}


@pytest.mark.parametrize(
    ("keeps", "options", "message"),
    [
        (["g"], {"key": SAME}, "keeps: output y has no field g; its fields are n, k"),
        ({"z": ["g"]}, {"key": SAME}, "keeps names the output z; outputs are x, y"),
        ({"x": ["s"]}, {"key": SAME}, r"keeps: s is not a field of the key \(a: g, h; b: g, h\)"),
        (
            {"x": ["h"]},
            {"key": {"a": ["g", "h"], "b": ["h", "g"]}},
            "keeps: h appears twice in the key",
        ),
        ({"x": ["g"]}, {"key": {}}, r"keeps: g is not a field of the key \(a: none; b: none\)"),
        (
            {"x": ["s"]},
            {"key": {"a": ["s"], "b": ["s"]}},
            "field s is string in an input and int in output x",
        ),
        ({"y": ["n"]}, {"key": {}, "stateless": True}, "keeps: input a has no field n"),
    ],
)
def test_what_cannot_be_kept(keeps: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(AuroraError, match=f"box own .*{message}"):
        box(keeps, **options)


def test_other_things_than_fields() -> None:
    text = """
inputs: {r: {schema: "g int"}}
boxes: {own: {user: "math:sqrt", inputs: {a: r}, outputs: {x: "g int"}, key: {a: [g]}, keeps: WRONG}}
outputs: {o: own}
"""
    for wrong in ("3", "{x: 3}", "true"):
        with pytest.raises(AuroraError, match=r"keeps.*: expects a list of names, found"):
            from_text(text.replace("WRONG", wrong))
    assert from_text(text.replace("WRONG", "g")).boxes["own"].operator.keeps("x") == ({"g": "g"},)


def choosing(**options: Any) -> Network:
    network = Network("choosing")
    given: dict[str, Any] = {"inputs": {"a": network.input("one", FIELDS)}, "outputs": {"x": FIELDS}}
    given |= {"stateless": True, "keeps": ["g", "h", "s"], "commutes": ["g"]}
    network.output("x", network.user("math:sqrt", **{**given, **options}, name="own"))
    return network


def test_what_commutes_survives_the_text() -> None:
    for commutes in (["g"], [], "g", None):
        network = choosing(commutes=commutes)
        traits = network.boxes["own"].operator.traits
        again = from_text(to_text(network))
        assert again == network
        assert again.boxes["own"].operator.traits.by_itself == traits.by_itself == (commutes is not None)
        assert (traits.choice is None) == (commutes is None)
        if traits.choice is not None:
            assert (
                traits.choice.reads == again.boxes["own"].operator.traits.choice.reads == set(commutes or "")
            )


def test_a_box_that_makes_other_tuples_chooses_none() -> None:
    for options in ({"keeps": ["g"]}, {"outputs": {"x": "g int"}, "keeps": ["g"]}):
        traits = choosing(**options).boxes["own"].operator.traits
        assert traits.by_itself and traits.choice is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"commutes": ["n"]}, "commutes: input a has no field n; its fields are g, h, s"),
        (
            {"stateless": False, "keeps": []},
            "commutes is for a stateless box with one input; this one has a state",
        ),
        ({"commutes": 3}, "commutes: expects a list of names, found '3'"),
    ],
)
def test_what_cannot_commute_is_told(options: dict[str, Any], message: str) -> None:
    with pytest.raises(AuroraError, match=message):
        choosing(**options)


def test_a_box_with_two_inputs_does_not_commute() -> None:
    with pytest.raises(AuroraError, match="this one has 2 inputs"):
        box([], key={}, stateless=True, commutes=["g"])
