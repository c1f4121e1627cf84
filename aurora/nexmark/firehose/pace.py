"""When events happen: a rate that is constant, a sine or steps, and its inverse, all in whole microseconds.

Every shape is a cycle of slices, each with a whole number of events that are spread evenly over it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aurora.errors import AuroraError
from aurora.nexmark.firehose.kernel import cached_kernel, kernel

__all__ = ["Cycle", "Pace", "moment", "number_at"]

SECOND = 1_000_000
# No slice is longer than about a second, so that events times microseconds fit into 64 bits.
FINEST = 64
LARGEST = 1_000_000_000
LONGEST = 7 * 86_400


class Cycle(NamedTuple):
    """The events and microseconds of a cycle before each slice; the last ones are those of the whole cycle."""

    numbers: NDArray[np.int64]
    micros: NDArray[np.int64]


@kernel
def moment(cycle: Any, number: Any) -> Any:
    """Microseconds from the start to the event."""
    events, length = cycle.numbers[-1], cycle.micros[-1]
    rest = number % events
    at = np.searchsorted(cycle.numbers, rest, side="right") - 1
    within = (
        (rest - cycle.numbers[at])
        * (cycle.micros[at + 1] - cycle.micros[at])
        // (cycle.numbers[at + 1] - cycle.numbers[at])
    )
    return number // events * length + cycle.micros[at] + within


@kernel
def number_at(cycle: Any, micros: Any) -> Any:
    """The first event that happens at this microsecond or later."""
    if micros <= 0:
        return np.int64(0)
    events, length = cycle.numbers[-1], cycle.micros[-1]
    rest = micros % length
    at = np.searchsorted(cycle.micros, rest, side="right") - 1
    span = cycle.micros[at + 1] - cycle.micros[at]
    within = ((rest - cycle.micros[at]) * (cycle.numbers[at + 1] - cycle.numbers[at]) + span - 1) // span
    return micros // length * events + cycle.numbers[at] + within


@cached_kernel
def _moment(cycle: Any, number: int) -> int:
    return moment(cycle, number)  # type: ignore[no-any-return]


@cached_kernel
def _number_at(cycle: Any, micros: int) -> int:
    return number_at(cycle, micros)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Pace:
    """Events a second: one rate, a sine between two of them, or steps; and the seconds of the cycle or of a step."""

    shape: str
    rates: tuple[int, ...]
    seconds: int = 1

    def __post_init__(self) -> None:
        for rate in self.rates:
            if not 1 <= rate <= LARGEST:
                raise AuroraError(f"--rate has {rate} events/s: give whole numbers from 1 to {LARGEST:,}")
        if not 1 <= self.seconds <= LONGEST:
            raise AuroraError(f"--rate has {self.seconds} seconds: give 1 to {LONGEST:,}")

    @classmethod
    def constant(cls, rate: int) -> "Pace":
        return cls("constant", (rate,))

    @classmethod
    def parse(cls, text: str) -> "Pace":
        """`10000`, `sine:LOW..HIGH:SECONDS` or `steps:RATE,RATE,..:SECONDS`.

        >>> Pace.parse("sine:5000..20000:60")
        Pace(shape='sine', rates=(5000, 20000), seconds=60)
        """
        shape, *parts = text.replace("_", "").split(":")
        try:
            if not parts:
                return cls.constant(int(shape))
            if len(parts) == 2 and shape == "sine":
                low, high = parts[0].split("..")
                return cls("sine", (int(low), int(high)), int(parts[1]))
            if len(parts) == 2 and shape == "steps":
                return cls("steps", tuple(int(rate) for rate in parts[0].split(",")), int(parts[1]))
        except ValueError:
            pass
        raise AuroraError(
            f"cannot read --rate {text}: give events/s (10000), sine:LOW..HIGH:SECONDS or steps:RATE,RATE:SECONDS"
        )

    def __str__(self) -> str:
        if self.shape == "constant":
            return str(self.rates[0])
        between = ".." if self.shape == "sine" else ","
        return f"{self.shape}:{between.join(map(str, self.rates))}:{self.seconds}"

    @cached_property
    def cycle(self) -> Cycle:
        if self.shape == "constant":
            return _cycle(self.rates, [SECOND])
        if self.shape == "steps":
            rates = [rate for rate in self.rates for _ in range(self.seconds)]
            return _cycle(rates, [SECOND] * len(rates))
        low, high = self.rates
        slices = max(FINEST, self.seconds)
        mean, swing = (low + high) / 2, (high - low) / 2
        numbers, micros = [], []
        for at in range(slices + 1):
            micros.append(self.seconds * SECOND * at // slices)
            wave = self.seconds / math.tau * (1 - math.cos(math.tau * at / slices))
            numbers.append(round(mean * self.seconds * at / slices + swing * wave))
        return Cycle(np.array(numbers, np.int64), np.array(micros, np.int64))

    def moment(self, number: int) -> int:
        """Microseconds from the start to the event."""
        return _moment(self.cycle, number)

    def number_at(self, micros: int) -> int:
        """The first event that happens at this microsecond or later."""
        return _number_at(self.cycle, micros)


def _cycle(numbers: Sequence[int], micros: Sequence[int]) -> Cycle:
    return Cycle(*(np.concatenate([[0], np.cumsum(part)]).astype(np.int64) for part in (numbers, micros)))
