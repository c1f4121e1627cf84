"""Windows that have been open too long close early; what comes for them later is counted and left out."""

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from aurora.algebra.ordering.order import Admitted, admit
from aurora.algebra.state.groups import encode, segments
from aurora.algebra.state.kept import Kept
from aurora.algebra.state.turn import Turn
from aurora.algebra.tuples.train import Ints, Mask, Train, Values, at_the_start
from aurora.algebra.windows.places import Bounds

if TYPE_CHECKING:
    from aurora.algebra.aggregate import Aggregate

__all__ = ["count_late", "forget", "time_out"]


def time_out(box: "Aggregate", depth: int, turn: Turn) -> list[Train]:
    """The rows of the windows that began more than the timeout ago, with what they hold so far."""
    assert box.timeout is not None
    held, kept = Kept.load(turn.state, "held"), Kept.load(turn.state, "windows")
    limit = turn.moment.now - box.timeout
    begun = [rows.begun for rows in (held, kept) if rows is not None and rows.begun is not None]
    if not any((times < limit).any() for times in begun):
        return []
    idle = admit(box.order, Train.empty(box.input.arrow(), depth), turn)
    origin, known = _origins(box, held, idle, turn)
    rows = kept if held is None else box.merge(kept, held, origin)
    assert rows is not None and rows.begun is not None
    row, start = box.windows.between(rows.value, origin[rows.group], rows.group, idle.before, None)
    expired = rows.begun[row] < limit
    wanted_group, wanted_start = rows.group[row[expired]], start[expired]
    in_wanted = contained(rows.group[row], start, wanted_group, wanted_start)
    timed = _timed(turn)
    if timed is not None:
        in_wanted &= ~contained(rows.group[row], start, *timed)
    row, start, begins = box.by_window(rows, row[in_wanted], start[in_wanted])
    group, window = rows.group[row[begins]], start[begins]
    if len(begins) == 0:
        return []
    if not (box.windows.align or known[group].all()):
        # From now on the group's windows lie where this one lay.
        known[group] = True
        turn.state.put("origins", pa.record_batch({"value": origin, "known": known}))
    both = [(group, window)] if timed is None else [timed, (group, window)]
    turn.state.put(
        "timed",
        pa.record_batch(
            {"group": np.concatenate([g for g, _ in both]), "start": np.concatenate([s for _, s in both])}
        ),
    )
    keys = at_the_start(turn.moment.before, depth, len(begins))
    return [box.emit(rows, row, begins, group, window, keys, idle.groups)]


def count_late(box: "Aggregate", admitted: Admitted, rows: Kept, turn: Turn) -> None:
    """Counts each tuple once for each window that timed out before it came."""
    timed = _timed(turn)
    if timed is None or len(rows) == 0:
        return
    origin, known = box.stored_origins(len(admitted.groups), admitted.value.dtype, turn)
    if not box.windows.align:
        rows = rows.filter(known[rows.group] & (rows.value >= origin[rows.group]))
    row, start = box.windows.between(rows.value, origin[rows.group], rows.group, admitted.before, None)
    turn.discard("timed out", int(contained(rows.group[row], start, *timed).sum()))


def forget(group: Ints, window: Values, turn: Turn) -> Mask:
    """Which windows timed out before; now that they close they need not be remembered."""
    timed = _timed(turn)
    if timed is None:
        return np.zeros(len(group), bool)
    stays = ~contained(*timed, group, window)
    turn.state.put("timed", pa.record_batch({"group": timed[0][stays], "start": timed[1][stays]}))
    return contained(group, window, *timed)


def contained(group: Ints, start: Values, in_group: Ints, in_start: Values) -> Mask:
    """Which of the first windows are among the second."""
    codes = encode([pa.array(np.concatenate([in_group, group])), pa.array(np.concatenate([in_start, start]))])
    known = codes[: len(in_group)].max(initial=-1)
    return np.asarray(codes[len(in_group) :] <= known)


def _origins(box: "Aggregate", held: Kept | None, idle: Admitted, turn: Turn) -> Bounds:
    """Where windows start; where all tuples of a group are still held back, the smallest of them, not yet for good."""
    origin, known = box.stored_origins(len(idle.groups), idle.value.dtype, turn)
    if held is not None and not box.windows.align:
        firsts, _ = segments(held.group)
        fresh = firsts[~known[held.group[firsts]]]
        origin[held.group[fresh]] = held.value[fresh]
    return origin, known


def _timed(turn: Turn) -> tuple[Ints, Values] | None:
    stored = turn.state.get("timed")
    return None if stored is None else (stored.column("group").to_numpy(), stored.column("start").to_numpy())
