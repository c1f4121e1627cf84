"""Values as text, the way Java writes them."""

import math

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.expressions.coercion import FRACTIONS
from aurora.algebra.expressions.kernels.columns import Kernel, Value
from aurora.algebra.expressions.kernels.far_years import with_years
from aurora.algebra.tuples.types import DATE, STRING, TIMESTAMP

__all__ = ["writer"]


def writer(source: pa.DataType) -> Kernel:
    if source in FRACTIONS:
        return fractions
    if source == TIMESTAMP:
        return timestamps
    if source == DATE:
        return dates
    return lambda value: pc.cast(value, STRING)


def fractions(value: Value) -> pa.Array:
    """The shortest text that gives the number back. Java below 19 sometimes writes one digit more."""
    words = value.dictionary_encode()
    texts = [java_text(number) for number in words.dictionary.to_numpy(zero_copy_only=False)]
    return pa.array(texts, STRING).take(words.indices)


def java_text(number: np.floating) -> str:
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        return np.format_float_positional(number, unique=True, trim="0")
    mantissa, exponent = np.format_float_scientific(number, unique=True, trim="0").split("e")
    if len(mantissa.lstrip("-")) == 3 and mantissa.endswith(".0"):
        # Java writes two digits at least, and then the two that come nearest.
        mantissa, exponent = f"{float(number):.1e}".split("e")
    return f"{mantissa}E{int(exponent)}"


def dates(value: Value) -> pa.Array:
    return with_years(value, lambda near: pc.cast(near, STRING))


def timestamps(value: Value) -> pa.Array:
    """Seconds with as many digits behind the point as are needed."""
    text = with_years(value, lambda near: pc.cast(near.view(pa.timestamp("us")), STRING))
    text = pc.replace_substring_regex(text, pattern=r"(\.\d*?)0+$", replacement=r"\1")
    return pc.utf8_rtrim(text, characters=".")
