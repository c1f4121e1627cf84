"""The texts of events, written into bytes: each is decided by the event's key alone."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aurora.nexmark.firehose.chance import below, drawn, key_of
from aurora.nexmark.firehose.kernel import kernel

__all__ = [
    "LONGEST",
    "channel",
    "put",
    "put_auction_extra",
    "put_bid_extra",
    "put_card",
    "put_channel",
    "put_city",
    "put_description",
    "put_email",
    "put_item",
    "put_name",
    "put_number",
    "put_person_extra",
    "put_state",
    "put_url",
    "words",
]

Text = NDArray[np.uint8]


def words(*texts: str) -> tuple[Text, NDArray[np.int64]]:
    """The bytes of the words, one behind the other, and where each of them starts."""
    ends = np.cumsum([0, *(len(text.encode()) for text in texts)])
    return np.frombuffer("".join(texts).encode(), np.uint8), ends.astype(np.int64)


_FIRST, _FIRST_AT = words(
    *("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter")
)
_LAST, _LAST_AT = words(
    *("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")
)
_CITY, _CITY_AT = words(
    *("Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland"),
    *("Bend", "Redmond", "Seattle", "Kent", "Cheyenne"),
)
_STATE, _STATE_AT = words("AZ", "CA", "ID", "OR", "WA", "WY")
_HOT, _HOT_AT = words("Google", "Facebook", "Baidu", "Apple")
_CHANNEL, _ = words("channel-")
_SITE, _ = words("https://www.nexmark.com/")
_PAGE, _ = words("item.htm?query=1")
_CHANNEL_ID, _ = words("&channel_id=")
_COM, _ = words(".com")

HOT_CHANNELS, CHANNELS = 4, 10_000
# Texts of at least 3 letters, and shorter than these.
EMAIL, HOST, ITEM, DESCRIPTION, PATH = 7, 5, 20, 100, 5
# The sizes of events in the suites in use, with 8 bytes for a number and none for channel and url.
PERSON_SIZE, AUCTION_SIZE, BID_SIZE = 200, 500, 100
# No text is longer than these bytes; by the names of the fields.
LONGEST = {
    "name": 15,
    "emailAddress": 15,
    "creditCard": 19,
    "city": 13,
    "state": 2,
    "itemName": 20,
    "description": 100,
    "channel": 12,
    "url": 80,
    "extra": 560,
}
(
    _L_FIRST,
    _L_LAST,
    _L_EMAIL,
    _L_HOST,
    _L_CARD,
    _L_CITY,
    _L_STATE,
    _L_ITEM,
    _L_DESCRIPTION,
    _L_EXTRA,
    _L_CHANNEL,
    _L_PATH,
) = range(40, 52)


@kernel
def put(out: Any, at: Any, text: Any) -> Any:
    for letter in text:
        out[at] = letter
        at += 1
    return at


@kernel
def _put_word(out: Any, at: Any, texts: Any, starts: Any, which: Any) -> Any:
    for index in range(starts[which], starts[which + 1]):
        out[at] = texts[index]
        at += 1
    return at


@kernel
def put_number(out: Any, at: Any, value: Any) -> Any:
    """A number of 0 or more, in digits."""
    end, rest = at + 1, value
    while rest >= 10:
        rest //= 10
        end += 1
    for index in range(end - 1, at - 1, -1):
        out[index] = 48 + value % 10
        value //= 10
    return end


@kernel
def _put_letters(out: Any, at: Any, key: Any, length: Any) -> Any:
    """So many letters, eight from each draw."""
    for index in range(length):
        if index & 7 == 0:
            draw = drawn(key, index)
        out[at + index] = 97 + (((draw & np.uint64(0xFF)) * np.uint64(26)) >> np.uint64(8))
        draw >>= np.uint64(8)
    return at + length


@kernel
def _put_text(out: Any, at: Any, key: Any, length: Any, space: Any) -> Any:
    """Letters with a space (or what stands for it) for every thirteenth, neither first nor last."""
    _put_letters(out, at, key, length)
    for index in range(1, length - 1):
        if index & 7 == 1:
            draw = drawn(key, index)
        if (draw & np.uint64(0xFF)) * np.uint64(13) < np.uint64(256):
            out[at + index] = space
        draw >>= np.uint64(8)
    return at + length


@kernel
def _length(key: Any, lane: Any, bound: Any) -> Any:
    return 3 + below(drawn(key, lane), bound - 3)


@kernel
def _put_short(out: Any, at: Any, key: Any, lane: Any, bound: Any, space: Any) -> Any:
    draw = drawn(key, lane)
    return _put_text(out, at, draw, 3 + below(draw, bound - 3), space)


@kernel
def _choice(key: Any, lane: Any, starts: Any) -> Any:
    return below(drawn(key, lane), len(starts) - 1)


@kernel
def _word_length(key: Any, lane: Any, starts: Any) -> Any:
    which = _choice(key, lane, starts)
    return starts[which + 1] - starts[which]


@kernel
def _put_extra(out: Any, at: Any, key: Any, size: Any, wanted: Any) -> Any:
    """Letters that make an event of that size as large as wanted, give or take a fifth of what is missing."""
    missing = wanted - size
    if missing <= 0:
        return at
    draw = drawn(key, _L_EXTRA)
    part = (missing + 2) // 5
    return _put_letters(out, at, draw, missing - part + below(draw, 2 * part + 1))


@kernel
def put_name(out: Any, at: Any, key: Any) -> Any:
    at = _put_word(out, at, _FIRST, _FIRST_AT, _choice(key, _L_FIRST, _FIRST_AT))
    out[at] = 32
    return _put_word(out, at + 1, _LAST, _LAST_AT, _choice(key, _L_LAST, _LAST_AT))


@kernel
def put_email(out: Any, at: Any, key: Any) -> Any:
    at = _put_short(out, at, key, _L_EMAIL, EMAIL, 95)
    out[at] = 64
    return put(out, _put_short(out, at + 1, key, _L_HOST, HOST, 95), _COM)


@kernel
def put_card(out: Any, at: Any, key: Any) -> Any:
    """Four times four digits."""
    draw = drawn(key, _L_CARD)
    for index in range(19):
        if index % 5 == 4:
            out[at + index] = 32
        else:
            out[at + index] = 48 + (((draw & np.uint64(0xF)) * np.uint64(10)) >> np.uint64(4))
            draw >>= np.uint64(4)
    return at + 19


@kernel
def put_city(out: Any, at: Any, key: Any) -> Any:
    return _put_word(out, at, _CITY, _CITY_AT, _choice(key, _L_CITY, _CITY_AT))


@kernel
def put_state(out: Any, at: Any, key: Any) -> Any:
    return _put_word(out, at, _STATE, _STATE_AT, _choice(key, _L_STATE, _STATE_AT))


@kernel
def put_person_extra(out: Any, at: Any, key: Any) -> Any:
    size = 8 + 1 + _word_length(key, _L_FIRST, _FIRST_AT) + _word_length(key, _L_LAST, _LAST_AT)
    size += _length(key, _L_EMAIL, EMAIL) + 1 + _length(key, _L_HOST, HOST) + 4 + 19
    size += _word_length(key, _L_CITY, _CITY_AT) + 2
    return _put_extra(out, at, key, size, PERSON_SIZE)


@kernel
def put_item(out: Any, at: Any, key: Any) -> Any:
    return _put_short(out, at, key, _L_ITEM, ITEM, 32)


@kernel
def put_description(out: Any, at: Any, key: Any) -> Any:
    return _put_short(out, at, key, _L_DESCRIPTION, DESCRIPTION, 32)


@kernel
def put_auction_extra(out: Any, at: Any, key: Any) -> Any:
    size = 6 * 8 + _length(key, _L_ITEM, ITEM) + _length(key, _L_DESCRIPTION, DESCRIPTION)
    return _put_extra(out, at, key, size, AUCTION_SIZE)


@kernel
def put_bid_extra(out: Any, at: Any, key: Any) -> Any:
    return _put_extra(out, at, key, 4 * 8, BID_SIZE)


@kernel
def channel(key: Any) -> Any:
    """Half of the bids come over one of the four hot channels (numbers below 0)."""
    draw = drawn(key, _L_CHANNEL)
    if draw & np.uint64(1):
        return below(draw, HOT_CHANNELS) - HOT_CHANNELS
    return below(draw, CHANNELS)


@kernel
def put_channel(out: Any, at: Any, number: Any) -> Any:
    if number < 0:
        return _put_word(out, at, _HOT, _HOT_AT, number + HOT_CHANNELS)
    return put_number(out, put(out, at, _CHANNEL), number)


@kernel
def put_url(out: Any, at: Any, number: Any) -> Any:
    """A channel has one address; in nine of ten it ends with the channel's own id, never in a hot one."""
    key = key_of(np.uint64(_L_PATH), number + HOT_CHANNELS)
    at = put(out, at, _SITE)
    for part in range(3):
        at = _put_short(out, at, key, part, PATH, 95)
        out[at] = 47
        at += 1
    at = put(out, at, _PAGE)
    if number < 0 or below(key, 10) == 0:
        return at
    return put_number(out, put(out, at, _CHANNEL_ID), _reversed(number))


@kernel
def _reversed(number: Any) -> Any:
    """The magnitude of the number with its 32 bits turned round: ids of channels are large, as in the suites."""
    result = np.int64(0)
    for bit in range(32):
        result |= ((number >> bit) & 1) << (31 - bit)
    return abs(result - (1 << 32)) if result >= (1 << 31) else result
