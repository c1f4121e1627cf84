"""A table that is read once, as a whole: in one view of the database, into a file that every task can open."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa

from aurora.algebra.tuples.schema import Schema
from aurora.engine.postgres.address import PostgresAddress
from aurora.engine.postgres.client import connect_patiently, explain, in_utc, psycopg, quote_names
from aurora.engine.postgres.fetch import fetch_lines, parse_lines, readable_columns, select_list
from aurora.engine.postgres.table import find_table, missing_table
from aurora.engine.sources.in_memory.stored_memory import GROUP, StoredMemory
from aurora.errors import AuroraError

__all__ = ["copy_whole"]


def copy_whole(what: str, address: PostgresAddress, schema: Schema, path: Path) -> StoredMemory:
    """The rows by the primary key, if there is one; what lies at the path already is used again."""
    if not path.exists():
        partial = path.with_name(f"{path.name}.partial")
        with pa.OSFile(str(partial), "wb") as file, pa.ipc.new_file(file, schema.arrow()) as writer:
            for batch in _read(what, address, schema):
                writer.write_batch(batch)
        partial.replace(path)
    with pa.memory_map(str(path)) as data, pa.ipc.open_file(data) as stored:
        # All but the last have as many rows as there can be.
        last = stored.num_record_batches - 1
        rows = last * GROUP + stored.get_batch(last).num_rows if last >= 0 else 0
    return StoredMemory(str(path), rows, (), address.identity())


def _read(what: str, address: PostgresAddress, schema: Schema) -> Iterator[pa.RecordBatch]:
    try:
        with connect_patiently(what, address) as connection:
            table = find_table(connection, address)
            if table is None:
                raise missing_table(what, connection, address)
            columns = readable_columns(what, table, schema)
            order = f" ORDER BY {', '.join(map(quote_names, table.primary))}" if table.primary else ""
            with in_utc(connection):
                query = f"SELECT {select_list(columns, schema)} FROM {table.sql}{order}"
                lines = fetch_lines(connection, schema, query)
                number = 0
                while part := list(islice(lines, GROUP)):
                    portion = parse_lines(part, schema, number, address.place)
                    if portion.rejects:
                        bad = portion.rejects[0]
                        raise AuroraError(f"{what}: {bad.file}, row {number + bad.line + 1}: {bad.reason}")
                    number += len(part)
                    yield portion.rows
    except psycopg().Error as fault:
        raise AuroraError(f"{what}: {address.label}: {explain(fault)}") from None
