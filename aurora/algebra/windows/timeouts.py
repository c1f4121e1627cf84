"""Windows that have been open too long close early; what comes for them later is counted and left out.

Which groups have such windows is known without looking at all of them: the keys that tuples of a turn had are kept by
the time of the turn, and are looked up when that is longer ago than the timeout.
"""

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from aurora.algebra.ordering.admission import Admitted, Bounds, admit
from aurora.algebra.state.agenda import Agenda
from aurora.algebra.state.groups import Groups
from aurora.algebra.state.turn import Turn
from aurora.algebra.tuples.arrays import encode, find_runs
from aurora.algebra.tuples.train import Ints, Mask, Train, Values, at_the_start
from aurora.algebra.windows.rows import WindowRows

if TYPE_CHECKING:
    from aurora.algebra.aggregate import Aggregate

__all__ = ["count_late", "find_expired_keys", "forget_timed", "note_keys", "time_out"]


def find_expired_keys(box: "Aggregate", turn: Turn) -> list[pa.RecordBatch]:
    """The keys of the groups that had tuples longer ago than the timeout."""
    assert box.timeout is not None
    return _agenda(box).take(turn, turn.moment.now - box.timeout - 1)


def note_keys(box: "Aggregate", groups: Groups, turn: Turn) -> None:
    """Remembers when the groups of this turn had tuples."""
    if turn.moment.end:
        return
    touched = np.unique(groups.numbers[0])
    _agenda(box).note(turn, np.full(len(touched), turn.moment.now, np.int64), groups.columns(touched))


def _agenda(box: "Aggregate") -> Agenda:
    return Agenda("times", box.order.group_by)


def time_out(box: "Aggregate", train: Train, groups: Groups, turn: Turn) -> list[Train]:
    """The rows of the windows that began more than the timeout ago, with what they hold so far."""
    assert box.timeout is not None
    held, kept = WindowRows.load(groups, "held"), WindowRows.load(groups, "windows")
    limit = turn.moment.now - box.timeout
    begun = [rows.begun for rows in (held, kept) if rows is not None and rows.begun is not None]
    if not any((times < limit).any() for times in begun):
        return []
    none = train.take(np.empty(0, np.int64))
    idle = admit(box.order, none, groups, np.empty(0, np.int64), turn)
    origin, known = _find_origins(box, held, idle)
    rows = kept if held is None else box.merge(kept, held, origin)
    assert rows is not None and rows.begun is not None
    row, start = box.windows.between(rows.value, origin[rows.group], rows.group, idle.before, None)
    expired = rows.begun[row] < limit
    wanted_group, wanted_start = rows.group[row[expired]], start[expired]
    in_wanted = contained(rows.group[row], start, wanted_group, wanted_start)
    timed = _load_timed(groups)
    if timed is not None:
        in_wanted &= ~contained(rows.group[row], start, *timed)
    row, start, begins = box.by_window(rows, row[in_wanted], start[in_wanted])
    group, window = rows.group[row[begins]], start[begins]
    if len(begins) == 0:
        return []
    if not (box.windows.align or known[group].all()):
        # From now on the group's windows lie where this one lay.
        known[group] = True
        box.store_origins(groups, origin, known)
    both = [(group, window)] if timed is None else [timed, (group, window)]
    _store_timed(groups, np.concatenate([g for g, _ in both]), np.concatenate([s for _, s in both]))
    keys = at_the_start(turn.moment.before, train.depth, len(begins))
    return [box.emit(rows, row, begins, group, window, keys, groups)]


def count_late(box: "Aggregate", admitted: Admitted, rows: WindowRows, turn: Turn) -> None:
    """Counts each tuple once for each window that timed out before it came."""
    timed = _load_timed(admitted.groups)
    if timed is None or len(rows) == 0:
        return
    origin, known = box.load_origins(admitted.groups, admitted.value.dtype)
    if not box.windows.align:
        rows = rows.filter(known[rows.group] & (rows.value >= origin[rows.group]))
    row, start = box.windows.between(rows.value, origin[rows.group], rows.group, admitted.before, None)
    turn.discard("timed out", int(contained(rows.group[row], start, *timed).sum()))


def forget_timed(group: Ints, window: Values, groups: Groups) -> Mask:
    """Which windows timed out before; now that they close they need not be remembered."""
    timed = _load_timed(groups)
    if timed is None:
        return np.zeros(len(group), bool)
    stays = ~contained(*timed, group, window)
    _store_timed(groups, timed[0][stays], timed[1][stays])
    return contained(group, window, *timed)


def contained(group: Ints, start: Values, in_group: Ints, in_start: Values) -> Mask:
    """Which of the first windows are among the second."""
    codes = encode([pa.array(np.concatenate([in_group, group])), pa.array(np.concatenate([in_start, start]))])
    known = codes[: len(in_group)].max(initial=-1)
    return np.asarray(codes[len(in_group) :] <= known)


def _find_origins(box: "Aggregate", held: WindowRows | None, idle: Admitted) -> Bounds:
    """Where windows start; where all tuples of a group are still held back, the smallest of them, not yet for good."""
    origin, known = box.load_origins(idle.groups, idle.value.dtype)
    if held is not None and not box.windows.align:
        firsts, _ = find_runs(held.group)
        fresh = firsts[~known[held.group[firsts]]]
        origin[held.group[fresh]] = held.value[fresh]
    return origin, known


def _load_timed(groups: Groups) -> tuple[Ints, Values] | None:
    stored = groups.rows("timed")
    return None if stored is None else (stored[0], stored[1].column("start").to_numpy())


def _store_timed(groups: Groups, group: Ints, start: Values) -> None:
    groups.put("timed", group, pa.record_batch({"start": start}))
