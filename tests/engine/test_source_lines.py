"""Plain lines, whose fields are the named groups of a pattern."""

import gzip
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora import AuroraError, Schema
from aurora.engine.draft.propose import propose
from aurora.engine.draft.sample import look_at
from aurora.engine.sources.address import open_source
from aurora.engine.sources.files.line_files import LineFiles
from aurora.engine.sources.live.spool import SpooledLines, SpoolWriter
from aurora.engine.sources.text.lines import Style
from aurora.engine.sources.text.patterns import NO_MATCH, check_pattern
from tests.engine.test_sources import drained

SCHEMA = Schema.parse("at timestamp, level string, ms double, text string")
PATTERN = r"(?P<at>\S+) (?P<level>[A-Z]+)(?: \((?P<ms>[^)]*)ms\))?: (?P<text>.*)"
LOG = """\
2026-11-16T06:00:00.123456789Z INFO (1.5ms): started, "all" of it
2026-11-16T06:00:01Z WARN: no & time
  at somewhere

2026-11-16T06:00:02Z ERROR (longms):
noon INFO: x
2026-11-16T06:00:03Z INFO:\x20
"""
FOUND = [(0, "INFO", 1.5, 'started, "all" of it'), (1, "WARN", None, "no & time"), (3, "INFO", None, None)]
BAD = [
    (3, NO_MATCH),
    (5, NO_MATCH),
    (6, "field at: 'noon' is not a timestamp"),
]


def rows_of(portions: Any) -> list[tuple[Any, ...]]:
    rows = [row for portion in portions for row in portion.rows.to_pylist()]
    return [(row["at"].second, row["level"], row["ms"], row["text"]) for row in rows]


def bad_of(portions: Any) -> list[tuple[int, str]]:
    return [(bad.line, bad.reason) for portion in portions for bad in portion.rejects]


@pytest.mark.parametrize("rows", [1, 2, 100])
@pytest.mark.parametrize("kind", ["plain", "packed", "folder", "crlf"])
def test_groups_are_fields_and_other_lines_are_rejects(tmp_path: Path, rows: int, kind: str) -> None:
    data = LOG.encode() if kind != "crlf" else LOG.replace("\n", "\r\n").encode()
    path = tmp_path / ("in.log.gz" if kind == "packed" else "in.log")
    path.write_bytes(gzip.compress(data) if kind == "packed" else data)
    notes = tmp_path / "notes"
    notes.mkdir()
    place = f"{tmp_path}/*.log" if kind == "folder" else path
    source, _ = open_source("r", f"lines:{place}?pattern={PATTERN}", SCHEMA, False, notes)
    portions = drained(source, SCHEMA, rows)
    assert rows_of(portions) == FOUND
    assert bad_of(portions) == BAD
    assert [number for portion in portions for number in portion.numbers.tolist()] == [0, 1, 6]


def test_a_value_that_is_no_number_is_a_reject(tmp_path: Path) -> None:
    (tmp_path / "in.log").write_text("2026-11-16T06:00:02Z INFO: x\n2026-11-16T06:00:02Z ERROR (longms): x\n")
    source, _ = open_source("r", f"lines:{tmp_path}/in.log?pattern={PATTERN}", SCHEMA, False, tmp_path)
    assert bad_of(drained(source, SCHEMA, 9)) == [(2, "field ms: 'long' is not a double")]


def test_a_followed_file_waits_for_the_end_of_a_line(tmp_path: Path) -> None:
    path = tmp_path / "in.log"
    schema = Schema.parse("n int")
    path.write_text("a 1\na 2")
    source = LineFiles(str(path), "pattern", schema, True, pattern=r"a (?P<n>\d+)")
    cursor = source.advance(source.begin(), 100)
    (piece,) = source.pieces(source.begin(), cursor, 1)
    assert [row["n"] for row in piece.read(schema).rows.to_pylist()] == [1]
    with path.open("a") as file:
        file.write("3\nb\n")
    (piece,) = source.pieces(cursor, source.advance(cursor, 100), 1)
    assert [row["n"] for row in piece.read(schema).rows.to_pylist()] == [23]


