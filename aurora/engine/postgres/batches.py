"""How far each sink has come, kept in a small table beside the rows: written in one transaction with them."""

import json
from dataclasses import dataclass
from typing import Any

from aurora.engine.postgres.client import psycopg, quote_names
from aurora.errors import AuroraError

__all__ = ["BATCHES", "Reached", "Refused", "begin", "lock", "make_batches", "store"]

BATCHES = "aurora_batches"
COLUMNS = (
    'run text, sink text, batch bigint NOT NULL, "rows" bigint NOT NULL, mark bigint NOT NULL, '
    "refused jsonb NOT NULL, written timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (run, sink)"
)


@dataclass(frozen=True)
class Refused:
    """A row that the table did not take, by its number among all rows of the sink."""

    row: int
    reason: str
    text: str


@dataclass(frozen=True)
class Reached:
    """The rows of a sink so far, a mark of those since its note, and which of those were refused."""

    rows: int
    mark: int
    refused: tuple[Refused, ...]


def _table(schema: str) -> str:
    """Within a statement that has parameters."""
    return quote_names(schema, BATCHES).replace("%", "%%")


def make_batches(what: str, connection: Any, schema: str) -> None:
    """The table is in the schema of the table with the rows."""
    there = connection.execute(
        "SELECT has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT') AND "
        "has_table_privilege(oid, 'UPDATE'), current_user FROM pg_class WHERE oid = to_regclass(%s)",
        [quote_names(schema, BATCHES)],
    ).fetchone()
    if there is not None:
        if not there[0]:
            raise AuroraError(
                f"{what}: {there[1]} may not use {schema}.{BATCHES}, which says which batches are written; "
                f"GRANT SELECT, INSERT, UPDATE ON {schema}.{BATCHES} TO {there[1]}"
            )
        return
    library = psycopg()
    statement = f"CREATE TABLE IF NOT EXISTS {quote_names(schema, BATCHES)} ({COLUMNS})"
    try:
        connection.execute(statement)
    except library.errors.InsufficientPrivilege:
        raise AuroraError(
            f"{what}: the table {BATCHES}, which says which batches are written, cannot be made; "
            f"let the owner of schema {schema} do that: {statement}"
        ) from None
    except (library.errors.UniqueViolation, library.errors.DuplicateTable):
        pass  # Somebody else has made it at the same moment.


def begin(connection: Any, schema: str, run: str, sink: str) -> None:
    connection.execute(
        f"INSERT INTO {_table(schema)} VALUES (%s, %s, -1, 0, 0, '[]') ON CONFLICT DO NOTHING", [run, sink]
    )


def lock(connection: Any, schema: str, run: str, sink: str) -> Reached | None:
    """How far it has come: waits for a transaction of a killed run that is still under way."""
    found = connection.execute(
        f'SELECT "rows", mark, refused FROM {_table(schema)} WHERE run = %s AND sink = %s FOR UPDATE',
        [run, sink],
    ).fetchone()
    if found is None:
        return None
    return Reached(found[0], found[1], tuple(Refused(*each) for each in found[2]))


def store(connection: Any, schema: str, run: str, sink: str, batch: int, reached: Reached) -> None:
    refused = json.dumps([[each.row, each.reason, each.text] for each in reached.refused])
    connection.execute(
        f'UPDATE {_table(schema)} SET batch = %s, "rows" = %s, mark = %s, refused = %s::jsonb, '
        "written = now() WHERE run = %s AND sink = %s",
        [batch, reached.rows, reached.mark, refused, run, sink],
    )
