"""Several points as inputs of a query: rows come in the order in which what caused them arrived."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora import Schema
from aurora.history.aligned import AlignedPoint, Together, note_passed
from aurora.history.point_sink import PointSink
from aurora.history.point_source import PointSource
from aurora.network.network import Port
from aurora.network.points import Keep, Point

SCHEMA = Schema.parse("n bigint, p int")
POINTS = 3

# For each batch of the network above, for each of its arrivals, how many rows it causes at each point.
batches = st.lists(st.lists(st.tuples(*[st.integers(0, 2)] * POINTS), max_size=5), max_size=5)


class Above:
    """The network above: numbers its arrivals, and writes what they cause into the logs of its points."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.number, self.rows = folder, 0, [0] * POINTS
        points = [Point(str(place), Port("b", "1"), Keep()) for place in range(POINTS)]
        self.sinks = [PointSink(str(folder / point.name), point) for point in points]
        self.notes = [sink.open(None) for sink in self.sinks]
        # All rows in their order: the point, and the number of the row there.
        self.expected: list[tuple[int, int]] = []

    def add(self, batch: list[tuple[int, ...]], passed: bool = True) -> None:
        caused: list[list[int]] = [[] for _ in range(POINTS)]
        for arrival in batch:
            for place, count in enumerate(arrival):
                caused[place] += [self.number + 1] * count
                self.expected += [(place, self.rows[place] + row) for row in range(count)]
                self.rows[place] += count
            self.number += 2
        for place, numbers in enumerate(caused):
            if numbers:
                end = self.rows[place]
                columns = [np.arange(end - len(numbers), end), np.full(len(numbers), place, np.int32)]
                rows = pa.record_batch(columns, schema=SCHEMA.arrow())
                came = np.zeros(len(numbers), np.int64)
                note = self.sinks[place].deliver(0, rows, came, self.notes[place], np.array(numbers))
                self.notes[place] = note
                self.sinks[place].publish(note)
        self.number += 2
        if passed:
            note_passed(self.folder, self.number)

    def inputs(self) -> list[AlignedPoint]:
        sources = tuple(PointSource(str(self.folder / str(place)), 0, "q") for place in range(POINTS))
        together = Together(sources, str(self.folder))
        return [AlignedPoint(together, index) for index in range(POINTS)]


def take(inputs: list[AlignedPoint], places: list[Any], rows: int, pieces: int) -> list[tuple[int, int]]:
    """One batch of the query: moves the places, and gives what was read in its order."""
    after = [source.advance(place, rows) for source, place in zip(inputs, places, strict=True)]
    found: dict[int, tuple[int, int]] = {}
    for source, start, end in zip(inputs, places, after, strict=True):
        for piece in source.pieces(start, end, pieces) if end["row"] > start["row"] else []:
            portion = piece.read(SCHEMA)
            assert portion.order is not None
            for row, order in zip(portion.rows.to_pylist(), portion.order.tolist(), strict=True):
                assert order not in found
                found[order] = (row["p"], row["n"])
    assert sorted(found) == list(range(len(found)))
    assert all(end["row"] - start["row"] <= rows for start, end in zip(places, after, strict=True))
    places[:] = after
    return [found[order] for order in sorted(found)]


@given(batches, st.integers(1, 6), st.integers(1, 3))
def test_rows_come_in_the_order_of_their_causes(
    tmp_path_factory: pytest.TempPathFactory, given_batches: list[Any], rows: int, pieces: int
) -> None:
    above = Above(tmp_path_factory.mktemp("points"))
    inputs = above.inputs()
    places = [source.begin() for source in inputs]
    read: list[tuple[int, int]] = []
    for batch in given_batches:
        above.add(batch)
        read += take(inputs, places, rows, pieces)
        assert read == above.expected[: len(read)]
    while len(read) < len(above.expected):
        more = take(inputs, places, rows, pieces)
        assert more
        read += more
    assert read == above.expected


def test_a_batch_that_is_not_all_there_waits(tmp_path: Path) -> None:
    above = Above(tmp_path)
    inputs = above.inputs()
    places = [source.begin() for source in inputs]
    above.add([(1, 0, 1)])
    above.add([(2, 0, 0), (0, 1, 1)], passed=False)
    assert take(inputs, places, 100, 2) == above.expected[:2]
    assert take(inputs, places, 100, 2) == []
    note_passed(tmp_path, above.number)
    assert take(inputs, places, 100, 2) == above.expected[2:]
