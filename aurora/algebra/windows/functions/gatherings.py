"""collect_list(x) and collect_set(x): the values of a window as an array, in its order, nulls left out."""

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from aurora.algebra.tuples.train import Ints
from aurora.algebra.windows.functions.collections import Distinct, join_lists, single_lists
from aurora.algebra.windows.functions.function import Function, to_valid
from aurora.algebra.windows.functions.sums import Count

__all__ = ["Collected"]


@dataclass(frozen=True)
class Collected(Function):
    """With `different` each value once, where it comes first."""

    ordered: ClassVar[bool] = True
    different: bool

    def lift(self, arguments: list[pa.Array], rows: int) -> list[pa.Array]:
        if self.different:
            return Distinct(Count("values")).lift(arguments, rows)
        return [single_lists(arguments[0], to_valid(arguments[0]))]

    def combine(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        if self.different:
            return Distinct(Count("values")).combine(columns, starts)
        return [join_lists(columns[0], starts)]
