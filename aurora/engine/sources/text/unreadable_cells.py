"""Values that cannot be read become null, where an address asks for that: the cells of a column, read one type."""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["read_or_null"]

# What cannot be a number is not tried at all: text in every line of a column costs no more than a look.
NUMBER = r"^[ \t]*[-+]?\.?[0-9]|^[ \t]*[-+]?([nN][aA][nN]|[iI][nN][fF])"
WHOLE = r"^[ \t]*-?[0-9]{1,18}[ \t]*$"
LONG = r"^[ \t]*-?[0-9]{19,}[ \t]*$"


def read_or_null(texts: pa.ChunkedArray, kind: pa.DataType, read: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Each text as `read` reads it, which raises a fault for some; those are null."""
    encoded = texts.combine_chunks().dictionary_encode()
    return _values(encoded.dictionary, kind, read).take(encoded.indices)


def _values(texts: pa.Array, kind: pa.DataType, read: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Of different texts."""
    if pa.types.is_integer(kind):
        whole = pc.match_substring_regex(texts, WHOLE)
        numbers = pc.utf8_trim(pc.if_else(whole, texts, None), " \t").cast(pa.int64())
        few = _in_range(numbers, kind)
        # The few that may be numbers all the same.
        rest = pc.if_else(pc.match_substring_regex(texts, LONG), texts, None)
        return few if rest.null_count == len(rest) else pc.coalesce(few, _halved(rest, kind, read))
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        texts = pc.if_else(pc.match_substring_regex(texts, NUMBER), texts, None)
    return _halved(texts, kind, read)


def _in_range(numbers: pa.Array, kind: pa.DataType) -> pa.Array:
    bits = 8 * kind.byte_width - 1
    low, high = pa.scalar(-(1 << bits), pa.int64()), pa.scalar((1 << bits) - 1, pa.int64())
    inside = pc.and_(pc.greater_equal(numbers, low), pc.less_equal(numbers, high))
    return pc.if_else(inside, numbers, None).cast(kind)


def _halved(texts: pa.Array, kind: pa.DataType, read: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """All at once; where that fails, halves, until those that cannot be read stand alone."""
    there = texts.drop_null()
    if not len(there):
        return pa.nulls(len(texts), kind)
    found: list[pa.Array] = []
    pending = [(0, len(there))]
    while pending:
        low, high = pending.pop()
        try:
            found.append(read(there.slice(low, high - low)))
        except (ValueError, pa.ArrowException):
            if high - low == 1:
                found.append(pa.nulls(1, kind))
            else:
                middle = (low + high) // 2
                pending += [(middle, high), (low, middle)]
    values = pa.concat_arrays(found)
    places = pc.subtract(pc.cumulative_sum(texts.is_valid().cast(pa.int64())), 1)
    return values.take(pc.if_else(texts.is_valid(), places, None))
