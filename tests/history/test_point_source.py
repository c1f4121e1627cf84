"""A point as a source: each row once and in order, for every cut, while rows come and old ones go."""

import pickle
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora import AuroraError, Schema
from aurora.engine.durable import read_whole
from aurora.history import segments
from aurora.history.keeping import remove_old
from aurora.history.log import Log
from aurora.history.point_sink import PointSink
from aurora.history.point_source import PointSource
from aurora.network.points import Keep
from tests.history.logs import SCHEMA, Row, count, make_point, to_batch, write

NARROW = Schema.parse("g string, n int")


def read(source: PointSource, start: int, stop: int, pieces: int) -> list[tuple[int, str, int, int]]:
    """What tasks read between two places: the number in the stream, g, n and the arrival."""
    found = []
    for piece in source.pieces({"row": start}, {"row": stop}, pieces):
        portion = pickle.loads(pickle.dumps(piece)).read(NARROW)
        assert portion.rows.schema == NARROW.arrow()
        columns = [
            portion.numbers.tolist(),
            *(c.to_pylist() for c in portion.rows.columns),
            portion.arrived.tolist(),
        ]
        found += list(zip(*columns, strict=True))
    return found


def expected(rows: list[Row], first: int) -> list[tuple[int, str | None, int, int]]:
    return [(number, g, n, came) for number, (n, _, g, came) in enumerate(rows[first:])]


@given(
    batches=st.lists(st.integers(1, 7), min_size=1, max_size=6),
    first=st.integers(0, 8),
    steps=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 4), st.booleans()), min_size=1, max_size=12),
)
def test_every_cut_gives_each_row_once(
    tmp_path_factory: pytest.TempPathFactory,
    batches: list[int],
    first: int,
    steps: list[tuple[int, int, bool]],
) -> None:
    """While batches come between the steps, and what is read is removed; each step may be made again."""
    folder = str(tmp_path_factory.mktemp("log"))
    point = make_point(Keep(rows=1))
    sink, log = PointSink(folder, point), Log(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "ROWS", 2)
        note, rows = write(sink, []), count(0, sum(batches))
        first = min(first, len(rows))
        source = PointSource(folder, first, "near/0")
        source.forget(source.begin())
        cursor, found, left = source.begin(), [], list(batches)
        while left or cursor["row"] < len(rows) - first:
            for length, pieces, again in steps:
                if left:
                    note = sink.deliver(0, *to_batch(rows[note["rows"] : note["rows"] + left.pop(0)]), note)
                    sink.publish(note)
                end = source.advance(cursor, length)
                assert end["row"] <= max(note["rows"] - first, 0) and end["row"] - cursor["row"] <= length
                part = read(source, cursor["row"], end["row"], pieces)
                if again:
                    remove_old(log, point)
                    assert read(pickle.loads(pickle.dumps(source)), cursor["row"], end["row"], 1) == part
                found += part
                source.forget(end)
                cursor = end
                remove_old(log, point)
    assert found == expected(rows, first)
    assert not source.finished(cursor)


def test_it_ends_with_the_stream(tmp_path: Path) -> None:
    write(PointSink(str(tmp_path), make_point()), [count(0, 5)])
    source = PointSource(str(tmp_path), 2, "near/0")
    replace(Log(str(tmp_path)).published(), ended=True).write(str(tmp_path))
    assert source.live and source.identity() == f"point:{tmp_path.name}:2"
    assert source.begin() == {"row": 0} and not source.finished({"row": 2}) and source.finished({"row": 3})
    assert source.advance({"row": 0}, 10**9) == {"row": 3}


def test_rows_that_are_gone_are_told(tmp_path: Path) -> None:
    point = make_point(Keep(rows=1))
    write(PointSink(str(tmp_path), point), [count(n, 1) for n in range(4)])
    source = PointSource(str(tmp_path), 0, "near/0")
    pieces = source.pieces({"row": 0}, {"row": 4}, 2)
    assert remove_old(Log(str(tmp_path)), point) == 3
    again = "detach the query and attach it again"
    with pytest.raises(AuroraError, match=f"rows was removed before the query could read it: {again}"):
        pieces[0].read(SCHEMA)
    with pytest.raises(AuroraError, match=f"no longer holds row 0; {again}"):
        source.pieces({"row": 0}, {"row": 4}, 2)


def test_before_the_log_comes_the_table_of_a_view(tmp_path: Path) -> None:
    write(PointSink(str(tmp_path / "table"), make_point()), [count(100, 5)])
    write(PointSink(str(tmp_path / "log"), make_point()), [count(0, 4), count(4, 4)])
    source = PointSource(str(tmp_path / "log"), 3, "near/0", str(tmp_path / "table"))
    whole = [(n, row[2], row[0], row[3]) for n, row in enumerate([*count(100, 5), *count(3, 5)])]
    assert source.there() == 10 and source.advance({"row": 4}, 99) == {"row": 10}
    for cut in range(11):
        assert read(source, 0, cut, 3) + read(source, cut, 10, 2) == whole
    source.forget({"row": 4})
    assert read_whole(tmp_path / "log" / "readers" / "near" / "0") == "3"
    source.forget({"row": 7})
    assert read_whole(tmp_path / "log" / "readers" / "near" / "0") == "5"
