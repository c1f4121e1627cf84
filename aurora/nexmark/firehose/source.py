"""The firehose as a source of a network: rows without a detour over text, as fast as asked for or by the clock."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from aurora import Cursor, Piece, Portion, Schema
from aurora.errors import AuroraError
from aurora.nexmark.firehose.fields import schema_text
from aurora.nexmark.firehose.making import facts_of
from aurora.nexmark.firehose.pace import Pace
from aurora.nexmark.firehose.rows import to_rows
from aurora.nexmark.firehose.settings import Settings
from aurora.nexmark.firehose.streams import check_stream, members

__all__ = ["Firehose"]

SECOND = 1_000_000


@dataclass(frozen=True)
class _Range:
    settings: Settings
    stream: str
    start: int
    stop: int

    def read(self, schema: Schema) -> Portion:
        facts = facts_of(self.settings, self.start, self.stop)
        chosen = members(facts, self.stream)
        if len(chosen) < facts.shape[1]:
            facts = np.ascontiguousarray(facts[:, chosen])
        return Portion(to_rows(facts, schema.arrow()), chosen + self.start)


class Firehose:
    """Events from number 0 up to `events`, without end if there is no such number.

    With a pace each event comes when it is due, from the first question on; a source that goes on at a later place
    goes on from there. `stream` is one of several: all, bid-0, bid-1 .., rest (what is no bid), or a kind of event.
    """

    def __init__(
        self,
        settings: Settings,
        events: int | None = None,
        pace: Pace | None = None,
        stream: str = "all",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if events is not None and events < 1:
            raise AuroraError(f"--events must be at least 1, not {events}")
        check_stream(settings, stream)
        self.settings = settings
        self.events = events
        self.pace = pace
        self.stream = stream
        self._clock = clock
        self._origin: float | None = None

    @property
    def schema(self) -> str:
        """The text of the schema with all fields; a network's input may have fewer."""
        return schema_text(self.settings.profile)

    @property
    def live(self) -> bool:
        return self.pace is not None

    def begin(self) -> Cursor:
        return {"row": 0}

    def advance(self, cursor: Cursor, rows: int) -> Cursor:
        return {"row": cursor["row"] + min(rows, self.waiting(cursor))}

    def waiting(self, cursor: Cursor) -> int:
        """How many events behind this place are due: more and more of them, if the network is too slow."""
        row: int = cursor["row"]
        rest = 2**62 if self.events is None else max(self.events - row, 0)
        if self.pace is None:
            return rest
        now = self._clock()
        if self._origin is None:
            self._origin = now - self.pace.moment(row) / SECOND
        due = self.pace.number_at(int((now - self._origin) * SECOND) + 1)
        return min(rest, max(due - row, 0))

    def finished(self, cursor: Cursor) -> bool:
        return self.events is not None and bool(cursor["row"] >= self.events)

    def pieces(self, start: Cursor, end: Cursor, number: int) -> list[Piece]:
        share = max(1, -(-(end["row"] - start["row"]) // number))
        return [
            _Range(self.settings, self.stream, first, min(first + share, end["row"]))
            for first in range(start["row"], end["row"], share)
        ]

    def __getstate__(self) -> dict[str, Any]:
        # The clock of another process has another origin.
        return self.__dict__ | {"_origin": None}
