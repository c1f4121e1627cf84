"""Rows of a table into Arrow: as lines of CSV, or of JSON where a field is nested, by the parsers of files."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import is_nested, type_name
from aurora.engine.postgres.client import quote_names
from aurora.engine.postgres.kinds import TIMES, can_be_read
from aurora.engine.postgres.table import Column, Table, find_columns
from aurora.engine.sources.source import Portion
from aurora.engine.sources.text.bad_records import parse_records
from aurora.engine.sources.text.csv_records import Split
from aurora.engine.sources.text.parse import parse_csv, parse_json
from aurora.errors import AuroraError

__all__ = ["Columns", "fetch_lines", "parse_lines", "readable_columns", "select_list"]

# The name and the type of the column of each field.
Columns = tuple[tuple[str, str, str], ...]
# So many rows are asked for at once where they come one by one.
ROWS = 10_000


def readable_columns(what: str, table: Table, schema: Schema) -> Columns:
    """The column of each field; a fault where there is none that it can be read from."""
    if not table.may_select:
        raise AuroraError(
            f"{what}: {table.user} may not read {table.name}; GRANT SELECT ON {table.sql} TO {table.user}"
        )
    found: Mapping[str, Column] = find_columns(what, table, schema)
    for field, column in found.items():
        if not can_be_read(schema[field], column.base):
            raise AuroraError(
                f"{what}: field {field} is a {type_name(schema[field])}, column {column.name} of {table.name} is "
                f"{column.kind}; declare it as what it is, or as a string"
            )
    return tuple((field, column.name, column.base) for field, column in found.items())


def select_list(columns: Columns, schema: Schema) -> str:
    """The columns of the fields of a schema, as they are to be read, under the names of the fields."""
    known = {field: (name, base) for field, name, base in columns}
    flat = _is_flat(schema)
    parts = [(field, _read_as(schema[field], *known[field], flat)) for field in schema.names]
    return ", ".join(f"{column} AS {quote_names(field)}" for field, column in parts)


def _read_as(kind: pa.DataType, name: str, base: str, flat: bool) -> str:
    column = quote_names(name)
    if base == "timestamptz" and pa.types.is_timestamp(kind):
        return f"{column} AT TIME ZONE 'UTC'"
    if is_nested(kind) or (base in TIMES and not pa.types.is_string(kind)):
        return column
    # In CSV, truths would be t and f.
    return f"{column}::text" if (base == "bool" and flat) or pa.types.is_string(kind) else column


def fetch_lines(connection: Any, schema: Schema, query: str) -> Iterator[bytes]:
    """A line for each row of a query that selects the fields of the schema; its values are part of its text."""
    if _is_flat(schema):
        with connection.cursor() as cursor, cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT csv)") as copy:
            yield from map(bytes, copy)
        return
    with connection.cursor("aurora_rows") as cursor:
        cursor.itersize = ROWS
        cursor.execute(f"SELECT row_to_json(q)::text FROM ({query}) q")
        for (text,) in cursor:
            yield text.replace("\n", " ").encode() + b"\n"


def _is_flat(schema: Schema) -> bool:
    return not any(is_nested(kind) for kind in schema.values())


def parse_lines(lines: Sequence[bytes], schema: Schema, number: int, label: str) -> Portion:
    """The rows, numbered from `number` on; a reject's line is its place among them, from 0."""
    sizes = np.fromiter(map(len, lines), np.int64, len(lines))
    found = Split(np.cumsum(sizes), np.arange(1, len(lines) + 1), np.zeros(len(lines), np.bool_))
    parser = parse_csv(schema) if _is_flat(schema) else parse_json(schema)
    return parse_records(b"".join(lines), found, parser, schema, number, 0, label, {})
