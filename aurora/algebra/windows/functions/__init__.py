"""Window functions: how each SQL aggregate is computed, pane by pane."""

import pyarrow as pa

from aurora.algebra.expressions import AggregateCall
from aurora.algebra.expressions.aggregates import total_type
from aurora.algebra.tuples.types import is_decimal
from aurora.algebra.windows.functions.choices import By, Edge, Extreme
from aurora.algebra.windows.functions.collections import Distinct, Percentile
from aurora.algebra.windows.functions.decimals import DecimalMean, DecimalSum
from aurora.algebra.windows.functions.function import Function
from aurora.algebra.windows.functions.gatherings import Collected
from aurora.algebra.windows.functions.moments import Shape
from aurora.algebra.windows.functions.ranks import Discrete, Mode
from aurora.algebra.windows.functions.sketch import ApproximateDistinct
from aurora.algebra.windows.functions.sums import Count, RealSum, Spread, Sum, WholeMean

__all__ = ["Function", "function_of"]


def function_of(call: AggregateCall) -> Function:
    if call.function in ("count", "count_if", "sum", "avg"):
        added = _added(call)
        return Distinct(added) if call.distinct else added
    match call.function:
        case "min" | "bool_and":
            return Extreme(largest=False)
        case "max" | "bool_or":
            return Extreme(largest=True)
        case "first" | "last":
            return Edge(last=call.function == "last")
        case "stddev" | "variance":
            return Spread(root=call.function == "stddev", sample=True)
        case "stddev_pop" | "var_pop":
            return Spread(root=call.function == "stddev_pop", sample=False)
        case "median" | "percentile":
            return Percentile(0.5 if call.share is None else call.share)
        case "percentile_approx":
            assert call.share is not None
            return Discrete(call.share)
        case "mode":
            return Mode()
        case "skewness" | "kurtosis":
            return Shape(tails=call.function == "kurtosis")
        case "collect_list" | "collect_set":
            return Collected(different=call.function == "collect_set")
        case "approx_count_distinct":
            return ApproximateDistinct()
        case "min_by" | "max_by":
            return By(largest=call.function == "max_by")
    raise ValueError(f"no window function computes {call.function}")


def _added(call: AggregateCall) -> Function:
    if call.argument is None:
        return Count("rows")
    if call.function in ("sum", "avg") and is_decimal(call.argument.type):
        kind = total_type(call.argument.type)
        return DecimalSum(kind) if call.function == "sum" else DecimalMean(DecimalSum(kind), call.type)
    if call.function in ("sum", "avg"):
        mean = call.function == "avg"
        if not pa.types.is_integer(call.argument.type):
            return RealSum(mean)
        # Sums of smaller numbers do not come to what an integer cannot hold.
        return WholeMean() if mean and call.argument.type.bit_width == 64 else Sum(mean)
    return Count("truths" if call.function == "count_if" else "values")
