"""What a clock closes: the groups whose windows end at a time are noted for it, and looked at when it comes."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from aurora.algebra.ordering.admission import Admitted
from aurora.algebra.ordering.progress import Progress
from aurora.algebra.ordering.values import least, shift
from aurora.algebra.state.agenda import Agenda
from aurora.algebra.state.groups import Groups
from aurora.algebra.state.turn import Turn
from aurora.algebra.tuples.train import Ints, Values
from aurora.algebra.windows.rows import WindowRows

if TYPE_CHECKING:
    from aurora.algebra.aggregate import Aggregate

__all__ = ["Due", "find_due_keys", "note_due_keys"]

# Groups whose windows lie anywhere are looked at this part of an advance too early at most.
PARTS = 16


class Due:
    """The agenda of a box by the values of its order field, `step` of them at a time."""

    def __init__(self, fields: tuple[str, ...], step: Any) -> None:
        self._agenda = Agenda("due", fields)
        self._step = step

    def take(self, bound: Any, turn: Turn) -> list[pa.RecordBatch]:
        """The keys of groups that may have something due at the bound."""
        if turn.moment.end or bound == least(np.asarray(bound).dtype):
            return []
        return self._agenda.take(turn, int(self._times(np.asarray([bound]))[0]))

    def note(self, groups: Groups, group: Ints, value: Values, bound: Any, turn: Turn) -> None:
        """Notes for groups the earliest of the values at which they have something due."""
        if not self._agenda.fields or len(groups) == 0:
            return
        never = np.iinfo(np.int64).max
        times = np.full(len(groups), never, np.int64)
        np.minimum.at(times, group, self._times(value))
        noted = np.full(len(groups), never, np.int64)
        stored = groups.rows("due")
        if stored is not None:
            noted[stored[0]] = stored[1].column("time").to_numpy()
        if bound > least(np.asarray(bound).dtype):
            # What was noted up to here has been taken.
            noted[noted <= self._times(np.asarray([bound]))[0]] = never
        earlier = np.flatnonzero(times < noted)
        self._agenda.note(turn, times[earlier], groups.columns(earlier))
        noted = np.minimum(noted, times)
        has = np.flatnonzero(noted < never)
        changed = np.zeros(len(groups), bool)
        changed[earlier] = True
        groups.put("due", has, pa.record_batch({"time": noted[has]}), changed)

    def _times(self, values: Values) -> Ints:
        if values.dtype.kind == "f":
            return np.asarray(np.floor(values / self._step), np.int64)
        return np.asarray(values // np.int64(self._step))


def find_due_keys(box: "Aggregate", clock: Progress, turn: Turn) -> list[pa.RecordBatch]:
    """The keys of the groups whose windows the clock may close in this turn."""
    return _due(box).take(clock.after, turn)


def note_due_keys(box: "Aggregate", kept: WindowRows, admitted: Admitted, turn: Turn) -> None:
    """Notes when the next window of each group closes: of what its windows hold, and of what is held back."""
    assert admitted.clock is not None
    bound, groups = admitted.clock.after, admitted.groups
    held = WindowRows.load(groups, "held")
    group, value = (kept.group, kept.value) if held is None else _both(kept, held)
    if box.predicate is not None:
        group, value = _starts(groups, held, value.dtype)
        ends = shift(value, box.windows.size)
    else:
        origin, known = box.load_origins(groups, value.dtype)
        start = np.where(known[group], origin[group], value)
        ends = box.windows.find_next_ends(value, start, bound)
    _due(box).note(groups, group, ends, bound, turn)


def _both(one: WindowRows, other: WindowRows) -> tuple[Ints, Values]:
    return np.concatenate([one.group, other.group]), np.concatenate([one.value, other.value])


def _starts(groups: Groups, held: WindowRows | None, kind: np.dtype[Any]) -> tuple[Ints, Values]:
    """Where windows that a predicate opens start, and where held ones may."""
    group, start = np.empty(0, np.int64), np.empty(0, kind)
    stored = groups.rows("open")
    if stored is not None:
        group, start = stored[0], stored[1].column("start").to_numpy()
    if held is not None:
        group, start = np.concatenate([group, held.group]), np.concatenate([start, held.value])
    return group, start


def _due(box: "Aggregate") -> Due:
    windows = box.windows
    step = windows.advance
    if not windows.align:
        step = step / PARTS if isinstance(step, float) else max(step // PARTS, 1)
    return Due(box.order.group_by, step)
