"""Descriptions of what boxes were given: alike where it is alike, in every process, and different where it is not."""

import functools
import math
import re
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aurora.engine.plan.fingerprint import describe


@dataclass(frozen=True)
class Kernel:
    size: int
    names: frozenset[str] = frozenset()
    cache: dict[str, Any] = field(default_factory=dict, compare=False)


class Plain:
    def __init__(self, size: Any) -> None:
        self.size = size

    def call(self) -> None: ...


def scaled(by: float) -> Any:
    return lambda value: value * by


ROWS = pa.record_batch({"a": [1, None], "s": ["x", None]})
DIFFERENT = [
    [1, 1.0, "1", b"1", True, None],
    [Kernel(1), Kernel(2), Kernel(1, frozenset("ab"))],
    [Plain(1), Plain(2), Plain([1]), Plain(1).call, Plain(2).call],
    [scaled(1), scaled(2), lambda value: value + 1, lambda value: value - 1],
    [math.sqrt, len, describe, [].append, [1].append, functools.partial(round, ndigits=1), functools.partial(round)],
    [{"a": 1}, {"a": 2}, [1], [[1]], {1}, {2}],
    [Decimal("1.0"), Decimal("1.00"), Path("a"), Path("b"), re.compile("a"), re.compile("b")],
    [np.arange(3), np.arange(4), np.arange(3.0), np.array(["a", None]), np.array(["b", None])],
    [ROWS, ROWS.slice(1), ROWS.select(["a"]), pa.array([1]), pa.array([2]), pa.array([[1]]), pa.array([[2]])],
    [pa.array([{"x": 1}, None]), pa.array([{"x": None}, None]), pa.array([{"x": 1}, {"x": None}])],
]  # fmt: skip


@pytest.mark.parametrize("values", DIFFERENT)
def test_different_things_are_described_differently(values: list[Any]) -> None:
    assert len({describe(value) for value in values}) == len(values)


def test_what_is_alike_is_described_alike() -> None:
    assert describe(Kernel(1, cache={"a": 1})) == describe(Kernel(1))
    assert describe(scaled(2)) == describe(scaled(2))
    assert describe(Plain(Plain(1))) == describe(Plain(Plain(1)))
    cut = pa.concat_batches([ROWS, ROWS]).slice(2)
    assert describe(cut) == describe(ROWS) == describe(pa.Table.from_batches([ROWS]).to_batches()[0])
    # What lies under a null is not looked at.
    hidden = pa.Array.from_buffers(
        pa.int64(), 2, [pa.py_buffer(b"\x01"), pa.py_buffer(np.array([1, 7]).tobytes())]
    )
    assert describe(hidden) == describe(pa.array([1, None]))


def test_what_cannot_be_taken_apart_counts_by_its_class() -> None:
    assert describe(threading.Lock()) == "_thread:lock"
    own = Plain(None)
    own.size = [own]
    assert describe(own).endswith("({'size': (itself)})")


def test_the_description_is_the_same_in_another_process() -> None:
    text = (
        "from tests.engine.test_fingerprint import *; from tests.engine.networks import all_boxes; "
        "from aurora.engine.plan.plan import plan_network; "
        "print(describe([Kernel(1, frozenset('abcdefgh')), scaled(3), ROWS]), plan_network(all_boxes()).fingerprint())"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", text], env={"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": seed},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(found) == 1 and "abcdefgh"[0] in found.pop()
