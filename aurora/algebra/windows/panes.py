"""Windows that a clock closes for all groups alike: what comes is summed up by group and pane and laid down in a log.

No group is looked up before its windows close, and none has to be remembered for that. When the clock has passed the
end of windows, the panes that they consist of are read and put together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from aurora.algebra.ordering.admission import Bounds, are_in_order, with_order_value
from aurora.algebra.ordering.progress import Progress
from aurora.algebra.ordering.values import from_values, least, order_codes, to_values
from aurora.algebra.state.log import Log
from aurora.algebra.state.turn import Turn
from aurora.algebra.tuples.arrays import expand, find_starts, number_rows, value_order
from aurora.algebra.tuples.floats import normalise
from aurora.algebra.tuples.hashing import hash_rows
from aurora.algebra.tuples.packing import pack
from aurora.algebra.tuples.sorting import stable_order
from aurora.algebra.tuples.train import LAST, Ints, Mask, Train, Values, make_clock_keys

if TYPE_CHECKING:
    from aurora.algebra.aggregate import Aggregate

__all__ = ["sum_up_panes"]

PANE = "#pane"
ARRIVED = "#ts"
# So many rows are put together at once when windows close, and summed up at once where there are many.
ROWS = 1 << 17
MANY = 1 << 19
# So many keys of each piece say where to cut.
SAMPLES = 64


def sum_up_panes(box: "Aggregate", train: Train, turn: Turn) -> Train:
    """The windows that close in this turn."""
    clock = turn.clocks[0].lag(box.order.span)
    new = _sum_up_arrivals(box, with_order_value(train, box.order.on, turn), clock, turn)
    log = Log(turn, "panes", PANE)
    end = turn.moment.end
    closed = _no_windows(box, train.depth)
    if end or clock.after > clock.before:
        past = None if end else int(clock.after)
        found = [*log.read(past), *([new] if past is None else [new.slice(0, _count_below(new, past))])]
        closed = _close(box, found, clock, train.depth, end)
        log.forget(lambda pane: end or not _alive(box, np.array([pane]), clock)[0])
    if not end:
        log.append(new.filter(pa.array(_alive(box, _panes(new), clock))))
        log.tidy(lambda parts: _join(box, parts, clock))
    log.write()
    return closed


def _sum_up_arrivals(box: "Aggregate", train: Train, clock: Progress, turn: Turn) -> pa.RecordBatch:
    """What the tuples that are in order come to: a row for each pane and group, by pane.

    Many tuples, as another box gives when its windows close, are summed up a slice at a time: what lies between two
    steps is then never large, and the slices come to little.
    """
    if len(train) <= MANY:
        return _sum_up_slice(box, train, clock, turn)
    slices = [_sum_up_slice(box, train.slice(at, ROWS), clock, turn) for at in range(0, len(train), ROWS)]
    return _sum_up(box, pa.concat_batches(slices))


def _sum_up_slice(box: "Aggregate", train: Train, clock: Progress, turn: Turn) -> pa.RecordBatch:
    value = to_values(train.rows.column(box.order.on))
    chosen = are_in_order(train, value, clock, turn)
    gaps = chosen & box.windows.in_gap(value, np.zeros(len(value), value.dtype))
    turn.discard("between windows", int(gaps.sum()))
    chosen &= ~gaps
    if not chosen.all():
        train, value = train.filter(chosen), value[chosen]
    panes = box.windows.panes(value, np.zeros(len(value), value.dtype))
    train, panes, lifted = box.lift_arrivals(train, panes)
    keys = [normalise(train.rows.column(name)) for name in box.order.group_by]
    return _sum_up(box, _batch(panes, train.arrived, keys, lifted))


def _sum_up(box: "Aggregate", rows: pa.RecordBatch) -> pa.RecordBatch:
    """One row for each pane and group, by pane; where the numbers of `number_rows` ascend, then by group."""
    panes, arrived, keys, columns = _take_apart(box, rows)
    number = number_rows([rows.column(PANE), *keys])
    if (number[1:] < number[:-1]).any():
        order = stable_order(number)
        number, panes, arrived = number[order], panes[order], arrived[order]
        places = pa.array(order)
        keys, columns = ([each.take(places) for each in some] for some in (keys, columns))
    starts = find_starts(number)
    if len(starts) < len(number):
        columns = box.reducer.combine(columns, starts)
        panes, arrived = panes[starts], np.minimum.reduceat(arrived, starts)
        places = pa.array(starts)
        keys = [key.take(places) for key in keys]
    whole = _batch(panes, arrived, keys, columns)
    if len(panes) and (panes[1:] < panes[:-1]).any():
        whole = whole.take(pa.array(stable_order(panes)))
    return whole


def _join(box: "Aggregate", parts: Sequence[pa.RecordBatch], clock: Progress) -> pa.RecordBatch:
    """Pieces of the log as one, without what no open window holds any more."""
    rows = pa.concat_batches(parts)
    return _sum_up(box, rows.filter(pa.array(_alive(box, _panes(rows), clock))))


def _close(
    box: "Aggregate", parts: Sequence[pa.RecordBatch], clock: Progress, depth: int, end: bool
) -> Train:
    """The windows that end between the two values of the clock, or at all, in the order of their keys.

    The parts are sorted already, which a merging sort makes use of: little is left to do at the moment that all wait
    for.
    """
    pieces, by_key = _in_slices(parts, box.order.group_by)
    found = [closed for rows in pieces if (closed := _close_slice(box, rows, clock, end)) is not None]
    if not found:
        return _no_windows(box, depth)
    rows = pa.concat_batches([closed.rows for closed in found])
    arrived = np.concatenate([closed.arrived for closed in found])
    starts = np.unique(np.concatenate([closed.starts for closed in found]))
    lines = np.concatenate(
        [_find_causes(starts, box.windows.ends(starts), clock, depth), order_codes(starts)[None]]
    )
    if by_key and len(starts) == 1:
        # One window of many groups, which stand in order: their keys are the same, and need no room.
        return Train(rows, arrived, np.broadcast_to(lines, (len(lines), len(arrived))))
    own = np.concatenate([np.searchsorted(starts, closed.starts)[closed.window] for closed in found])
    return Train(rows, arrived, lines.take(own, axis=1)).arrange()


@dataclass(frozen=True)
class Closed:
    """Results of some groups, by window and group: `window` has the number of each one's start."""

    rows: pa.RecordBatch
    arrived: Ints
    window: Ints
    starts: Values


