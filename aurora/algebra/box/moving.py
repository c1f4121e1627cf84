"""When two boxes without state, one behind the other, may change places, and what they are then."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from aurora.algebra.box.operator import Operator
from aurora.algebra.expressions.tree import ARRIVED, INSIDE, Constant, Field, Node, inside_out
from aurora.algebra.tuples.schema import Schema

__all__ = ["Chain", "Link", "arrange_chain", "swap_links"]

# What a predicate may compute once more for itself: so little that nobody needs to weigh it.
CHEAP = frozenset(
    {INSIDE, "+", "-", "*", "negate", "=", "<", "<=", ">", ">=", "<=>", "and", "or", "not", "is null"}
)
MOST_STEPS = 8


@dataclass(frozen=True)
class Link:
    """A box of a chain: `port` is the only one that is read."""

    name: str
    operator: Operator
    port: str

    @property
    def schema(self) -> Schema:
        return self.operator.outputs[self.port]


@dataclass(frozen=True)
class Chain:
    """Boxes one behind the other, each with one input, and nobody else reads what is between them.

    `schema` is that of the tuples in front.
    """

    links: tuple[Link, ...]
    schema: Schema

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(link.name for link in self.links)

    @property
    def last(self) -> Link:
        return self.links[-1]

    def swapped(self, place: int) -> "Chain | None":
        """The chain in which the box at `place` has changed places with the next, where that gives the same tuples."""
        schema = self.links[place - 1].schema if place else self.schema
        found = swap_links(self.links[place], self.links[place + 1], schema)
        if found is None:
            return None
        return replace(self, links=(*self.links[:place], *found, *self.links[place + 2 :]))


def arrange_chain(chain: Chain, order: Sequence[str]) -> Chain | None:
    """The chain in another order of its boxes; None where boxes would pass each other that may not."""
    if sorted(order) != sorted(chain.names):
        return None
    found: Chain | None = chain
    for place, name in enumerate(order):
        assert found is not None
        for before in reversed(range(place, found.names.index(name))):
            found = found.swapped(before)
            if found is None:
                return None
    return found


def swap_links(first: Link, second: Link, schema: Schema) -> tuple[Link, Link] | None:
    """Both boxes the other way round, None where that could be seen from outside; `schema` is in front of them.

    A choice may stand before a box or behind it if it can tell there, too, which tuples to take. All that one tuple
    brings forth behind that box is chosen alike then, so that the rest stays in its order.
    """
    one, other = first.operator.traits, second.operator.traits
    if not (one.by_itself and other.by_itself):
        return None
    if one.choice is not None and other.choice is not None:
        return second, first
    if _orders(first.operator) and _orders(second.operator):
        # Rows of one arrival stand in the order that the boxes on their way gave them, one after the other.
        return None
    if other.choice is not None:
        moved = other.choice.moved(schema, _computed(first, schema))
        return None if moved is None else (replace(second, operator=moved), first)
    if one.choice is not None:
        (kept,) = second.operator.keeps(second.port)
        names: dict[str, Node] = {old: Field(new, None, second.schema[new]) for old, new in kept.items()}
        moved = one.choice.moved(second.schema, names)
        return None if moved is None else (second, replace(first, operator=moved))
    return None


def _orders(operator: Operator) -> bool:
    """Whether it adds to what says in which order rows are."""
    return operator.depth((1,)) > 1


def _computed(link: Link, schema: Schema) -> Mapping[str, Node]:
    """The fields behind a box that can be had in front of it, each with what it is there."""
    (kept,) = link.operator.keeps(link.port)
    # Behind a box of the user's a whole number may have another width; what reads it goes by that.
    found: dict[str, Node] = {new: Field(old, None, link.schema[new]) for old, new in kept.items()}
    computed = {name: node for name, node in link.operator.traits.computed.items() if _is_cheap(node)}
    return {**computed, **found}


def _is_cheap(node: Node) -> bool:
    parts = inside_out(node)
    if len(parts) > MOST_STEPS:
        return False
    return all(_is_step(part) for part in parts)


def _is_step(part: Node) -> bool:
    if isinstance(part, Field):
        return part.name != ARRIVED
    if isinstance(part, Constant):
        return True
    numbers = all(_is_number(argument.type) for argument in part.args)
    return part.op in CHEAP or (part.op == "cast" and _is_number(part.type) and numbers)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))
