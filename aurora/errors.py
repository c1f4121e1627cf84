"""The one kind of error that a user can fix: shown as a single line, without a stack trace."""

import difflib
from collections.abc import Iterable

__all__ = ["AuroraError", "did_you_mean", "raise_if"]


class AuroraError(Exception):
    """An error that you can fix, in one line: what is wrong, what was found, what to do."""


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """For the end of a clause: a known name that is spelt much like this one, or nothing."""
    words = {word.lower(): word for word in known}
    near = difflib.get_close_matches(str(name).lower(), words, n=1)
    return f" (did you mean {words[near[0]]}?)" if near else ""


def raise_if(fault: str) -> None:
    """Raises a fault of that text, unless it is empty."""
    if fault:
        raise AuroraError(fault)
