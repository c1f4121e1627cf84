"""The state of a bucket in Spark's store, with a copy on the local disk that is read instead where it is current.

Spark hands a value to Python through a pickle, at some 50 MB/s; a file of the local disk is mapped. What counts is in
Spark's store: a list of all that there is, with a mark for each piece, new with every write. A file belongs to a mark,
so one that another attempt, or another machine, has written is never taken for the current one.

A table is a row of deltas, one for each turn that changed it. On the local disk they are merged, so that few runs have
to be looked through; Spark keeps them as they are, because writing to it is dear, until a merged run stands for so
many of them that it takes their place, piece by piece over some turns.
"""

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from aurora.algebra.state.runs import HASH, Sweep, join_entries, with_hashes
from aurora.algebra.state.state import Changes, Delta
from aurora.algebra.tuples.train import from_bytes, to_bytes
from aurora.engine.spark.local_runs import LocalRuns

__all__ = ["SparkStore"]

# No box has this name: names of boxes are not empty.
CONTENTS = "/contents"
# A delta of more rows is stored in several values: Java holds a value in memory several times.
ROWS = 1 << 16
# A local run that stands for so many deltas replaces them in Spark's store if these have so many times its rows, or if
# they are too many: so many rows of it in a turn, for writing to Spark is dear.
MANY, WORTH, TOO_MANY = 16, 2, 256
ROWS_A_TURN = 2 * ROWS


@dataclass
class Piece:
    """Something stored: its mark, its rows and bytes, and in how many values it lies."""

    mark: str
    rows: int
    bytes: int
    values: int = 1


@dataclass
class Fold:
    """A local run on its way to Spark's store, where it will replace the deltas with these marks."""

    of: list[str]
    piece: Piece


@dataclass
class Contents:
    values: dict[str, Piece] = field(default_factory=dict)
    tables: dict[str, list[Piece]] = field(default_factory=dict)
    folds: dict[str, Fold] = field(default_factory=dict)

    @staticmethod
    def parse(text: bytes) -> "Contents":
        found = json.loads(text)
        return Contents(
            {name: Piece(**piece) for name, piece in found["values"].items()},
            {name: [Piece(**piece) for piece in pieces] for name, pieces in found["tables"].items()},
            {name: Fold(fold["of"], Piece(**fold["piece"])) for name, fold in found["folds"].items()},
        )


