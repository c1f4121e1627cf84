"""The arguments of boxes as people write them: orders, functions, fields, lists, truths; a fault names the place."""

from collections.abc import Mapping
from typing import Any

from aurora.algebra.ordering.order import ARRIVAL, GROUP, Order
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.windows.reducer import WindowFunction
from aurora.errors import AuroraError
from aurora.network.amounts import distance, slack
from aurora.network.kernels import import_function

__all__ = [
    "read_fields",
    "read_functions",
    "read_list",
    "read_mapping",
    "read_names",
    "read_order",
    "read_reach",
    "read_schema",
    "read_truth",
]


def read_order(given: Any, schema: Schema, where: str) -> Order:
    given = read_mapping(given, where)
    unknown = set(given) - {"on", "slack", "group_by", "clock"}
    if unknown or "on" not in given:
        raise AuroraError(
            f"{where}: write {{on: Field, slack: 2, group_by: [Field], clock: stream}}, found {dict(given)}"
        )
    on = str(given["on"])
    groups = read_names(given.get("group_by", []), f"{where}: group_by")
    clock = str(given.get("clock", GROUP))
    order = Order(on, group_by=groups, clock=clock)
    order.check(schema, where)
    if order.clocked:
        amount = given.get("slack", 0)
        number = isinstance(amount, int | float) and not isinstance(amount, bool)
        # All that is ordered by one clock lags behind it by a distance.
        _, span = slack({"value": amount} if number and amount else amount, order.type(schema), where)
        return Order(on, 0, span, groups, clock)
    tuples, span = slack(given.get("slack", 0), order.type(schema), where)
    if on == ARRIVAL and span is not None:
        raise AuroraError(f"{where}: slack as a span needs an order field, not '#'")
    return Order(on, tuples, span, groups)


def read_reach(
    spec: Mapping[str, Any], schemas: list[Schema], where: str
) -> tuple[Order, Order, int | float]:
    left = read_order(spec["left_order"], schemas[0], f"{where}: left_order")
    right = read_order(spec["right_order"], schemas[1], f"{where}: right_order")
    return left, right, distance(spec["size"], left.type(schemas[0]), f"{where}: size")


def read_functions(given: Any, where: str) -> Mapping[str, str] | WindowFunction:
    if isinstance(given, str | WindowFunction):
        function = import_function(given, where)
        if not isinstance(function, WindowFunction):
            raise AuroraError(f"{where}: {given} is not a WindowFunction, found {function!r}")
        read_fields(dict.fromkeys(function.fields.names, ""), where)
        return function
    return read_fields(given, where)


def read_schema(schema: Any, where: str) -> Schema:
    try:
        parsed = schema if isinstance(schema, Schema) else Schema.parse(str(schema))
    except AuroraError as fault:
        raise AuroraError(f"{where}: {fault}") from None
    read_fields(dict.fromkeys(parsed.names, ""), where)
    return parsed


def read_fields(given: Any, where: str) -> dict[str, str]:
    """Fields of a result with their expressions; names that begin with # belong to the hidden fields."""
    named = {str(name): str(text) for name, text in read_mapping(given, where).items()}
    for name in named:
        if not name or (name.startswith("#") and name != "#"):
            raise AuroraError(
                f"{where}: field '{name}': a name is not empty and does not begin with #; rename it"
            )
    return named


def read_names(given: Any, where: str) -> tuple[str, ...]:
    """A list of names; one alone needs no brackets."""
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise AuroraError(f"{where}: expects a list of names, found '{given}'")
    return tuple(names)


def read_list(given: Any, where: str) -> list[Any]:
    if not isinstance(given, list | tuple) or not given:
        raise AuroraError(f"{where}: expects a list, found '{given}'")
    return list(given)


def read_mapping(given: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise AuroraError(f"{where}: expects a mapping, found '{given}'")
    for name in given:
        if not isinstance(name, str):
            raise AuroraError(f"{where}: '{name}' is not a name; put it in quotes")
    return given


def read_truth(spec: Mapping[str, Any], key: str, where: str) -> bool:
    given = spec.get(key, False)
    if not isinstance(given, bool):
        raise AuroraError(f"{where}: {key} is true or false, found '{given}'")
    return given
