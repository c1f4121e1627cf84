"""CAST, as Spark does it without ANSI mode: what cannot be converted is null."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.expressions.coercion import FRACTIONS, INTEGERS, NUMBERS
from aurora.algebra.expressions.kernels.columns import Kernel, Maker, on_numbers
from aurora.algebra.expressions.tree import Call
from aurora.algebra.types import BOOLEAN

__all__ = ["KERNELS", "saturated"]


def saturated(values: Any, dtype: Any) -> Any:
    """Fractions as integers the way Java does it: NaN is 0, the rest is cut off and held in the range."""
    limits = np.iinfo(dtype)
    # The upper limit itself is no double: what reaches it is set afterwards.
    inside = np.where(np.isnan(values), 0.0, values)
    result = np.where(np.abs(inside) < limits.max, inside, 0.0).astype(dtype)
    result[inside >= limits.max] = limits.max
    result[inside <= limits.min] = limits.min
    return result


def cast(node: Call) -> Kernel:
    source, target = node.args[0].type, node.type
    if source in FRACTIONS and target in INTEGERS:
        first = np.int64 if target == pa.int64() else np.int32
        return on_numbers(
            lambda values: saturated(values.astype(np.float64), first).astype(target.to_pandas_dtype())
        )(node)
    if source in NUMBERS and target == BOOLEAN:
        return lambda value: pc.not_equal(value, pa.scalar(0, source))
    return lambda value: pc.cast(value, target, safe=False)


KERNELS: dict[str, Maker] = {"cast": cast}
