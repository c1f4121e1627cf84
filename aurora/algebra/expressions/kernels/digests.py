"""What is made of each text for itself: digests, and values inside of JSON."""

import hashlib
import json
import re
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from aurora.algebra.expressions.kernels.columns import Kernel, Maker, Value, always
from aurora.algebra.expressions.kernels.text import constant
from aurora.algebra.expressions.kernels.writing import java_text
from aurora.algebra.expressions.tree import Call
from aurora.algebra.tuples.types import BIGINT, STRING

__all__ = ["KERNELS"]

Step = str | int
STEPS = re.compile(r"\.([^.\[\]*]+)|\[(\d+)\]|\['([^']+)'\]")


def each(function: Callable[[str], Any], kind: pa.DataType) -> Kernel:
    """The function on each different text."""

    def kernel(value: Value, *_: Value) -> pa.Array:
        words = value.dictionary_encode()
        return pa.array([function(word) for word in words.dictionary.to_pylist()], kind).take(words.indices)

    return kernel


def digest(name: str) -> Callable[[str], str]:
    return lambda word: hashlib.new(name, word.encode(), usedforsecurity=False).hexdigest()


def sha2(node: Call) -> Kernel:
    return each(digest(f"sha{constant(node, 1)}"), STRING)


def get_json_object(node: Call) -> Kernel:
    path = [
        int(place) if place else name or quoted for name, place, quoted in STEPS.findall(constant(node, 1))
    ]
    return each(lambda word: found_in(word, path), STRING)


def found_in(text: str, path: list[Step]) -> str | None:
    try:
        value, _ = DECODER.raw_decode(text.lstrip(" \t\r\n"))
    except (ValueError, RecursionError):
        return None
    for step in path:
        if isinstance(step, str) and isinstance(value, Object):
            value = next((own for name, own in value if name == step), None)
        elif isinstance(step, int) and isinstance(value, list) and step < len(value):
            value = value[step]
        else:
            return None
    if value is None and path and isinstance(path[-1], str):
        # Of an array Spark gives the word null.
        return None
    return value if isinstance(value, str) else written(value)


class Number(float):
    """A number with a point, which is written as Java does."""


class Object(tuple[tuple[str, Any], ...]):
    """The fields of an object, those that are there twice included."""

    __slots__ = ()


def refuse(word: str) -> None:
    raise ValueError(word)


DECODER = json.JSONDecoder(object_pairs_hook=Object, parse_float=Number, parse_constant=refuse, strict=True)


def written(value: Any) -> str:
    """JSON without blanks."""
    if isinstance(value, Object):
        inside = (f"{json.dumps(name, ensure_ascii=False)}:{written(own)}" for name, own in value)
        return "{" + ",".join(inside) + "}"
    if isinstance(value, list):
        return "[" + ",".join(written(own) for own in value) + "]"
    if isinstance(value, Number):
        return java_text(np.float64(value))
    return json.dumps(value, ensure_ascii=False)


KERNELS: dict[str, Maker] = {
    "md5": always(each(digest("md5"), STRING)),
    "sha1": always(each(digest("sha1"), STRING)),
    "sha2": sha2,
    "crc32": always(each(lambda word: zlib.crc32(word.encode()), BIGINT)),
    "get_json_object": get_json_object,
}
