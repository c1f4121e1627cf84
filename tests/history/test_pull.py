"""Pull by key: a query whose filters name the storage key reads only what can match."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora import Schema, from_text
from aurora.algebra.tuples.hashing import hash_rows
from aurora.history import point_source, segments
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


@given(
    rows=st.lists(st.integers(0, 4), min_size=1, max_size=40),
    ahead=st.integers(0, 12),
    first=st.integers(0, 5),
    train=st.integers(1, 5),
    passed=st.integers(1, 9),
)
def test_a_train_ends_behind_its_last_wanted_row(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[int],
    ahead: int,
    first: int,
    train: int,
    passed: int,
) -> None:
    """Or where so many have passed for each row of it that it has been long enough on the way."""
    folder = tmp_path_factory.mktemp("log")
    schema, point = Schema.parse("Sid int"), Point("recent", Port("over"), Keep(), key=("Sid",))
    first = min(first, len(rows))
    whole = [*rows[:ahead], *rows[first:]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "ROWS", 3)
        patch.setattr(point_source, "PASSED", passed)
        for name, held in (("table", rows[:ahead]), ("log", rows)):
            sink = PointSink(str(folder / name), point)
            batch = pa.record_batch([pa.array(held, pa.int32())], names=["Sid"])
            sink.publish(sink.deliver(0, batch, np.zeros(len(held), np.int64), sink.open(None)))
        hashes = np.unique(hash_rows([pa.array([1, 3], pa.int32())], 2)).tolist()
        source = PointSource(str(folder / "log"), first, "q", str(folder / "table"), tuple(hashes))
        place, found = source.begin(), []
        while place["row"] < len(whole):
            end = source.advance(place, train)
            near = whole[place["row"] : place["row"] + train * passed]
            behind = [number + 1 for number, sid in enumerate(near) if sid in (1, 3)][train - 1 :]
            assert end["row"] == place["row"] + (behind[0] if behind else len(near))
            portions = [piece.read(schema) for piece in source.pieces(place, end, 2)]
            found += [row["Sid"] for portion in portions for row in portion.rows.to_pylist()]
            place = end
        assert source.advance(place, train) == place
    assert found == [sid for sid in whole if sid in (1, 3)]


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
    expected = numbers[1000:][numbers[1000:] % 1000 == 7] - 1000
    end = source.advance(source.begin(), len(expected) + 1)
    assert end["row"] == count - 1000
    read = [piece.read(SCHEMA) for piece in source.pieces(source.begin(), end, 3)]
    found = np.concatenate([portion.numbers for portion in read])
    assert found.tolist() == expected.tolist()
    assert [row["Pos"] for portion in read for row in portion.rows.to_pylist()] == (expected + 1000).tolist()
    assert np.concatenate([portion.arrived for portion in read]).tolist() == ((expected + 1000) * 2).tolist()
