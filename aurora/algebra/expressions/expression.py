"""An expression of Spark's SQL over the fields of a stream: typed before any data is seen."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aurora.algebra.expressions.compile import Batch, compiled
from aurora.algebra.expressions.kernels.columns import repeated
from aurora.algebra.expressions.spark_text import to_spark
from aurora.algebra.expressions.tree import (
    Field,
    Node,
    Use,
    fields_of,
    from_postfix,
    postfix,
    uses_of,
    with_fields,
)
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import BOOLEAN, VOID, type_name
from aurora.errors import AuroraError

__all__ = ["Expression"]


class Expression:
    """What `parse` makes of a text; equal expressions have the same text on the same types.

    >>> schema = Schema.parse("Sid int, Pos int")
    >>> toll = Expression.parse("Pos * 2 + 1 > Sid", schema)
    >>> toll.matches(pa.record_batch({"Sid": [1, 9], "Pos": [1, None]}, schema.arrow())).tolist()
    [True, False]
    """

    __slots__ = ("_run", "text", "tree")
    text: str
    tree: Node
    _run: Any

    def __init__(self, text: str, tree: Node) -> None:
        set_once = object.__setattr__
        set_once(self, "text", text)
        set_once(self, "tree", tree)
        set_once(self, "_run", None)

    @classmethod
    def parse(
        cls, text: str, schema: Schema | Mapping[str, Schema], where: str = "", arrival: bool = False
    ) -> "Expression":
        """Reads Spark SQL over one schema, or over several sides: {"left": .., "right": ..}.

        With `arrival` the tuples have an arrival time, the hidden field ARRIVED. Decimal literals such as 3.5 are
        doubles. Faults are reported with `where` in front.
        """
        # The parser stays out of the workers: they get finished trees.
        from aurora.algebra.expressions.dialect import syntax_tree, typed
        from aurora.algebra.expressions.resolve import Resolver

        sides: Mapping[Any, Schema] = {None: schema} if isinstance(schema, Schema) else schema
        try:
            tree = typed(text, lambda: Resolver(sides, arrival=arrival).resolve(syntax_tree(text)))
            if tree.type == VOID:
                raise AuroraError(f"'{text.strip()}' has no type: write CAST(NULL AS type)")
        except AuroraError as fault:
            raise AuroraError(f"{where}: {fault}" if where else str(fault)) from None
        return cls(text.strip(), tree)

    @property
    def type(self) -> pa.DataType:
        return self.tree.type

    @property
    def fields(self) -> frozenset[Any]:
        """The names of the fields it uses; for several sides, pairs of side and name."""
        return frozenset(f.name if f.side is None else (f.side, f.name) for f in fields_of(self.tree))

    @property
    def uses(self) -> frozenset[Use]:
        """What it looks at, down to the fields inside structs."""
        return frozenset(uses_of(self.tree))

    @property
    def is_field(self) -> str | None:
        """The name of the field that it merely repeats."""
        return self.tree.name if isinstance(self.tree, Field) else None

    def over(self, fields: Mapping[str, Node]) -> "Expression":
        """The same value of other tuples, in which its fields are computed so.

        >>> feet = Expression.parse("Feet > 90", Schema.parse("Feet int"))
        >>> feet.over({"Feet": Expression.parse("Pos * 3", Schema.parse("Pos int")).tree})
        <Expression ((`Pos` * 3) > 90): boolean>
        """
        tree = with_fields(self.tree, fields)
        return self if postfix(tree) == postfix(self.tree) else Expression(to_spark(tree), tree)

    def evaluate(self, batch: Batch) -> pa.Array:
        """The value for each row."""
        return self._evaluate(batch, batch.num_rows)

    def evaluate_pairs(self, left: Batch, right: Batch) -> pa.Array:
        """The value for each pair of rows, of two batches of the same length."""
        return self._evaluate({"left": left, "right": right}, left.num_rows)

    def _evaluate(self, source: Any, rows: int) -> pa.Array:
        run = self._run
        if run is None:
            run = compiled(self.tree)
            object.__setattr__(self, "_run", run)
        return repeated(run, rows) if isinstance(run, pa.Scalar) else run(source)

    def matches(self, batch: Batch) -> npt.NDArray[np.bool_]:
        """Which rows satisfy it; null does not."""
        return self._truth(self.evaluate(batch))

    def matches_pairs(self, left: Batch, right: Batch) -> npt.NDArray[np.bool_]:
        return self._truth(self.evaluate_pairs(left, right))

    def _truth(self, values: pa.Array) -> npt.NDArray[np.bool_]:
        if self.type != BOOLEAN:
            raise AuroraError(f"'{self.text}' is not a predicate: it is {type_name(self.type)}, not boolean")
        if values.null_count:
            values = values.fill_null(False)
        result: npt.NDArray[np.bool_] = values.to_numpy(zero_copy_only=False)
        return result

    def spark_sql(self) -> str:
        """The text for Spark's `expr`: casts written out, 3.5 as 3.5D because Spark would take a decimal.

        Fields of two sides come as `left`.`Pos`: the DataFrames need these aliases.
        """
        return to_spark(self.tree)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Expression)
            and self.text == other.text
            and postfix(self.tree) == postfix(other.tree)
        )

    def __hash__(self) -> int:
        return hash(self.text)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an Expression does not change: cannot set {name}")

    def __repr__(self) -> str:
        return f"<Expression {self.text}: {type_name(self.type)}>"

    def __reduce__(self) -> tuple[object, tuple[str, object]]:
        return _unpacked, (self.text, postfix(self.tree))


def _unpacked(text: str, parts: Any) -> Expression:
    return Expression(text, from_postfix(parts))
