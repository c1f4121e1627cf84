"""Top(k, by E.., Assuming O, Size s, Advance i, Timeout t): the k best tuples of each window of each group."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from aurora.algebra.aggregate import Aggregate
from aurora.algebra.box.needs import Needs, merge, needs_of_text
from aurora.algebra.expressions import SortKey
from aurora.algebra.ordering.order import Order
from aurora.algebra.ordering.progress import Progress
from aurora.algebra.ordering.values import from_values, order_codes
from aurora.algebra.state.groups import Groups
from aurora.algebra.tuples.arrays import find_runs
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Ints, Train, Values
from aurora.algebra.windows.best import ARRIVED, Best
from aurora.algebra.windows.functions.collections import from_lists
from aurora.algebra.windows.rows import WindowRows
from aurora.errors import AuroraError

__all__ = ["Top"]

MOST = 1_000_000


@dataclass(frozen=True)
class Top(Aggregate):
    """Whole tuples, the best of a window first, with the window's start and, if it has a name, the rank.

    Windows lie, close and are kept as those of an Aggregate, whose functions here are one that keeps tuples.

    >>> from aurora.algebra.state.turn import Turn
    >>> bids = Schema.parse("T int, Price int")
    >>> best = Top.best(1, ["Price DESC"], Order("T"), 10, 10, bids, ties=True)
    >>> rows = pa.record_batch({"T": [1, 2, 5, 12], "Price": [7, 9, 9, 3]}, bids.arrow())
    >>> best.call((Train(rows, np.zeros(4, int), np.arange(4)[None]),), Turn())["1"].rows.to_pylist()
    [{'T': 2, 'Price': 9, 'window_start': 1}, {'T': 5, 'Price': 9, 'window_start': 1}]

    The clock of the stream closes the window of item 1, which nobody bids on any more:

    >>> from aurora.algebra.ordering.progress import find_rises
    >>> order, bids = Order("T", group_by=("Item",), clock="stream"), Schema.parse("Item int, T int, Price int")
    >>> best = Top.best(1, ["Price DESC"], order, 10, 10, bids)
    >>> rows = pa.record_batch({"Item": [1, 1, 2], "T": [1, 5, 11], "Price": [7, 9, 3]}, bids.arrow())
    >>> train = Train(rows, np.zeros(3, int), np.array([[1, 3, 5]]))
    >>> best.call((train,), Turn(clocks=(find_rises(train, "T"),)))["1"].rows.to_pylist()
    [{'Item': 1, 'T': 5, 'Price': 9, 'window_start': 1}]
    """

    start: str = "window_start"
    rank: str | None = None

    @classmethod
    def best(
        cls,
        k: int,
        by: Sequence[str],
        order: Order,
        size: Any,
        advance: Any,
        schema: Schema,
        where: str = "top",
        timeout: int | None = None,
        align: bool | str = False,
        *,
        ties: bool = False,
        start: str = "window_start",
        rank: str | None = None,
    ) -> "Top":
        """`by` are expressions with ASC or DESC; the windows are those of `Aggregate.of`."""
        if not 1 <= k <= MOST:
            raise AuroraError(f"{where}: k is how many tuples a window gives, from 1 to {MOST:,}; found {k}")
        if not by:
            raise AuroraError(f'{where}: needs an expression to rank by, for example by: "Price DESC"')
        keys = tuple(SortKey.parse(text, schema, f"{where}: by") for text in by)
        for name, what in ((start, "start"), (rank, "rank")):
            if name in schema:
                raise AuroraError(
                    f"{where}: the tuples have a field {name} already; write {what}: and another name"
                )
        if start == rank:
            raise AuroraError(f"{where}: start and rank have one name, {start}; rename one")
        reducer = Best(schema, (), k=k, by=keys, ties=ties)
        box = cls.of(reducer, order, size, advance, schema, where, timeout, align)
        assert isinstance(box, Top)
        return replace(box, start=start, rank=rank)

    @property
    def _best(self) -> Best:
        assert isinstance(self.reducer, Best)
        return self.reducer

    @cached_property
    def outputs(self) -> dict[str, Schema]:
        ranks = {} if self.rank is None else {self.rank: pa.int64()}
        return {"1": Schema.of({**self.input, self.start: self.order.type(self.input), **ranks})}

    def needs(self, given: Needs | None) -> tuple[Needs | None, ...]:
        passed = None if given is None else {name: own for name, own in given.items() if name in self.input}
        chosen = needs_of_text(key.expression for key in self._best.by)
        return (merge(passed, chosen, *super().needs(given)),)

    def progress(
        self, port: str, inputs: tuple[Mapping[str, Progress], ...], clocks: tuple[Progress, ...]
    ) -> Mapping[str, Progress]:
        known = super().progress(port, inputs, clocks)
        return {self.start: known[self.order.on]} if known else {}

    def depth(self, inputs: tuple[int, ...]) -> int:
        return super().depth(inputs) + 1

    def merge(self, stored: WindowRows | None, released: WindowRows, origin: Values) -> WindowRows:
        """Most tuples are not among the best of those that came with them: they go before anything is made of them."""
        arrived = pa.array(released.arrived)
        released = released.replace(released.value, [*released.columns, arrived])
        # A window that times out is as old as the oldest of all its tuples.
        if self._in_panes and released.begun is None:
            panes = self.windows.panes(released.value, origin[released.group])
            _, run = find_runs(released.group, panes)
            chosen = self._best.candidates(released.columns, run)
            if len(chosen) < len(released):
                released = released.take(chosen)
        return super().merge(stored, released, origin)

    def emit(
        self,
        kept: WindowRows,
        row: Ints,
        begins: Ints,
        group: Ints,
        window: Values,
        keys: Ints,
        groups: Groups,
    ) -> Train:
        """The tuples of each window, with its keys and their places in it."""
        if len(begins) == 0:
            return Train.empty(self.outputs["1"].arrow(), len(keys) + 2)
        columns = [column.take(pa.array(row)) for column in kept.columns]
        lists = columns if self._in_panes else self._best.lift(columns, len(row))
        return self.give_best(self._best.combine(lists, begins)[0], window, keys)

    def give_best(self, lists: pa.Array, window: Values, keys: Ints) -> Train:
        """The tuples of lists, one for each window, the best first."""
        found, owner, lengths = from_lists(lists)
        tuples = pa.RecordBatch.from_struct_array(found)
        place = np.arange(len(owner)) - (np.cumsum(lengths) - lengths)[owner]
        start = from_values(window[owner], self.order.type(self.input))
        fields = [*(tuples.column(name) for name in self.input.names), start]
        if self.rank is not None:
            fields.append(pa.array(self._best.ranks(self._best.codes(tuples), owner) + 1))
        rows = pa.RecordBatch.from_arrays(fields, schema=self.outputs["1"].arrow())
        lines = np.concatenate([keys.take(owner, axis=1), order_codes(window)[owner][None], place[None]])
        return Train(rows, tuples.column(ARRIVED).to_numpy(), lines)
