"""Strings: characters are code points, comparison is by bytes, as in Spark."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.expressions.kernels.columns import Kernel, Maker, Value, always
from aurora.algebra.expressions.kernels.line_ends import LINE_END, PLAIN, Encoding, find_encodings
from aurora.algebra.expressions.patterns import ALL, Pattern, parse_pattern
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
    return by_pattern(
        parse_pattern(constant(node, 1)), lambda value, pattern, _: pc.match_substring_regex(value, pattern)
    )


def regexp_extract(node: Call) -> Kernel:
    """The group of the first match, the empty string without one."""

    def extract(value: Value, pattern: str, _: Encoding) -> pa.Array:
        found = pc.fill_null(pc.struct_field(pc.extract_regex(value, pattern=pattern), "found"), "")
        return pc.if_else(pc.is_null(value), pa.scalar(None, STRING), found) if value.null_count else found

    return by_pattern(parse_pattern(constant(node, 1)), extract, constant(node, 2))


def regexp_replace(node: Call) -> Kernel:
    pattern = parse_pattern(constant(node, 1))
    parts = pattern.replacement(constant(node, 2))

    def replaced(value: Value, pattern: str, encoding: Encoding) -> pa.Array:
        by = "".join(
            f"\\{part}" if isinstance(part, int) else encoding.encode_plain(part).replace("\\", r"\\")
            for part in parts
        )
        return pc.replace_substring_regex(value, pattern=pattern, replacement=by)

    return by_pattern(pattern, replaced, ALL)


def by_pattern(
    pattern: Pattern, run: Callable[[Value, str, Encoding], pa.Array], wanted: int | None = None
) -> Kernel:
    """Run RE2 on texts; those that end with a line's end are encoded for it, if the pattern has `$`."""
    plain = pattern.re2(wanted)

    def kernel(value: Value, *_: Value) -> pa.Array:
        ended = pc.fill_null(pc.match_substring_regex(value, LINE_END), False) if pattern.has_end else None
        if ended is None or not ended.true_count:
            return run(value, plain, PLAIN)
        results = [run(value, plain, PLAIN)]
        place = np.arange(len(value))
        for encoding, rows in find_encodings(value, ended):
            texts = encoding.encode(value.take(pa.array(rows)))
            result = run(texts, pattern.re2_before(encoding.end, encoding.stand_in, wanted), encoding)
            place[rows] = sum(map(len, results)) + np.arange(len(rows))
            results.append(encoding.decode(result))
        return pa.concat_arrays(results).take(pa.array(place))

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
