"""A look at what a connection point or view holds, from its log alone: the network need not know, nor run."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from aurora.algebra.expressions.expression import Expression
from aurora.algebra.tuples.hashing import Hashes
from aurora.algebra.tuples.schema import Schema
from aurora.engine.durable import read_json, replace_note
from aurora.errors import AuroraError, did_you_mean
from aurora.history.home import Home
from aurora.history.keeping import find_first
from aurora.history.latest import Latest, copied_upto, read_latest
from aurora.history.log import REMEDY, Log, Published
from aurora.history.pull import find_named
from aurora.history.segments import Segment, find_keys, read_segment
from aurora.network.network import Port
from aurora.network.points import Point, make_point

__all__ = ["DESCRIPTION", "Peek", "describe_point", "is_point", "meet", "open_point"]

DESCRIPTION = "point.json"
# Between two looks for new rows, in seconds.
LOOK = 0.2
# How often a table may be replaced while it is read.
TRIES = 10
NOTHING = pa.RecordBatch.from_arrays([], [])


@dataclass(frozen=True)
class _Condition:
    """What rows must meet, and the hashes of the only keys that can, where it names the storage key."""

    predicate: Expression | None
    wanted: Hashes | None

    def __call__(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        if self.predicate is None or not rows.num_rows:
            return rows
        return rows.filter(pa.array(self.predicate.matches(rows)))


def describe_point(folder: Path, schema: Schema, spec: dict[str, Any]) -> None:
    """Notes beside a log what its tuples are, for who reads it without the network."""
    folder.mkdir(parents=True, exist_ok=True)
    replace_note(folder / DESCRIPTION, json.dumps({"schema": str(schema), **spec}))


def is_point(home: Home, name: str) -> bool:
    return (home.points / name / DESCRIPTION).exists()


def open_point(home: Home, name: str) -> "Peek":
    home.check_there()
    place = home.points
    known = sorted(path.parent.name for path in place.glob(f"*/{DESCRIPTION}"))
    if name not in known:
        near = did_you_mean(name, known)
        raise AuroraError(f"there is no point or view {name}{near}; there are {', '.join(known) or 'none'}")
    description = read_json(place / name / DESCRIPTION, REMEDY)
    schema = Schema.parse(description.pop("schema"))
    point = make_point(name, Port(name), schema, description, f"point {name}")
    return Peek(Log(str(place / name)), schema, point)


def meet(rows: pa.RecordBatch, where: str | None) -> pa.RecordBatch:
    """The rows that meet a condition."""
    if where is None:
        return rows
    schema = Schema((field.name, field.type) for field in rows.schema)
    return rows.filter(pa.array(Expression.parse(where, schema, "where").matches(rows)))


def _read(path: str, segment: Segment, first: int, wanted: Hashes | None) -> pa.RecordBatch | None:
    """The rows of a segment from row `first` of the log on, unless they were removed meanwhile: who looks on holds
    nobody up. Where only some keys are `wanted`, by their hashes, the rows of others are not even looked at."""
    skipped = max(first - segment.row, 0)
    try:
        if wanted is None or not segment.keyed:
            return read_segment(path, segment)[0].slice(skipped)
        places = find_keys(path, segment, wanted)
        places = places[places >= skipped]
        return read_segment(path, segment)[0].take(pa.array(places)) if len(places) else NOTHING
    except FileNotFoundError:
        return None


@dataclass(frozen=True)
class Peek:
    """The rows that a point keeps; `where` is a condition in SQL on its fields.

    Of a view that keeps the latest row of each key these are the rows of its table, by arrival.
    """

    log: Log
    schema: Schema
    point: Point

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return Published.read(self.log.folder).ended

    def last(self, count: int, where: str | None = None) -> tuple[pa.RecordBatch, int]:
        """The last rows that meet a condition, in order, and the row up to which was looked."""
        if self.point.keep.latest:
            table = self._latest()
            rows = self._condition(where)(table.rows)
            return rows.slice(max(rows.num_rows - count, 0)), table.upto
        published = self.log.published()
        meets, found, left = self._condition(where), [], count
        first = self._first(published)
        for path, segment in reversed(self.log.segments(first, published.rows, published)):
            if left <= 0:
                break
            read = _read(path, segment, first, meets.wanted)
            if read is None:
                break
            rows = meets(read)
            found.append(rows.slice(max(rows.num_rows - left, 0)))
            left -= found[-1].num_rows
        return self._joined(found[::-1]), published.rows

    def _first(self, published: Published) -> int:
        """The first row that is kept; what is older may be there still."""
        try:
            return find_first(self.log, self.point, self.point.keep, published)
        except FileNotFoundError:
            return self.log.first()

    def _latest(self) -> Latest:
        """The table; its copy may be replaced while it is read."""
        for _ in range(TRIES):
            before = copied_upto(self.log.folder)
            with suppress(FileNotFoundError):
                table = read_latest(self.log, self.point.key, self.schema)
                if copied_upto(self.log.folder) == before:
                    return table
        raise AuroraError(f"{self.log.folder} cannot be read: some of its files are missing")

    def follow(
        self, row: int, where: str | None = None, wait: Callable[[float], object] = time.sleep
    ) -> Iterator[pa.RecordBatch]:
        """What comes behind a row, as it comes; ends with the stream."""
        meets = self._condition(where)
        while True:
            published = Published.read(self.log.folder)
            if published.rows > row:
                found = []
                for path, segment in self.log.segments(row, published.rows, published):
                    if (read := _read(path, segment, row, meets.wanted)) is not None:
                        found.append(meets(read))
                row = published.rows
                yield self._joined(found)
            elif published.ended:
                return
            else:
                wait(LOOK)

    def _condition(self, where: str | None) -> _Condition:
        if where is None:
            return _Condition(None, None)
        predicate = Expression.parse(where, self.schema, "where")
        return _Condition(predicate, find_named(predicate, self.point.key, self.schema))

    def _joined(self, found: list[pa.RecordBatch]) -> pa.RecordBatch:
        empty = pa.RecordBatch.from_pylist([], self.schema.arrow())
        parts = [rows.cast(self.schema.arrow()) for rows in found if rows.num_rows]
        return pa.concat_batches([empty, *parts])
