"""Values as Python has them; a time outside of Python's years, 1 to 9999, as text."""

from typing import Any

import pyarrow as pa

__all__ = ["python_rows", "python_value"]


def python_value(value: pa.Scalar) -> Any:
    """Return the value, whatever it is.

    >>> python_value(pa.scalar(2**62, pa.timestamp("us", "UTC")))
    '<value out of range: 4611686018427387904>'
    >>> python_value(pa.scalar([{"a": 1}]))
    [{'a': 1}]
    """
    try:
        return value.as_py()
    except (OverflowError, ValueError, pa.ArrowException):
        kind = value.type
    if pa.types.is_struct(kind):
        return {field.name: python_value(value[place]) for place, field in enumerate(kind)}
    if pa.types.is_map(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [python_value(each) for each in value.values]
    if pa.types.is_timestamp(kind):
        # Without its zone Arrow needs no look into tables of zones, which may not be there.
        value = value.cast(pa.int64()).cast(pa.timestamp(kind.unit))
    return str(value.cast(pa.string()).as_py())


def python_rows(rows: pa.RecordBatch | pa.Table) -> list[dict[str, Any]]:
    """Return the rows, each as a dict."""
    names, columns = rows.schema.names, rows.columns
    return [
        {name: python_value(column[place]) for name, column in zip(names, columns, strict=True)}
        for place in range(rows.num_rows)
    ]
