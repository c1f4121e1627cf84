"""How far apart values of two order fields are: sums and differences held at the ends of the bigints."""

from typing import Any

import numpy as np
import pyarrow as pa

from aurora.algebra.ordering.order import ARRIVAL, Order
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Mask, Values
from aurora.algebra.tuples.types import type_name
from aurora.errors import AuroraError

__all__ = ["beyond", "check_reach", "shift"]


def check_reach(size: Any, left: tuple[Order, Schema], right: tuple[Order, Schema], where: str) -> None:
    """Raises a fault unless the order fields of both sides can be compared and `size` measures their distance."""
    if ARRIVAL in (left[0].on, right[0].on):
        raise AuroraError(f"{where}: needs order fields that can be compared, not '#'")
    one, two = (order.type(schema) for order, schema in (left, right))
    if one != two and not (pa.types.is_integer(one) and pa.types.is_integer(two)):
        raise AuroraError(
            f"{where}: left order {left[0].on} is {type_name(one)}, right order {right[0].on} is "
            f"{type_name(two)}: they cannot be compared; cast one with a map"
        )
    if size < 0:
        raise AuroraError(f"{where}: size must be 0 or more, found {size}")
    if int(size) != size and not pa.types.is_floating(one):
        raise AuroraError(f"{where}: {left[0].on} counts in whole numbers, found size {size}")


def shift(values: Values, by: Any) -> Values:
    """values + by, held at the ends of the bigints."""
    moved: Values = values + values.dtype.type(by)
    if values.dtype.kind == "i":
        if by >= 0:
            moved = np.where(moved < values, np.iinfo(np.int64).max, moved)
        else:
            moved = np.where(moved > values, np.iinfo(np.int64).min, moved)
    return moved


def beyond(bound: Values, value: Values, size: Any) -> Mask:
    """Whether the bound lies more than `size` above the value."""
    limit = shift(value, size)
    unreachable = (limit == np.iinfo(np.int64).max) if value.dtype.kind == "i" else np.zeros(len(value), bool)
    return np.asarray((bound > limit) & ~unreachable)
