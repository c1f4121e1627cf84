"""Expressions over aggregate calls: the calls taken apart from what is made of their results."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from aurora.algebra.expressions.coercion import INTEGERS, NUMBERS, TIMES, converted
from aurora.algebra.expressions.conversions import aggregate_fix
from aurora.algebra.expressions.expression import Expression
from aurora.algebra.expressions.spark_text import to_spark
from aurora.algebra.expressions.tree import Field, Node
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    MOST_DIGITS,
    VOID,
    is_decimal,
    is_map,
    is_nested,
    is_struct,
    type_name,
)
from aurora.errors import AuroraError

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["AGGREGATES", "AggregateCall", "AggregateExpression", "parse_aggregates", "total_type"]


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """One aggregate: `argument` is None for count(*).

    `order` is the second argument of min_by and max_by, `share` that of percentile.
    """

    function: str
    argument: Expression | None
    distinct: bool
    type: pa.DataType
    order: Expression | None = None
    share: float | None = None


@dataclass(frozen=True, slots=True)
class AggregateExpression:
    """The calls, and the expression over their results in columns agg0, agg1, .."""

    text: str
    calls: tuple[AggregateCall, ...]
    finish: Expression

    @property
    def type(self) -> pa.DataType:
        return self.finish.type


def same(arrow: pa.DataType) -> pa.DataType:
    return arrow


def number(arrow: pa.DataType) -> pa.DataType | None:
    """Computed in doubles, those of decimals, too."""
    return DOUBLE if arrow in NUMBERS or is_decimal(arrow) else None


def truth(result: pa.DataType) -> Callable[[pa.DataType], pa.DataType | None]:
    return lambda arrow: result if arrow == BOOLEAN else None


def total_type(arrow: pa.DataType) -> pa.DataType | None:
    if is_decimal(arrow):
        return pa.decimal128(min(arrow.precision + 10, MOST_DIGITS), arrow.scale)
    return BIGINT if arrow in INTEGERS else DOUBLE if arrow in NUMBERS else None


def mean_type(arrow: pa.DataType) -> pa.DataType | None:
    """Of decimals with four digits more, of which those before the point are kept first."""
    if not is_decimal(arrow):
        return number(arrow)
    return pa.decimal128(min(arrow.precision + 4, MOST_DIGITS), min(arrow.scale + 4, MOST_DIGITS))


# The type of the result for the type of the argument, None where they do not fit.
AGGREGATES: dict[str, Callable[[pa.DataType], pa.DataType | None]] = {
    "count": lambda arrow: BIGINT,
    "sum": total_type,
    "avg": mean_type,
    "min": same,
    "max": same,
    "first": same,
    "last": same,
    "stddev": number,
    "stddev_pop": number,
    "variance": number,
    "var_pop": number,
    "median": number,
    "percentile": number,
    "percentile_approx": lambda arrow: arrow if arrow in (*NUMBERS, *TIMES) else None,
    "approx_count_distinct": lambda arrow: BIGINT,
    "mode": same,
    "skewness": number,
    "kurtosis": number,
    "collect_list": pa.list_,
    "collect_set": pa.list_,
    "bool_and": truth(BOOLEAN),
    "bool_or": truth(BOOLEAN),
    "count_if": truth(BIGINT),
    "min_by": same,
    "max_by": same,
}

ALIASES = {
    "mean": "avg",
    "first_value": "first",
    "last_value": "last",
    "stddev_samp": "stddev",
    "std": "stddev",
    "var_samp": "variance",
    "every": "bool_and",
    "any": "bool_or",
    "some": "bool_or",
    "approx_percentile": "percentile_approx",
    "array_agg": "collect_list",
}

DISTINCT = ("count", "sum", "avg")
# DISTINCT changes nothing for these, so it is dropped.
INDIFFERENT = ("min", "max", "bool_and", "bool_or", "approx_count_distinct", "collect_set")
# Those that take more than one argument: how many at least, and at most.
ARGUMENTS = {
    "min_by": (2, 2), "max_by": (2, 2), "percentile": (2, 2), "percentile_approx": (2, 3), "mode": (1, 2),
    "approx_count_distinct": (1, 2),
}  # fmt: skip
NOT_WHOLE = {
    "struct": "fields of a struct, not the struct",
    "array": "elements, not an array",
    "map": "values, not a map",
}
NOT_NULL = ': put a filter before the aggregate, {filter: ["x IS NOT NULL"]}'
# What to do instead of giving more arguments than an aggregate takes.
SURPLUS = {
    "first": NOT_NULL,
    "last": NOT_NULL,
}
SHARES = ("percentile", "percentile_approx")


def parse_aggregates(
    text: str, schema: Schema, where: str = "", running: bool = False
) -> AggregateExpression:
    """Reads an expression over aggregates, for example max(Pos) - min(Pos).

    With `running` a field outside of them is that of the last tuple: Pos - first(Pos).

    >>> spread = parse_aggregates("max(Pos) - min(Pos) + count(*)", Schema.parse("Pos int"))
    >>> [call.function for call in spread.calls], spread.finish.text
    (['max', 'min', 'count'], '(CAST((`agg0` - `agg1`) AS bigint) + `agg2`)')
    """
    from aurora.algebra.expressions.dialect import syntax_tree, typed
    from aurora.algebra.expressions.resolve import Resolver

    try:
        calls = Calls(schema)
        resolver = Resolver({None: schema}, calls.column, calls.last if running else None)
        tree = typed(text, lambda: resolver.resolve(syntax_tree(text)))
        if not calls.found:
            what = "neither a field nor an aggregate" if running else "no aggregate"
            raise AuroraError(f"'{text.strip()}' has {what}: write one, for example count(*)")
    except AuroraError as fault:
        raise AuroraError(f"{where}: {fault}" if where else str(fault)) from None
    return AggregateExpression(text.strip(), tuple(calls.found), Expression(to_spark(tree), tree))


class Calls:
    """The calls found so far, in order, each once."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.found: list[AggregateCall] = []

    def column(self, name: str, node: "exp.Expression") -> Node | None:
        name = ALIASES.get(name, name)
        if name not in AGGREGATES:
            return None
        return self.result(self.call(name, node))

    def last(self, value: Node, text: str) -> Node:
        """The column that holds the value of the last tuple."""
        return self.result(AggregateCall("last", Expression(text, value), False, value.type))

    def result(self, call: AggregateCall) -> Node:
        if call not in self.found:
            self.found.append(call)
        return Field(f"agg{self.found.index(call)}", None, call.type)

    def call(self, name: str, node: "exp.Expression") -> AggregateCall:
        args = list(node.expressions)
        distinct = len(args) == 1 and args[0].key == "distinct"
        if distinct:
            args = list(args[0].expressions)
        if name == "count" and not distinct and (not args or args[0].key == "star"):
            return AggregateCall("count", None, False, BIGINT)
        least, most = ARGUMENTS.get(name, (1, 1))
        if not least <= len(args) <= most:
            surplus = SURPLUS.get(name, "")
            if name == "count":
                own = ", ".join(map(source, args))
                surplus = f": write count({'DISTINCT ' * distinct}concat_ws(',', {own}))"
            wanted = str(least) if least == most else f"{least} or {most}"
            raise AuroraError(
                f"{name} takes {wanted} argument{'s' * (most > 1)}, found {len(args)} in '{source(node)}'"
                + (surplus if len(args) > most else "")
            )
        argument, *order = (self.argument(each) for each in args)
        share = self.share(name, order[0], node) if name in SHARES else None
        if name not in ("min_by", "max_by"):
            # How near an approximation must come: what is exact comes nearest.
            order = []
        for each in (argument, *order):
            if is_nested(each.type) and (name not in ("count", "collect_list") or distinct):
                what = NOT_WHOLE[
                    "struct" if is_struct(each.type) else "map" if is_map(each.type) else "array"
                ]
                raise AuroraError(f"{name} takes {what}, in '{source(node)}'")
        result = AGGREGATES[name](argument.type)
        if result is None:
            kind = "a boolean" if name in ("bool_and", "bool_or", "count_if") else "a number"
            kind = "a number or a time" if name == "percentile_approx" else kind
            fix = aggregate_fix(name, argument.tree)
            hint = f": write {fix}" if fix else ""
            raise AuroraError(
                f"{name} needs {kind}, found {type_name(argument.type)} in '{source(node)}'{hint}"
            )
        if distinct and name not in (*DISTINCT, *INDIFFERENT):
            raise AuroraError(
                f"DISTINCT goes with {', '.join(DISTINCT)}, not with {name} in '{source(node)}'"
            )
        if is_decimal(argument.type) and AGGREGATES[name] is number:
            argument = Expression(argument.text, converted(argument.tree, DOUBLE))
        kept = distinct and name in DISTINCT
        return AggregateCall(name, argument, kept, result, order[0] if order else None, share)

    def argument(self, node: "exp.Expression") -> Expression:
        from aurora.algebra.expressions.resolve import Resolver

        tree = Resolver({None: self.schema}).resolve(node)
        if tree.type == VOID:
            raise AuroraError(f"'{source(node)}' has no type: write CAST(NULL AS type)")
        return Expression(source(node), tree)

    def share(self, name: str, given: Expression, node: "exp.Expression") -> float:
        """The constant between 0 and 1 that a percentile is asked for with."""
        share = None
        if not given.fields and given.type in NUMBERS:
            share = given.evaluate(pa.record_batch({"": [0]}))[0].as_py()
        if share is None or not 0 <= share <= 1:
            raise AuroraError(
                f"{name} takes a number between 0 and 1 as its second argument, found {given.text} in "
                f"'{source(node)}': write for example {name}({source(node.expressions[0])}, 0.95)"
            )
        return float(share)


def source(node: "exp.Expression") -> str:
    from aurora.algebra.expressions.dialect import source

    return source(node)
