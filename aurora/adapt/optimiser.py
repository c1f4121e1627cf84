"""Watches a run batch by batch, and says in which order its chains of boxes should work from the next one on."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from aurora.adapt.averages import Sums
from aurora.adapt.figures import BoxFigures
from aurora.adapt.rules import RULES, Proposal
from aurora.algebra.box.moving import Chain, arrange_chain
from aurora.engine.controls import Rewrites
from aurora.engine.plan.plan import Plan
from aurora.engine.plan.rewriting import find_chains, is_pinned
from aurora.engine.statistics import BatchReport, Change
from aurora.engine.work import Work

__all__ = ["Optimiser"]

# After so many seconds a batch counts half: what changes in the input is seen within a few of them.
HALF = 3.0
# The first batches of a run warm up, and the first of an order may have been made before it was asked for.
WARM = 2
# Figures of fewer batches, of fewer tuples, or of less work in seconds, say nothing.
LEAST_BATCHES = 2
LEAST_TUPLES = 100
LEAST_WORK = 0.02
# So many seconds an order holds at least. Where changes follow each other it becomes longer, up to the most: boxes that
# look better wherever they are not would change places for ever.
PATIENCE = 3.0
MOST_PATIENCE = 300.0
MOST_CHANGES = 100


@dataclass
class _Watched:
    """A chain: its order in the network, the order of now (None: as the network has it), and what is asked for."""

    chain: Chain
    order: tuple[str, ...] | None = None
    asked: Proposal | None = None
    since: float = 0.0
    patience: float = PATIENCE
    batches: int = 0
    sums: dict[str, Sums] = field(default_factory=dict)

    def found(self, order: tuple[str, ...] | None, at: float) -> Proposal | None:
        """A batch came in this order; gives what had been asked for if it is that."""
        if order == self.order:
            return None
        hasty = at - self.since < 4 * self.patience
        self.patience = min(2 * self.patience, MOST_PATIENCE) if hasty and self.since else PATIENCE
        # What a box drops depends on those in front of it.
        self.order, self.since, self.batches, self.sums = order, at, 0, {}
        asked, self.asked = self.asked, None
        return asked if asked is not None and asked.order == order else None

    def add(self, work: Work, keep: float) -> None:
        self.batches += 1
        for name in self.chain.names:
            if (box := work.boxes.get(name)) is not None:
                known = self.sums.get(name, Sums())
                self.sums[name] = known.add(box.taken, box.seconds, box.given, keep, 1.0)

    def figures(self) -> Mapping[str, BoxFigures]:
        """Of the boxes that had enough to do."""
        return {
            name: BoxFigures(
                sums.seconds / sums.taken,
                {port: given / sums.taken for port, given in sums.given.items()},
                0.0,
            )
            for name, sums in self.sums.items()
            if sums.taken >= LEAST_TUPLES
        }

    def consider(self, at: float) -> None:
        """Asks for what the first rule proposes that has something to propose."""
        worked = sum(sums.seconds for sums in self.sums.values())
        early = self.since and at - self.since < self.patience
        if early or self.asked or self.batches < LEAST_BATCHES or worked < LEAST_WORK:
            return
        now = self.chain if self.order is None else arrange_chain(self.chain, self.order)
        if now is not None:
            figures = self.figures()
            proposals = (rule(now, self.order is not None, figures) for rule in RULES)
            self.asked = next((found for found in proposals if found is not None), None)


def _recall(chain: Chain, order: tuple[str, ...] | None) -> Proposal | None:
    """An order that was known before, if the chain can still have it."""
    if order is None or arrange_chain(chain, order) is None:
        return None
    return Proposal(order, f"{', '.join(order)} work in this order", "the last run had found it")


class Optimiser:
    """Of one run. All that it knows it has from the reports of the batches, the time included; and the orders that the
    last run of the network had found."""

    def __init__(self, plan: Plan, known: Rewrites = ()) -> None:
        orders = {frozenset(order): order for order in known}
        self._watched = [
            _Watched(chain, asked=_recall(chain, orders.get(frozenset(chain.names))))
            for chain in find_chains(plan)
        ]
        self._seen = 0
        self._at = 0.0
        self._changes: list[Change] = []

    @property
    def changes(self) -> tuple[Change, ...]:
        return tuple(self._changes)

    def advise(self, report: BatchReport) -> Rewrites:
        """What should hold from the next batch on: what holds now, and what is better by the figures of late."""
        keep = 0.5 ** (max(report.seconds - self._at, 0.0) / HALF)
        self._at, self._seen = report.seconds, self._seen + 1
        holding = {frozenset(order): order for order in report.controls.rewrites}
        wanted = []
        for watched in self._watched:
            if is_pinned(watched.chain, report.controls.streams):
                # It works as it is written for the time being, whatever is asked for.
                wanted += [] if watched.order is None else [watched.order]
                continue
            made = watched.found(holding.get(frozenset(watched.chain.names)), report.seconds)
            if made is not None:
                self._changes = [*self._changes, Change(report.batch, made.what, made.why)][-MOST_CHANGES:]
            if self._seen > WARM:
                watched.add(report.work, keep)
                watched.consider(report.seconds)
            order = watched.order if watched.asked is None else watched.asked.order
            wanted += [] if order is None else [order]
        return tuple(wanted)
