"""Layers for a picture: each node behind those that lead to it, neighbours near each other, none on top of another."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Protocol, TypeVar

__all__ = ["Placed", "arrange"]

# Between two nodes of a layer; and how often the layers are looked at in turn.
GAP = 14
ROUNDS = 6


class Placed(Protocol):
    layer: int
    y: float

    @property
    def height(self) -> float: ...

    @property
    def kind(self) -> str: ...


P = TypeVar("P", bound=Placed)


def arrange(nodes: Sequence[P], arrows: Sequence[tuple[P, P]], make: Callable[[], P]) -> list[list[P]]:
    """Gives each node its layer and its height in the picture, and for each arrow its way.

    In each layer that an arrow passes it has a node that `make` makes.
    """
    for _ in nodes:
        moved = False
        for source, target in arrows:
            if target.layer <= source.layer:
                target.layer, moved = source.layer + 1, True
        if not moved:
            break
    last = max((node.layer for node in nodes), default=0)
    for node in nodes:
        if node.kind == "output":
            node.layer = last
    paths = [_path(source, target, make) for source, target in arrows]
    layers: list[list[P]] = [[] for _ in range(last + 1)]
    placed: set[int] = set()
    for node in [*nodes, *(node for path in paths for node in path)]:
        if id(node) not in placed:
            placed.add(id(node))
            layers[node.layer].append(node)
    before, behind = _neighbours(paths, 0), _neighbours(paths, 1)
    for layer in layers:
        _stack(layer, {}, False)
    for number in range(ROUNDS):
        for layer in layers:
            _stack(layer, before, True)
        for layer in reversed(layers) if number < ROUNDS - 1 else []:
            _stack(layer, behind, True)
    top = min((node.y for layer in layers for node in layer), default=0.0)
    for layer in layers:
        for node in layer:
            node.y += GAP - top
    return paths


def _path(source: P, target: P, make: Callable[[], P]) -> list[P]:
    between = []
    for layer in range(source.layer + 1, target.layer):
        node = make()
        node.layer = layer
        between.append(node)
    return [source, *between, target]


def _neighbours(paths: Sequence[Sequence[P]], side: int) -> dict[int, list[P]]:
    found: dict[int, list[P]] = {}
    for path in paths:
        for one, other in pairwise(path):
            found.setdefault(id((other, one)[side]), []).append((one, other)[side])
    return found


def _stack(layer: list[P], neighbours: dict[int, list[P]], sort: bool) -> None:
    """Puts the nodes of a layer where their neighbours are, one below the other."""
    wanted = {}
    for node in layer:
        near = neighbours.get(id(node), [])
        middles = [other.y + other.height / 2 for other in near] or [node.y + node.height / 2]
        wanted[id(node)] = sum(middles) / len(middles) - node.height / 2
    if sort:
        layer.sort(key=lambda node: wanted[id(node)] + node.height / 2)
    low = float("-inf")
    shift = 0.0
    for node in layer:
        node.y = max(wanted[id(node)], low)
        low = node.y + node.height + GAP
        shift += wanted[id(node)] - node.y
    # Whoever was pushed down takes the others up half the way.
    for node in layer:
        node.y += shift / max(len(layer), 1)
