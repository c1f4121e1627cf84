"""Algorithms on arrays, at the sizes where they take another way."""

import numpy as np
import pytest

from aurora.algebra.tuples.arrays import stable_order


@pytest.mark.parametrize("largest", [0, 3, 2**16 - 1, 2**16, 2**20, 2**32 - 1, 2**32, 2**40])
def test_groups_come_together_in_the_order_that_they_had(largest: int) -> None:
    groups = np.random.default_rng(largest).integers(0, largest, 500, endpoint=True)
    groups[::7] = largest
    groups[::5] = largest // 2
    assert stable_order(groups).tolist() == sorted(range(500), key=lambda place: groups[place])
    assert stable_order(groups[:0]).tolist() == []