def _close_slice(box: "Aggregate", rows: pa.RecordBatch, clock: Progress, end: bool) -> Closed | None:
    panes, arrived, keys, columns = _take_apart(box, rows)
    row, window, starts = _find_windows(box, panes, clock, end)
    if len(row) == 0:
        return None
    group = number_rows(keys) if keys else np.zeros(len(panes), np.int64)
    row, window, begins = _by_window(row, window, group)
    columns = box.reducer.combine([column.take(pa.array(row)) for column in columns], begins)
    first, window = pa.array(row[begins]), window[begins]
    fields = [
        *(key.take(first) for key in keys),
        from_values(starts[window], box.order.type(box.input)),
        *box.reducer.finish(columns, len(begins)),
    ]
    made = pa.RecordBatch.from_arrays(fields, schema=box.outputs["1"].arrow())
    return Closed(made, np.minimum.reduceat(arrived.take(row), begins), window, starts)


def _no_windows(box: "Aggregate", depth: int) -> Train:
    return Train.empty(box.outputs["1"].arrow(), depth + 1)


def _by_window(row: Ints, window: Ints, group: Ints) -> tuple[Ints, Ints, Ints]:
    """The pairs by window, then group, and where those of each window and group begin."""
    if len(row) == len(group) and not window.any():
        # Each row in the one window that there is, as a rule: a sort of the groups is all.
        order = stable_order(group)
        begins = find_starts(group[order])
        return order, window, begins
    own = group[row]
    order = value_order(window, own)
    window = window[order]
    begins = find_starts(window, own[order])
    return row[order], window, begins


def _find_windows(box: "Aggregate", panes: Values, clock: Progress, end: bool) -> tuple[Ints, Ints, Values]:
    """Pairs of a row and the number of a window that closes and holds its pane; and the starts of these windows."""
    begins = find_starts(panes)
    ends = np.append(begins[1:], len(panes))
    # Rows are many, panes are few.
    distinct, pane = np.unique(panes[begins], return_inverse=True)
    nobody = np.zeros(len(distinct), np.int64)
    reached = None if end else _bounds(clock.after)
    held, start = box.windows.between(distinct, nobody, nobody, _bounds(clock.before), reached)
    starts, window = np.unique(start, return_inverse=True)
    if len(starts) == 1 and len(held) == len(distinct):
        return np.arange(len(panes)), np.zeros(len(panes), np.int64), starts
    by_pane = stable_order(pane)
    low, high = (np.searchsorted(pane[by_pane], held, side=side) for side in ("left", "right"))
    run, pair = expand(low, high)
    run = by_pane[run]
    row, owner = expand(begins[run], ends[run])
    return row, window[pair[owner]], starts


