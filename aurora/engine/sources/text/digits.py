"""Decimals with more digits than they may have: Arrow reads them all the same."""

import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.tuples.decimals import fits_digits
from aurora.algebra.tuples.maps import entries_of
from aurora.algebra.tuples.types import is_array, is_decimal, is_map, is_struct
from aurora.engine.sources.text.reasons import Unreadable, too_many_digits

__all__ = ["check_digits", "has_decimals"]


def has_decimals(arrow: pa.DataType) -> bool:
    """Whether it is a decimal, or holds some."""
    if is_struct(arrow):
        return any(has_decimals(field.type) for field in arrow)
    if is_map(arrow):
        return has_decimals(arrow.item_type)
    return has_decimals(arrow.value_type) if is_array(arrow) else is_decimal(arrow)


def check_digits(column: pa.Array, path: str) -> None:
    """Raises a fault where a decimal has more digits than it may."""
    kind = column.type
    if is_struct(kind):
        for place, field in enumerate(kind):
            check_digits(pc.struct_field(column, [place]), f"{path}.{field.name}")
    elif is_array(kind):
        check_digits(column.flatten(), f"{path}.[]")
    elif is_map(kind):
        check_digits(entries_of(column).items, f"{path}.[]")
    elif (
        is_decimal(kind) and not pc.all(fits_digits(column, kind.precision - kind.scale), min_count=0).as_py()
    ):
        raise Unreadable(too_many_digits(path, kind))
