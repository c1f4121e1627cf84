"""Generated arrivals: disorder, ties, nulls, extremes, few and many groups."""

import math
from typing import Any

from hypothesis import strategies as st

__all__ = ["arrivals", "float_groups", "groups", "nearly_rising", "numbers", "reals"]

EDGES_32 = [-(2**31), -(2**31) + 1, 2**31 - 2, 2**31 - 1]
EDGES_64 = [-(2**63), -(2**63) + 1, -(2**63) + 7, 2**63 - 8, 2**63 - 2, 2**63 - 1]

groups = st.one_of(st.integers(0, 3), st.none())
# Some are equal and do not look so, and one is not equal to itself.
float_groups = st.one_of(st.sampled_from([0.0, -0.0, 1.0, 2.0, 3.0, math.nan, -math.nan]), st.none())
names = st.one_of(st.sampled_from(["", "a", "b", "é"]), st.none())


def numbers(bits: int = 64) -> st.SearchStrategy[int]:
    return st.one_of(st.integers(-20, 20), st.sampled_from(EDGES_32 if bits == 32 else EDGES_32 + EDGES_64))


def reals() -> st.SearchStrategy[float]:
    """Sums of these are exact."""
    return st.one_of(st.integers(-80, 80).map(lambda n: n / 8), st.just(-0.0))


@st.composite
def nearly_rising(draw: Any, steps: st.SearchStrategy[Any], least: int = 0, most: int = 24) -> list[Any]:
    """Values that rise by and large: each is a little off a rising line."""
    count = draw(st.integers(least, most))
    pace = draw(st.sampled_from([0, 1, 1, 3]))
    drawn = [draw(steps) for _ in range(count)]
    return [None if step is None else i * pace + step for i, step in enumerate(drawn)]


@st.composite
def arrivals(
    draw: Any, order_values: Any, inputs: int = 1, **fields: Any
) -> list[tuple[int, dict[str, Any]]]:
    """Tuples with the order field T, from a strategy for the whole list of values, and other fields."""
    values = draw(order_values)
    return [
        (
            draw(st.integers(0, inputs - 1)),
            {"T": value, **{name: draw(strategy) for name, strategy in fields.items()}},
        )
        for value in values
    ]
