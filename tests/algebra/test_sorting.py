"""Orders of numbers against NumPy's own sorts."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.algebra.tuples.sorting import lexical_order, stable_order

NUMBERS = st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1))


@given(st.lists(NUMBERS, min_size=1))
def test_equal_numbers_keep_their_order(numbers: list[int]) -> None:
    given_ = np.array(numbers, np.int64)
    with patch("aurora.algebra.tuples.sorting.FEW", 2):
        assert stable_order(given_).tolist() == np.argsort(given_, kind="stable").tolist()


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.int64, np.uint64])
def test_every_kind_of_whole_number(kind: type) -> None:
    limits = np.iinfo(kind)
    numbers = np.random.default_rng(1).integers(limits.min, limits.max, 5000, kind, endpoint=True)
    assert (stable_order(numbers) == np.argsort(numbers, kind="stable")).all()


def test_numbers_that_differ_in_their_lower_digits_alone() -> None:
    numbers = np.append(np.random.default_rng(1).integers(0, 9000, 5000), [2**63 - 1, -(2**63)])
    assert (stable_order(numbers) == np.argsort(numbers, kind="stable")).all()


def test_doubles() -> None:
    numbers = np.append(np.random.default_rng(1).integers(-9, 9, 5000) / 4, [np.nan, -np.inf, -0.0])
    assert (stable_order(numbers) == np.argsort(numbers, kind="stable")).all()


@given(st.lists(st.tuples(NUMBERS, st.integers(0, 2), st.floats(allow_nan=False)), min_size=1))
def test_rows_by_their_first_column_then_by_the_next(rows: list[tuple[int, int, float]]) -> None:
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    with patch("aurora.algebra.tuples.sorting.FEW", 2):
        assert lexical_order(*columns).tolist() == np.lexsort(columns[::-1]).tolist()
