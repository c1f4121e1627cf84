"""Arrow columns as NumPy arrays and back, nulls kept apart from values."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.expressions.tree import Call

__all__ = ["Kernel", "Maker", "Value", "always", "column", "nulls", "on_numbers", "plain", "repeated"]

# At run time an argument is an array or a scalar.
Value = Any
Kernel = Callable[..., pa.Array]
Maker = Callable[[Call], Kernel]
Numbers = npt.NDArray[Any]

STORAGE: dict[pa.DataType, np.dtype[Any]] = {
    pa.date32(): np.dtype(np.int32),
    pa.timestamp("us", tz="UTC"): np.dtype(np.int64),
}


def always(kernel: Kernel) -> Maker:
    """For a kernel that needs to know nothing of the node."""
    return lambda node: kernel


def plain(value: Value) -> Any:
    """The numbers of a column or scalar; where it is null, anything. Dates and timestamps as integers."""
    if isinstance(value, pa.Scalar):
        if not value.is_valid:
            return numpy_type(value.type).type(0)
        if value.type in STORAGE:
            return numpy_type(value.type).type(value.value)
        return numpy_type(value.type).type(value.as_py())
    dtype = numpy_type(value.type)
    if dtype == np.bool_:
        return value.fill_null(False).to_numpy(zero_copy_only=False)
    data = value.buffers()[1]
    if data is None:
        return np.zeros(len(value), dtype)
    return np.frombuffer(data, dtype, len(value), value.offset * dtype.itemsize)


def repeated(value: pa.Scalar, rows: int) -> pa.Array:
    # Arrow cannot repeat an array no times.
    return pa.repeat(value, rows) if rows else pa.repeat(value, 1).slice(1)


def numpy_type(arrow: pa.DataType) -> np.dtype[Any]:
    return STORAGE.get(arrow) or np.dtype(arrow.to_pandas_dtype())


def nulls(*values: Value) -> Numbers | None:
    """Where at least one of the values is null; None if nowhere."""
    result: Numbers | None = None
    for value in values:
        if isinstance(value, pa.Scalar):
            missing: Any = None if value.is_valid else np.True_
        else:
            missing = pc.is_null(value).to_numpy(zero_copy_only=False) if value.null_count else None
        if missing is not None:
            result = missing if result is None else result | missing
    return result


def column(values: Numbers, missing: Any, arrow: pa.DataType) -> pa.Array:
    """The Arrow column of these values, null where `missing` says so."""
    storage = STORAGE.get(arrow)
    values = np.ascontiguousarray(values, storage or numpy_type(arrow))
    if missing is not None and np.ndim(missing) == 0:
        missing = np.full(len(values), missing)
    result = pa.array(values, mask=missing)
    return result if storage is None else result.view(arrow)


def on_numbers(function: Callable[..., Numbers]) -> Maker:
    """The kernel of a NumPy function that is null exactly where an argument is."""

    def make(node: Call) -> Kernel:
        arrow = node.type

        def kernel(*values: Value) -> pa.Array:
            with np.errstate(all="ignore"):
                result = function(*(plain(value) for value in values))
            return column(result, nulls(*values), arrow)

        return kernel

    return make
