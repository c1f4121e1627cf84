"""Reducers for tuples of one window that are summed up in several places: they give what is to be put together."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from aurora.algebra.expressions import AggregateCall
from aurora.algebra.ordering.values import order_codes, to_values
from aurora.algebra.tuples.train import Ints, Train
from aurora.algebra.windows.best import ARRIVED, Best
from aurora.algebra.windows.functions import Function, function_of
from aurora.algebra.windows.functions.choices import Extreme
from aurora.algebra.windows.functions.collections import from_lists, to_lists
from aurora.algebra.windows.functions.sketch import ApproximateDistinct, PlainDistinct
from aurora.algebra.windows.reducer import Reducer

__all__ = ["Apart", "BestApart", "take_apart"]

# All lines of the keys of a tuple.
KEYS = "#keys"


@dataclass(frozen=True)
class Apart(Reducer):
    """Its values are what its functions keep of a run of tuples, before they are finished."""

    @cached_property
    def outputs(self) -> dict[str, pa.DataType]:
        return _part_types(self.lift_nothing(0))

    @cached_property
    def parts(self) -> tuple[Function, ...]:
        found = [_function_apart(call) for call in self.calls]
        return tuple(function for function in found if function is not None)

    def finish(self, columns: list[pa.Array], rows: int) -> list[pa.Array]:
        return columns

    def conclude(self, columns: list[pa.Array], rows: int) -> list[pa.Array]:
        """What `finish` gives where tuples are all in one place."""
        return super().finish(columns, rows)


@dataclass(frozen=True)
class BestApart(Best):
    """The best tuples as they were found in one place: with all that says which of equals comes first.

    That is the value of the field `on`, then the order of arrival, and both ride along: lists may be put together in
    any order.
    """

    on: str = ""

    @cached_property
    def outputs(self) -> dict[str, pa.DataType]:
        fields = [(name, self.schema[name]) for name in self.schema.names]
        tuples = pa.struct([*fields, (ARRIVED, pa.int64()), (KEYS, pa.list_(pa.int64()))])
        return _part_types([pa.nulls(0, pa.list_(tuples))])

    @property
    def ordered(self) -> bool:
        return False

    def finish(self, columns: list[pa.Array], rows: int) -> list[pa.Array]:
        return columns

    def lift_train(self, train: Train) -> list[pa.Array]:
        """Each tuple as a list of one."""
        return [to_lists(self._to_structs(train), np.arange(len(train)), len(train))]

    def combine(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        (lists,) = columns
        if len(starts) == len(lists):
            return columns
        tuples, owner, _ = from_lists(lists)
        run = np.searchsorted(starts, owner, side="right") - 1
        train = self._arrange(tuples, run)
        run = train.keys[0]
        chosen = self._choose(self.codes(train.rows), run)
        best = train.take(chosen)
        structs = self._to_structs(Train(best.rows, best.arrived, best.keys[2:]))
        return [to_lists(structs, run[chosen], len(starts))]

    def _arrange(self, tuples: pa.Array, run: Ints) -> Train:
        """The tuples as they would stand in a window that had them all; runs and values are lines before the keys."""
        rows = pa.RecordBatch.from_struct_array(tuples)
        lines = rows.column(KEYS).flatten().to_numpy().reshape(len(run), -1).T
        value = order_codes(to_values(rows.column(self.on)))
        keys = np.concatenate([run[None], value[None], lines])
        return Train(rows.select(list(self.schema.names)), rows.column(ARRIVED).to_numpy(), keys).arrange()

    def _to_structs(self, train: Train) -> pa.Array:
        ends = np.arange(len(train) + 1, dtype=np.int32) * train.depth
        keys = pa.ListArray.from_arrays(pa.array(ends), pa.array(train.keys.T.ravel()))
        columns = [*self.arguments(train.rows), pa.array(train.arrived), keys]
        return pa.StructArray.from_arrays(columns, [*self.schema.names, ARRIVED, KEYS])


def take_apart(reducer: Reducer, on: str) -> Apart | BestApart | None:
    """The reducer for parts of windows in the order of a field; None where the result would not be the same, to the
    last digit, wherever tuples are."""
    if isinstance(reducer, Best):
        return BestApart(reducer.schema, (), None, reducer.k, reducer.by, reducer.ties, on)
    if reducer.user is not None or any(_function_apart(call) is None for call in reducer.calls):
        return None
    return Apart(reducer.schema, reducer.functions)


def _function_apart(call: AggregateCall) -> Function | None:
    """How a call is computed in parts; None where the order in which tuples come, or are added, may show."""
    function = function_of(call)
    floating = call.argument is not None and pa.types.is_floating(call.argument.type)
    match function:
        case ApproximateDistinct():
            return PlainDistinct()
        case Extreme() if floating:
            # Of 0.0 and -0.0, which are equal, the first stays.
            return None
    return None if function.ordered or not function.exact else function


def _part_types(columns: Sequence[pa.Array]) -> dict[str, pa.DataType]:
    return {f"#part{number}": column.type for number, column in enumerate(columns)}
