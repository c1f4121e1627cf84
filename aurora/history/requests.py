"""What a request to a running network may hold: the fields of each command, their kinds and their ranges."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aurora.errors import AuroraError

__all__ = ["REQUESTS", "check_request"]

# The largest number that the offsets of a run can hold.
MOST = (1 << 63) - 1
# A name, an address or a condition has no more characters; the text of a query may be as long as a request.
LONG = 10_000


@dataclass(frozen=True)
class Whole:
    """A whole number in a range; True and False are none."""

    low: int
    high: int = MOST

    def fits(self, value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and self.low <= value <= self.high

    def __str__(self) -> str:
        return f"a whole number from {self.low:,} to {self.high:,}"


@dataclass(frozen=True)
class Words:
    """A text without the character NUL, one of some if they are given."""

    longest: int | None = LONG
    among: tuple[str, ...] = ()

    def fits(self, value: Any) -> bool:
        if (
            not isinstance(value, str)
            or "\0" in value
            or (self.longest is not None and len(value) > self.longest)
        ):
            return False
        return not self.among or value in self.among

    def __str__(self) -> str:
        if self.among:
            return " or ".join(self.among)
        return "a text" if self.longest is None else f"a text of at most {self.longest:,} characters"


@dataclass(frozen=True)
class Table:
    """Texts by names."""

    def fits(self, value: Any) -> bool:
        return isinstance(value, dict) and all(map(Words().fits, [*value, *value.values()]))

    def __str__(self) -> str:
        return "texts by names"


@dataclass(frozen=True)
class Row:
    """A list of texts."""

    def fits(self, value: Any) -> bool:
        return isinstance(value, list) and all(map(Words().fits, value))

    def __str__(self) -> str:
        return "a list of texts"


@dataclass(frozen=True)
class Field:
    """One of some kinds. One that need not be given may be null as well."""

    kinds: tuple[Whole | Words | Table | Row, ...]
    needed: bool = True

    def fits(self, value: Any) -> bool:
        return any(kind.fits(value) for kind in self.kinds) or (value is None and not self.needed)

    def __str__(self) -> str:
        return " or ".join(map(str, self.kinds))


def _may(*kinds: Whole | Words | Table | Row) -> Field:
    return Field(kinds, needed=False)


def _must(*kinds: Whole | Words | Table | Row) -> Field:
    return Field(kinds)


REQUESTS: Mapping[str, Mapping[str, Field]] = {
    "status": {},
    "pause": {},
    "resume": {"query": _may(Words())},
    "step": {"batches": _must(Whole(1, 1_000_000_000))},
    "stop": {},
    "attach": {
        "text": _must(Words(None)),
        "path": _may(Words()),
        "sinks": _must(Table()),
        "name": _may(Words()),
        "since": _may(Words(), Whole(0)),
        "allow_hosts": _may(Row()),
        "parameters": _may(Table()),
    },
    "detach": {"name": _must(Words())},
    "look": {
        "stream": _must(Words()),
        "after": _must(Whole(0)),
        "where": _may(Words()),
        "most": _may(Whole(0)),
        "format": _must(Words(among=("csv", "json"))),
    },
}


def check_request(command: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request with all fields of its command; raise a fault if one has a value that does not fit, or if there
    are others."""
    fields = REQUESTS[command]
    for name in request:
        if name not in fields:
            known = ", ".join(fields) or "none"
            raise AuroraError(
                f"{command}: a request has no {name[:100]!r}; the fields of this one are: {known}"
            )
    for name, field in fields.items():
        if field.needed and name not in request:
            raise AuroraError(f"{command}: {name} is missing; give {field}")
        if name in request and not field.fits(request[name]):
            found = repr(request[name])
            raise AuroraError(f"{command}: {name} must be {field}; found {found[:100]}")
    return {name: request.get(name) for name in fields}
