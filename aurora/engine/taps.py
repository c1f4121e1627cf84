"""Taps: streams of a run that somebody looks at, and the tuples that were shown of each."""

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

__all__ = ["Taps"]

# After so many seconds without a question nobody looks any more.
PATIENCE = 10.0
# Batches that wait for the next question; of more, the oldest are forgotten.
BATCHES = 20


@dataclass
class _Tap:
    asked: float
    number: int = 0
    shown: deque[tuple[int, pa.RecordBatch]] = field(default_factory=lambda: deque(maxlen=BATCHES))


class Taps:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._taps: dict[str, _Tap] = {}
        self._changing = threading.Lock()

    def names(self) -> tuple[str, ...]:
        """The streams that somebody looks at now."""
        now = self._clock()
        with self._changing:
            for name in [name for name, tap in self._taps.items() if now - tap.asked > PATIENCE]:
                del self._taps[name]
            return tuple(sorted(self._taps))

    def ask(self, stream: str, after: int) -> tuple[pa.RecordBatch | None, int]:
        """What was shown behind number `after`, and the number of the last."""
        with self._changing:
            tap = self._taps.setdefault(stream, _Tap(0.0))
            tap.asked = self._clock()
            found = [rows for number, rows in tap.shown if number > after]
            return (pa.concat_batches(found) if found else None), tap.number

    def take(self, shown: Mapping[str, pa.RecordBatch]) -> None:
        with self._changing:
            for name, rows in shown.items():
                if name in self._taps:
                    tap = self._taps[name]
                    tap.number += 1
                    tap.shown.append((tap.number, rows))
