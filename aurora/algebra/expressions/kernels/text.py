"""Strings: characters are code points, comparison is by bytes, as in Spark."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.expressions.kernels.columns import Kernel, Maker, Value, always
from aurora.algebra.expressions.patterns import ALL, LINE_END, Pattern, parse_pattern
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


def trim_characters(function: Callable[..., pa.Array]) -> Maker:
    def make(node: Call) -> Kernel:
        characters = constant(node, 1)
        return lambda value, _: function(value, characters=characters) if characters else value

    return make


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
    pattern = parse_pattern(constant(node, 1))
    fast, find = pattern.re2(), pattern.python().search
    return with_line_ends(
        pattern,
        lambda value: pc.match_substring_regex(value, fast),
        lambda words: pa.array([None if word is None else find(word) is not None for word in words], BOOLEAN),
    )


def regexp_extract(node: Call) -> Kernel:
    """The group of the first match, the empty string without one."""
    pattern, group = parse_pattern(constant(node, 1)), constant(node, 2)
    fast, find = pattern.re2(group), pattern.python(group).search

    def extract(value: Value) -> pa.Array:
        found = pc.fill_null(pc.struct_field(pc.extract_regex(value, pattern=fast), "found"), "")
        return pc.if_else(pc.is_null(value), pa.scalar(None, STRING), found) if value.null_count else found

    def slowly(words: list[str | None]) -> pa.Array:
        matches = [None if word is None else find(word) for word in words]
        found = [(match["found"] or "") if match else "" for match in matches]
        return pa.array([None if w is None else f for w, f in zip(words, found, strict=True)], STRING)

    return with_line_ends(pattern, extract, slowly)


def regexp_replace(node: Call) -> Kernel:
    pattern = parse_pattern(constant(node, 1))
    parts = pattern.replacement(constant(node, 2))
    fast, slow = pattern.re2(ALL), pattern.python(ALL)
    by = "".join(f"\\{part}" if isinstance(part, int) else part.replace("\\", r"\\") for part in parts)

    def replaced(match: re.Match[str]) -> str:
        return "".join((match[part] or "") if isinstance(part, int) else part for part in parts)

    return with_line_ends(
        pattern,
        lambda value: pc.replace_substring_regex(value, pattern=fast, replacement=by),
        lambda words: pa.array(
            [None if word is None else slow.sub(replaced, word) for word in words], STRING
        ),
    )


def with_line_ends(
    pattern: Pattern, fast: Callable[[Value], pa.Array], slow: Callable[[list[str | None]], pa.Array]
) -> Kernel:
    """Arrow's engine, but Python's for the texts that have a line's end at their end, if `$` looks at it."""
    if not pattern.has_end:
        return lambda value, *_: fast(value)

    def kernel(value: Value, *_: Value) -> pa.Array:
        ended = pc.fill_null(pc.match_substring_regex(value, LINE_END), False)
        result = fast(value)
        if not ended.true_count:
            return result
        others = slow(value.filter(ended).to_pylist())
        place = np.arange(len(result))
        place[ended.to_numpy(zero_copy_only=False)] = len(result) + np.arange(len(others))
        return pa.concat_arrays([result, others]).take(pa.array(place))

    return kernel


KERNELS: dict[str, Maker] = {
    "length": always(pc.utf8_length),
    "upper": change_case(pc.ascii_upper, str.upper),
    "lower": change_case(pc.ascii_lower, str.lower),
    "trim": trim(pc.utf8_trim),
    "ltrim": trim(pc.utf8_ltrim),
    "rtrim": trim(pc.utf8_rtrim),
    "btrim": trim_characters(pc.utf8_trim),
    "trim leading": trim_characters(pc.utf8_ltrim),
    "trim trailing": trim_characters(pc.utf8_rtrim),
    "substring": substring,
    "concat": always(concat),
    "replace": replace,
    "startswith": search(pc.starts_with, str.startswith),
    "endswith": search(pc.ends_with, str.endswith),
    "contains": search(pc.match_substring, lambda one, other: other in one),
    "like": like,
    "rlike": rlike,
    "regexp_extract": regexp_extract,
    "regexp_replace": regexp_replace,
}
