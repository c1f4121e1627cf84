"""A table of an SQLite database, in the order of its rowids."""

import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import is_decimal, is_nested, type_name
from aurora.engine.sources.source import Cursor, Piece, Portion, Reject
from aurora.engine.sources.text.parse import FAULTS, parse_json
from aurora.engine.sources.text.reasons import Unreadable, not_a
from aurora.engine.sources.text.times import read_times
from aurora.errors import AuroraError, did_you_mean

__all__ = ["SqliteTable"]

SHOWN, LONGEST = 500, 100
# What Arrow and Python raise where a value does not fit.
MISFITS = (pa.ArrowException, Unreadable, TypeError, ValueError, OverflowError)
Rows = Sequence[tuple[Any, ...]]


@dataclass(frozen=True)
class SqliteTable:
    """A cursor is the rowid of the last row before it (None where there is none), and how many rows are before it."""

    path: str
    table: str
    schema: Schema

    @property
    def live(self) -> bool:
        return False

    def identity(self) -> str:
        return f"sqlite:{self.path}?table={self.table}"

    def check(self, name: str) -> None:
        """Raises a fault unless the table is there, with all fields."""
        with _open_database(self.path) as database:
            listed = "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name"
            known = dict(database.execute(listed))
            if self.table not in known:
                there = f"its tables are {', '.join(known)}" if known else "it has no tables"
                near = did_you_mean(self.table, known)
                raise AuroraError(f"source {name}: {self.path} has no table {self.table}{near}; {there}")
            names = [row[1] for row in database.execute(f"PRAGMA table_info({_quoted(self.table)})")]
            for field in self.schema.names:
                if field not in names:
                    raise AuroraError(
                        f"source {name}: table {self.table} has no field {field}; its fields are {', '.join(names)}"
                    )
                if is_decimal(self.schema[field]):
                    kind = type_name(self.schema[field])
                    raise AuroraError(f"source {name}: field {field} is {kind}, which SQLite does not have")
            if not _has_rowids(database, self.table, known[self.table]):
                raise AuroraError(
                    f"source {name}: {self.table} is a view or a table without rowids, and its rows have no order; "
                    "copy them into a table that has rowids"
                )

    def begin(self) -> Cursor:
        return {"row": 0, "after": None}

    def advance(self, cursor: Cursor, rows: int) -> Cursor:
        with _open_database(self.path) as database:
            return self._advance(database, cursor, rows, None)

    def _advance(self, database: sqlite3.Connection, cursor: Cursor, rows: int, last: int | None) -> Cursor:
        where, bounds = _between(cursor["after"], last)
        inner = f"SELECT _rowid_ AS id FROM {_quoted(self.table)}{where} ORDER BY _rowid_ LIMIT ?"
        ((found, reached),) = database.execute(f"SELECT count(*), max(id) FROM ({inner})", (*bounds, rows))
        return {"row": cursor["row"] + found, "after": reached} if found else cursor

    def finished(self, cursor: Cursor) -> bool:
        with _open_database(self.path) as database:
            return bool(self._advance(database, cursor, 1, None) == cursor)

    def pieces(self, start: Cursor, end: Cursor, number: int) -> list[Piece]:
        share = max(1, -(-(end["row"] - start["row"]) // number))
        pieces: list[Piece] = []
        with _open_database(self.path) as database:
            while start["row"] < end["row"]:
                after = self._advance(database, start, share, end["after"])
                if after == start or after["row"] > end["row"]:
                    raise _changed(self.path)
                rows = after["row"] - start["row"]
                pieces.append(
                    _Piece(self.path, self.table, start["after"], after["after"], rows, start["row"])
                )
                start = after
        return pieces


@dataclass(frozen=True)
class _Piece:
    path: str
    table: str
    after: int | None
    last: int
    rows: int
    number: int

    def read(self, schema: Schema) -> Portion:
        where, bounds = _between(self.after, self.last)
        fields = ", ".join(map(_quoted, schema.names))
        query = f"SELECT _rowid_, {fields} FROM {_quoted(self.table)}{where} ORDER BY _rowid_"
        with _open_database(self.path) as database:
            rows = database.execute(query, bounds).fetchall()
        if len(rows) != self.rows:
            raise _changed(self.path)
        batches = [pa.RecordBatch.from_pylist([], schema.arrow())]
        numbers = [np.empty(0, np.int64)]
        rejects: list[Reject] = []
        for at, batch in _converted(rows, schema, os.path.basename(self.path), rejects):
            batches.append(batch)
            numbers.append(np.arange(batch.num_rows, dtype=np.int64) + self.number + at)
        return Portion(pa.concat_batches(batches), np.concatenate(numbers), tuple(rejects))


@contextmanager
def _open_database(path: str) -> Iterator[sqlite3.Connection]:
    try:
        with closing(sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)) as database:
            yield database
    except sqlite3.DatabaseError as fault:
        raise AuroraError(f"cannot read {path}: {fault}; give an SQLite database") from None


def _has_rowids(database: sqlite3.Connection, table: str, kind: str) -> bool:
    try:
        database.execute(f"SELECT _rowid_ FROM {_quoted(table)} LIMIT 1")
    except sqlite3.OperationalError:
        return False
    return kind == "table"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _between(after: int | None, last: int | None) -> tuple[str, tuple[int, ...]]:
    """The clause for the rows behind one rowid and up to another."""
    bounds = [(text, bound) for text, bound in (("> ?", after), ("<= ?", last)) if bound is not None]
    clause = " AND ".join(f"_rowid_ {text}" for text, _ in bounds)
    return f" WHERE {clause}" if clause else "", tuple(bound for _, bound in bounds)


def _changed(path: str) -> AuroraError:
    return AuroraError(
        f"{path} was changed while a batch was reading it, and the batch cannot be repeated; "
        "put the old one back, or start over with --fresh"
    )


def _converted(
    rows: Rows, schema: Schema, label: str, rejects: list[Reject]
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Batches of the rows that fit the schema, with their places; the others one by one."""
    pending = [(0, len(rows))] if rows else []
    while pending:
        low, high = pending.pop()
        try:
            yield low, _batch(rows[low:high], schema)
        except MISFITS as fault:
            if high - low == 1:
                rowid, *values = rows[low]
                shown = str(dict(zip(schema.names, values, strict=True)))[:SHOWN]
                rejects.append(Reject(label, rowid, str(fault), shown))
            else:
                middle = (low + high) // 2
                pending += [(middle, high), (low, middle)]


def _batch(rows: Rows, schema: Schema) -> pa.RecordBatch:
    _, *columns = zip(*rows, strict=True)
    arrays = []
    for name, values in zip(schema.names, columns, strict=True):
        if (name,) in schema.required and None in values:
            raise Unreadable(f"field {name} is missing")
        if is_nested(schema[name]):
            arrays.append(_from_json(values, schema.select([name])))
            continue
        try:
            arrays.append(_column(values, schema[name], name))
        except MISFITS:
            # Exact where one row is left, and that is where it is told.
            value = next((value for value in values if value is not None), None)
            raise Unreadable(not_a(name, str(value), schema[name])) from None
    return pa.RecordBatch.from_arrays(arrays, schema=schema.arrow())


def _column(values: Sequence[Any], kind: pa.DataType, name: str) -> pa.Array:
    """SQLite has whole numbers, floats and texts: truths are the numbers 0 and 1, times are texts."""
    if pa.types.is_boolean(kind):
        numbers = _whole(values)
        if pc.any(pc.or_(pc.less(numbers, 0), pc.greater(numbers, 1))).as_py():
            raise ValueError(name)
        return numbers.cast(kind)
    if pa.types.is_timestamp(kind):
        return read_times(pa.array(values, pa.string()), name)
    if pa.types.is_date(kind):
        return pa.array(values, pa.string()).cast(kind)
    if pa.types.is_floating(kind):
        return pa.array(values, pa.float64()).cast(kind)
    return pa.array(values, kind) if pa.types.is_string(kind) else _whole(values).cast(kind)


def _from_json(values: Sequence[Any], schema: Schema) -> pa.Array:
    """Records, arrays and maps of one field, each from the JSON text of one."""
    (name,) = schema.names
    parser = parse_json(schema)
    lines = [f"{{{json.dumps(name)}: {_json_text(text, name)}}}".encode() for text in values]
    try:
        return parser(b"\n".join(lines)).column(0)
    except FAULTS:
        # Exact where one row is left, and that is where it is told.
        raise Unreadable(parser.explain(lines[0])) from None


def _json_text(value: Any, name: str) -> str:
    """The value on one line: line breaks stand between the parts of a JSON text, never inside one."""
    if value is None:
        return "null"
    try:
        if isinstance(value, str):
            json.loads(value)
            return value.replace("\n", " ").replace("\r", " ")
    except (ValueError, RecursionError):
        pass
    raise Unreadable(f"field {name}: '{str(value)[:LONGEST]}' is not a JSON text")


def _whole(values: Sequence[Any]) -> pa.Array:
    if float in set(map(type, values)):
        # Straight into whole numbers, Arrow would cut a fraction off without a word.
        return pa.array(values, pa.float64()).cast(pa.int64())
    return pa.array(values, pa.int64())
