"""What a piece gives, held against what it was asked for: the source may be the user's own."""

from collections.abc import Mapping

import pyarrow as pa

from aurora.algebra.tuples.schema import Schema
from aurora.engine.sources.source import Portion
from aurora.errors import AuroraError

__all__ = ["fit_rows", "narrow_rows"]


def fit_rows(what: str, portion: Portion, schema: Schema) -> pa.RecordBatch:
    """The rows of a portion with the schema that was asked for; a piece may read more, or other types.

    `what` is the source in words.
    """
    rows = portion.rows
    if len(portion.numbers) != rows.num_rows:
        raise AuroraError(
            f"{what}: a piece has read {rows.num_rows:,} rows and gives {len(portion.numbers):,} numbers; "
            "a portion has a number for each row"
        )
    missing = next((field for field in schema.names if field not in rows.schema.names), None)
    if missing is not None:
        raise AuroraError(
            f"{what}: the rows of a piece have no field {missing}; their fields are "
            f"{', '.join(rows.schema.names)}"
        )
    try:
        return narrow_rows(rows, schema)
    except pa.ArrowException as fault:
        raise AuroraError(
            f"{what}: the rows of a piece do not fit ({schema}): {str(fault).splitlines()[0]}"
        ) from None


def narrow_rows(rows: pa.RecordBatch, schema: Schema) -> pa.RecordBatch:
    """Rows of a source that reads more than it was asked for."""
    target = schema.arrow()
    if rows.schema.equals(target):
        return rows
    columns: Mapping[str, pa.Array] = {name: rows.column(name) for name in schema.names}
    cast = [column.cast(schema[name]) for name, column in columns.items()]
    return pa.RecordBatch.from_arrays(cast, schema=target)