class SparkStore:
    """`values` is Spark's map state of one bucket, `folder` the place of the local copies."""

    def __init__(self, values: Any, folder: str) -> None:
        self._values = values
        found = values.getValue((CONTENTS,))
        self._contents = Contents() if found is None else Contents.parse(bytes(found[0]))
        self._local = LocalRuns(folder)
        self._changed = False

    def read(self, name: str) -> pa.RecordBatch | None:
        piece = self._contents.values.get(name)
        if piece is None:
            return None
        copy = self._local.read(name, piece.mark)
        if copy is None:
            copy = from_bytes(self._value(name, piece.mark, 0))
            self._local.keep(name, piece.mark, copy)
        return copy

    def runs(self, table: str, sweep: Sweep | None) -> list[pa.RecordBatch]:
        pieces = {piece.mark: piece for piece in self._contents.tables.get(table, [])}
        fold = self._contents.folds.get(table)
        runs = self._local.runs(
            table,
            list(pieces),
            lambda mark: self._fetch(table, pieces[mark]),
            sweep,
            held=None if fold is None else fold.of,
        )
        self._fold(table)
        return runs

    def size(self, prefix: str) -> int:
        contents = self._contents
        tables = [p for name, pieces in contents.tables.items() if name.startswith(prefix) for p in pieces]
        values = [piece for name, piece in contents.values.items() if name.startswith(prefix)]
        return sum(piece.bytes for piece in [*tables, *values])

    def write(self, changes: Changes) -> None:
        for name, value in changes.values.items():
            self._write_value(name, value)
        for table, delta in changes.deltas.items():
            self._write_delta(table, delta)
        if self._changed:
            # Every dataclass in it is written as its fields; `asdict` would copy them all first.
            text = json.dumps(self._contents, default=vars).encode()
            self._values.updateValue((CONTENTS,), (text,))
        if self._changed or self._local.changed:
            self._local.note()

    def _write_value(self, name: str, value: pa.RecordBatch | None) -> None:
        self._changed = True
        before = self._contents.values.pop(name, None)
        if before is not None:
            self._remove(name, before)
            self._local.drop(name, before.mark)
        if value is not None:
            piece = Piece(uuid.uuid4().hex, value.num_rows, 0)
            piece.bytes = self._store(name, piece.mark, 0, value)
            self._contents.values[name] = piece
            self._local.keep(name, piece.mark, value)

    def _write_delta(self, table: str, delta: Delta) -> None:
        self._changed = True
        pieces = self._contents.tables.setdefault(table, [])
        if delta.whole:
            self._drop_fold(table)
            for piece in pieces:
                self._remove(table, piece)
            pieces.clear()
            self._local.forget(table)
        if delta.run.num_rows:
            piece = Piece(uuid.uuid4().hex, delta.run.num_rows, 0, 0)
            for part in _slices([delta.run], 0, delta.run.num_rows):
                piece.bytes += self._store(table, piece.mark, piece.values, part)
                piece.values += 1
            pieces.append(piece)
            self._local.add(table, piece.mark, delta.run)
        if not pieces:
            del self._contents.tables[table]

    def _fold(self, table: str) -> None:
        """Brings some rows of a large local run to Spark's store; with the last ones it replaces what it stands for."""
        fold = self._contents.folds.get(table) or self._begin_fold(table)
        if fold is None:
            return
        self._changed = True
        folded = self._local.covering(table, fold.of)
        if folded is None or _count(folded) != fold.piece.rows:
            # On another machine: it will be begun again.
            self._drop_fold(table)
            return
        done = fold.piece.values * ROWS
        for part in _slices(folded, done, min(done + ROWS_A_TURN, fold.piece.rows)):
            fold.piece.bytes += self._store(table, fold.piece.mark, fold.piece.values, part)
            fold.piece.values += 1
        if fold.piece.values * ROWS < fold.piece.rows:
            return
        pieces = self._contents.tables[table]
        first = [piece.mark for piece in pieces].index(fold.of[0])
        for piece in pieces[first : first + len(fold.of)]:
            self._remove(table, piece)
        pieces[first : first + len(fold.of)] = [fold.piece] if fold.piece.rows else []
        self._local.rename(table, fold.of, fold.piece.mark)
        del self._contents.folds[table]

    def _begin_fold(self, table: str) -> Fold | None:
        rows = {piece.mark: piece.rows for piece in self._contents.tables.get(table, [])}
        for marks in self._local.covered(table):
            run = self._local.covering(table, marks) if len(marks) >= MANY else None
            if run is not None and (
                len(marks) >= TOO_MANY or sum(rows[mark] for mark in marks) >= WORTH * _count(run)
            ):
                fold = Fold(marks, Piece(uuid.uuid4().hex, _count(run), 0, 0))
                self._contents.folds[table] = fold
                return fold
        return None

    def _drop_fold(self, table: str) -> None:
        fold = self._contents.folds.pop(table, None)
        if fold is not None:
            self._remove(table, fold.piece)

    def _fetch(self, table: str, piece: Piece) -> pa.RecordBatch:
        parts = [from_bytes(self._value(table, piece.mark, number)) for number in range(piece.values)]
        whole = pa.Table.from_batches(parts).combine_chunks().to_batches()[0]
        return with_hashes(whole)

    def _store(self, name: str, mark: str, number: int, rows: pa.RecordBatch) -> int:
        content = to_bytes(rows, compressed=True)
        self._values.updateValue((f"{name}#{mark}#{number}",), (content,))
        return len(content)

    def _value(self, name: str, mark: str, number: int) -> bytes:
        return bytes(self._values.getValue((f"{name}#{mark}#{number}",))[0])

    def _remove(self, name: str, piece: Piece) -> None:
        for number in range(piece.values):
            self._values.removeKey((f"{name}#{piece.mark}#{number}",))


def _count(run: list[pa.RecordBatch]) -> int:
    return sum(batch.num_rows for batch in run)


def _slices(run: list[pa.RecordBatch], start: int, stop: int) -> Iterator[pa.RecordBatch]:
    """Rows of a run as they are stored: without the hashes, which follow from the keys."""
    for place in range(start, stop, ROWS):
        rows = join_entries(_between(run, place, min(place + ROWS, stop)))
        yield rows.select([name for name in rows.schema.names if name != HASH])


def _between(run: list[pa.RecordBatch], start: int, stop: int) -> list[pa.RecordBatch]:
    found = []
    for batch in run:
        low, high = max(start, 0), min(stop, batch.num_rows)
        if low < high:
            found.append(batch.slice(low, high - low))
        start, stop = start - batch.num_rows, stop - batch.num_rows
    return found
