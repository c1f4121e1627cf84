"""A chain of boxes that is carried out as one: tuples are chosen first and copied once, nothing is computed in vain."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from aurora.algebra.box.keeps import keeps_fields
from aurora.algebra.box.moving import Chain, Link
from aurora.algebra.box.needs import Needs
from aurora.algebra.box.operator import Keeps, Operator, Partition, Traits
from aurora.algebra.ordering.progress import Progress
from aurora.algebra.state.turn import PartDone, Turn
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Ints, Train

__all__ = ["Combined"]


@dataclass(frozen=True)
class Part:
    """A box as it is called: with the fields that it and those behind it look at; None for all."""

    link: Link
    operator: Operator
    given: frozenset[str] | None


@dataclass(frozen=True)
class Combined:
    """Does what its boxes do one after the other, and gives it at `port`. What each did is in `turn.parts`."""

    chain: Chain
    port: str

    @cached_property
    def _parts(self) -> tuple[Part, ...]:
        """Fields that no box behind looks at are left out as early as can be."""
        found: list[Part] = []
        wanted: frozenset[str] | None = None
        for link in reversed(self.chain.links):
            traits, operator = link.operator.traits, link.operator
            if traits.choice is not None and traits.choice.masks is not None:
                wanted = None if wanted is None else wanted | traits.choice.reads
            elif traits.narrowed is not None:
                operator = operator if wanted is None else traits.narrowed(wanted)
                wanted = _fields(operator)
            else:
                wanted = None
            found.append(Part(link, operator, wanted))
        return tuple(reversed(found))

    @property
    def outputs(self) -> dict[str, Schema]:
        return {self.port: self.chain.last.schema}

    @property
    def partition(self) -> Partition | None:
        return None

    @property
    def traits(self) -> Traits:
        return Traits()

    def keeps(self, port: str) -> Keeps:
        kept = keeps_fields(self.chain.schema.names)
        for link in self.chain.links:
            (own,) = link.operator.keeps(link.port)
            kept = {field: own[name] for field, name in kept.items() if name in own}
        return (kept,)

    def needs(self, given: Needs | None) -> tuple[Needs | None, ...]:
        return (None,)

    def progress(
        self, port: str, inputs: tuple[Mapping[str, Progress], ...], clocks: tuple[Progress, ...]
    ) -> Mapping[str, Progress]:
        (known,) = inputs
        for link in self.chain.links:
            known = link.operator.progress(link.port, (known,), ())
        return known

    def depth(self, inputs: tuple[int, ...]) -> int:
        (depth,) = inputs
        for link in self.chain.links:
            depth = link.operator.depth((depth,))
        return depth

    def call(self, inputs: tuple[Train, ...], turn: Turn) -> dict[str, Train]:
        (train,) = inputs
        # The rows of the train that are still there; None: all of them.
        chosen: Ints | None = None
        for part in self._parts:
            done = turn.parts[part.link.name] = PartDone()
            started = time.perf_counter_ns()
            choice = part.link.operator.traits.choice
            if choice is not None and choice.masks is not None:
                rows = train.select(choice.reads).rows
                rows = rows if chosen is None else rows.take(pa.array(chosen))
                masks = choice.masks(rows)
                mask = masks[part.link.port]
                if not mask.all():
                    chosen = np.flatnonzero(mask) if chosen is None else chosen[mask]
                done.taken = rows.num_rows
                done.given.update({port: int(np.count_nonzero(each)) for port, each in masks.items()})
            else:
                train, chosen = (
                    _copied(train if part.given is None else train.select(part.given), chosen),
                    None,
                )
                done.taken = len(train)
                outputs = part.operator.call((train,), turn)
                done.given.update({port: len(each) for port, each in outputs.items()})
                train = outputs[part.link.port]
            if part is self._parts[-1]:
                # All choices share one copy, which is counted with the last box.
                train = _copied(train, chosen)
            done.nanoseconds = time.perf_counter_ns() - started
        return {self.port: train}


def _fields(operator: Operator) -> frozenset[str] | None:
    (needs,) = operator.needs(None)
    return None if needs is None else frozenset(needs)


def _copied(train: Train, chosen: Ints | None) -> Train:
    if chosen is None:
        return train
    if 4 * len(chosen) < len(train):
        return train.take(chosen)
    mask = np.zeros(len(train), bool)
    mask[chosen] = True
    return train.filter(mask)
