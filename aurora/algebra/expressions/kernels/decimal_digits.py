"""The digits of decimals without the point: bigints where they fit, else whole numbers of any length.

Arrow is not asked to divide or to round decimals: some it gets wrong, 9223372036854775807.00 among them.
"""

from decimal import Context
from typing import Any

import numpy as np
import pyarrow as pa

from aurora.algebra.expressions.kernels.columns import Value

__all__ = ["NARROW", "Digits", "digits_of", "from_digits", "half_up"]

# As long as anything gets on the way.
EXACT = Context(prec=200)
LOW = (1 << 64) - 1
# So many digits fit a bigint, whatever they are.
NARROW = 18

Digits = Any


def digits_of(value: Value, behind: int = 0, narrow: bool = False) -> Digits:
    """The digits, and so many zeros behind them; as bigints if they are known to fit."""
    if isinstance(value, pa.Scalar):
        number = int(EXACT.scaleb(value.as_py(), value.type.scale + behind)) if value.is_valid else 0
        return np.asarray(number, np.int64 if narrow else object)
    data = value.buffers()[1]
    words = np.zeros((len(value), 2), np.int64)
    if data is not None and len(value):
        words = np.frombuffer(data, np.int64, 2 * len(value), value.offset * 16).reshape(-1, 2)
    if narrow:
        return words[:, 0] * 10**behind
    if value.type.precision <= NARROW:
        whole = words[:, 0].astype(object)
    else:
        whole = words[:, 1].astype(object) * (1 << 64) + words[:, 0].view(np.uint64).astype(object)
    return whole * 10**behind if behind else whole


def from_digits(digits: Digits, missing: Any, target: pa.DataType) -> pa.Array:
    """Null where there are too many digits."""
    outside = abs(digits) >= 10**target.precision
    missing = outside if missing is None else outside | missing
    digits = np.where(missing, 0, digits)
    words = np.empty((len(digits), 2), np.int64)
    wide = digits.dtype == object
    words[:, 0] = (digits & LOW).astype(np.uint64).view(np.int64) if wide else digits
    words[:, 1] = digits >> (64 if wide else 63)
    valid = pa.array(~missing.astype(bool)).buffers()[1]
    return pa.Array.from_buffers(target, len(digits), [valid, pa.py_buffer(words)])


def half_up(digits: Digits, fewer: int) -> Digits:
    """So many digits fewer, rounded away from zero from a half on; or zeros more."""
    if fewer <= 0:
        return digits * 10**-fewer
    size = (abs(digits) + 5 * 10 ** (fewer - 1)) // 10**fewer
    return np.where(digits < 0, -size, size)
