"""The one kind of error that a user can fix: shown as a single line, without a stack trace."""

import difflib
from collections.abc import Iterable

__all__ = ["AuroraError", "did_you_mean", "raise_if", "suggest_spelling"]


# To compare a name with so many others, or one so long, takes seconds.
MOST_COMPARED, LONGEST_COMPARED = 500, 200


class AuroraError(Exception):
    """An error that you can fix, in one line: what is wrong, what was found, what to do."""


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """For the end of a clause: a known name that is spelt much like this one, or nothing."""
    words = {word.lower(): word for word in known}
    if len(words) > MOST_COMPARED or len(str(name)) > LONGEST_COMPARED:
        return ""
    near = difflib.get_close_matches(str(name).lower(), words, n=1)
    return f" (did you mean {words[near[0]]}?)" if near else ""


def suggest_spelling(name: str, known: Iterable[str]) -> str:
    """Like `did_you_mean`, where a word that merely looks alike would mislead: one letter wrong, or two of many.

    >>> suggest_spelling("meedian", ["median"]), suggest_spelling("hex", ["exp"])
    (' (did you mean median?)', '')
    """
    most = 0 if len(name) < 4 else 1 if len(name) < 6 else 2
    far, near = min(((distance(name.lower(), word.lower()), word) for word in known), default=(most + 1, ""))
    return f" (did you mean {near}?)" if far <= most else ""


def distance(one: str, other: str) -> int:
    """How many letters are missing, surplus, wrong, or swapped with their neighbour."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, last, row = row, before, [i]
        for j, there in enumerate(other, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != there))
            if i > 1 and j > 1 and letter == other[j - 2] and there == one[i - 2]:
                best = min(best, last[j - 2] + 1)
            row.append(best)
    return row[-1]


def raise_if(fault: str) -> None:
    """Raises a fault of that text, unless it is empty."""
    if fault:
        raise AuroraError(fault)