def test_a_socket_may_send_lines(tmp_path: Path) -> None:
    writer = SpoolWriter(tmp_path / "spool")
    assert writer.open()
    writer.append(LOG.encode())
    writer.end()
    source = SpooledLines(str(tmp_path / "spool"), "tcp:x", Style("pattern", pattern=PATTERN), SCHEMA)
    portions = drained(source, SCHEMA, 2)
    assert rows_of(portions) == FOUND and bad_of(portions) == BAD


KINDS = ["k=1 v=a", "k=2 v=", "k= v=b", "", "x", 'k=3 v="q"', "k=x v=c", "k=4 v=é"]
LINES = st.lists(st.sampled_from(KINDS), max_size=9)


@given(LINES, st.integers(1, 4), st.integers(1, 4))
def test_rows_do_not_depend_on_how_a_file_is_cut(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], rows: int, other: int
) -> None:
    path = tmp_path_factory.mktemp("lines") / "in.log"
    path.write_text("".join(line + "\n" for line in lines))
    schema = Schema.parse("k int, v string")

    def read(count: int) -> tuple[Any, Any]:
        portions = drained(
            LineFiles(str(path), "pattern", schema, pattern=r"k=(?P<k>\S*) v=(?P<v>.*)"), schema, count
        )
        return [row for portion in portions for row in portion.rows.to_pylist()], bad_of(portions)

    assert read(rows) == read(other) == read(100)


@pytest.mark.parametrize(
    ("address", "told"),
    [
        (
            "lines:in.log",
            r"source r: lines: needs a pattern with named groups for the fields, such as lines:app.log",
        ),
        (
            r"lines:in.log?pattern=(?P<at>\S+",
            "source r: RE2, which reads patterns in linear time, does not take ",
        ),
        (
            r"lines:in.log?pattern=(?=x)(?P<at>\S+)",
            "RE2, which reads patterns in linear time, does not take ",
        ),
        (r"lines:in.log?pattern=(\S+)", "has"),
        (r"lines:in.log?pattern=x", "the pattern 'x' has no named groups, such as"),
        (
            r"lines:in.log?pattern=(?P<lvel>\S+)",
            r"no group for field level \(did you mean lvel\?\); its",
        ),
        (
            r"tcp:h:1?pattern=(?P<lvel>\S+)",
            r"the pattern has no group for field level \(did you mean lvel\?\)",
        ),
    ],
)
def test_patterns_that_cannot_be(
    tmp_path: Path, address: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.log").write_text("x\n")
    with pytest.raises(AuroraError, match=told) as caught:
        open_source("r", address, Schema.parse("level string"), False, tmp_path)
    assert "\n" not in str(caught.value)


def test_the_names_of_groups() -> None:
    assert check_pattern("source r", PATTERN) == ("at", "level", "ms", "text")


def test_a_file_of_which_no_line_matches_is_told_before_anything_starts(tmp_path: Path) -> None:
    (tmp_path / "in.log").write_text("# one\n# two\n")
    with pytest.raises(
        AuroraError, match=r"none of the first 2 lines can be read; .*; check the pattern; the"
    ):
        open_source("r", f"lines:{tmp_path}/in.log?pattern={PATTERN}", SCHEMA, False, tmp_path)


def test_lines_are_drafted_by_their_pattern(tmp_path: Path) -> None:
    (tmp_path / "in.log.gz").write_bytes(gzip.compress(LOG.replace("noon", "2026-11-16").encode()))
    address = f"lines:{tmp_path}/in.log.gz?pattern={PATTERN}"
    sample = look_at(address)
    assert (
        str(sample.schema) == "at string, level string, ms double, text string" and sample.address == address
    )
    assert sample.rows.num_rows == 4
    assert "group_by: [level]" in propose(sample).text
