"""The byte-level kernels: lines of numbers into arrays, and lines into copies with other numbers."""

from typing import Any

import numpy as np
from numba import njit

__all__ = [
    "DECIMAL",
    "INTEGER",
    "NOT_A_NUMBER",
    "TOO_LARGE",
    "copy_lines",
    "in_range",
    "scan_lines",
    "write_lines",
]

# What a field holds.
INTEGER, DECIMAL, NOT_A_NUMBER, TOO_LARGE = 0, 1, 2, 3

_NEWLINE, _RETURN, _COMMA, _MINUS, _DOT, _SPACE, _ZERO, _NINE = 10, 13, 44, 45, 46, 32, 48, 57
_QUOTE, _TAB = 34, 9
_MOST = (2**63 - 10) // 10


def _count_lines(data: Any) -> Any:
    lines = 0
    for i in range(data.size):
        if data[i] == _NEWLINE:
            lines += 1
    if data.size > 0 and data[data.size - 1] != _NEWLINE:
        lines += 1
    return lines


def _number(data: Any, begin: Any, end: Any) -> Any:
    """The whole part, the millionths and the kind of the field in data[begin:end], which may be quoted."""
    if begin + 1 < end and data[begin] == _QUOTE and data[end - 1] == _QUOTE:
        begin += 1
        end -= 1
    while begin < end and (data[begin] == _SPACE or data[begin] == _TAB):
        begin += 1
    while begin < end and (data[end - 1] == _SPACE or data[end - 1] == _TAB):
        end -= 1
    sign = 1
    if begin < end and data[begin] == _MINUS:
        sign = -1
        begin += 1
    if begin == end or data[begin] < _ZERO or data[begin] > _NINE:
        return 0, 0, NOT_A_NUMBER
    whole = 0
    while begin < end and data[begin] != _DOT:
        digit = data[begin] - _ZERO
        if digit < 0 or digit > 9:
            return 0, 0, NOT_A_NUMBER
        if whole > _MOST:
            return 0, 0, TOO_LARGE
        whole = whole * 10 + digit
        begin += 1
    if begin == end:
        return sign * whole, 0, INTEGER
    millionths = 0
    unit = 100000
    for i in range(begin + 1, end):
        digit = data[i] - _ZERO
        if digit < 0 or digit > 9:
            return 0, 0, NOT_A_NUMBER
        millionths += digit * unit
        unit //= 10
    return sign * whole, sign * millionths, DECIMAL


_count = njit(nogil=True, cache=True)(_count_lines)
_read_number = njit(nogil=True, cache=True)(_number)


def _scan_lines(data: Any, width: Any, decimals: Any) -> Any:
    lines = _count(data)
    starts = np.empty(lines + 1, np.int64)
    fields = np.zeros(lines, np.int32)
    whole = np.zeros((lines, width), np.int64)
    millionths = np.zeros((lines if decimals else 0, width), np.int32)
    kind = np.zeros((lines, width), np.uint8)
    size = data.size
    at = 0
    for line in range(lines):
        starts[line] = at
        field = 0
        begin = at
        while True:
            if at == size or data[at] == _NEWLINE or data[at] == _COMMA:
                if field < width:
                    end = at
                    if (at == size or data[at] == _NEWLINE) and end > begin and data[end - 1] == _RETURN:
                        end -= 1
                    number, small, what = _read_number(data, begin, end)
                    whole[line, field] = number
                    kind[line, field] = what
                    if decimals:
                        millionths[line, field] = small
                field += 1
                begin = at + 1
                if at == size or data[at] == _NEWLINE:
                    break
            at += 1
        at += 1
        fields[line] = field
    starts[lines] = size
    return starts, fields, whole, millionths, kind


def _write_number(out: Any, at: Any, number: Any) -> Any:
    digits = 1
    rest = number // 10
    while rest > 0:
        digits += 1
        rest //= 10
    for i in range(digits):
        out[at + digits - 1 - i] = _ZERO + number % 10
        number //= 10
    return at + digits


_put_number = njit(nogil=True, cache=True)(_write_number)


