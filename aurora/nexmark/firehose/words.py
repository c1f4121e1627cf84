"""The texts of events, as the suites in use have them: each is decided by the event's key alone."""

from itertools import accumulate
from typing import Any

import numpy as np

from aurora.nexmark.firehose.chance import below, drawn, key_of
from aurora.nexmark.firehose.kernel import constants, kernel
from aurora.nexmark.firehose.letters import joined, put_letters, put_number, put_text, put_word

__all__ = [
    "CARD",
    "CITY",
    "DESCRIPTION",
    "EMAIL",
    "EXTRA",
    "ITEM",
    "NAME",
    "STATE",
    "channel",
    "put_channel",
    "put_own",
    "put_url",
]

# What a person or an item is called, and where.
NAME, EMAIL, CARD, CITY, STATE, ITEM, DESCRIPTION, EXTRA = constants(*range(32, 40))

_GROUPS = (
    ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter"),
    ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris"),
    (
        *("Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland"),
        *("Bend", "Redmond", "Seattle", "Kent", "Cheyenne"),
    ),
    ("AZ", "CA", "ID", "OR", "WA", "WY"),
    ("Google", "Facebook", "Baidu", "Apple"),
    ("channel-", "https://www.nexmark.com/", "item.htm?query=1", "&channel_id=", ".com"),
)
_TEXTS, _STARTS = joined([text for group in _GROUPS for text in group])
_FIRST, _LAST, _CITY, _STATE, _HOT, _CHANNEL = constants(*accumulate(map(len, _GROUPS[:-1]), initial=0))
_SITE, _PAGE, _CHANNEL_ID, _COM = constants(*range(_CHANNEL + 1, _CHANNEL + 5))

HOT_CHANNELS, CHANNELS = constants(4, 10_000)
SHORTEST = 3
# Other texts are shorter than this.
EMAIL_NAME, EMAIL_HOST, ITEM_NAME, ITEM_TEXT, PATH = constants(7, 5, 20, 100, 5)
UNDERSCORE, SPACE, SLASH, AT = constants(95, 32, 47, 64)
# The sizes of events in the suites in use, with 8 bytes for a number and none for channel and url.
PERSON_SIZE, AUCTION_SIZE, BID_SIZE = 200, 500, 100
_LANE_LAST, _LANE_HOST, _LANE_CHANNEL, _LANE_URL = constants(*range(50, 54))


@kernel
def _choice(key: Any, lane: Any, first: Any, behind: Any) -> Any:
    return first + below(drawn(key, lane), behind - first)


@kernel
def _size(key: Any, lane: Any, first: Any, behind: Any) -> Any:
    which = _choice(key, lane, first, behind)
    return _STARTS[which + 1] - _STARTS[which]


@kernel
def _length(draw: Any, bound: Any) -> Any:
    return SHORTEST + below(draw, bound - SHORTEST)


@kernel
def _put_short(out: Any, at: Any, draw: Any, bound: Any, space: Any) -> Any:
    return put_text(out, at, draw, _length(draw, bound), space)


@kernel
def _put_card(out: Any, at: Any, draw: Any) -> Any:
    """Four times four digits."""
    for index in range(19):
        out[at + index] = SPACE
        if index % 5 < 4:
            out[at + index] = 48 + (((draw & np.uint64(0xF)) * np.uint64(10)) >> np.uint64(4))
            draw >>= np.uint64(4)
    return at + 19


@kernel
def _person_size(key: Any) -> Any:
    size = 8 + _size(key, NAME, _FIRST, _LAST) + 1 + _size(key, _LANE_LAST, _LAST, _CITY)
    size += _length(drawn(key, EMAIL), EMAIL_NAME) + 1 + _length(drawn(key, _LANE_HOST), EMAIL_HOST) + 4
    return size + 19 + _size(key, CITY, _CITY, _STATE) + 2


@kernel
def _auction_size(key: Any) -> Any:
    return 6 * 8 + _length(drawn(key, ITEM), ITEM_NAME) + _length(drawn(key, DESCRIPTION), ITEM_TEXT)


@kernel
def _put_extra(out: Any, at: Any, key: Any, kind: Any) -> Any:
    """Letters that make the event as large as its kind is on average, give or take a fifth of what is missing."""
    if kind == 0:
        missing = PERSON_SIZE - _person_size(key)
    elif kind == 1:
        missing = AUCTION_SIZE - _auction_size(key)
    else:
        missing = np.int64(BID_SIZE - 4 * 8)
    draw = drawn(key, EXTRA)
    part = (missing + 2) // 5
    return put_letters(out, at, draw, missing - part + below(draw, 2 * part + 1))


@kernel
def put_own(out: Any, at: Any, what: Any, key: Any, kind: Any) -> Any:
    """One of the texts that an event of that kind has of its own."""
    if what == EXTRA:
        return _put_extra(out, at, key, kind)
    if what == NAME:
        at = put_word(out, at, _TEXTS, _STARTS, _choice(key, NAME, _FIRST, _LAST))
        out[at] = SPACE
        return put_word(out, at + 1, _TEXTS, _STARTS, _choice(key, _LANE_LAST, _LAST, _CITY))
    if what == EMAIL:
        at = _put_short(out, at, drawn(key, EMAIL), EMAIL_NAME, UNDERSCORE)
        out[at] = AT
        at = _put_short(out, at + 1, drawn(key, _LANE_HOST), EMAIL_HOST, UNDERSCORE)
        return put_word(out, at, _TEXTS, _STARTS, _COM)
    if what == CARD:
        return _put_card(out, at, drawn(key, CARD))
    if what == CITY:
        return put_word(out, at, _TEXTS, _STARTS, _choice(key, CITY, _CITY, _STATE))
    if what == STATE:
        return put_word(out, at, _TEXTS, _STARTS, _choice(key, STATE, _STATE, _HOT))
    bound = ITEM_NAME if what == ITEM else ITEM_TEXT
    return _put_short(out, at, drawn(key, what), bound, SPACE)


@kernel
def channel(key: Any) -> Any:
    """Half of the bids come over one of the four hot channels, the numbers below 0."""
    draw = drawn(key, _LANE_CHANNEL)
    if draw & np.uint64(1):
        return below(draw, HOT_CHANNELS) - HOT_CHANNELS
    return below(draw, CHANNELS)


@kernel
def put_channel(out: Any, at: Any, number: Any) -> Any:
    if number < 0:
        return put_word(out, at, _TEXTS, _STARTS, _CHANNEL + number)
    return put_number(out, put_word(out, at, _TEXTS, _STARTS, _CHANNEL), number)


@kernel
def put_url(out: Any, at: Any, number: Any) -> Any:
    """A channel has one address; nine in ten end with an id of the channel, those of the hot ones do not."""
    key = key_of(np.uint64(_LANE_URL), number + HOT_CHANNELS)
    at = put_word(out, at, _TEXTS, _STARTS, _SITE)
    for part in range(3):
        at = _put_short(out, at, drawn(key, part), PATH, UNDERSCORE)
        out[at] = SLASH
        at += 1
    at = put_word(out, at, _TEXTS, _STARTS, _PAGE)
    if number < 0 or below(key, 10) == 0:
        return at
    return put_number(out, put_word(out, at, _TEXTS, _STARTS, _CHANNEL_ID), _turned_round(number))


@kernel
def _turned_round(number: Any) -> Any:
    """The magnitude of the number with its 32 bits in the other order, as the suites make ids of channels."""
    result = np.int64(0)
    for bit in range(32):
        result |= ((number >> bit) & 1) << (31 - bit)
    return min(result, (1 << 32) - result)
