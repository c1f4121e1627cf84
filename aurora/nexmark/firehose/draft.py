"""The profile of the paper: persons, auctions, closings and bids, in proportions 1 : 10 : 10 : 100.

The stream is cut into slots: an auction opens, one closes, ten bids come; a person registers before every tenth slot.
Auctions close in another order than they open, each block of them permuted, so that both the end of an auction and
the auction of an end are known without looking at the stream. A price is a rising function of the place in the
stream: so every bid raises it, whoever made the bids before. The last bid of an auction has a slot of its own, and
so the buyer is known.
"""

from typing import Any

import numpy as np

from aurora.nexmark.firehose.chance import below, drawn, key_of, log_uniform
from aurora.nexmark.firehose.facts import (
    AUCTION,
    BID,
    CATEGORY,
    CHANNEL,
    CLOSED,
    EXPIRES,
    ID,
    KEY,
    KIND,
    OTHER,
    PERSON,
    PRICE,
    RESERVE,
    STREAM,
    TIME,
    Facts,
    place,
    time_at,
)
from aurora.nexmark.firehose.kernel import cached_kernel, constants, kernel
from aurora.nexmark.firehose.words import channel

__all__ = ["fill_draft"]

SLOTS, BIDS = 10, 10
# The events of an epoch, before auctions begin to close and after.
YOUNG, GROWN = 1 + SLOTS * (1 + BIDS), 1 + SLOTS * (2 + BIDS)
# The epochs without closings; an auction is open for as many slots on average, give or take a block.
YOUTH = 60
DELAY = YOUTH * SLOTS
BLOCK = 509
LONGEST = DELAY + BLOCK
# The last bid comes so many slots before the closing, and so many auctions get none at all.
LAST_CALL = 2
UNWANTED = 16
# One in so many auctions is hot, and gets a share of 1 in so many bids with the other hot ones.
HOT, HOT_BIDS = 32, 4
ACTIVE = 1000
TRIES = 12
# What keeps its own time: closings, and the last bids that decide about buyers.
PUNCTUAL = 2 * SLOTS
_TURN, _SHIFT, _WANTED, _INITIAL, _RAISE, _RESERVE, _SELLER, _CATEGORY, _BIDDER, _PRICE, _HOT = constants(
    *range(11)
)
_TRY = 20
# The inverse of each number modulo the block, which is prime.
_INVERSE = np.array([0, *(pow(number, -1, BLOCK) for number in range(1, BLOCK))], np.int64)


@kernel
def _located(number: Any) -> Any:
    """The epoch, the slot of it (-1 for the person), and the place in the slot, from the auction on."""
    young = YOUTH * YOUNG
    if number < young:
        epoch, offset, width = number // YOUNG, number % YOUNG, 1 + BIDS
    else:
        epoch, offset, width = YOUTH + (number - young) // GROWN, (number - young) % GROWN, 2 + BIDS
    if offset == 0:
        return epoch, np.int64(-1), np.int64(0)
    within = (offset - 1) % width
    # A slot without closing has a gap there.
    return epoch, (offset - 1) // width, within + 1 if epoch < YOUTH and within > 0 else within


@kernel
def _number(slot: Any) -> Any:
    """The event that begins the slot; the auction of the same number opens with it."""
    epoch, rest = slot // SLOTS, slot % SLOTS
    if epoch < YOUTH:
        return epoch * YOUNG + 1 + rest * (1 + BIDS)
    return YOUTH * YOUNG + (epoch - YOUTH) * GROWN + 1 + rest * (2 + BIDS)


@kernel
def _closing_slot(seed: Any, auction: Any) -> Any:
    block = auction // BLOCK
    key = key_of(seed, -1 - block)
    turn, shift = 1 + below(drawn(key, _TURN), BLOCK - 1), below(drawn(key, _SHIFT), BLOCK)
    return DELAY + block * BLOCK + (auction % BLOCK * turn + shift) % BLOCK


@kernel
def _closed_in(seed: Any, slot: Any) -> Any:
    """The auction that closes in the slot, which must be one with a closing."""
    block, rest = (slot - DELAY) // BLOCK, (slot - DELAY) % BLOCK
    key = key_of(seed, -1 - block)
    turn, shift = 1 + below(drawn(key, _TURN), BLOCK - 1), below(drawn(key, _SHIFT), BLOCK)
    return block * BLOCK + (rest - shift + BLOCK) * _INVERSE[turn] % BLOCK


@kernel
def _last_bid(seed: Any, auction: Any) -> Any:
    """The event that is the last bid on the auction: the first of a slot."""
    slot = _closing_slot(seed, auction) - LAST_CALL
    return _number(slot) + (1 if slot < DELAY else 2)


@kernel
def _unwanted(key: Any, auction: Any) -> Any:
    return auction % HOT != 0 and below(drawn(key, _WANTED), UNWANTED) == 0


