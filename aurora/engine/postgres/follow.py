"""Opens a table that is followed: refuses columns by which rows could be lost, and notes where the run begins."""

import json
import logging
import time
from pathlib import Path
from typing import Any

from aurora.algebra.tuples.schema import Schema
from aurora.engine.durable import read_json, write_whole
from aurora.engine.postgres.address import SOURCE_OPTIONS, PostgresAddress, read_postgres
from aurora.engine.postgres.bound import Bounds
from aurora.engine.postgres.client import connect_patiently, explain, psycopg
from aurora.engine.postgres.fetch import readable_columns
from aurora.engine.postgres.piece import Place
from aurora.engine.postgres.source import PostgresTable
from aurora.engine.postgres.table import Column, Table, find_table, missing_table
from aurora.engine.waits import waits
from aurora.errors import AuroraError, did_you_mean

__all__ = ["check_postgres", "open_postgres"]

WHOLE = {"int2": "smallint", "int4": "integer", "int8": "bigint", "numeric": "numeric"}
TIMES = {"timestamp": "timestamp", "timestamptz": "timestamptz"}
# Each session takes so many numbers ahead; only with one do they grow with time.
CACHE = """
SELECT s.seqcache FROM pg_sequence s
WHERE s.seqrelid = to_regclass(pg_get_serial_sequence(%s, %s)) AND s.seqcache > 1
"""


def check_postgres(name: str, address: str) -> None:
    """Raises a fault unless the address can be understood, and there is a client."""
    read_postgres(f"source {name}", address, SOURCE_OPTIONS)
    psycopg()


def open_postgres(
    name: str, address: PostgresAddress, schema: Schema, follow: bool, note: Path
) -> PostgresTable:
    """`note` keeps between which values the run reads, so that one that goes on does the same."""
    what = f"source {name}"
    follow = follow if address.follow is None else address.follow
    with connect_patiently(what, address) as connection:
        table = find_table(connection, address)
        if table is None:
            raise missing_table(what, connection, address)
        columns = readable_columns(what, table, schema)
        column = _growing(what, table, address)
        place = Place(table.sql, column.name, {**WHOLE, **TIMES}[column.base], (column.name,) in table.unique)
        _check_growing(what, connection, table, column, address, follow)
        if note.exists():
            found = read_json(note)
        else:
            found = {"first": _first(what, connection, address, place), "last": None}
            if not follow:
                bounds = Bounds(table.oid, place.table, place.column)
                found["last"] = _settled(what, connection, bounds, table)
            write_whole(note, json.dumps(found))
    return PostgresTable(
        name, address, schema, columns, table.oid, place, found["first"], found["last"], follow
    )


def _growing(what: str, table: Table, address: PostgresAddress) -> Column:
    """The column that `by` names, if rows can be followed by it."""
    assert address.by is not None
    known = {column.name: column for column in table.columns}
    column = known.get(address.by) or known.get(address.by.lower())
    if column is None:
        near = did_you_mean(address.by, known)
        raise AuroraError(
            f"{what}: by={address.by} is not a column of {table.name}{near}; its columns are {', '.join(known)}"
        )
    if not table.is_table:
        raise AuroraError(
            f"{what}: {table.name} is not a table but a view or a foreign table; name the table itself"
        )
    if column.base not in {**WHOLE, **TIMES}:
        raise AuroraError(
            f"{what}: column {column.name} is {column.kind}; to follow a table, name a column of growing whole "
            "numbers or times"
        )
    if not column.required:
        raise AuroraError(
            f"{what}: column {column.name} may be null, and such rows would never be read; "
            f"ALTER TABLE {table.sql} ALTER COLUMN {column.name} SET NOT NULL"
        )
    return column


def _check_growing(
    what: str, connection: Any, table: Table, column: Column, address: PostgresAddress, follow: bool
) -> None:
    """Refuses to follow a column where rows could appear behind those that were read, and nothing would tell."""
    if column.name not in table.indexed:
        logging.getLogger("aurora").warning(
            f"{what}: column {column.name} of {table.name} has no index, so each batch reads all of it; "
            f"CREATE INDEX ON {table.sql} ({column.name})"
        )
    if not follow or address.lag is not None:
        return
    span = "add lag=1m, or as much as the longest transaction that writes to it may take"
    if column.base in TIMES:
        raise AuroraError(
            f"{what}: {column.name} is a time, and now() is when a transaction began, so rows may come behind later "
            f"ones; {span}"
        )
    if connection.execute("SELECT pg_is_in_recovery()").fetchone()[0]:
        raise AuroraError(
            f"{what}: {address.server} is a standby, which does not know the open transactions; {span}"
        )
    cache = connection.execute(CACHE, [table.sql, column.name]).fetchone()
    if cache is not None:
        raise AuroraError(
            f"{what}: the sequence of {column.name} gives each session {cache[0]} numbers ahead, so rows may come "
            f"behind later ones; ALTER SEQUENCE .. CACHE 1, or {span}"
        )


def _first(what: str, connection: Any, address: PostgresAddress, place: Place) -> str | None:
    """The value of the option `after`, as PostgreSQL writes it."""
    if address.after is None:
        return None
    try:
        found = connection.execute(f"SELECT ({place.literal(address.after)})::text").fetchone()
    except psycopg().DataError as fault:
        raise AuroraError(
            f"{what}: after={address.after} is not a value of {place.column}: {explain(fault)}"
        ) from None
    return str(found[0])


def _settled(what: str, connection: Any, bounds: Bounds, table: Table) -> str | None:
    """The largest value there is, once all who write have ended."""
    with waits.waiting(f"{what}: a transaction that writes to {table.name} has not ended"):
        while True:
            found = bounds.find(connection)
            if not bounds.waits:
                return found
            time.sleep(0.02)
