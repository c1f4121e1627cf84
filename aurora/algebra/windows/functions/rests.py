"""Sums of doubles with what rounding leaves out: the same to the last digit, in whatever pieces values are added."""

import numpy as np

from aurora.algebra.tuples.train import Ints, Values
from aurora.algebra.windows.functions.function import add_runs

__all__ = ["add_with_rest"]

# Digits of a double, and the largest power of two that leaves room above it.
DIGITS, LARGEST = 53, 1000


def add_with_rest(values: Values, starts: Ints) -> tuple[Values, Values]:
    """The sum of each run, rounded, and what it lacks of the exact one, with as many digits again.

    Of each value those digits are split off that all values of its run can be added in without rounding, then the next
    ones, and of the rest a plain sum is exact enough (after S. M. Rump, T. Ogita and S. Oishi, *Accurate floating-point
    summation*, 2008). Runs that are not finite, or nearly, are summed up plainly.

    >>> high, low = add_with_rest(np.array([1e16, 1.0, -1e16, 0.1, 0.2, 0.3]), np.array([0, 3]))
    >>> high.tolist(), bool(abs(low[1]) > 0)
    ([1.0, 0.6], True)
    """
    if len(starts) == len(values):
        return values + 0.0, np.zeros(len(values))
    lengths = np.diff(np.append(starts, len(values)))
    largest = np.maximum.reduceat(np.abs(values), starts)
    with np.errstate(all="ignore"):
        spare = np.ceil(np.log2(lengths + 2.0)).astype(np.int64)
        power = np.frexp(largest)[1] + spare
        usable = np.isfinite(largest) & (power < LARGEST)
        if not usable.all():
            power = np.where(usable, power, 0)
        first, left = _split_off(values, power, lengths)
        second, left = _split_off(left, power - DIGITS + spare, lengths)
        one, two, three = (add_runs(part, starts) for part in (first, second, left))
        # The sum of the first two, and the rounding error of that, which is a double.
        high = one + two
        back = high - one
        low = (one - (high - back)) + (two - back) + three
        total = high + low
        rest = low - (total - high)
        if not usable.all():
            total = np.where(usable, total, add_runs(values, starts))
            rest = np.where(usable, rest, 0.0)
    return total, rest


def _split_off(values: Values, power: Ints, lengths: Ints) -> tuple[Values, Values]:
    """The digits of each value that are worth at least 2 ** (power - DIGITS), and the rest: both are exact."""
    large = np.repeat(np.ldexp(1.0, power), lengths)
    upper = (large + values) - large
    return upper, values - upper
