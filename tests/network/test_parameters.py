"""Parameters of a network file: whole values with their types, or single literals of SQL; never text that is read."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aurora import AuroraError, Network, Schema, from_text, read_network, to_text
from aurora.algebra.expressions import Expression
from aurora.engine.plan.explain import describe_network
from aurora.network.parameters import Written, fill_parameters
from aurora.network.plain_yaml import dump_yaml
from aurora.network.text import read_wants

TEXT = """network: border watch
parameters: {least: 30, label: over, wait: 10s, factor: 2.5, loud: false}
inputs:
  reports: {schema: "Sid int, At timestamp, Pos int", check: {near: "Pos < 10 * {{least}}"}}
boxes:
  over: {filter: ["Pos >= {{least}}", "NOT {{loud}}"], from: reports}
  named: {map: {At: At, Label: "{{label}}", Far: "Pos*{{factor}}-{{least}}", Limit: "{{least}}"}, from: over}
  crowd:
    aggregate: {Cnt: "count(*)", Far: "sum(Far - {{ least }})"}
    from: named
    order: {on: At, slack: "{{wait}}"}
    size: "{{wait}}"
outputs:
  alarms: {from: crowd, qos: {latency: [[0, 1], ["{{factor}}", 1], [20, 0]]}}
  named: {from: named}
