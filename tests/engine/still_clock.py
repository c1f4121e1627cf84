"""A clock that moves when it is told to, for what waits and says so."""

from collections.abc import Callable

import pytest

from aurora.engine.waits import waits


class StillClock:
    def __init__(self) -> None:
        self.time = 1_000.0
        self._due: list[tuple[float, Callable[[], None]]] = []

    def now(self) -> float:
        return self.time

    def alarm(self, seconds: float, call: Callable[[], None]) -> Callable[[], None]:
        entry = (self.time + seconds, call)
        self._due.append(entry)
        return lambda: self._due.remove(entry) if entry in self._due else None

    def move(self, seconds: float) -> None:
        self.time += seconds
        for entry in [entry for entry in self._due if entry[0] <= self.time]:
            self._due.remove(entry)
            entry[1]()


def stop_the_clock(monkeypatch: pytest.MonkeyPatch) -> StillClock:
    """Let the waits of this process go by a still clock."""
    clock = StillClock()
    monkeypatch.setattr(waits, "_clock", clock.now)
    monkeypatch.setattr(waits, "_alarm", clock.alarm)
    monkeypatch.setattr(waits, "_known", set())
    return clock
