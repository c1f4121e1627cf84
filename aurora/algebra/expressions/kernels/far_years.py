"""Years that Arrow does not know: its calendar goes from -32767 to 32767, and a timestamp ten times as far."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.expressions.kernels.columns import column, nulls, plain
from aurora.algebra.tuples.types import DATE, STRING

__all__ = ["bring_near", "padded", "with_years", "year_text"]

DAY = 86_400_000_000
# The calendar, days of the week included, comes again after 400 years.
YEARS, DAYS = 400, 146_097
# From the year 1 to 9999, in days.
FIRST, LAST = -719_162, 2_932_896


def bring_near(value: pa.Array) -> tuple[pa.Array, npt.NDArray[np.int64] | None]:
    """Return dates or timestamps with a year of four digits, and how many years were taken off; None where none were.

    >>> bring_near(pa.array([11_016], pa.int32()).cast(pa.date32()))[1] is None
    True
    """
    day = 1 if value.type == DATE else DAY
    numbers, missing = plain(value).astype(np.int64), nulls(value)
    far = (numbers < FIRST * day) | (numbers >= (LAST + 1) * day)
    if missing is not None:
        far &= ~missing
    if not far.any():
        return value, None
    cycles = np.where(far, numbers // (DAYS * day), 0)
    return column(numbers - cycles * (DAYS * day), missing, value.type), cycles * YEARS


def with_years(value: pa.Array, write: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Return the text of dates or timestamps, also of years that have more than four digits."""
    near, taken = bring_near(value)
    text = write(near)
    if taken is None:
        return text
    years = pc.add(pc.cast(pc.utf8_slice_codeunits(text, 0, 4), pa.int64()), pa.array(taken))
    return pc.binary_join_element_wise(year_text(years, 4), pc.utf8_slice_codeunits(text, 4), "")


def year_text(years: pa.Array, count: int) -> pa.Array:
    """Return years as Java writes them with so many digits."""
    if count == 2:
        return padded(pa.array(np.abs(np.asarray(pc.fill_null(years, 0))) % 100), 2)
    after: Any = pc.if_else(pc.greater(years, 9999), "+" if count == 4 else "", "")
    before = pc.if_else(pc.less(years, 0), "-", after)
    return pc.binary_join_element_wise(before, padded(pc.abs(years), count), "")


def padded(numbers: pa.Array, count: int) -> pa.Array:
    return pc.utf8_lpad(pc.cast(numbers, STRING), count, padding="0")
