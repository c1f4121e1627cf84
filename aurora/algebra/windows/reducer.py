"""The functions of a window together: one pass over its tuples gives all their values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.expressions import AggregateCall, AggregateExpression, parse_aggregates
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Ints, Mask
from aurora.algebra.windows.functions import Function, function_of
from aurora.errors import AuroraError

__all__ = ["Reducer", "WindowFunction"]

# What functions give for no tuples at all, where that is not null.
OF_NOTHING: dict[str, Any] = {
    "count": 0,
    "count_if": 0,
    "approx_count_distinct": 0,
    "collect_list": [],
    "collect_set": [],
}


@dataclass(frozen=True)
class WindowFunction:
    """A user's window function with one or several results, the paper's Agg(init, incr, final).

    `init()` returns the state of a new window, `incr(state, tuples)` adds the window's tuples, in order, as one Arrow
    batch, and `final(state)` returns a value for each field.
    """

    fields: Schema
    init: Callable[[], Any]
    incr: Callable[[Any, pa.RecordBatch], Any]
    final: Callable[[Any], Mapping[str, Any]]


@dataclass(frozen=True)
class Reducer:
    """SQL functions by name, and at most one function of the user's."""

    schema: Schema
    functions: tuple[tuple[str, AggregateExpression], ...]
    user: WindowFunction | None = None

    @classmethod
    def of(
        cls,
        functions: "Mapping[str, str] | WindowFunction | Reducer",
        schema: Schema,
        where: str,
        running: bool = False,
    ) -> "Reducer":
        """With `running` a bare field is that of the window's last tuple."""
        if isinstance(functions, Reducer):
            return functions
        if isinstance(functions, WindowFunction):
            return cls(schema, (), functions)
        if not functions:
            raise AuroraError(f'{where}: needs at least one function, for example cnt: "count(*)"')
        return cls(
            schema,
            tuple(
                (name, parse_aggregates(str(text), schema, where, running))
                for name, text in functions.items()
            ),
        )

    @property
    def outputs(self) -> dict[str, pa.DataType]:
        if self.user is not None:
            return {name: self.user.fields[name] for name in self.user.fields.names}
        return {name: function.type for name, function in self.functions}

    @property
    def user_functions(self) -> tuple[Callable[..., Any], ...]:
        own = self.user
        return () if own is None else (own.init, own.incr, own.final)

    @cached_property
    def calls(self) -> tuple[AggregateCall, ...]:
        return tuple(dict.fromkeys(call for _, function in self.functions for call in function.calls))

    @cached_property
    def parts(self) -> tuple[Function, ...]:
        return tuple(function_of(call) for call in self.calls)

    @property
    def whole(self) -> bool:
        """Whether the function needs all tuples of its window, so that they cannot be summed up before."""
        return self.user is not None

    @property
    def ordered(self) -> bool:
        """Whether it matters in which order the tuples of a window come."""
        return self.whole or any(part.ordered for part in self.parts)

    @property
    def exact(self) -> bool:
        """Whether its tuples may be summed up piece by piece, in any pieces."""
        return all(part.exact for part in self.parts)

    @property
    def bare_fields(self) -> dict[str, str]:
        """The fields that a running window passes on from its last tuple, and how they are called there."""
        found = {}
        for name, function in self.functions:
            call = function.calls[0]
            if function.finish.is_field and call.function == "last" and call.argument is not None:
                field = call.argument.is_field
                found.update({} if field is None else {field: name})
        return found

    @cached_property
    def fields(self) -> frozenset[str]:
        """The fields that the functions look at."""
        if self.user is not None:
            return frozenset(self.schema.names)
        used = (each for call in self.calls for each in (call.argument, call.order) if each is not None)
        return frozenset(name for expression in used for name in expression.fields)

    def arguments(self, rows: pa.RecordBatch) -> list[pa.Array]:
        """The columns that the functions look at."""
        if self.user is not None:
            return list(rows.columns)
        return [
            argument.evaluate(rows)
            for call in self.calls
            for argument in (call.argument, call.order)
            if argument is not None
        ]

    def lift(self, columns: list[pa.Array], rows: int) -> list[pa.Array]:
        pieces = self._own(columns)
        return [c for part, own in zip(self.parts, pieces, strict=True) for c in part.lift(own, rows)]

    def lift_nothing(self, rows: int) -> list[pa.Array]:
        """Columns like those that `lift` gives, without values."""
        empty = pa.RecordBatch.from_pylist([], self.schema.arrow())
        return [pa.nulls(rows, column.type) for column in self.lift(self.arguments(empty), 0)]

    def combine(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        pieces = _split(columns, [part.width for part in self.parts])
        return [c for part, own in zip(self.parts, pieces, strict=True) for c in part.combine(own, starts)]

    def finish(self, columns: list[pa.Array], rows: int) -> list[pa.Array]:
        pieces = _split(columns, [part.width for part in self.parts])
        return self.compose([part.finish(own) for part, own in zip(self.parts, pieces, strict=True)], rows)

    def finish_some(self, columns: list[pa.Array], filled: Mask) -> list[pa.Array]:
        """As `finish`, where some rows stand for no tuples at all: counts are 0 there, lists empty, all else null."""
        some = pa.array(np.flatnonzero(filled))
        place = pa.array(np.cumsum(filled) - 1, mask=~filled)
        pieces = _split([column.take(some) for column in columns], [part.width for part in self.parts])
        results = []
        for call, part, own in zip(self.calls, self.parts, pieces, strict=True):
            result = part.finish(own).take(place)
            if call.function in OF_NOTHING:
                result = pc.coalesce(result, pa.scalar(OF_NOTHING[call.function], result.type))
            results.append(result)
        return self.compose(results, len(filled))

    def over(self, columns: list[pa.Array], starts: Ints, rows: int) -> list[pa.Array]:
        """The results for runs of tuples, from their arguments."""
        if self.user is not None:
            return self._by_user(columns, starts, rows)
        pieces = self._own(columns)
        results = [part.over(own, starts, rows) for part, own in zip(self.parts, pieces, strict=True)]
        return self.compose(results, len(starts))

    def compose(self, results: list[pa.Array], rows: int) -> list[pa.Array]:
        """The values of the functions by name, from the results of their calls."""
        columns = [
            result.cast(call.type) if result.type != call.type else result
            for result, call in zip(results, self.calls, strict=True)
        ]
        values = []
        for _, function in self.functions:
            own = [columns[self.calls.index(call)] for call in function.calls]
            if function.finish.is_field:
                values.append(own[0])
                continue
            names = [f"agg{i}" for i in range(len(own))]
            values.append(function.finish.evaluate(_batch(own, names, rows)))
        return values

    def _by_user(self, columns: list[pa.Array], starts: Ints, rows: int) -> list[pa.Array]:
        assert self.user is not None
        tuples = pa.RecordBatch.from_arrays(columns, schema=self.schema.arrow())
        ends = np.append(starts[1:], rows)
        found = []
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            state = self.user.incr(self.user.init(), tuples.slice(start, end - start))
            found.append(dict(self.user.final(state)))
        return list(pa.RecordBatch.from_pylist(found, schema=self.user.fields.arrow()).columns)

    def _own(self, columns: list[pa.Array]) -> list[list[pa.Array]]:
        """The arguments of each call."""
        return _split(columns, [(c.argument is not None) + (c.order is not None) for c in self.calls])


def _split(columns: list[pa.Array], widths: list[int]) -> list[list[pa.Array]]:
    ends = np.cumsum(widths)
    return [columns[end - width : end] for end, width in zip(ends, widths, strict=True)]


def _batch(columns: list[pa.Array], names: list[str], rows: int) -> pa.RecordBatch:
    if columns:
        return pa.RecordBatch.from_arrays(columns, names=names)
    return pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))
