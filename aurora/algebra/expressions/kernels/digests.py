"""What is made of each text for itself: digests, and values inside of JSON."""

import hashlib
import zlib
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from aurora.algebra.expressions.kernels.columns import Kernel, Maker, Value, always
from aurora.algebra.expressions.kernels.json_paths import found_in, read_path
from aurora.algebra.expressions.kernels.text import constant
from aurora.algebra.expressions.tree import Call
from aurora.algebra.tuples.types import BIGINT, STRING

__all__ = ["KERNELS"]


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
    path = read_path(constant(node, 1))
    return each(lambda word: found_in(word, path), STRING)


KERNELS: dict[str, Maker] = {
    "md5": always(each(digest("md5"), STRING)),
    "sha1": always(each(digest("sha1"), STRING)),
    "sha2": sha2,
    "crc32": always(each(lambda word: zlib.crc32(word.encode()), BIGINT)),
    "get_json_object": get_json_object,
}
