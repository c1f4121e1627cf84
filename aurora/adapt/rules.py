"""Rules by which chains of boxes are rearranged: pure functions from a chain and its figures to a proposal."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from aurora.adapt.figures import BoxFigures
from aurora.algebra.box.moving import Chain, Link

__all__ = ["RULES", "Proposal", "Rule", "combine_boxes", "expected_cost", "reorder_boxes"]

# A change must save this share of what the chain costs: figures are never quite the same twice.
LEAST_GAIN = 0.1
# What is taken as the cost of a box that cost nothing, in seconds.
LEAST_COST = 1e-10


@dataclass(frozen=True)
class Proposal:
    """The order in which the boxes of a chain should work, as one box; what that changes, and why it is better."""

    order: tuple[str, ...]
    what: str
    why: str


# A chain as it works now, whether its boxes work as one already, and what is known of them.
Rule = Callable[[Chain, bool, Mapping[str, BoxFigures]], Proposal | None]


def reorder_boxes(chain: Chain, as_one: bool, figures: Mapping[str, BoxFigures]) -> Proposal | None:
    """Those first that drop most for what they cost: by (1 - s) / c, as far as boxes may pass each other.

    Two neighbours b and d cost c(b) + s(b) c(d) a tuple, the other way round c(d) + s(d) c(b): the second is less where
    (1 - s(d)) / c(d) is more than (1 - s(b)) / c(b).
    """
    best, place = chain, 0
    while place < len(best.links) - 1:
        one, other = (_rank(link, figures) for link in best.links[place : place + 2])
        found = best.swapped(place) if one is not None and other is not None and other > one else None
        if found is None:
            place += 1
        else:
            # What has moved forward may move on.
            best, place = found, max(place - 1, 0)
    before, after = expected_cost(chain, figures), expected_cost(best, figures)
    if best.names == chain.names or after > (1 - LEAST_GAIN) * before:
        return None
    told = ", ".join(_told(link, figures) for link in best.links if link.name in figures)
    saved = f"a tuple costs {_micro(after)} instead of {_micro(before)}"
    return Proposal(best.names, f"{_listed(best.names)} work in this order", f"{saved}: {told}")


def combine_boxes(chain: Chain, as_one: bool, figures: Mapping[str, BoxFigures]) -> Proposal | None:
    """As one box: tuples are copied once, when all have chosen, and with the fields only that somebody looks at."""
    if as_one:
        return None
    why = (
        f"together they cost {_micro(expected_cost(chain, figures))} a tuple and no other box reads what passes "
        "between them"
    )
    return Proposal(chain.names, f"{_listed(chain.names)} work as one box", why)


RULES: tuple[Rule, ...] = (reorder_boxes, combine_boxes)


def expected_cost(chain: Chain, figures: Mapping[str, BoxFigures]) -> float:
    """Seconds that the chain works for each tuple in front of it; boxes of which nothing is known cost nothing."""
    cost, share = 0.0, 1.0
    for link in chain.links:
        if link.name in figures:
            cost += share * figures[link.name].cost
            share *= _passes(link, figures)
    return cost


def _passes(link: Link, figures: Mapping[str, BoxFigures]) -> float:
    return figures[link.name].selectivity.get(link.port, 0.0)


def _rank(link: Link, figures: Mapping[str, BoxFigures]) -> float | None:
    """What it drops for what it costs; None where nothing is known of it."""
    if link.name not in figures:
        return None
    return (1 - _passes(link, figures)) / max(figures[link.name].cost, LEAST_COST)


def _told(link: Link, figures: Mapping[str, BoxFigures]) -> str:
    return f"{link.name} gives {_passes(link, figures):.1%} for {_micro(figures[link.name].cost)}"


def _micro(seconds: float) -> str:
    return f"{seconds * 1e6:.3g} µs"


def _listed(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"
