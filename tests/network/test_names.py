"""Boxes without names, and definitions that take the place of earlier ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora import AuroraError, Network, from_text, to_text
from aurora.engine.local import LocalRun
from aurora.engine.plan.plan import plan_network
from aurora.engine.sources.in_memory.memory import Memory

SCHEMA = "Sid int, Time int, Pos int"


def test_names_are_made_from_the_kind() -> None:
    network = Network("unnamed")
    reports = network.input("reports", SCHEMA)
    over = reports.filter("Pos >= 30")
    order = {"on": "Time"}
    crowd = over.aggregate({"n": "count(*)"}, order=order, size=1)
    with network.group("late"):
        late = over["rest"].filter("Pos < 3").map({"Time": "Time", "n": "1L"})
    merged = crowd.union(late).bsort(order).filter("n > 0")
    network.output("all", merged)
    assert list(network.boxes) == [
        "filter_1", "aggregate_1", "late.filter_2", "late.map_1", "union_1", "bsort_1", "filter_3"
    ]  # fmt: skip
    assert from_text(to_text(network)) == network


def test_every_kind_of_box_may_go_without_a_name() -> None:
    network = Network("kinds")
    a, b = network.input("a", "t int, l array<int>"), network.input("b", "t int, l array<int>")
    order = {"on": "t"}
    a.explode("l", "e")
    a.top({"k": 1, "by": "t DESC"}, order=order, size=3)
    a.join(b, "left.t = right.t", size=1, left_order=order, right_order=order)
    a.resample(b, {"n": "count(*)"}, size=1, left_order=order, right_order=order)
    a.wait("t", until=b, order=order)
    network.user(passed, inputs={"a": a}, outputs={"o": "t int"}, stateless=True)
    assert list(network.boxes) == ["explode_1", "top_1", "join_1", "resample_1", "wait_1", "user_1"]


def passed(inputs: object, turn: object) -> dict[str, object]:
    return {}


@given(st.lists(st.sampled_from([None, "filter_1", "filter_2", "filter_3", "own"]), max_size=8))
def test_a_made_name_is_never_one_that_was_given(names: list[str | None]) -> None:
    network = Network("names")
    stream = network.input("rows", "a int")
    given_names: list[str] = []
    for name in names:
        if name is not None and name in network.boxes:
            with pytest.raises(AuroraError, match="the name is used twice"):
                stream.filter("a > 0", name=name)
            continue
        stream = stream.filter("a > 0", name=name)
        given_names += [] if name is None else [name]
    assert len(network.boxes) == len(set(network.boxes)) and set(given_names) <= set(network.boxes)
    assert from_text(to_text(network)) == network


def test_a_given_name_that_was_made_before_says_so() -> None:
    network = Network("names")
    rows = network.input("rows", "a int")
    rows.filter("a > 0")
    with pytest.raises(
        AuroraError, match=r"^box filter_1: the name is used twice; a box without a name has it"
    ):
        rows.filter("a > 1", name="filter_1")


def border(limit: int, network: Network) -> None:
    """A cell of a notebook."""
    reports = network.input("reports", SCHEMA)
    over = reports.filter(f"Pos >= {limit}", name="over")
    crowd = over.aggregate({"n": "count(*)"}, order={"on": "Time"}, size=1)
    network.point("recent", over, keep=100)
    network.output("alarms", crowd.filter("n >= 1"), keep=10)
    network.output("inside", over["rest"])


def test_a_cell_that_is_run_twice() -> None:
    network, once = Network("border watch", replace=True), Network("border watch")
    border(30, network)
    border(30, network)
    border(30, once)
    assert network == once


def test_a_cell_that_is_run_again_with_other_words() -> None:
    network, once = Network("border watch", replace=True), Network("border watch")
    border(30, network)
    border(10, network)
    border(10, once)
    assert network == once
    run = LocalRun(plan_network(network))
    run.read({"reports": Memory.of(SCHEMA, [{"Sid": 1, "Time": 1, "Pos": 20}])})
    assert run.rows("alarms") == [{"Time": 1, "n": 1}]


def test_what_is_behind_is_checked_again() -> None:
    network = Network("border watch", replace=True)
    border(30, network)
    before = to_text(network)
    reports = network.stream("reports")
    with pytest.raises(AuroraError, match=r"aggregate_1.*Time.*\(box over stays as it was\)"):
        reports.map({"Pos": "Pos"}, name="over")
    with pytest.raises(AuroraError, match=r"Pos.*\(input reports stays as it was\)"):
        network.input("reports", "Sid int, Time int")
    with pytest.raises(AuroraError, match="the boxes form a loop"):
        network.stream("filter_1").map({"Time": "Time"}, name="over")
    with pytest.raises(AuroraError, match=r"^box reports: the name is used twice"):
        reports.filter("true", name="reports")
    with pytest.raises(AuroraError, match=r"^output alarms: keep"):
        network.output("alarms", reports, keep="soon")
    assert to_text(network) == before
    # A box may also move behind others.
    late = reports.filter("Pos >= 40", name="late")
    late.filter("Pos >= 30", name="over")
    assert list(network.boxes).index("late") < list(network.boxes).index("over")
    assert from_text(to_text(network)) == network


def test_a_field_more_of_an_input_reaches_the_outputs() -> None:
    network = Network("border watch", replace=True)
    border(30, network)
    network.input("reports", f"{SCHEMA}, Name string")
    assert str(network.schema(network.outputs["inside"].port)) == f"{SCHEMA}, Name string"


def test_without_asking_nothing_is_replaced() -> None:
    network = Network("border watch")
    border(30, network)
    with pytest.raises(AuroraError, match=r"^input reports: the name is used twice"):
        border(30, network)


def test_short_texts() -> None:
    network = Network("border watch")
    border(30, network)
    assert repr(network) == "<Network border watch: 1 input, 3 boxes, 2 outputs>"
    assert repr(network.stream("over")) == f"<Stream over.1: {SCHEMA}>"
    assert "<td style='text-align:left'>Pos</td>" in network.stream("over")._repr_html_()
