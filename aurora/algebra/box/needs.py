"""Which fields of a stream are looked at, down to those inside structs."""

from collections.abc import Iterable

from aurora.algebra.expressions import Expression
from aurora.algebra.ordering.order import ARRIVAL, Order
from aurora.algebra.ordering.pairs import joined_schema
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.windows.reducer import Reducer

__all__ = ["Needs", "merge", "needs_of_order", "needs_of_reducer", "needs_of_sides", "needs_of_text"]

# The fields that are looked at, and inside each those of a struct; None for all of it, {} for its being there.
Needs = dict[str, "Needs | None"]


def merge(*needs: Needs | None) -> Needs | None:
    """What is looked at by the one or the other.

    >>> merge({"bid": {"price": None}}, {"bid": {"auction": None}}, {"n": None})
    {'bid': {'price': None, 'auction': None}, 'n': None}
    >>> merge({"bid": {"price": None}}, {"bid": None})
    {'bid': None}
    """
    result: Needs = {}
    for need in needs:
        if need is None:
            return None
        for name, inside in need.items():
            result[name] = merge(result[name], inside) if name in result else inside
    return result


def needs_of_text(expressions: Iterable[Expression], side: str | None = None) -> Needs:
    """What expressions look at; of a predicate on pairs, on one of its sides."""
    needs: Needs = {}
    for use in (use for expression in expressions for use in expression.uses if use.side == side):
        inside: Needs | None = None if use.whole else {}
        for name in reversed(use.path):
            inside = {name: inside}
        needs = merge(needs, inside) or {}
    return needs


def needs_of_order(order: Order) -> Needs:
    return dict.fromkeys(name for name in (order.on, *order.group_by) if name != ARRIVAL)


def needs_of_reducer(reducer: Reducer) -> Needs | None:
    """A window function of the user's may look at everything."""
    if reducer.user is not None:
        return None
    return needs_of_text(
        each for call in reducer.calls for each in (call.argument, call.order) if each is not None
    )


def needs_of_sides(
    left: Schema, right: Schema, predicate: Expression, given: Needs | None
) -> tuple[Needs | None, Needs | None]:
    """What a join looks at of its sides. Fields that gave another one its new name must stay too."""
    if given is None:
        return None, None
    wants: tuple[Needs, Needs] = needs_of_text([predicate], "left"), needs_of_text([predicate], "right")
    for place, name in enumerate(joined_schema(left, right).names):
        if name not in given:
            continue
        side = 0 if place < len(left) else 1
        own = left.names[place] if side == 0 else right.names[place - len(left)]
        wants[side][own] = merge(given[name], wants[side].get(own, {}))
        if own != name:
            for want, schema in zip(wants, (left, right), strict=True):
                want.update({other: want.get(other, {}) for other in schema if name.startswith(other)})
    return wants
