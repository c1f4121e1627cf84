"""Timestamps as text, many at a time."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.expressions.kernels.far_years import with_years
from aurora.algebra.tuples.types import TIMESTAMP

__all__ = ["time_text"]

DAY = 86_400_000_000
# Years of four digits: 0001-01-01 to 9999-12-31, in days since 1970.
FIRST, LAST = -719_162, 2_932_896
WIDTH = len("2004-08-31 12:30:00.000000")
FORM = np.frombuffer(b"0000-00-00 00:00:00.000000", np.uint8)
# Where the digits stand, and what each counts: seconds of the day, and parts of a second.
CLOCK = ((11, 36_000), (12, 3_600), (14, 600), (15, 60), (17, 10), (18, 1))
PARTS = ((20, 100_000), (21, 10_000), (22, 1_000), (23, 100), (24, 10), (25, 1))


def time_text(column: pa.Array, digits: int | None = None) -> pa.Array:
    """As 2004-08-31 12:30:00.25, with so many digits behind the point.

    Without a number of digits there are no zeros at the end, and no point where nothing follows it.
    """
    values = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    days, inside = np.divmod(values, DAY)
    if len(values) == 0:
        return pa.array([], pa.string())
    if days.min() < FIRST or days.max() > LAST:
        return with_years(column.cast(pa.int64()).view(TIMESTAMP), lambda near: time_text(near, digits))
    text = np.tile(FORM, (len(values), 1))
    known, which = np.unique(days, return_inverse=True)
    dates = np.datetime_as_string(known.astype("datetime64[D]")).astype("S10")
    text[:, :10] = dates.view(np.uint8).reshape(-1, 10)[which]
    clock, parts = (part.astype(np.int32) for part in np.divmod(inside, 1_000_000))
    for place, unit in CLOCK:
        digit, clock = np.divmod(clock, np.int32(unit))
        text[:, place] += digit.astype(np.uint8)
    lengths = np.full(len(values), len("2004-08-31 12:30:00"), np.int64)
    for place, unit in PARTS:
        if not parts.any():
            break
        digit, parts = np.divmod(parts, np.int32(unit))
        text[:, place] += digit.astype(np.uint8)
        lengths[digit > 0] = place + 1
    if digits is not None:
        lengths[:] = WIDTH - 6 + digits if digits else WIDTH - 7
    return _strings(text, lengths, column)


def _strings(text: npt.NDArray[np.uint8], lengths: npt.NDArray[np.int64], column: pa.Array) -> pa.Array:
    """The first `lengths` characters of each line of text; null where the column is."""
    flat = text[np.arange(WIDTH) < lengths[:, None]]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    result = pa.Array.from_buffers(pa.string(), len(text), [None, pa.py_buffer(offsets), pa.py_buffer(flat)])
    if not column.null_count:
        return result
    return pc.if_else(pc.is_valid(column), result, pa.scalar(None, pa.string()))
