"""Which seconds of the delivered ones have been read, and which are still needed."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from aurora.linear_road.addresses import delivered_second, unread_second

# Two expressways; nothing happens in second 12.
FOUND: Any = SimpleNamespace(
    files=[SimpleNamespace(seconds=np.array([10, 11, 14])), SimpleNamespace(seconds=np.array([11, 13]))]
)


@pytest.mark.parametrize(
    ("file", "byte", "read", "needed"),
    [
        (0, 0, -1, 10),
        # Many rows of one second take several batches: its file is needed until the last of them.
        (0, 500, 10, 10),
        (1, 0, 10, 11),
        (2, 900, 13, 13),
        (4, 0, 14, 15),
    ],
)
def test_a_file_is_needed_until_the_next_one_is_reached(file: int, byte: int, read: int, needed: int) -> None:
    place = {"file": file, "byte": byte}
    assert (delivered_second(FOUND)(place), unread_second(FOUND)(place)) == (read, needed)