@kernel
def _initial(key: Any) -> Any:
    """From 1 to about 15,000 dollars."""
    return 100 + (log_uniform(drawn(key, _INITIAL)) >> 6)


@kernel
def _raise(key: Any) -> Any:
    """Cents by which the price of an auction rises with every event of the stream."""
    return 1 + below(drawn(key, _RAISE), 1 + _initial(key) // 1000)


@kernel
def _price(seed: Any, auction: Any, at: Any, key: Any) -> Any:
    """The price of a bid at that place; `key` is the bid's."""
    opened = _number(auction)
    own = key_of(seed, opened)
    step = _raise(own)
    return _initial(own) + (at - opened) * step + below(drawn(key, _PRICE), step)


@kernel
def _somebody(key: Any, lane: Any, at: Any) -> Any:
    """Anybody active who has registered by that place."""
    last = _located(at)[0]
    return last - below(drawn(key, lane), min(last + 1, ACTIVE))


@kernel
def _open_auction(seed: Any, key: Any, at: Any) -> Any:
    """Any wanted auction whose last bid is yet to come at that place; the hot ones more often."""
    epoch, slot, _ = _located(at)
    last = epoch * SLOTS + slot if slot >= 0 else epoch * SLOTS - 1
    hot = below(drawn(key, _HOT), HOT_BIDS) == 0
    for attempt in range(TRIES):
        auction = last - below(drawn(key, _TRY + attempt), min(last + 1, LONGEST))
        if hot:
            auction = auction // HOT * HOT
        if not _unwanted(key_of(seed, _number(auction)), auction) and at < _last_bid(seed, auction):
            return auction
    while _unwanted(key_of(seed, _number(last)), last):
        last -= 1
    return last


@kernel
def _reserve(seed: Any, auction: Any) -> Any:
    key = key_of(seed, _number(auction))
    rise = (_last_bid(seed, auction) - _number(auction)) * _raise(key)
    # About four in five auctions reach it.
    return _initial(key) + below(drawn(key, _RESERVE), rise + rise // 4 + 1)


@kernel
def _buyer(seed: Any, auction: Any) -> Any:
    """Who made the last bid, if it reached the reserve; -1 for nobody."""
    if _unwanted(key_of(seed, _number(auction)), auction):
        return np.int64(-1)
    number = _last_bid(seed, auction)
    key = key_of(seed, number)
    if _price(seed, auction, number, key) < _reserve(seed, auction):
        return np.int64(-1)
    return _somebody(key, _BIDDER, number)


@kernel
def _called(seed: Any, slot: Any) -> Any:
    """The auction whose last bid is the first of the slot's; -1 for none."""
    if slot + LAST_CALL < DELAY:
        return np.int64(-1)
    auction = _closed_in(seed, slot + LAST_CALL)
    return np.int64(-1) if _unwanted(key_of(seed, _number(auction)), auction) else auction


@cached_kernel
def fill_draft(recipe: Any, start: int, facts: Facts) -> None:
    """The events from number `start` on."""
    seed = recipe.seed
    share = recipe.late * GROWN // (GROWN - PUNCTUAL)
    for row in range(facts.shape[1]):
        number = start + row
        key = key_of(seed, number)
        epoch, slot, within = _located(number)
        slot += epoch * SLOTS
        at = number
        facts[KEY, row] = np.int64(key)
        if within == 1:
            auction = _closed_in(seed, slot)
            facts[KIND, row] = CLOSED
            facts[ID, row] = auction
            facts[OTHER, row] = _buyer(seed, auction)
        elif within > 1:
            auction = _called(seed, slot) if within == 2 else np.int64(-1)
            if auction < 0:
                # Before event 1, the first auction, there is nothing to bid on.
                at = max(place(recipe, number, key, share), 1)
                auction = _open_auction(seed, key, at)
            facts[KIND, row] = BID
            facts[ID, row] = auction
            facts[OTHER, row] = _somebody(key, _BIDDER, at)
            facts[PRICE, row] = _price(seed, auction, at, key)
            facts[STREAM, row] = (slot * BIDS + within - 2) % recipe.bid_streams
            facts[CHANNEL, row] = channel(key)
        elif slot < epoch * SLOTS:
            at = place(recipe, number, key, share)
            facts[KIND, row] = PERSON
            facts[ID, row] = epoch
        else:
            at = place(recipe, number, key, share)
            facts[KIND, row] = AUCTION
            facts[ID, row] = slot
            facts[OTHER, row] = _somebody(key, _SELLER, at)
            facts[PRICE, row] = _initial(key)
            facts[RESERVE, row] = _reserve(seed, slot)
            facts[EXPIRES, row] = time_at(recipe, _number(_closing_slot(seed, slot)) + 1)
            facts[CATEGORY, row] = below(drawn(key, _CATEGORY), recipe.categories)
        facts[TIME, row] = time_at(recipe, at)
