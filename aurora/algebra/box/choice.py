"""Boxes that choose among their tuples, and give those that they choose as they are."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from aurora.algebra.expressions.tree import Node
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Mask

if TYPE_CHECKING:
    from aurora.algebra.box.operator import Operator

__all__ = ["Choice"]


@dataclass(frozen=True)
class Choice:
    """What a box says of how it chooses; a tuple comes out at one port at most, and once.

    `reads` are the fields that it goes by. `moved` gives the box that chooses alike among tuples of another schema, in
    which its fields are computed so; None if there is none. `masks` tells which rows come to each port; a box without
    it must be called to know.
    """

    reads: frozenset[str]
    moved: Callable[[Schema, Mapping[str, Node]], "Operator | None"]
    masks: Callable[[pa.RecordBatch], dict[str, Mask]] | None = None
