"""Events as JSON lines, written straight from their numbers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aurora.nexmark.firehose.clock import put_time
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
)
from aurora.nexmark.firehose.kernel import cached_kernel, kernel
from aurora.nexmark.firehose.words import (
    put,
    put_auction_extra,
    put_bid_extra,
    put_card,
    put_channel,
    put_city,
    put_description,
    put_email,
    put_item,
    put_name,
    put_number,
    put_person_extra,
    put_state,
    put_url,
    words,
)

__all__ = ["json_lines"]

# No line is longer than these bytes, by kind.
LONGEST = np.array([600, 1200, 480, 160], np.int64)

_PERSON, _ = words('{"person": {"id": ')
_NAME, _ = words(', "name": "')
_EMAIL, _ = words('", "emailAddress": "')
_CARD, _ = words('", "creditCard": "')
_CITY, _ = words('", "city": "')
_STATE, _ = words('", "state": "')
_TIME, _ = words('", "dateTime": "')
_EXTRA, _ = words('", "extra": "')
_END, _ = words('"}}\n')
_AUCTION, _ = words('{"auction": {"id": ')
_ITEM, _ = words(', "itemName": "')
_DESCRIPTION, _ = words('", "description": "')
_INITIAL, _ = words('", "initialBid": ')
_RESERVE, _ = words(', "reserve": ')
_OPENED, _ = words(', "dateTime": "')
_EXPIRES, _ = words('", "expires": "')
_SELLER, _ = words('", "seller": ')
_CATEGORY, _ = words(', "category": ')
_MORE, _ = words(', "extra": "')
_BID, _ = words('{"bid": {"auction": ')
_BIDDER, _ = words(', "bidder": ')
_PRICE, _ = words(', "price": ')
_CHANNEL, _ = words(', "channel": "')
_URL, _ = words('", "url": "')
_CLOSED, _ = words('{"closed_auction": {"auction": ')
_BUYER, _ = words(', "buyer": ')
_NULL, _ = words("null")


@kernel
def _put_person(out: Any, at: Any, fact: Any, key: Any) -> Any:
    at = put_number(out, put(out, at, _PERSON), fact[ID])
    at = put_name(out, put(out, at, _NAME), key)
    at = put_email(out, put(out, at, _EMAIL), key)
    at = put_card(out, put(out, at, _CARD), key)
    at = put_city(out, put(out, at, _CITY), key)
    at = put_state(out, put(out, at, _STATE), key)
    at = put_time(out, put(out, at, _TIME), fact[TIME])
    return put_person_extra(out, put(out, at, _EXTRA), key)


@kernel
def _put_auction(out: Any, at: Any, fact: Any, key: Any) -> Any:
    at = put_number(out, put(out, at, _AUCTION), fact[ID])
    at = put_item(out, put(out, at, _ITEM), key)
    at = put_description(out, put(out, at, _DESCRIPTION), key)
    at = put_number(out, put(out, at, _INITIAL), fact[PRICE])
    at = put_number(out, put(out, at, _RESERVE), fact[RESERVE])
    at = put_time(out, put(out, at, _OPENED), fact[TIME])
    at = put_time(out, put(out, at, _EXPIRES), fact[EXPIRES])
    at = put_number(out, put(out, at, _SELLER), fact[OTHER])
    at = put_number(out, put(out, at, _CATEGORY), fact[CATEGORY])
    return put_auction_extra(out, put(out, at, _MORE), key)


@kernel
def _put_bid(out: Any, at: Any, fact: Any, key: Any) -> Any:
    at = put_number(out, put(out, at, _BID), fact[ID])
    at = put_number(out, put(out, at, _BIDDER), fact[OTHER])
    at = put_number(out, put(out, at, _PRICE), fact[PRICE])
    at = put_channel(out, put(out, at, _CHANNEL), fact[CHANNEL])
    at = put_url(out, put(out, at, _URL), fact[CHANNEL])
    at = put_time(out, put(out, at, _TIME), fact[TIME])
    return put_bid_extra(out, put(out, at, _EXTRA), key)


@kernel
def _put_closed(out: Any, at: Any, fact: Any) -> Any:
    at = put(out, put_number(out, put(out, at, _CLOSED), fact[ID]), _BUYER)
    at = put(out, at, _NULL) if fact[OTHER] < 0 else put_number(out, at, fact[OTHER])
    return put_time(out, put(out, at, _OPENED), fact[TIME])


@cached_kernel
def _put_lines(facts: Facts, out: NDArray[np.uint8]) -> int:
    at = 0
    for row in range(len(facts)):
        fact = facts[row]
        key = np.uint64(fact[KEY])
        if fact[KIND] == BID:
            at = _put_bid(out, at, fact, key)
        elif fact[KIND] == AUCTION:
            at = _put_auction(out, at, fact, key)
        elif fact[KIND] == PERSON:
            at = _put_person(out, at, fact, key)
        else:
            at = _put_closed(out, at, fact)
        at = put(out, at, _END)
    return at


def json_lines(facts: Facts) -> memoryview:
    """One object a line, as the suites in use write them."""
    out = np.empty(int(LONGEST[facts[:, KIND]].sum()), np.uint8)
    return out[: _put_lines(facts, out)].data
