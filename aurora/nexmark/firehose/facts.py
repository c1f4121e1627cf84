"""The numbers of events, a row each: what all formats are written from, and what decides the texts."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aurora.nexmark.firehose.chance import below, drawn, seed_key
from aurora.nexmark.firehose.kernel import kernel
from aurora.nexmark.firehose.pace import Cycle, moment, number_at
from aurora.nexmark.firehose.settings import Settings

__all__ = [
    "AUCTION",
    "BID",
    "CATEGORY",
    "CHANNEL",
    "CLOSED",
    "COLUMNS",
    "EXPIRES",
    "ID",
    "KEY",
    "KIND",
    "MARGIN",
    "OTHER",
    "PERSON",
    "PRICE",
    "RESERVE",
    "START",
    "TIME",
    "Facts",
    "Recipe",
    "milliseconds",
    "place",
    "recipe",
]

# Kinds of events.
PERSON, AUCTION, BID, CLOSED = range(4)
# Columns. ID is of the person or the auction; OTHER the seller, bidder or buyer (-1 for none).
COLUMNS = 9
KIND, KEY, TIME, ID, OTHER, PRICE, RESERVE, EXPIRES, CATEGORY = range(COLUMNS)
CHANNEL = CATEGORY

# 2015-07-15 00:00:00, where the suites in use start, in milliseconds.
START = 1_436_918_400_000
MARGIN = 1 << 32
_LATE, _LATENESS = 90, 91

Facts = NDArray[np.int64]


class Recipe(NamedTuple):
    """The settings as the kernels take them; `late` is a share of 2^32, `late_by` in milliseconds."""

    seed: np.uint64
    cycle: Cycle
    late: int
    late_by: int
    categories: int


def recipe(settings: Settings, late: float | None = None) -> Recipe:
    share = settings.late if late is None else late
    return Recipe(
        seed_key(settings.seed),
        settings.pace.cycle,
        round(share * MARGIN),
        round(settings.late_by * 1000),
        settings.categories,
    )


@kernel
def milliseconds(recipe: Any, number: Any) -> Any:
    """The time at that place of the stream."""
    return START + moment(recipe.cycle, number) // 1000


@kernel
def place(recipe: Any, number: Any, key: Any) -> Any:
    """The place at which an event happened: its own, or an earlier one if it comes late."""
    if recipe.late == 0 or below(drawn(key, _LATE), MARGIN) >= recipe.late:
        return number
    back = (1 + below(drawn(key, _LATENESS), recipe.late_by)) * 1000
    return number_at(recipe.cycle, moment(recipe.cycle, number) - back)