def _find_causes(window: Values, end: Values, clock: Progress, depth: int) -> Ints:
    # Past the largest bigint nothing closes a window but the end of the input.
    return make_clock_keys(np.where(end < window, LAST, clock.find_positions(end)), depth)


def _in_slices(
    parts: Sequence[pa.RecordBatch], fields: Sequence[str]
) -> tuple[Iterator[pa.RecordBatch], bool]:
    """All rows, those of a group together, in pieces of bounded size, and whether one piece follows the other by key.

    Groups know nothing of each other.
    """
    parts = [part for part in parts if part.num_rows]
    total = sum(part.num_rows for part in parts)
    slices = 1 + total // ROWS if fields else 1
    if slices == 1:
        return iter([pa.concat_batches(parts)] if parts else []), False
    pieces = _cut_by_key(parts, len(fields), slices)
    return map(pa.concat_batches, pieces or _cut_by_hash(parts, len(fields), slices)), bool(pieces)


def _cut_by_key(parts: Sequence[pa.RecordBatch], width: int, slices: int) -> list[list[pa.RecordBatch]]:
    """From one key to another, without a copy; none if the parts are not sorted by key."""
    keys = [pa.concat_arrays([part.column(_key(i)) for part in parts]) for i in range(width)]
    numbers, done = pack(keys)
    if numbers is None or done < width:
        return []
    sample = np.sort(numbers[:: max(len(numbers) // (SAMPLES * slices), 1)])
    bounds = sample[np.arange(1, slices) * len(sample) // slices]
    found: list[list[pa.RecordBatch]] = [[] for _ in range(slices)]
    row = 0
    for part in parts:
        # Within a pane the rows of a part go by key.
        begins = find_starts(_panes(part))
        for begin, end in zip(begins.tolist(), [*begins[1:].tolist(), part.num_rows], strict=True):
            own = numbers[row + begin : row + end]
            if (own[1:] < own[:-1]).any():
                return []
            cuts = [begin, *(begin + np.searchsorted(own, bounds, side="left")).tolist(), end]
            for piece, (low, high) in zip(found, pairwise(cuts), strict=True):
                if high > low:
                    piece.append(part.slice(low, high - low))
        row += part.num_rows
    return [pieces for pieces in found if pieces]


def _cut_by_hash(parts: Sequence[pa.RecordBatch], width: int, slices: int) -> Iterator[list[pa.RecordBatch]]:
    owners = [
        hash_rows([part.column(_key(i)) for i in range(width)], part.num_rows) % np.uint64(slices)
        for part in parts
    ]
    for number in range(slices):
        yield [part.filter(pa.array(owner == number)) for part, owner in zip(parts, owners, strict=True)]


def _bounds(value: int) -> Bounds:
    return np.asarray([value]), np.asarray([value > least(np.dtype(np.int64))])


def _alive(box: "Aggregate", panes: Values, clock: Progress) -> Mask:
    """Which panes are in windows that are still open."""
    nobody = np.zeros(len(panes), np.int64)
    return box.windows.alive(panes, nobody, nobody, _bounds(clock.after))


def _count_below(rows: pa.RecordBatch, bound: int) -> int:
    return int(np.searchsorted(_panes(rows), bound, side="left"))


def _panes(rows: pa.RecordBatch) -> Values:
    return np.asarray(rows.column(PANE).to_numpy())


def _key(number: int) -> str:
    return f"key {number}"


def _batch(panes: Values, arrived: Ints, keys: list[pa.Array], columns: list[pa.Array]) -> pa.RecordBatch:
    names = [PANE, ARRIVED, *map(_key, range(len(keys))), *(str(i) for i in range(len(columns)))]
    return pa.RecordBatch.from_arrays([pa.array(panes), pa.array(arrived), *keys, *columns], names=names)


def _take_apart(
    box: "Aggregate", rows: pa.RecordBatch
) -> tuple[Values, Ints, list[pa.Array], list[pa.Array]]:
    width = 2 + len(box.order.group_by)
    columns = rows.columns
    return _panes(rows), columns[1].to_numpy(), columns[2:width], columns[width:]
