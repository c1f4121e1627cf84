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
    OTHER,
    PERSON,
    PRICE,
    RESERVE,
    TIME,
    Facts,
    milliseconds,
    place,
)
from aurora.nexmark.firehose.kernel import cached_kernel, kernel
from aurora.nexmark.firehose.words import channel

__all__ = ["CATEGORIES", "FIRST_CATEGORY", "FIRST_ID", "fill_standard"]

FIRST_ID = 1000
FIRST_CATEGORY = 10
CATEGORIES = 5
EPOCH, AUCTIONS = 50, 3
# One in so many auctions and persons is hot; for as long as no later one is.
HOT = 100
HOT_BIDS, HOT_SELLERS, HOT_BIDDERS = 2, 4, 4
ACTIVE = 1000
# Auctions live for as many events as these open in, on average: a hundred auctions.
LIFE = 100 * EPOCH // AUCTIONS
# The latest auction is always open, and a hot one as long as it is hot.
SHORTEST, SHORTEST_HOT = EPOCH, (HOT + 2) * EPOCH // AUCTIONS + EPOCH
TRIES = 12
_LENGTH, _SELLER, _CATEGORY, _INITIAL, _RESERVE, _HOT, _BIDDER, _PRICE, _TRY = 1, 2, 3, 4, 5, 6, 7, 8, 20


@kernel
def _number(auction: Any) -> Any:
    """The event that opens the auction; ids count from 0 here."""
    return auction // AUCTIONS * EPOCH + 1 + auction % AUCTIONS


@kernel
def _end(seed: Any, auction: Any) -> Any:
    """The place in the stream where the auction closes."""
    number = _number(auction)
    draw = drawn(key_of(seed, number), _LENGTH)
    shortest = SHORTEST_HOT if auction % HOT == 0 else SHORTEST
    return number + shortest + below(draw, 2 * LIFE - SHORTEST)


@kernel
def _last_auction(at: Any) -> Any:
    return at // EPOCH * AUCTIONS + min(at % EPOCH, AUCTIONS) - 1


@kernel
def _somebody(key: Any, lane: Any, at: Any, share: Any, which: Any) -> Any:
    """The hot person of the last hundred, or one in `share` times any of the last thousand registered at a place."""
    last = at // EPOCH
    draw = drawn(key, lane)
    if below(draw, share) > 0:
        hot = last // HOT * HOT + which
        if hot > last:
            hot -= HOT
        return max(hot, 0)
    return last - below(drawn(draw, 0), min(last + 1, ACTIVE))


@kernel
def _open_auction(seed: Any, key: Any, at: Any) -> Any:
    """The hot auction half of the time, else any that is open at that place."""
    last = _last_auction(at)
    if below(drawn(key, _HOT), HOT_BIDS) > 0:
        return last // HOT * HOT
    window = min(last + 1, 2 * LIFE * AUCTIONS // EPOCH)
    for attempt in range(TRIES):
        auction = last - below(drawn(key, _TRY + attempt), window)
        if at < _end(seed, auction):
            return auction
    return last


@cached_kernel
def fill_standard(recipe: Any, start: int, facts: Facts) -> None:
    """The events from number `start` on, one for each row of `facts`."""
    seed = recipe.seed
    for row in range(len(facts)):
        number = start + row
        key = key_of(seed, number)
        at = place(recipe, number, key)
        epoch, offset = number // EPOCH, number % EPOCH
        fact = facts[row]
        fact[KEY] = np.int64(key)
        if offset == 0:
            fact[KIND] = PERSON
            fact[ID] = FIRST_ID + epoch
        elif offset <= AUCTIONS:
            auction = epoch * AUCTIONS + offset - 1
            fact[KIND] = AUCTION
            fact[ID] = FIRST_ID + auction
            fact[OTHER] = FIRST_ID + _somebody(key, _SELLER, at, HOT_SELLERS, 0)
            fact[PRICE] = log_uniform(drawn(key, _INITIAL))
            fact[RESERVE] = fact[PRICE] + log_uniform(drawn(key, _RESERVE))
            # A millisecond on, because bids may still come in the one in which it closes.
            fact[EXPIRES] = milliseconds(recipe, _end(seed, auction)) + 1
            fact[CATEGORY] = FIRST_CATEGORY + below(drawn(key, _CATEGORY), CATEGORIES)
        else:
            # The first auction is event 1: before it there is nothing to bid on.
            at = max(at, 1)
            fact[KIND] = BID
            fact[ID] = FIRST_ID + _open_auction(seed, key, at)
            fact[OTHER] = FIRST_ID + _somebody(key, _BIDDER, at, HOT_BIDDERS, 1)
            fact[PRICE] = log_uniform(drawn(key, _PRICE))
            fact[CHANNEL] = channel(key)
        fact[TIME] = milliseconds(recipe, at)
