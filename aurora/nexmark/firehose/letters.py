"""Words, numbers, times and random letters, written into bytes. Every `put` returns where it ended."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aurora.nexmark.firehose.chance import drawn
from aurora.nexmark.firehose.kernel import kernel

__all__ = ["TIME_LENGTH", "joined", "put_letters", "put_number", "put_text", "put_time", "put_word"]

DAY = 86_400_000
TIME_LENGTH = 23


def joined(texts: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The bytes of the texts, one behind the other, and where each of them starts."""
    starts = np.cumsum([0, *(len(text) for text in texts)]).astype(np.int64)
    # Constants in kernels cannot be written to: alike, all take the same compiled code.
    starts.flags.writeable = False
    return np.frombuffer("".join(texts).encode("ascii"), np.uint8), starts


@kernel
def put_word(out: Any, at: Any, texts: Any, starts: Any, which: Any) -> Any:
    for index in range(starts[which], starts[which + 1]):
        out[at] = texts[index]
        at += 1
    return at


@kernel
def put_number(out: Any, at: Any, value: Any) -> Any:
    """In digits; nothing for a number below 0."""
    if value < 0:
        return at
    end, rest = at + 1, value
    while rest >= 10:
        rest //= 10
        end += 1
    for index in range(end - 1, at - 1, -1):
        out[index] = 48 + value % 10
        value //= 10
    return end


@kernel
def put_letters(out: Any, at: Any, key: Any, length: Any) -> Any:
    """So many letters, eight from each draw."""
    draw = key
    for index in range(length):
        if index & 7 == 0:
            draw = drawn(key, index)
        out[at + index] = 97 + (((draw & np.uint64(0xFF)) * np.uint64(26)) >> np.uint64(8))
        draw >>= np.uint64(8)
    return at + length


@kernel
def put_text(out: Any, at: Any, key: Any, length: Any, space: Any) -> Any:
    """Letters, about one in thirteen of them a space (or what stands for it), but not the first or the last."""
    put_letters(out, at, key, length)
    draw = key
    for index in range(1, length - 1):
        if index & 7 == 1:
            draw = drawn(key, index)
        if (draw & np.uint64(0xFF)) * np.uint64(13) < np.uint64(256):
            out[at + index] = space
        draw >>= np.uint64(8)
    return at + length


@kernel
def _put_two(out: Any, at: Any, value: Any) -> Any:
    out[at], out[at + 1] = 48 + value // 10, 48 + value % 10
    return at + 2


@kernel
def put_time(out: Any, at: Any, micros: Any) -> Any:
    """YYYY-MM-DD HH:MM:SS.mmm, in UTC."""
    milliseconds = micros // 1000
    # The calendar of 400 years, counted from a first of March.
    days = milliseconds // DAY + 719_468
    era, day = days // 146_097, days % 146_097
    year = (day - day // 1_460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5 - 1
    year += era * 400 + (1 if month >= 10 else 0)
    month += -9 if month >= 10 else 3
    rest = milliseconds % DAY
    _put_two(out, at, year // 100)
    _put_two(out, at + 2, year % 100)
    _put_two(out, at + 5, month)
    _put_two(out, at + 8, day)
    _put_two(out, at + 11, rest // 3_600_000)
    _put_two(out, at + 14, rest // 60_000 % 60)
    _put_two(out, at + 17, rest // 1000 % 60)
    out[at + 20] = 48 + rest // 100 % 10
    _put_two(out, at + 21, rest % 100)
    out[at + 4] = out[at + 7] = 45
    out[at + 10], out[at + 19] = 32, 46
    out[at + 13] = out[at + 16] = 58
    return at + TIME_LENGTH
