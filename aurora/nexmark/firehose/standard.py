"""The profile of the suites in use: 1 person, 3 auctions and 46 bids in every 50 events.

Unlike theirs, whatever an event refers to is there: nobody bids before registering, or on an auction that has closed.
"""

from typing import Any

import numpy as np

from aurora.nexmark.firehose.chance import below, drawn, key_of, log_uniform
from aurora.nexmark.firehose.facts import (
    AUCTION,
    BID,
    CATEGORY,
    CHANNEL,
    EXPIRES,
    ID,
    KEY,
    KIND,
    MILLISECOND,
    OTHER,
    PERSON,
    PRICE,
    RESERVE,
    TIME,
    Facts,
    place,
    time_at,
)
from aurora.nexmark.firehose.kernel import cached_kernel, constants, kernel
from aurora.nexmark.firehose.words import channel

__all__ = ["CATEGORIES", "FIRST_CATEGORY", "fill_standard"]

FIRST_ID = 1000
FIRST_CATEGORY, CATEGORIES = constants(10, 5)
EPOCH, AUCTIONS = 50, 3
# One in so many auctions and persons is hot, until the next one is.
HOT = 100
# The rest of the bids, and of the choices of sellers and bidders, are 1 in so many.
REST_OF_BIDS, REST_OF_SELLERS, REST_OF_BIDDERS = constants(2, 4, 4)
# Who sells and bids is one of the last thousand to register.
ACTIVE = 1000
# On average as many events as a hundred auctions open in.
LIFE = 100 * EPOCH // AUCTIONS
# The latest auction is always open, and a hot one as long as it is hot.
SHORTEST, SHORTEST_HOT = EPOCH, (HOT + 2) * EPOCH // AUCTIONS + EPOCH
# How many auctions back one may still be open.
WINDOW = 2 * LIFE * AUCTIONS // EPOCH
TRIES = 12
_LENGTH, _SELLER, _CATEGORY, _INITIAL, _RESERVE, _HOT, _BIDDER, _PRICE = constants(*range(8))
_TRY = 20
_FIRST_OF_HUNDRED, _SECOND = constants(0, 1)


@kernel
def _number(auction: Any) -> Any:
    """The event that opens the auction; auctions and persons count from 0 here."""
    return auction // AUCTIONS * EPOCH + 1 + auction % AUCTIONS


@kernel
def _end(seed: Any, auction: Any) -> Any:
    """The place in the stream where the auction closes."""
    number = _number(auction)
    shortest = SHORTEST_HOT if auction % HOT == 0 else SHORTEST
    return number + shortest + below(drawn(key_of(seed, number), _LENGTH), 2 * LIFE - SHORTEST)


@kernel
def _somebody(key: Any, lane: Any, at: Any, rest: Any, hot: Any) -> Any:
    """One who has registered by that place: mostly the hot one, or else anybody active."""
    last = at // EPOCH
    draw = drawn(key, lane)
    if below(draw, rest) > 0:
        chosen = last // HOT * HOT + hot
        return max(chosen if chosen <= last else chosen - HOT, 0)
    return last - below(drawn(draw, 0), min(last + 1, ACTIVE))


@kernel
def _open_auction(seed: Any, key: Any, at: Any) -> Any:
    """The hot auction half of the time, or else any that is open at that place."""
    last = at // EPOCH * AUCTIONS + min(at % EPOCH, AUCTIONS) - 1
    if below(drawn(key, _HOT), REST_OF_BIDS) > 0:
        return last // HOT * HOT
    for attempt in range(TRIES):
        auction = last - below(drawn(key, _TRY + attempt), min(last + 1, WINDOW))
        if at < _end(seed, auction):
            return auction
    return last


@cached_kernel
def fill_standard(recipe: Any, start: int, facts: Facts) -> None:
    """The events from number `start` on."""
    seed = recipe.seed
    for row in range(facts.shape[1]):
        number = start + row
        key = key_of(seed, number)
        at = place(recipe, number, key, recipe.late)
        epoch, offset = number // EPOCH, number % EPOCH
        facts[KEY, row] = np.int64(key)
        if offset == 0:
            facts[KIND, row] = PERSON
            facts[ID, row] = FIRST_ID + epoch
        elif offset <= AUCTIONS:
            auction = epoch * AUCTIONS + offset - 1
            initial = log_uniform(drawn(key, _INITIAL))
            facts[KIND, row] = AUCTION
            facts[ID, row] = FIRST_ID + auction
            facts[OTHER, row] = FIRST_ID + _somebody(key, _SELLER, at, REST_OF_SELLERS, _FIRST_OF_HUNDRED)
            facts[PRICE, row] = initial
            facts[RESERVE, row] = initial + log_uniform(drawn(key, _RESERVE))
            # A millisecond on: the last bids may come in the one in which it closes.
            facts[EXPIRES, row] = time_at(recipe, _end(seed, auction)) + MILLISECOND
            facts[CATEGORY, row] = FIRST_CATEGORY + below(drawn(key, _CATEGORY), CATEGORIES)
        else:
            # Before event 1, the first auction, there is nothing to bid on.
            at = max(at, 1)
            facts[KIND, row] = BID
            facts[ID, row] = FIRST_ID + _open_auction(seed, key, at)
            facts[OTHER, row] = FIRST_ID + _somebody(key, _BIDDER, at, REST_OF_BIDDERS, _SECOND)
            facts[PRICE, row] = log_uniform(drawn(key, _PRICE))
            facts[CHANNEL, row] = channel(key)
        facts[TIME, row] = time_at(recipe, at)
