"""The expression language: Spark's SQL, typed when the network is built, evaluated on Arrow batches."""

from aurora.algebra.expressions.aggregates import (
    AGGREGATES,
    AggregateCall,
    AggregateExpression,
    parse_aggregates,
)
from aurora.algebra.expressions.expression import Expression
from aurora.algebra.expressions.sorting import SortKey
from aurora.algebra.expressions.tree import ARRIVED

__all__ = [
    "AGGREGATES",
    "ARRIVED",
    "AggregateCall",
    "AggregateExpression",
    "Expression",
    "SortKey",
    "parse_aggregates",
]
