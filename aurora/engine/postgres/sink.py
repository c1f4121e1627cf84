"""A table as a sink. Rows and how many there are by now are written in one transaction, so that none comes twice."""

import time
import uuid
from collections.abc import Callable
from functools import reduce
from itertools import pairwise
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Ints
from aurora.engine.outages import Persistence, Unreachable
from aurora.engine.postgres.address import SINK_OPTIONS, PostgresAddress, read_postgres
from aurora.engine.postgres.batches import Reached, Refused, begin, lock, make_batches, store
from aurora.engine.postgres.client import (
    GRACE,
    Denied,
    connect,
    connect_patiently,
    explain,
    in_utc,
    is_outage,
    psycopg,
)
from aurora.engine.postgres.encode import Encoded, encode_copy
from aurora.engine.postgres.fit import create_table, fit_rows
from aurora.engine.postgres.table import Table, find_table, missing_table
from aurora.engine.sinks.sink import Note
from aurora.engine.sources.source import Reject
from aurora.errors import AuroraError, did_you_mean

__all__ = ["PostgresSink", "open_postgres_sink"]

Found = TypeVar("Found")
SHOWN = 500


class PostgresSink:
    """Its note is the id of the run in `aurora_batches`, the number of rows, and a mark of those that came again, if
    some do.

    Rows that come again after a kill are known by their number, and passed over; those of them that the table had
    refused are told again, for what was told of them is not noted.
    """

    def __init__(self, name: str, address: PostgresAddress, schema: Schema) -> None:
        self._name = name
        self._what = f"sink {name}"
        self._address = address
        self._schema = schema
        self._connection: Any = None
        self._table: Table | None = None
        self._refused: list[Reject] = []
        self._known = False
        self._persistence = Persistence(self._what, f"PostgreSQL at {address.server}")

    @property
    def place(self) -> None:
        return None

    def check(self) -> None:
        """Raises a fault if the table cannot be written; before Spark starts."""
        with connect_patiently(self._what, self._address) as connection:
            table = find_table(connection, self._address)
            if table is None and not self._address.create:
                create = ", or add create=yes to make it from the fields of the output"
                raise missing_table(self._what, connection, self._address, create)
            if table is not None:
                fit_rows(self._what, table, self._schema, self._address.key)

    def open(self, note: Note) -> Note:
        if note is not None and note["table"] != self._address.label:
            raise AuroraError(
                f"{self._what}: the checkpoint is that of a run into {note['table']}; give that again, or start over "
                "with --fresh"
            )
        if note is None:
            note = {"table": self._address.label, "run": uuid.uuid4().hex, "rows": 0, "again": 0}
        self._repeat(lambda connection: self._begin(connection, note))
        return note

    def _begin(self, connection: Any, note: Note) -> None:
        self._table = find_table(connection, self._address)
        if self._table is None:
            connection.execute(create_table(self._address, self._schema))
            self._table = find_table(connection, self._address)
        assert self._table is not None
        fit_rows(self._what, self._table, self._schema, self._address.key)
        make_batches(self._what, connection, self._table.schema)
        if not note["rows"]:
            begin(connection, self._table.schema, note["run"], self._name)

    def deliver(self, batch: int, rows: pa.RecordBatch, arrived: Ints, note: Note) -> Note:
        lines = encode_copy(rows)
        bad = self._without_key(rows)
        reached, again = self._repeat(lambda connection: self._write(connection, batch, lines, bad, note))
        first, after = note["rows"], note["rows"] + len(lines)
        self._refused = [
            Reject(self._address.place, each.row + 1, each.reason, each.text)
            for each in reached.refused
            if first <= each.row < after
        ]
        return {**note, "rows": after, "again": again if after < reached.rows else 0}

    def refused(self) -> list[Reject]:
        return self._refused

    def sync(self) -> None:
        """A transaction that has ended is on the disk of the server."""

    def finish(self) -> None:
        self._drop()

    def interrupt(self) -> None:
        self._persistence.interrupt()

    def _write(
        self, connection: Any, batch: int, lines: Encoded, bad: list[int], note: Note
    ) -> tuple[Reached, int]:
        """Gives how far the table is now, and the mark of the rows that came again."""
        assert self._table is not None
        where = self._table.schema, note["run"], self._name
        with in_utc(connection):
            reached = lock(connection, *where)
            if reached is None or reached.rows < note["rows"]:
                raise self._lost(note)
            first, number = note["rows"], len(lines)
            again = min(reached.rows - first, number)
            mark = lines.mark(0, again, note["again"])
            if again and first + again == reached.rows and mark != reached.mark:
                raise AuroraError(
                    f"{self._what}: the rows that were written to {self._address.place} before the run was killed are "
                    "not those that come now; write to another table, and start over with --fresh"
                )
            if again < number:
                refused = [each for each in reached.refused if each.row >= first]
                refused += self._load(connection, lines, again, bad, first)
                reached = Reached(first + number, lines.mark(again, number, mark), tuple(refused))
                store(connection, *where, batch, reached)
        return reached, mark

    def _load(self, connection: Any, lines: Encoded, start: int, bad: list[int], first: int) -> list[Refused]:
        assert self._table is not None
        loading = fit_rows(self._what, self._table, self._schema, self._address.key)
        without = [place for place in bad if place >= start]
        spans = list(pairwise([start - 1, *without, len(lines)]))
        found = loading.load(connection, lines, [(before + 1, place) for before, place in spans])
        found += [
            (place, f"a field of the key ({', '.join(self._address.key)}) is null") for place in without
        ]
        # A character that no text of PostgreSQL can hold stands in what is told as it is written in most languages.
        return [
            Refused(first + place, reason, lines.text(place).replace("\0", "\\0")[:SHOWN])
            for place, reason in sorted(found)
        ]

    def _without_key(self, rows: pa.RecordBatch) -> list[int]:
        """Rows that would replace nothing: null equals no other key."""
        nulls = [pc.is_null(rows.column(name)) for name in self._address.key]
        return list(pc.indices_nonzero(reduce(pc.or_, nulls)).to_pylist()) if nulls else []

    def _repeat(self, step: Callable[[Any], Found]) -> Found:
        """Does a step until it succeeds; after a fault all is begun anew, from what the database says that it has."""
        began = time.monotonic()
        return self._persistence.repeat(lambda: self._attempt(step, began))

    def _attempt(self, step: Callable[[Any], Found], began: float) -> Found:
        try:
            if self._connection is None:
                self._connection = connect(self._what, self._address)
                self._known = True
            return step(self._connection)
        except Denied as fault:
            # A server that let it in before may say all sorts of things while it starts.
            if not self._known or time.monotonic() - began > GRACE:
                raise
            raise Unreachable(str(fault)) from None
        except AuroraError:
            self._drop()
            raise
        except psycopg().Error as fault:
            self._drop()
            if not is_outage(fault):
                raise AuroraError(f"{self._what}: {self._address.label}: {explain(fault)}") from None
            raise Unreachable(explain(fault)) from None

    def _lost(self, note: Note) -> AuroraError:
        return AuroraError(
            f"{self._what}: the checkpoint says that {note['rows']:,} rows were written to {self._address.place}, and "
            "aurora_batches there does not: it is another database, or an older state of it; restore it, or start over "
            "with --fresh"
        )

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def open_postgres_sink(name: str, text: str, schema: Schema) -> PostgresSink:
    address = read_postgres(f"sink {name}", text, SINK_OPTIONS)
    psycopg()
    for field in address.key:
        if field not in schema:
            near = did_you_mean(field, schema.names)
            raise AuroraError(
                f"sink {name}: key={field} is not a field of the output{near}; its fields are {', '.join(schema.names)}"
            )
    sink = PostgresSink(name, address, schema)
    sink.check()
    return sink
