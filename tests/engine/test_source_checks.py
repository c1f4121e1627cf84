"""Checks of an input, and values that cannot be read: what is rejected, why, and what becomes null."""

from pathlib import Path

import pytest

from aurora import AuroraError, Memory, Network, Schema, from_text, to_text
from aurora.engine.local import LocalRun
from aurora.engine.plan.plan import plan_network
from aurora.engine.plan.projection import project_inputs
from aurora.engine.sources.address import check_source, open_source
from aurora.engine.sources.files.line_files import LineFiles
from tests.engine.test_sources import drained, rows_of

FIELDS = "kind int, speed tinyint, name string"
CHECK = {"speed out of range": "kind <> 0 OR speed BETWEEN 0 AND 100", "no such kind": "kind IN (0, 1)"}


def made(check: dict[str, str] | None = CHECK) -> Network:
    network = Network("checked")
    read = network.input("in", FIELDS, check=check)
    network.output("out", read.map({"name": "name"}, name="names"))
    return network


def ran(network: Network, source: object, rows: int) -> LocalRun:
    run = LocalRun(plan_network(project_inputs(network, ["out"])))
    run.read({"in": source}, [rows], 2)
    return run


@pytest.mark.parametrize("rows", [1, 3, 100])
def test_rows_that_break_a_check_are_rejected_with_their_lines(tmp_path: Path, rows: int) -> None:
    """Null is not true; and a field that no box looks at is looked at all the same."""
    path = tmp_path / "in.csv"
    path.write_text("0,50,a\n0,101,b\n1,101,c\n\n2,1,d\nx,1,e\n0,,f\n,1,g\n")
    run = ran(made(), LineFiles(str(path), "csv", Schema.parse(FIELDS)), rows)
    assert [row["name"] for row in run.rows("out")] == ["a", "c"]
    assert [(bad.file, bad.line, bad.reason, bad.text) for _, bad in run.rejects] == [
        ("in.csv", 2, "speed out of range (kind 0, speed 101)", "0,101,b"),
        ("in.csv", 5, "no such kind (kind 2)", "2,1,d"),
        ("in.csv", 6, "field kind: 'x' is not an int", "x,1,e"),
        ("in.csv", 7, "speed out of range (kind 0, speed null)", "0,,f"),
        ("in.csv", 8, "no such kind (kind null)", ",1,g"),
    ]


def test_rows_that_are_no_lines_are_rejected_by_their_numbers() -> None:
    rows = [{"kind": 0, "speed": 5, "name": "a"}, {"kind": 7, "speed": 5, "name": "b"}]
    run = ran(made(), Memory.of(FIELDS, rows), 1)
    (reject,) = (bad for _, bad in run.rejects)
    assert (reject.file, reject.line, reject.reason) == ("in", 2, "no such kind (kind 7)")
    assert reject.text == '{"kind": 7, "speed": 5, "name": "b"}'


def test_checks_are_part_of_the_text_and_of_what_must_not_change() -> None:
    network = made()
    again = from_text(to_text(network))
    assert again.inputs == network.inputs and "speed out of range" in to_text(again)
    prints = {plan_network(made(check)).fingerprint() for check in (None, CHECK, {"other": "kind = 1"})}
    assert len(prints) == 3


@pytest.mark.parametrize(
    ("check", "message"),
    [
        ('{"fast": "sped < 3"}', r"input in, check 'fast': .*sped.*did you mean speed"),
        (
            '{"fast": "speed + 1"}',
            "input in, check 'fast': 'speed [+] 1' is int; a condition is true or false",
        ),
        ('{"fast": 3}', "input in, check 'fast': a condition is an expression such as Spd <= 100, found 3"),
        ("speed < 3", "input in: check says what every tuple must satisfy, .*found 'speed < 3'"),
        ("", "input in: check says what every tuple must satisfy, .*found nothing"),
        ('{"": "speed < 3"}', "input in: the reason of a check is a line of text, found ''"),
    ],
)
def test_checks_that_cannot_be(check: str, message: str) -> None:
    text = f"inputs:\n  in: {{schema: '{FIELDS}', check: {check}}}\noutputs: {{out: {{from: in}}}}\n"
    with pytest.raises(AuroraError, match=message):
        from_text(text)


def test_a_table_has_no_check() -> None:
    with pytest.raises(AuroraError, match="input t: a table has no check"):
        from_text("inputs:\n  t: {schema: 'a int', static: true, check: {small: 'a < 3'}}\n")


LOOSE = Schema.parse("i tinyint, l bigint, d double, t timestamp, b boolean, m decimal(4,2), s string")
LINES = [
    ("1,2,3.5,2020-01-01 00:00:00,true,1.25,x", (1, 2, 3.5, "2020", True, "1.25", "x")),
    ("200,x,y,z,maybe,123.45,x", (None, None, None, None, None, None, "x")),
    ("-129,9223372036854775808,,2020-01-01T00:00:00Z,,,", (None, None, None, "2020", None, None, None)),
    (' 7 ,9223372036854775807,nan,"a,b",false,-1,"q""q"', (7, 2**63 - 1, "nan", None, False, "-1.00", 'q"q')),
    ("1.0,+1,1e3,2020-99-01,TRUE,1e1,", (None, None, 1000.0, None, True, "10.00", None)),
    ("0x1,0X10,0x1,,,1,0x1", (None, None, None, None, None, "1.00", "0x1")),
    ("5,6,-.5,,,-.5,y", (5, 6, -0.5, None, None, "-0.50", "y")),
]


@pytest.mark.parametrize("rows", [1, 2, 100])
@pytest.mark.parametrize("repeat", [1, 50])
def test_a_value_that_cannot_be_read_is_null_where_that_is_asked_for(
    tmp_path: Path, rows: int, repeat: int
) -> None:
    """Each like the values that can be read, whatever stands beside it; a line of other length is still bad."""
    path = tmp_path / "in.csv"
    path.write_text("".join(line + "\n" for line, _ in LINES * repeat) + "1,2\n")
    address = f"csv:{path}?unreadable=null&header=no"
    check_source("in", address)
    source, _ = open_source("in", address, LOOSE, False, tmp_path)
    portions = drained(source, LOOSE, rows * repeat)
    found = [tuple(_shown(value) for value in row.values()) for row in rows_of(portions)]
    assert found == [right for _, right in LINES] * repeat
    (bad,) = (bad for portion in portions for bad in portion.rejects)
    assert (bad.line, bad.reason) == (len(LINES) * repeat + 1, "expected 7 fields, found 2")


def _shown(value: object) -> object:
    if value is None or isinstance(value, bool | int | str):
        return value
    return value if isinstance(value, float) and value == value else str(value)[:5].rstrip("-")


def test_unreadable_is_null_or_reject() -> None:
    with pytest.raises(AuroraError, match="source in: unreadable is null or reject, found 'zero'"):
        check_source("in", "csv:x?unreadable=zero")


def test_loose_and_strict_sources_are_told_apart(tmp_path: Path) -> None:
    sources = [LineFiles("in.csv", "csv", LOOSE, loose=loose) for loose in (False, True)]
    assert sources[0].identity() != sources[1].identity()
