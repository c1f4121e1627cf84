"""What people have rows in: lists of dicts, DataFrames of pandas and Polars, tables of Arrow."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from aurora.errors import AuroraError

__all__ = ["as_dicts", "as_table", "is_frame"]


def is_frame(rows: Any) -> bool:
    """Whether the rows have columns: those of Arrow and pandas, and what hands out Arrow, as Polars does."""
    return (
        isinstance(rows, pa.Table | pa.RecordBatch) or hasattr(rows, "__arrow_c_stream__") or _is_pandas(rows)
    )


def _is_pandas(rows: Any) -> bool:
    return hasattr(rows, "iloc") and hasattr(rows, "columns")


def as_table(rows: Any) -> tuple[pa.Table, bool]:
    """The rows with all their fields, and whether they came with columns."""
    if not is_frame(rows):
        given = as_dicts(rows, "Sid")
        names = list(dict.fromkeys(name for row in given for name in row))
        columns = {name: [row.get(name) for row in given] for name in names}
        try:
            return pa.table({name: _column(name, values) for name, values in columns.items()}), False
        except (pa.ArrowException, TypeError, OverflowError) as fault:
            raise AuroraError(f"the rows cannot be read: {str(fault).splitlines()[0]}") from None
    try:
        if _is_pandas(rows):
            return pa.Table.from_pandas(rows, preserve_index=False), True
        return pa.table(rows), True
    except (pa.ArrowException, TypeError, ValueError) as fault:
        raise AuroraError(f"the rows of the DataFrame cannot be read: {str(fault).splitlines()[0]}") from None


def _column(name: str, values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowException, TypeError, OverflowError) as fault:
        raise AuroraError(f"field {name} has values of several types: {str(fault).splitlines()[0]}") from None


def as_dicts(rows: Any, field: str) -> list[Mapping[str, Any]]:
    given: list[Any] = (
        list(rows) if isinstance(rows, Sequence) and not isinstance(rows, str | bytes) else [None]
    )
    if not all(isinstance(row, Mapping) for row in given):
        if hasattr(rows, "collect"):
            raise AuroraError(f"a {type(rows).__name__} has no rows yet; give what its collect() gives")
        raise AuroraError(
            f"rows are a list of dicts, a DataFrame of pandas or Polars, or a Table of pyarrow, found {_kind(rows)}: "
            f"give for example [{{'{field}': ..}}, ..]"
        )
    return given


def _kind(rows: Any) -> str:
    if isinstance(rows, Sequence) and not isinstance(rows, str | bytes) and len(rows):
        return f"a {type(rows).__name__} of {type(rows[0]).__name__}"
    return f"a {type(rows).__name__}"
