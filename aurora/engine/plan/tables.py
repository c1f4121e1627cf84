"""The tables of a network: rows that ride in its plan, or stored sets, of which boxes fetch rows by key."""

from typing import TypeAlias

import pyarrow as pa

from aurora.algebra.box.operator import Traits
from aurora.algebra.box.pulled import Pulled
from aurora.engine.sources.keyed_set import KeyedSet
from aurora.errors import AuroraError

__all__ = ["MOST_TABLE_BYTES", "Table", "rows_for"]

MOST_TABLE_BYTES = 256_000_000

Table: TypeAlias = pa.RecordBatch | KeyedSet


def rows_for(box: str, traits: Traits, name: str, table: Table) -> pa.RecordBatch | Pulled:
    """What a box gets of a table: its rows, or a set that can be asked by its key, if the box asks for all of that."""
    if isinstance(table, pa.RecordBatch) or traits.asks.issuperset(table.key):
        return table
    if table.size > MOST_TABLE_BYTES:
        key = ", ".join(table.key)
        raise AuroraError(
            f"box {box}: the predicate does not compare the whole key ({key}) of the stored set {name} with fields of "
            f"the stream, and at {table.size / 1e6:,.0f} MB the set is too large to be read whole "
            f"({MOST_TABLE_BYTES / 1e6:,.0f} MB at most): compare each field of the key with =, or choose another key"
        )
    return table.read()
