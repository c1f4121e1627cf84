"""What an answer to a query is."""

from collections.abc import Callable
from dataclasses import dataclass

from aurora.nexmark.check.rules import Rules

__all__ = ["Answer", "Totals"]


@dataclass(frozen=True)
class Totals:
    """What can be compared of a result that is another in each run: so much of its rows, in all, and why."""

    fields: dict[str, str]
    # The fields from the rows, and which rows are good.
    select: str
    good: str
    note: str


@dataclass(frozen=True)
class Answer:
    """How a query is answered, and its fields by kind: whole, real, text, time (in milliseconds) or event."""

    fields: dict[str, str]
    sql: Callable[[Rules], str]
    # The fields of the events that it looks at, beside their times.
    reads: tuple[str, ...]
    # What the rows are ordered by, if their order is fixed; the answer has these columns too.
    order: tuple[str, ...] = ()
    # Whether late events are left out.
    ordered: bool = True
    totals: Totals | None = None
