"""Pull by key: a query whose filters name the storage key reads only what can match."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from aurora import Schema, from_text
from aurora.history import point_source
from aurora.history.point_sink import PointSink
from aurora.history.point_source import PointSource
from aurora.history.pull import find_wanted
from aurora.history.segments import ROWS
from aurora.network.network import Port
from aurora.network.points import Keep, Point

SCHEMA = Schema.parse("Sid int, Zone string, Pos int")
KEY = ("Sid", "Zone")
QUERY = """
network: q
inputs:
  rows: {point: recent}
boxes:
  some: {filter: [%s], from: rows}
  more: {map: {Pos: Pos}, from: %s}
outputs:
  out: {from: more}
"""


def wanted(predicates: str, taken: str = "some") -> int | None:
    query = from_text(QUERY % (predicates, taken), points={"recent": SCHEMA})
    found = find_wanted(query, "rows", KEY, SCHEMA)
    return None if found is None else len(found)


@pytest.mark.parametrize(
    ("predicate", "keys"),
    [
        ("Sid = 1 AND Zone = 'a'", 1),
        ("Zone IN ('a', 'b') AND Pos > 3 AND Sid IN (1, 2, 3)", 6),
        ("(Sid = 1 OR Sid = 2) AND 'a' = Zone", 2),
        ("Sid = 1 AND Zone = CAST(NULL AS string)", 0),
        ("Sid = 1", None),
        ("Sid = 1 OR Zone = 'a'", None),
        ("Sid > 1 AND Zone = 'a'", None),
        ("Sid + 0 = 1 AND Zone = 'a'", None),
    ],
)
def test_the_keys_that_a_filter_names(predicate: str, keys: int | None) -> None:
    assert wanted(f'"{predicate}"') == keys


def test_all_used_outputs_of_a_filter_count() -> None:
    named = "\"Sid = 1 AND Zone = 'a'\", \"Sid = 2 AND Zone = 'a'\""
    assert wanted(named) == 1
    assert wanted(named, "some.2") == 1
    assert wanted(named, "some.rest") is None
    assert wanted(named, "rows") is None


def test_a_clock_needs_all_tuples() -> None:
    text = QUERY % ("\"Sid = 1 AND Zone = 'a'\"", "some") + "  late: {from: window}\n"
    window = "{aggregate: {n: count(*)}, from: some, order: {on: Pos, clock: rows}, size: 5, align: true}"
    text = text.replace("outputs:", f"  window: {window}\noutputs:")
    query = from_text(text, points={"recent": SCHEMA})
    assert find_wanted(query, "rows", KEY, SCHEMA) is None


def test_only_wanted_rows_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = 2 * ROWS + 100
    numbers = np.arange(count)
    rows = pa.record_batch(
        [numbers % 1000, np.where(numbers % 2, "odd", "even"), numbers], names=list(SCHEMA.names)
    ).cast(SCHEMA.arrow())
    sink = PointSink(str(tmp_path), Point("recent", Port("over", "1"), Keep(), key=KEY))
    sink.publish(sink.deliver(0, rows, numbers * 2, sink.open(None)))
    query = from_text(QUERY % ("\"Sid IN (7, 8) AND Zone = 'odd'\"", "some"), points={"recent": SCHEMA})
    hashes = find_wanted(query, "rows", KEY, SCHEMA)
    assert hashes is not None
    source = PointSource(str(tmp_path), 1000, "q", wanted=tuple(hashes.tolist()))
    end = source.advance(source.begin(), -(-count // point_source.PASSED))
    assert end["row"] == count - 1000
    read = [piece.read(SCHEMA) for piece in source.pieces(source.begin(), end, 3)]
    found = np.concatenate([portion.numbers for portion in read])
    expected = numbers[1000:][numbers[1000:] % 1000 == 7] - 1000
    assert found.tolist() == expected.tolist()
    assert [row["Pos"] for portion in read for row in portion.rows.to_pylist()] == (expected + 1000).tolist()
    assert np.concatenate([portion.arrived for portion in read]).tolist() == ((expected + 1000) * 2).tolist()
