"""Strings: characters are code points, comparison is by bytes, as in Spark."""

import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.expressions.kernels.columns import Kernel, Maker, Value, always
from aurora.algebra.expressions.tree import Call, Constant
from aurora.algebra.tuples.types import BOOLEAN, STRING

__all__ = ["KERNELS"]


def constant(node: Call, place: int) -> Any:
    argument = node.args[place]
    assert isinstance(argument, Constant)
    return argument.value


def change_case(ascii_only: Callable[[Value], pa.Array], general: Callable[[str], str]) -> Maker:
    """Arrow maps letter to letter; Spark also knows letters that become two, such as ß."""

    def kernel(value: Value) -> pa.Array:
        if pc.all(pc.string_is_ascii(value), min_count=0).as_py():
            return ascii_only(value)
        words = value.dictionary_encode()
        changed = pa.array([general(word) for word in words.dictionary.to_pylist()], STRING)
        return changed.take(words.indices)

    return always(kernel)


def trim(function: Callable[..., pa.Array]) -> Maker:
    return always(lambda value: function(value, characters=" "))


def trim_characters(node: Call) -> Kernel:
    characters = constant(node, 1)
    return lambda value, _: pc.utf8_trim(value, characters=characters) if characters else value


def substring(node: Call) -> Kernel:
    start = constant(node, 1)
    length = constant(node, 2) if len(node.args) == 3 else None
    if length is not None and length <= 0:
        return lambda value, *_: pc.if_else(pc.is_null(value), pa.scalar(None, STRING), pa.scalar(""))
    begin = start - 1 if start > 0 else start
    end = None if length is None else begin + length
    if end is not None and begin < 0 <= end:
        end = None
    return lambda value, *_: pc.utf8_slice_codeunits(value, begin, end)


def concat(*values: Value) -> pa.Array:
    if len(values) == 1:
        return values[0]
    return pc.binary_join_element_wise(*values, "")


def replace(node: Call) -> Kernel:
    search, replacement = constant(node, 1), constant(node, 2)
    if not search:
        return lambda value, *_: value
    return lambda value, *_: pc.replace_substring(value, pattern=search, replacement=replacement)


def search(fast: Callable[..., pa.Array], general: Callable[[str, str], bool]) -> Maker:
    """With a fixed second string Arrow does it; with one for each row, Python."""

    def kernel(one: Value, other: Value) -> pa.Array:
        if isinstance(other, pa.Scalar):
            return fast(one, other.as_py()) if other.is_valid else pa.nulls(len(one), BOOLEAN)
        rows = [one.as_py()] * len(other) if isinstance(one, pa.Scalar) else one.to_pylist()
        pairs = zip(rows, other.to_pylist(), strict=True)
        return pa.array([None if a is None or b is None else general(a, b) for a, b in pairs], BOOLEAN)

    return always(kernel)


def like(node: Call) -> Kernel:
    parts: list[str] = []
    characters = iter(constant(node, 1))
    for character in characters:
        if character == "\\":
            parts.append(re.escape(next(characters)))
        else:
            parts.append({"%": ".*", "_": "."}.get(character) or re.escape(character))
    pattern = rf"(?s)\A(?:{''.join(parts)})\z"
    return lambda value, _: pc.match_substring_regex(value, pattern)


def rlike(node: Call) -> Kernel:
    pattern = constant(node, 1)
    return lambda value, _: pc.match_substring_regex(value, pattern)


def regexp_extract(node: Call) -> Kernel:
    """The group of the first match, the empty string without one."""
    pattern, group = constant(node, 1), constant(node, 2)
    # Python's own engine: Arrow's gives back named groups only.
    find = re.compile(pattern, re.ASCII).search

    def kernel(value: Value, *_: Value) -> pa.Array:
        words = value.dictionary_encode()
        matches = [find(word) for word in words.dictionary.to_pylist()]
        found = pa.array([(match.group(group) or "") if match else "" for match in matches], STRING)
        return found.take(words.indices)

    return kernel


KERNELS: dict[str, Maker] = {
    "length": always(pc.utf8_length),
    "upper": change_case(pc.ascii_upper, str.upper),
    "lower": change_case(pc.ascii_lower, str.lower),
    "trim": trim(pc.utf8_trim),
    "ltrim": trim(pc.utf8_ltrim),
    "rtrim": trim(pc.utf8_rtrim),
    "btrim": trim_characters,
    "substring": substring,
    "concat": always(concat),
    "replace": replace,
    "startswith": search(pc.starts_with, str.startswith),
    "endswith": search(pc.ends_with, str.endswith),
    "contains": search(pc.match_substring, lambda one, other: other in one),
    "like": like,
    "rlike": rlike,
    "regexp_extract": regexp_extract,
}
