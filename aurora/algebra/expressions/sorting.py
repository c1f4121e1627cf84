"""What tuples are sorted by: an expression with ASC or DESC behind it, NULLs last whatever the direction."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.expressions.expression import Expression
from aurora.algebra.ordering.values import order_codes, orderable, to_values
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Ints
from aurora.algebra.tuples.types import BOOLEAN, VOID, is_nested, type_name
from aurora.errors import AuroraError

__all__ = ["SortKey"]


@dataclass(frozen=True)
class SortKey:
    """Numbers and times by value (NaN is the largest), texts by their characters, false before true.

    >>> schema = Schema.parse("Pos double")
    >>> rows = pa.record_batch({"Pos": [1.5, None, 3.0, float("nan")]}, schema.arrow())
    >>> far = SortKey.parse("Pos DESC", schema)
    >>> np.lexsort(far.codes(rows)[::-1]).tolist()
    [3, 2, 0, 1]
    """

    expression: Expression
    descending: bool = False

    @classmethod
    def parse(cls, text: str, schema: Schema, where: str = "") -> "SortKey":
        from aurora.algebra.expressions.dialect import ordered_tree, typed
        from aurora.algebra.expressions.resolve import Resolver

        try:
            node, descending = ordered_tree(text)
            tree = typed(text, lambda: Resolver({None: schema}).resolve(node))
            if tree.type == VOID:
                raise AuroraError(f"'{text.strip()}' has no type: write CAST(NULL AS type)")
            if is_nested(tree.type):
                raise AuroraError(
                    f"'{text.strip()}' is {type_name(tree.type)}: take one of its parts, as in bid.price or tags[0]"
                )
        except AuroraError as fault:
            raise AuroraError(f"{where}: {fault}" if where else str(fault)) from None
        return cls(Expression(text.strip(), tree), descending)

    def codes(self, rows: pa.RecordBatch) -> list[Ints]:
        """Whole numbers by which the rows compare, the first of them first; the best is the smallest."""
        column = self.expression.evaluate(rows)
        codes = _codes(column)
        if self.descending:
            codes = ~codes
        if column.null_count == 0:
            return [codes]
        missing = np.asarray(column.is_null().to_numpy(zero_copy_only=False))
        return [missing.astype(np.int64), np.where(missing, 0, codes)]


def _codes(column: pa.Array) -> Ints:
    if column.type == BOOLEAN:
        column = column.cast(pa.int8())
    if orderable(column.type):
        if column.null_count:
            column = pc.fill_null(column, pa.scalar(0, pa.int64()).cast(column.type))
        return order_codes(to_values(column))
    encoded = column.dictionary_encode()
    ranks = pc.rank(encoded.dictionary, tiebreaker="dense").to_numpy().astype(np.int64)
    codes: Ints = np.append(ranks, 0)[encoded.indices.fill_null(len(ranks)).to_numpy(zero_copy_only=False)]
    return codes
