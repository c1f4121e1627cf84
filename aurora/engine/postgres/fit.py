"""Whether the rows of an output fit a table: told before a run, with what to do about it."""

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import type_name
from aurora.engine.postgres.address import PostgresAddress
from aurora.engine.postgres.client import quote_names
from aurora.engine.postgres.kinds import column_type, holds
from aurora.engine.postgres.load import Loading
from aurora.engine.postgres.table import Table, find_columns
from aurora.errors import AuroraError

__all__ = ["create_table", "fit_rows"]


def fit_rows(what: str, table: Table, schema: Schema, key: tuple[str, ...]) -> Loading:
    """How rows get into the table; a fault if they cannot."""
    if not table.is_table:
        raise AuroraError(f"{what}: {table.name} is not a table but a view or a foreign table; name a table")
    columns = find_columns(what, table, schema)
    for field, column in columns.items():
        kind = schema[field]
        if column.generated:
            raise AuroraError(
                f"{what}: column {column.name} of {table.name} is filled by PostgreSQL itself; leave field {field} "
                "out with a map"
            )
        if not holds(kind, column.base):
            raise AuroraError(
                f"{what}: field {field} is a {type_name(kind)}, column {column.name} of {table.name} is "
                f"{column.kind}; ALTER TABLE {table.sql} ALTER COLUMN {quote_names(column.name)} TYPE "
                f"{column_type(kind)}, or cast the field in a map"
            )
    for column in table.columns:
        if column.required and not column.filled and not column.generated and column not in columns.values():
            raise AuroraError(
                f"{what}: column {column.name} of {table.name} must not be null, and the output has no field for "
                "it; add one with a map, or give the column a default"
            )
    names = tuple(columns[field].name for field in key)
    if key and not table.is_unique(names):
        listed = ", ".join(map(quote_names, names))
        raise AuroraError(
            f"{what}: {table.name} has no primary key or unique index on ({', '.join(names)}), by which rows are "
            f"replaced; CREATE UNIQUE INDEX ON {table.sql} ({listed})"
        )
    wanted = ["INSERT", *(["SELECT", "UPDATE"] if key else [])]
    has = {"INSERT": table.may_insert, "SELECT": table.may_select, "UPDATE": table.may_update}
    if not all(has[right] for right in wanted):
        raise AuroraError(
            f"{what}: {table.user} may not write to {table.name}; GRANT {', '.join(wanted)} ON {table.sql} TO "
            f"{table.user}"
        )
    return Loading(what, table.sql, tuple(column.name for column in columns.values()), names)


def create_table(address: PostgresAddress, schema: Schema) -> str:
    """The statement that makes a table from the fields of an output."""
    fields = [f"{quote_names(name)} {column_type(schema[name])}" for name in schema.names]
    if address.key:
        fields.append(f"PRIMARY KEY ({', '.join(map(quote_names, address.key))})")
    return f"CREATE TABLE IF NOT EXISTS {quote_names(address.schema, address.table)} ({', '.join(fields)})"
