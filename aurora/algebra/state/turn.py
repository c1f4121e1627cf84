"""What a box gets when it is called: its state, the moment, and a place to count what it leaves out."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa

__all__ = ["Moment", "State", "Turn"]


@dataclass(frozen=True)
class Moment:
    """The box's local time (milliseconds), the arrival number before the train's first, and whether the input ends."""

    now: int = 0
    before: int = -1
    end: bool = False


class State:
    """Named Arrow batches; read when first asked for, written back only where they changed."""

    def __init__(self, read: Callable[[str], pa.RecordBatch | None] = lambda _: None) -> None:
        self._read = read
        self._values: dict[str, pa.RecordBatch | None] = {}
        self._changed: set[str] = set()

    def get(self, name: str) -> pa.RecordBatch | None:
        if name not in self._values:
            self._values[name] = self._read(name)
        return self._values[name]

    def put(self, name: str, value: pa.RecordBatch | None) -> None:
        """Stores a batch; an empty one, or None, removes the name."""
        empty = value is None or value.num_rows == 0
        if empty and self.get(name) is None:
            return
        self._values[name] = None if empty else value
        self._changed.add(name)

    def changes(self) -> Iterator[tuple[str, pa.RecordBatch | None]]:
        """What was put since the last call; None stands for a removed name."""
        for name in sorted(self._changed):
            yield name, self._values[name]
        self._changed.clear()

    def bytes(self, prefix: str = "") -> int:
        """The size of what was read or put so far."""
        held = (value for name, value in self._values.items() if name.startswith(prefix))
        return sum(int(value.nbytes) for value in held if value is not None)

    def within(self, prefix: str) -> "State":
        """The part of this state whose names begin with `prefix`."""
        return _Part(self, prefix)


class _Part(State):
    def __init__(self, whole: State, prefix: str) -> None:
        self._whole = whole
        self._prefix = prefix

    def get(self, name: str) -> pa.RecordBatch | None:
        return self._whole.get(self._prefix + name)

    def put(self, name: str, value: pa.RecordBatch | None) -> None:
        self._whole.put(self._prefix + name, value)

    def within(self, prefix: str) -> State:
        return _Part(self._whole, self._prefix + prefix)


@dataclass
class Turn:
    """One call of a box. `primary` is true in one bucket only: there, what every bucket sees is counted."""

    state: State = field(default_factory=State)
    moment: Moment = field(default_factory=Moment)
    discarded: Counter[str] = field(default_factory=Counter)
    counts: bool = True
    primary: bool = True
    relations: State = field(default_factory=State)

    def discard(self, reason: str, number: int) -> None:
        if number and self.counts:
            self.discarded[reason] += number
