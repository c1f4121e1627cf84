"""Running windows: a row for each tuple, over the tuples of its group so far or over the last n of them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa

from aurora.algebra.box.keeps import keeps_fields
from aurora.algebra.box.needs import Needs, merge, needs_of_order, needs_of_reducer
from aurora.algebra.box.operator import Keeps, Partition, Traits
from aurora.algebra.bsort import BSort
from aurora.algebra.ordering.admission import admit, with_order_value
from aurora.algebra.ordering.order import ARRIVAL, Order
from aurora.algebra.ordering.progress import Progress, keep_progress
from aurora.algebra.state.turn import Turn
from aurora.algebra.tuples.floats import normalise
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Train
from aurora.algebra.windows.reducer import Reducer, WindowFunction
from aurora.algebra.windows.running import reduce_last, reduce_so_far
from aurora.errors import AuroraError

__all__ = ["Running"]

# What these keep would be there once more for each tuple.
LAST_ONES = "take the last ones, with order: {on: '#'}, size: n, partial: true"
TOO_LARGE = {
    "approx_count_distinct": "write count(DISTINCT ..)",
    **dict.fromkeys(("collect_list", "collect_set", "mode"), LAST_ONES),
}


@dataclass(frozen=True)
class Running:
    """A row for each tuple: group fields, the tuple's order value, the functions' values. `last` of None means all.

    A bare field in a function is that of the tuple itself.

    >>> from numpy import arange, zeros
    >>> order, schema = Order("#", group_by=("g",)), Schema.parse("g int, v int")
    >>> steps = Running.of({"v": "v", "before": "first(v)"}, order, 2, schema)
    >>> rows = pa.record_batch({"g": [1, 2, 1, 1], "v": [5, 6, 7, 8]}, schema.arrow())
    >>> found = steps.call((Train(rows, zeros(4, int), arange(4)[None]),), Turn())["1"].rows
    >>> [tuple(row.values()) for row in found.to_pylist()]
    [(1, 1, 5, 5), (2, 1, 6, 6), (1, 2, 7, 5), (1, 3, 8, 7)]

    With None, over all so far:

    >>> so_far = Running.of({"v": "v", "total": "sum(v)"}, order, None, schema)
    >>> found = so_far.call((Train(rows, zeros(4, int), arange(4)[None]),), Turn())["1"].rows
    >>> [tuple(row.values()) for row in found.to_pylist()]
    [(1, 1, 5, 5), (2, 1, 6, 6), (1, 2, 7, 12), (1, 3, 8, 20)]
    """

    input: Schema
    reducer: Reducer
    order: Order
    last: int | None = None

    @classmethod
    def of(
        cls,
        functions: Mapping[str, str] | WindowFunction,
        order: Order,
        last: int | None,
        schema: Schema,
        where: str = "aggregate",
    ) -> "Running":
        order.check(schema, where)
        if last is not None and order.on != ARRIVAL:
            raise AuroraError(
                f"{where}: partial: true counts tuples: it needs order on '#', found {order.on}"
            )
        if last is not None and last < 1:
            raise AuroraError(f"{where}: size must be above 0, found {last}")
        if last is None and isinstance(functions, WindowFunction):
            raise AuroraError(
                f"{where}: size: all needs SQL functions, because what a WindowFunction has taken in cannot be "
                "stored; write size: n, partial: true"
            )
        reducer = Reducer.of(functions, schema, where, running=True)
        for call in reducer.calls if last is None else ():
            if call.function in TOO_LARGE:
                raise AuroraError(
                    f"{where}: {call.function} cannot run over all tuples so far; {TOO_LARGE[call.function]}"
                )
        for name in reducer.outputs:
            if name in (*order.group_by, order.on):
                raise AuroraError(
                    f"{where}: function {name} has the name of a field of the window; rename it"
                )
        return cls(schema, reducer, order, last)

    @cached_property
    def outputs(self) -> dict[str, Schema]:
        fields = {name: self.input[name] for name in self.order.group_by}
        return {
            "1": Schema.of({**fields, self.order.on: self.order.type(self.input), **self.reducer.outputs})
        }

    @property
    def partition(self) -> Partition | None:
        return (self.order.group_by,)

    @property
    def traits(self) -> Traits:
        return Traits(
            functions=self.reducer.user_functions,
            clocks=self.order.clocks(),
            lasting=frozenset({0} if self.last is None else ()),
        )

    def keeps(self, port: str) -> Keeps:
        return (keeps_fields(self.order.group_by),)

    def needs(self, given: Needs | None) -> tuple[Needs | None, ...]:
        return (merge(needs_of_reducer(self.reducer), needs_of_order(self.order)),)

    def progress(
        self, port: str, inputs: tuple[Mapping[str, Progress], ...], clocks: tuple[Progress, ...]
    ) -> Mapping[str, Progress]:
        if self._sort is not None:
            return self._sort.progress(port, inputs, clocks)
        # Each row stands where its tuple stood, so what it has of it keeps its promise.
        own = keeps_fields([name for name in (*self.order.group_by, self.order.on) if name != ARRIVAL])
        return keep_progress(({**self.reducer.bare_fields, **own},), inputs)

    def depth(self, inputs: tuple[int, ...]) -> int:
        return inputs[0] if self._sort is None else self._sort.depth(inputs)

    @cached_property
    def _fields(self) -> Schema:
        """What is needed of a tuple."""
        wanted = self.reducer.fields | {*self.order.group_by, self.order.on}
        return Schema.of({name: kind for name, kind in self.input.items() if name in wanted})

    @cached_property
    def _sort(self) -> BSort | None:
        """What puts the tuples in order, where they do not come in it."""
        order = self.order
        at_once = order.on == ARRIVAL or (not order.clocked and order.span is None and order.slack == 0)
        return None if at_once else BSort(self._fields, order)

    def call(self, inputs: tuple[Train, ...], turn: Turn) -> dict[str, Train]:
        train = inputs[0].select(self._fields.names)
        if self.order.on != ARRIVAL:
            train = with_order_value(train, self.order.on, turn)
        if self._sort is not None:
            train = self._put_in_order(self._sort, train, turn)
        groups = turn.state.groups("groups", self.order.group_by, train.rows)
        (group,) = groups.numbers
        if self._sort is None and self.order.on != ARRIVAL:
            admitted = admit(self.order, train, groups, group, turn)
            train, group = admitted.train, admitted.group
        if len(train) == 0:
            return {"1": Train.empty(self.outputs["1"].arrow(), train.depth)}
        if self.last is None:
            number, values = reduce_so_far(self.reducer, train.rows, groups, group)
        else:
            number, values = reduce_last(self.reducer, train.rows, groups, group, self.last)
        on = pa.array(number) if self.order.on == ARRIVAL else train.rows.column(self.order.on)
        keys = (normalise(train.rows.column(name)) for name in self.order.group_by)
        columns = [*keys, on, *values]
        rows = pa.RecordBatch.from_arrays(columns, schema=self.outputs["1"].arrow())
        return {"1": train.with_rows(rows).arrange()}

    def _put_in_order(self, sort: BSort, train: Train, turn: Turn) -> Train:
        """The tuples that are in order, as they are let go; each row is due with its tuple."""
        groups = turn.state.groups("order", self.order.group_by, train.rows)
        clock = turn.clocks[0].lag(self.order.span) if self.order.clocked else None
        admitted = admit(self.order, train, groups, groups.numbers[0], turn, clock)
        return sort.call((admitted.train,), replace(turn, state=turn.state.within("sort ")))["1"]
