"""Functions over windows that run along with the tuples of a group: all of them so far, or the last n."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aurora.algebra.expressions import AggregateCall, Expression
from aurora.algebra.state.groups import Groups
from aurora.algebra.tuples.arrays import expand, find_runs
from aurora.algebra.tuples.sorting import stable_order
from aurora.algebra.tuples.train import Ints
from aurora.algebra.windows.functions import function_of
from aurora.algebra.windows.functions.scans import Ranges, run_ends
from aurora.algebra.windows.reducer import Reducer

__all__ = ["reduce_last", "reduce_so_far"]

# The part of each group's state, and in it the number of a row in its group.
PART = "running"
NUMBER = "#"


@dataclass(frozen=True)
class Line:
    """What is kept of the groups, then the new rows, brought together by group.

    `order` brings them together, `starts` is where each group then starts, `group` which one it is. `place` is where
    each new row stands then, `start` where its group starts, `number` its number in the group, from 1.
    """

    kept: list[pa.Array]
    order: Ints
    starts: Ints
    group: Ints
    place: Ints
    start: Ints
    number: Ints

    @staticmethod
    def of(groups: Groups, fresh: Ints) -> "Line":
        """`fresh` has the group of each new row."""
        stored = groups.rows(PART)
        group, before = (fresh, 0) if stored is None else (np.concatenate([stored[0], fresh]), len(stored[0]))
        order = stable_order(group)
        starts, run = find_runs(group[order])
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        place = place[before:]
        first = np.ones(len(starts), np.int64)
        kept: list[pa.Array] = []
        if stored is not None:
            # The rows that are kept of a group are those right before the new ones.
            kept = list(stored[1].columns)
            leads = order[starts]
            known = leads < before
            first[known] = kept[0].to_numpy()[leads[known]]
        start = starts[run[place]]
        number = first[run[place]] + place - start
        return Line(kept, order, starts, group[order[starts]], place, start, number)

    def join(self, number: int, column: pa.Array) -> pa.Array:
        """A column of what is kept with that of the new rows behind it."""
        return pa.concat_arrays([self.kept[number], column]) if self.kept else column


def reduce_so_far(
    reducer: Reducer, rows: pa.RecordBatch, groups: Groups, group: Ints
) -> tuple[Ints, list[pa.Array]]:
    """The number of each row in its group, and the functions over the group up to it; one row a group is kept."""
    line = Line.of(groups, group)
    place = pa.array(line.place)
    results: list[pa.Array] = []
    ends = pa.array(line.order[run_ends(line.starts, len(line.order))])
    state = [line.join(0, pa.array(line.number)).take(ends)]
    for call in reducer.calls:
        if not _looks_back(call):
            results.append(_own(call, rows, line.number))
            continue
        function = function_of(call)
        lifted = function.lift([argument.evaluate(rows) for argument in _arguments(call)], rows.num_rows)
        columns = [
            line.join(len(state) + i, column).take(pa.array(line.order)) for i, column in enumerate(lifted)
        ]
        result, kept = function.so_far(columns, line.starts)
        results.append(result.take(place))
        state += kept
    _keep(groups, line.group, state)
    return line.number, reducer.compose(results, rows.num_rows)


def reduce_last(
    reducer: Reducer, rows: pa.RecordBatch, groups: Groups, group: Ints, size: int
) -> tuple[Ints, list[pa.Array]]:
    """The number of each row in its group, and the functions over the last `size` rows up to it."""
    line = Line.of(groups, group)
    ranges = Ranges(line.order, np.maximum(line.start, line.place - size + 1), line.place + 1)
    looked = _looked_at(reducer)
    own = list(rows.columns) if reducer.user else [expression.evaluate(rows) for expression in looked]
    columns = [line.join(i, column) for i, column in enumerate([pa.array(line.number), *own])]
    ends = run_ends(line.starts, len(line.order)) + 1
    # One row stays in any case, for its number.
    stays, owner = expand(np.maximum(line.starts, ends - max(size - 1, 1)), ends)
    places = pa.array(line.order[stays])
    _keep(groups, line.group[owner], [column.take(places) for column in columns])
    if reducer.user:
        return line.number, _by_user(reducer, columns[1:], ranges)
    results = []
    for call in reducer.calls:
        if _looks_back(call):
            arguments = [columns[1 + looked.index(each)] for each in _arguments(call)]
            results.append(function_of(call).over_ranges(arguments, ranges))
        else:
            results.append(_own(call, rows, np.minimum(line.number, size)))
    return line.number, reducer.compose(results, rows.num_rows)


def _by_user(reducer: Reducer, columns: list[pa.Array], ranges: Ranges) -> list[pa.Array]:
    pieces = [
        reducer.over([column.take(pa.array(place)) for column in columns], starts, len(place))
        for place, starts in ranges.write_out()
    ]
    return [pa.concat_arrays(list(column)) for column in zip(*pieces, strict=True)]


def _arguments(call: AggregateCall) -> list[Expression]:
    return [each for each in (call.argument, call.order) if each is not None]


def _looks_back(call: AggregateCall) -> bool:
    """Whether a call needs other tuples than the window's last one, and their number."""
    return call.function != "last" and call.argument is not None


def _own(call: AggregateCall, rows: pa.RecordBatch, count: Ints) -> pa.Array:
    """The result of a call that does not look back."""
    return pa.array(count) if call.argument is None else call.argument.evaluate(rows)


def _looked_at(reducer: Reducer) -> list[Expression]:
    """What must be kept of tuples, each once."""
    calls = [call for call in reducer.calls if _looks_back(call)]
    return list(dict.fromkeys(each for call in calls for each in _arguments(call)))


def _keep(groups: Groups, group: Ints, columns: list[pa.Array]) -> None:
    names = [NUMBER, *(str(i) for i in range(len(columns) - 1))]
    groups.put(PART, group, pa.RecordBatch.from_arrays(columns, names=names))
