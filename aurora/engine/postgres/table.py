"""What a database says about a table: its columns, its keys, and what its user may do."""

from dataclasses import dataclass
from typing import Any

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import type_name
from aurora.engine.postgres.address import PostgresAddress
from aurora.engine.postgres.client import quote_names
from aurora.errors import AuroraError, did_you_mean

__all__ = ["Column", "Table", "find_columns", "find_table", "missing_table"]

TABLES = ("r", "p")
VIEWS = ("v", "m", "f")

TABLE = """
SELECT c.oid::bigint, n.nspname, c.relname, c.relkind::text, current_user,
       has_table_privilege(c.oid, 'SELECT'), has_table_privilege(c.oid, 'INSERT'), has_table_privilege(c.oid, 'UPDATE')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = coalesce(to_regclass(%s), to_regclass(%s)) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
"""
# Of a domain, the type that it is made of.
COLUMNS = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod), coalesce(b.typname, t.typname), a.attnotnull,
       a.atthasdef OR a.attidentity <> '', a.attgenerated <> '' OR a.attidentity = 'a'
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type b ON b.oid = nullif(t.typbasetype, 0)
WHERE a.attrelid = %s::bigint::oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
# Those by which a conflict can be told, and of all others the first column.
INDEXES = """
SELECT i.indisprimary, i.indisunique AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL,
       ARRAY(SELECT a.attname::text FROM generate_subscripts(i.indkey, 1) k
             JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[k]
             WHERE k < i.indnkeyatts ORDER BY k)
FROM pg_index i WHERE i.indrelid = %s::bigint::oid AND i.indisvalid AND i.indpred IS NULL
"""


@dataclass(frozen=True)
class Column:
    """`kind` is its type as SQL writes it, `base` the name of that type without length and domain."""

    name: str
    kind: str
    base: str
    required: bool
    filled: bool
    generated: bool


@dataclass(frozen=True)
class Table:
    oid: int
    schema: str
    name: str
    kind: str
    user: str
    may_select: bool
    may_insert: bool
    may_update: bool
    columns: tuple[Column, ...]
    primary: tuple[str, ...]
    unique: tuple[tuple[str, ...], ...]
    indexed: frozenset[str]

    @property
    def sql(self) -> str:
        return quote_names(self.schema, self.name)

    @property
    def is_table(self) -> bool:
        return self.kind in TABLES

    def is_unique(self, names: tuple[str, ...]) -> bool:
        """Whether there is an index that allows each value of these columns, in any order, once."""
        return any(sorted(names) == sorted(own) for own in self.unique)


def find_table(connection: Any, address: PostgresAddress) -> Table | None:
    """A name that is not there as it is written may be there in small letters, as SQL writes it."""
    exact = quote_names(address.schema, address.table)
    small = quote_names(address.schema and address.schema.lower(), address.table.lower())
    found = connection.execute(TABLE, [exact, small]).fetchone()
    if found is None:
        return None
    columns = [Column(*row) for row in connection.execute(COLUMNS, [found[0]])]
    indexes = connection.execute(INDEXES, [found[0]]).fetchall()
    oid, schema, name, kind, user, reads, inserts, updates = found
    return Table(
        oid,
        schema,
        name,
        kind,
        user,
        reads,
        inserts,
        updates,
        tuple(columns),
        next((tuple(names) for primary, _, names in indexes if primary), ()),
        tuple(tuple(names) for _, unique, names in indexes if unique),
        frozenset(names[0] for *_, names in indexes if names),
    )


def missing_table(what: str, connection: Any, address: PostgresAddress, create: str = "") -> AuroraError:
    """`create` is what else could be done about it."""
    listed = connection.execute(
        "SELECT c.relname FROM pg_class c WHERE c.relkind IN ('r', 'p') AND pg_table_is_visible(c.oid) "
        "AND c.relnamespace::regnamespace::text NOT IN ('pg_catalog', 'information_schema') ORDER BY 1 LIMIT 100"
    ).fetchall()
    near = did_you_mean(address.table, [name for (name,) in listed])
    return AuroraError(
        f"{what}: {address.database} at {address.server} has no table {address.table}{near}; check the name"
        f"{create}"
    )


def find_columns(what: str, table: Table, schema: Schema) -> dict[str, Column]:
    """The column of each field: the one of that name, or else of that name in small letters."""
    known = {column.name: column for column in table.columns}
    found: dict[str, Column] = {}
    for name in schema.names:
        column = known.get(name) or known.get(name.lower())
        if column is None:
            raise AuroraError(
                f"{what}: table {table.name} has no column {name}{did_you_mean(name, known)}; its columns are "
                f"{', '.join(known)}, the field is a {type_name(schema[name])}"
            )
        if column in found.values():
            other = next(field for field, own in found.items() if own == column)
            raise AuroraError(
                f"{what}: the fields {other} and {name} would both be column {column.name}; rename one"
            )
        found[name] = column
    return found
