"""Windows without a key in two steps: tuples are summed up wherever they are, and what they come to is put together.

A clock is known in every bucket, so each knows which tuples are late and which windows close, and when: all parts of a
window come forth in one turn, at one position, and nothing has to be remembered to put them together. The first step
needs the clock at the very arrival of each tuple, so it cannot be done earlier, where tuples are read: a piece of the
input does not know how far those before it have come.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aurora.algebra.aggregate import Aggregate
from aurora.algebra.box.needs import Needs
from aurora.algebra.box.operator import Keeps, Operator, Partition, Traits
from aurora.algebra.ordering.order import Clock
from aurora.algebra.ordering.progress import Progress
from aurora.algebra.ordering.values import to_values
from aurora.algebra.state.turn import Turn
from aurora.algebra.top import Top
from aurora.algebra.tuples.arrays import find_runs, find_starts
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.sorting import stable_order
from aurora.algebra.tuples.train import Train, Values
from aurora.algebra.windows.apart import Apart, BestApart, take_apart

__all__ = ["Merge", "find_steps"]


def find_steps(operator: Operator, watched: bool = True) -> "tuple[Aggregate, Merge] | None":
    """The two steps of a box, the first for every bucket, the second for one; None where it must be done in one.

    `watched`: whether somebody goes by the progress of the box.
    """
    if not isinstance(operator, Aggregate) or operator.order.group_by:
        return None
    if operator.timeout is not None or operator.predicate is not None:
        return None
    reducer = take_apart(operator.reducer, operator.order.on)
    if reducer is None:
        return None
    kind = Found if isinstance(reducer, BestApart) else Aggregate
    first = kind(operator.input, reducer, operator.order, operator.windows)
    return (first, Merge(operator, first, watched)) if first.by_clock else None


@dataclass(frozen=True)
class Found(Aggregate):
    """The first step of a Top: the best tuples of a window among those that are here."""

    def lift_arrivals(self, train: Train, panes: Values) -> tuple[Train, Values, list[pa.Array]]:
        """Most tuples are not among the best of those that came with them: they go before anything is made of them."""
        assert isinstance(self.reducer, BestApart)
        value = to_values(train.rows.column(self.order.on))
        if len(value) and (value[1:] < value[:-1]).any():
            order = stable_order(value)
            train, panes = train.take(order), panes[order]
        _, run = find_runs(panes)
        chosen = self.reducer.candidates(self.reducer.arguments(train.rows), run)
        if len(chosen) < len(train):
            train, panes = train.take(chosen), panes[chosen]
        return train, panes, self.reducer.lift_train(train)


@dataclass(frozen=True)
class Merge:
    """The second step: what was found of each window, put together. The rows are those of the whole box."""

    whole: Aggregate
    first: Aggregate
    watched: bool

    @property
    def outputs(self) -> dict[str, Schema]:
        return self.whole.outputs

    @property
    def partition(self) -> Partition | None:
        return ((),)

    @property
    def traits(self) -> Traits:
        # The progress of the whole box, which the first step knows.
        return Traits(clocks=(Clock(0, self.whole.order.on),) if self.watched else (), forgets=True)

    def keeps(self, port: str) -> Keeps:
        return ({},)

    def needs(self, given: Needs | None) -> tuple[Needs | None, ...]:
        return (None,)

    def progress(
        self, port: str, inputs: tuple[Mapping[str, Progress], ...], clocks: tuple[Progress, ...]
    ) -> Mapping[str, Progress]:
        if not self.watched:
            return {}
        start = self.whole.start if isinstance(self.whole, Top) else self.whole.order.on
        return {start: clocks[0]}

    def depth(self, inputs: tuple[int, ...]) -> int:
        # The first step has added one line.
        return self.whole.depth((inputs[0] - 1,))

    def call(self, inputs: tuple[Train, ...], turn: Turn) -> dict[str, Train]:
        (train,) = inputs
        if len(train) == 0:
            return {"1": Train.empty(self.outputs["1"].arrow(), self.depth((train.depth,)))}
        window = to_values(train.rows.column(self.whole.order.on))
        order = stable_order(window)
        train, window = train.take(order), window[order]
        begins = find_starts(window)
        reducer = self.first.reducer
        columns = reducer.combine(train.rows.columns[1:], begins)
        arrived = np.minimum.reduceat(train.arrived, begins)
        keys, window = train.keys.take(begins, axis=1), window[begins]
        if isinstance(self.whole, Top):
            # The last line is the window, which the box adds itself.
            made = self.whole.give_best(columns[0], window, keys[:-1])
        else:
            assert isinstance(reducer, Apart)
            start = train.rows.column(0).take(pa.array(begins))
            values = reducer.conclude(columns, len(begins))
            rows = pa.RecordBatch.from_arrays([start, *values], schema=self.outputs["1"].arrow())
            made = Train(rows, arrived, keys)
        return {"1": made.arrange()}
