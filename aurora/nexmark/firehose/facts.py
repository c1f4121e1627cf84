"""The numbers of events, a column each: what all formats are written from, and what decides the texts."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aurora.nexmark.firehose.chance import below, drawn, seed_key
from aurora.nexmark.firehose.kernel import constants, kernel
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
    "KINDS",
    "MILLISECOND",
    "OTHER",
    "PERSON",
    "PRICE",
    "RESERVE",
    "START",
    "STREAM",
    "TIME",
    "Facts",
    "Recipe",
    "place",
    "recipe",
    "time_at",
]

KINDS = ("person", "auction", "bid", "closed_auction")
PERSON, AUCTION, BID, CLOSED = range(4)

# ID is of the person or of the auction; OTHER the seller, the bidder or the buyer, -1 for none.
COLUMNS = 9
KIND, KEY, TIME, ID, OTHER, PRICE, RESERVE, EXPIRES, CATEGORY = range(COLUMNS)
# Of bids.
STREAM, CHANNEL = RESERVE, CATEGORY

# 2015-07-15 00:00:00, where the suites in use start, in microseconds.
START = 1_436_918_400_000_000
MILLISECOND = 1000
(ALL,) = constants(1 << 32)
_LATE, _LATENESS = constants(90, 91)

# Whole numbers, a row for each of the columns above and a column for each event.
Facts = NDArray[np.int64]


class Recipe(NamedTuple):
    """The settings as the kernels take them; `late` is a share of 2^32, `late_by` in milliseconds."""

    seed: np.uint64
    cycle: Cycle
    late: int
    late_by: int
    categories: int
    bid_streams: int


def recipe(settings: Settings) -> Recipe:
    return Recipe(
        seed_key(settings.seed),
        settings.pace.cycle,
        round(settings.late * int(ALL)),
        round(settings.late_by * 1000),
        settings.categories,
        settings.bid_streams,
    )


@kernel
def time_at(recipe: Any, number: Any) -> Any:
    """Microseconds since 1970 at that place of the stream, in whole milliseconds."""
    return START + moment(recipe.cycle, number) // MILLISECOND * MILLISECOND


@kernel
def place(recipe: Any, number: Any, key: Any, share: Any) -> Any:
    """The place at which an event happened: its own, or an earlier one if it is of the share that comes late."""
    if share == 0 or below(drawn(key, _LATE), ALL) >= share:
        return number
    back = (1 + below(drawn(key, _LATENESS), recipe.late_by)) * MILLISECOND
    return number_at(recipe.cycle, moment(recipe.cycle, number) - back)
