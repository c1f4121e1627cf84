"""What a check says."""

from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["Agreement", "Difference", "Row"]

Row = dict[str, Any]


@dataclass(frozen=True)
class Difference:
    """A row that is missing (nothing found), one too many (nothing expected), changed, or out of its place."""

    expected: Row | None
    found: Row | None
    # The line of the result, from 1; for a missing row none.
    line: int | None

    def __str__(self) -> str:
        where = "" if self.line is None else f" (line {self.line:,})"
        if self.expected is None:
            return f"extra{where}: {_shown(self.found)}"
        if self.found is None:
            return f"missing: {_shown(self.expected)}"
        head = f"differs{where}: expected"
        return f"{head} {_shown(self.expected)}\n{'found':>{len(head)}} {_shown(self.found)}"


@dataclass(frozen=True)
class Agreement:
    """Whether a result is that of the independent evaluation, and if not, the first rows in which they differ."""

    query: str
    expected: int
    found: int
    missing: int = 0
    extra: int = 0
    changed: int = 0
    misplaced: int = 0
    # Events that the query leaves out as too late, and lines that are no events.
    late: int = 0
    malformed: int = 0
    # What was compared, if that is not all of the rows.
    note: str = ""
    differences: tuple[Difference, ...] = field(default=(), repr=False)

    @property
    def agrees(self) -> bool:
        return not (self.missing or self.extra or self.changed or self.misplaced)

    def __str__(self) -> str:
        if self.agrees:
            return f"{self.query} agrees: {self.found:,} rows" + (f"; {self.note}" if self.note else "")
        counts = {
            "missing": self.missing,
            "extra": self.extra,
            "changed": self.changed,
            "out of order": self.misplaced,
        }
        told = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
        head = f"{self.query} does not agree: {self.expected:,} rows expected, {self.found:,} found; {told}"
        return "\n".join(
            [head, *(f"  {line}" for each in self.differences for line in str(each).splitlines())]
        )

    def described(self) -> dict[str, Any]:
        """For a report."""
        return asdict(self) | {"agrees": self.agrees}


def _shown(row: Row | None) -> str:
    return "nothing" if row is None else ", ".join(f"{name} {value}" for name, value in row.items())