def _copy_lines(data: Any, starts: Any, keep: Any, whole: Any, steps: Any, copy: Any) -> Any:
    lines = keep.size
    out = np.empty(data.size + lines * (1 + 20 * 3), np.uint8)
    end = 0
    for line in range(lines):
        if not keep[line]:
            continue
        kind = whole[line, 0]
        field = 0
        at = starts[line]
        stop = starts[line + 1]
        fresh = True
        while at < stop:
            byte = data[at]
            if fresh and steps[kind, field] > 0:
                end = _put_number(out, end, whole[line, field] + copy * steps[kind, field])
                while at < stop and data[at] != _COMMA and data[at] != _NEWLINE and data[at] != _RETURN:
                    at += 1
                fresh = False
                continue
            fresh = False
            out[end] = byte
            end += 1
            at += 1
            if byte == _COMMA:
                field += 1
                fresh = True
        if out[end - 1] != _NEWLINE:
            out[end] = _NEWLINE
            end += 1
    return out[:end]


def _write_lines(kind: Any, numbers: Any, stamped: Any, stamps: Any) -> Any:
    lines, width = numbers.shape
    out = np.empty(lines * (width + 1) * 21 + 1, np.uint8)
    end = 0
    for line in range(lines):
        end = _put_number(out, end, kind)
        for field in range(width):
            out[end] = _COMMA
            end += 1
            number = stamps[line] // 1000 if field == stamped else numbers[line, field]
            if number < 0:
                out[end] = _MINUS
                end += 1
                number = -number
            end = _put_number(out, end, number)
            if field == stamped:
                rest = stamps[line] % 1000
                out[end] = _DOT
                out[end + 1] = _ZERO + rest // 100
                out[end + 2] = _ZERO + rest // 10 % 10
                out[end + 3] = _ZERO + rest % 10
                end += 4
        out[end] = _NEWLINE
        end += 1
    return out[:end]


def _in_range(fields: Any, whole: Any, kind: Any, defined: Any, low: Any, high: Any) -> Any:
    good = np.zeros(fields.size, np.bool_)
    types, width = defined.shape
    for line in range(fields.size):
        what = whole[line, 0]
        if fields[line] != width or kind[line, 0] != INTEGER or what < 0 or what >= types:
            continue
        # A type that defines no field is none; Type itself counts as defined.
        fine = defined[what, 0]
        for field in range(1, width):
            if defined[what, field]:
                number = whole[line, field]
                fine &= kind[line, field] == INTEGER and low[field] <= number <= high[field]
        good[line] = fine
    return good


_scan = njit(nogil=True, cache=True)(_scan_lines)
_copy = njit(nogil=True, cache=True)(_copy_lines)
_write = njit(nogil=True, cache=True)(_write_lines)
_check = njit(nogil=True, cache=True)(_in_range)

Array = np.ndarray[Any, Any]


def scan_lines(data: Array, width: int, decimals: bool = False) -> tuple[Array, Array, Array, Array, Array]:
    """Line starts (and the end), fields per line, and for `width` fields: whole part, millionths, kind.

    >>> lines = np.frombuffer(b"1,2.5\\nx\\n", np.uint8)
    >>> starts, fields, whole, millionths, kind = scan_lines(lines, 2, decimals=True)
    >>> starts.tolist(), fields.tolist(), whole.tolist(), millionths.tolist()
    ([0, 6, 8], [2, 1], [[1, 2], [0, 0]], [[0, 500000], [0, 0]])
    >>> kind.tolist() == [[INTEGER, DECIMAL], [NOT_A_NUMBER, 0]]
    True
    """
    starts, fields, whole, millionths, kind = _scan(data, width, decimals)
    return starts, fields, whole, millionths, kind


def in_range(fields: Array, whole: Array, kind: Array, defined: Array, low: Array, high: Array) -> Array:
    """Which lines have all fields, and integers within low..high in those that their type defines."""
    good: Array = _check(fields, whole, kind, defined, low, high)
    return good


def write_lines(kind: int, numbers: Array, stamped: int, stamps: Array) -> bytes:
    """Lines of `kind` and the numbers of a row; the column `stamped` is the row's stamp, milliseconds as seconds.

    >>> write_lines(2, np.array([[26, 0, -1]]), 1, np.array([26_004]))
    b'2,26,26.004,-1\\n'
    """
    return bytes(_write(kind, numbers, stamped, stamps).tobytes())


def copy_lines(data: Array, starts: Array, keep: Array, whole: Array, steps: Array, copy: int) -> Array:
    """The kept lines, with `copy * steps[type, field]` added to the fields that have a step."""
    copied: Array = _copy(data, starts, keep, whole, steps, copy)
    return copied