"""
SCHEMA = Schema.parse("S string, A int")
ROWS = pa.record_batch({"S": ["a", "x' OR '1'='1", None], "A": [1, 2, 3]}, SCHEMA.arrow())


def filled(expression: str, value: Any) -> Expression:
    """The expression of a filter with the parameter x."""
    content = {"parameters": {"x": None}, "boxes": {"b": {"filter": [expression], "from": "a"}}}
    found, _ = fill_parameters(content, {"x": value}, "n")
    return Expression.parse(found["boxes"]["b"]["filter"][0], SCHEMA)


def test_values_stand_where_the_parameters_were() -> None:
    network = from_text(TEXT, parameters={"least": 40, "label": "it's"})
    assert network.parameters == {
        "least": 40, "label": "it's", "wait": "10s", "factor": 2.5, "loud": False,
    }  # fmt: skip
    specs = {name: box.spec for name, box in network.boxes.items()}
    assert specs["over"]["filter"] == ["Pos >= 40", "NOT FALSE"]
    assert specs["named"]["map"] == {
        "At": "At", "Label": "'it\\'s'", "Far": "Pos* 2.5 - 40", "Limit": "40",
    }  # fmt: skip
    assert specs["crowd"]["aggregate"]["Far"] == "sum(Far - 40)" and specs["crowd"]["size"] == "10s"
    assert network.inputs["reports"].checks[0].condition.text == "Pos < 10 * 40"
    assert "  parameter least = 40\n  parameter label = it's\n" in describe_network(network)
    # The values belong to what the network is, and come back from its text.
    again = from_text(to_text(network))
    assert again == network and again.parameters == network.parameters
    assert network != from_text(TEXT, parameters={"least": 41, "label": "it's"})
    unused = "parameters: {x: 1}\ninputs: {a: {schema: 'A int'}}\noutputs: {o: a}\n"
    assert from_text(unused) != from_text(unused, parameters={"x": 2})


def test_a_program_reads_a_file_with_values(tmp_path: Path) -> None:
    path = tmp_path / "n.yaml"
    path.write_text(TEXT)
    assert read_network(path, parameters={"wait": "20s"}).boxes["crowd"].spec["size"] == "20s"
    path.write_text(
        "parameters: {folder: null}\npoints: {s: {stored: '{{folder}}', schema: 'A int'}}\n"
        "inputs: {a: {schema: 'A int'}}\noutputs: {o: a}\n"
    )
    assert read_wants(path, {"folder": "csv:x.csv"}).files == ("x.csv",)
    with pytest.raises(AuroraError, match="is a function: parameters are for network files"):
        read_network("aurora.linear_road.network.queries:linear_road", parameters={"x": 1})


@pytest.mark.parametrize(
    ("parameters", "given", "fault"),
    [
        ("{x: 5}", {"y": 1}, "there is no parameter y; its parameters are x"),
        ("{rate: 5}", {"rte": 1}, r"no parameter rte \(did you mean rate\?\)"),
        ("{x: }", {}, "parameter x has no default, so it needs a value: --set x=VALUE"),
        ("{x: 5}", {"x": Written("fast")}, "x is a whole number, as its default 5 is, found fast"),
        ("{x: 5}", {"x": Written("2.5")}, "found 2.5; write the default as 5.0 to allow it"),
        ("{x: 5}", {"x": Written("true")}, "x is a whole number, as its default 5 is, found true"),
        ("{x: 5}", {"x": Written("5 OR TRUE")}, "found 5 OR TRUE"),
        ("{x: true}", {"x": Written("1")}, "x is true or false, as its default true is, found 1"),
        ("{x: 5}", {"x": Written("")}, "a value is missing behind the ="),
        ("{x: 1.5}", {"x": Written(".nan")}, "nan is not a number that a parameter can have"),
        ("{x: }", {"x": [1]}, r"'\[1\]' is not a single text, number, true or false"),
        ("{x: [1]}", {}, r"'\[1\]' is not a single text, number, true or false"),
        ("{x: a}", {"x": "{{x}}"}, "with which a parameter begins"),
        ("{1x: a}", {}, "parameter 1x: a name has letters, digits and _"),
        ("[x]", {}, "parameters is a mapping of names to defaults"),
    ],
)
def test_wrong_values_are_a_fault(parameters: str, given: dict[str, Any], fault: str) -> None:
    text = f"parameters: {parameters}\ninputs: {{a: {{schema: 'A int'}}}}\noutputs: {{o: a}}\n"
    with pytest.raises(AuroraError, match=fault):
        from_text(text, parameters=given)


@pytest.mark.parametrize(
    ("part", "fault"),
    [
        ("filter: ['A > {{y}}'], from: a", "there is no parameter y.*declare it: parameters: {y: VALUE}"),
        ("filter: [\"S = '{{x}}'\"], from: a", "write {{x}} without quotes around it"),
        ("filter: ['`{{x}}` > 1'], from: a", "write {{x}} without quotes around it"),
        ("filter: ['A > 1'], from: 'a{{x}}'", "here a parameter is the whole value"),
        ("map: {'f{{x}}': A}, from: a", "a parameter stands for a value, and cannot be part of a name"),
        ("filter: ['A > 1 -- {{x}}'], from: a", "must stand by itself, outside of quotes and comments"),
        ('filter: ["S = \'b {{x}}"], from: a', "must stand by itself, outside of quotes and comments"),
        ("filter: {{x}}, from: a", 'a parameter is written in quotes: "{{rate}}"'),
    ],
)
def test_wrong_places_are_a_fault(part: str, fault: str) -> None:
    text = f"parameters: {{x: 5}}\ninputs: {{a: {{schema: 'A int, S string'}}}}\nboxes: {{b: {{{part}}}}}\n"
    with pytest.raises(AuroraError, match=fault):
        from_text(f"{text}outputs: {{o: b}}\n")


def test_text_in_quotes_that_is_no_parameter_stays() -> None:
    assert filled("S = '{{y}}' OR S = {{x}}", "a").matches(ROWS).tolist() == [True, False, False]


NASTY = (
    "x' OR '1'='1", "1 OR TRUE", "' OR TRUE --", "\\", "\\' OR TRUE --", "\\\\'", "''", '"', '" OR TRUE --', "`", "/*",
    "*/ OR TRUE /*", "--", "\n", "a\nb", "\t", "%", "_", "\\%", "\\n", "{# #}", "#}", "}}", "; DROP", "TRUE", "NULL",
    "S", "\x00", "\\u0041", "$$", "é\U0001f600", "",
)  # fmt: skip


@pytest.mark.parametrize("value", NASTY)
@pytest.mark.parametrize(
    "form", ["S = {{x}}", "S={{x}}", "({{x}}=S)", "S IN ('q',{{x}},'r')", "concat({{x}},'')=S"]
)
def test_a_text_is_one_literal_and_nothing_else(form: str, value: str) -> None:
    rows = pa.record_batch({"S": ["a", value, f"{value}b", None], "A": [1, 2, 3, 4]}, SCHEMA.arrow())
    expected = [value == "a", True, False, False]
    assert filled(form, value).matches(rows).tolist() == expected


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=12).filter(lambda text: "{{" not in text))
@example("\\'")
def test_any_text_comes_out_as_it_went_in(value: str) -> None:
    rows = pa.record_batch({"S": [value], "A": [1]}, SCHEMA.arrow())
    assert filled("S = {{x}}", value).matches(rows).tolist() == [True]


@pytest.mark.parametrize("value", NASTY)
@pytest.mark.parametrize(
    "form",
    [
        "S = '{{y}} {{x}}", "S = 'a' {{x}} 'b", "A > 1 /* {{x}} */", "A > 1 /* /* */ {{x}} */", "A > 1 -- {{x}}",
        "A > 1 {# {{x}} #}", "`S {{x}}", 'S = "{{x}}"', "S = r'{{x}}'", "S = '\\' {{x}}",
    ],
)  # fmt: skip
def test_no_place_lets_a_text_out(form: str, value: str) -> None:
    with pytest.raises(AuroraError):
        filled(form, value)


@pytest.mark.parametrize("value", [0, -1, 5, 2**31, -(2**63), 2.5, -2.5, 1e30, 1e-7, -0.0])
@pytest.mark.parametrize("form", ["A -{{x}} = A - {{x}}", "A-{{x}}=A+-{{x}}", "A*{{x}}+1 <=> {{x}}*A+1"])
def test_a_number_is_one_literal(form: str, value: float) -> None:
    rows = pa.record_batch({"S": ["a"], "A": [1]}, SCHEMA.arrow())
    if abs(value) > 2**60 and isinstance(value, int):
        return
    assert filled(form, value).matches(rows).tolist() == [True]


def test_a_word_does_not_grow() -> None:
    for form in ("A{{x}} > 1", "1{{x}} > A", "{{x}}{{x}} > A", "A > {{x}}e3"):
        with pytest.raises(AuroraError):
            filled(form, 1)


def test_every_part_of_a_file_takes_values() -> None:
    network = from_text(
        """
        parameters: {k: 2, by: 3, name: Best, all: 5m}
        inputs:
          a: {schema: "A int, T timestamp"}
          b: {schema: "A int, T timestamp"}
        boxes:
          g:
            group:
              best:
                top: {k: "{{k}}", by: "A % {{by}} DESC", rank: "{{name}}"}
                from: .a
                order: {on: T, clock: stream}
                size: "{{all}}"
          j:
            join: "left.A = right.A + {{k}}"
            left: a
            right: b
            size: "{{all}}"
            left_order: {on: T}
            right_order: {on: T}
        points: {p: {from: a, keep: "{{all}}"}}
        outputs: {o: g.best, q: j}
        """
    )
    assert network.schema(network.boxes["g.best"].inputs[0]) and "Best" in str(
        network.stream("g.best").schema
    )
    assert network.boxes["j"].spec["join"] == "left.A = right.A + 2"
    assert from_text(to_text(network)) == network


def test_parameters_are_written_as_they_are_read() -> None:
    network = Network("n")
    network.output("o", network.input("a", "A int"))
    network.parameters = {"a": "5", "b": "true", "c": 1.0, "d": "null", "e": "", "f": -3}
    assert from_text(to_text(network)).parameters == network.parameters
    assert dump_yaml({"a": "5"}) == "{a: '5'}\n"
