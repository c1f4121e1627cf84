"""Load shedding: which streams lose how much, so that the outputs together lose the least utility.

The paper's greedy algorithm: a step at a time, where the least utility goes for the work that it saves, as far upstream
as a drop box can stand without touching an output that must not lose. Where a graph falls fastest at first, further
tuples cost less than the first ones: then several steps go at once, as far as the next points of the graphs, if they
lose less together for what they save.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import prod

from aurora.adapt.flows import Flow, Place, find_topmost
from aurora.adapt.values import Histogram
from aurora.engine.drops import WHOLE, Drop
from aurora.network.network import Network
from aurora.network.qos import Graph, Qos

__all__ = ["Cut", "Shedding", "can_lose", "find_cuts", "plan_shedding"]

# The share of a stream that one step takes, and the most that goes.
STEP, MOST = 0.01, 0.99
# A plan is done when it saves all but this share of what it must.
NEARLY = 1e-9
# What an output with a value graph alone is worth by the share of all worth that is delivered.
AS_DELIVERED = Graph(((0.0, 0.0), (100.0, 1.0)))


@dataclass(frozen=True)
class Cut:
    """Where a drop box can stand, on a stream or before a `box`, and what it does to the `outputs` behind it.

    With a `histogram` of the values of `field`, what is worth least goes first; otherwise chance decides. `gain` are
    the seconds of one core that a tuple less saves, `above` the cuts upstream, which take tuples away from this one.
    `reach` is the share of the tuples there that the histogram tells of: it knows nothing of those that do not get to
    the output, or have no value there.
    """

    stream: str
    outputs: frozenset[str]
    rate: float
    gain: float
    field: str | None = None
    histogram: Histogram | None = None
    box: str = ""
    above: frozenset[str] = frozenset()
    reach: float = 1.0

    @property
    def place(self) -> str:
        return Drop(self.stream, box=self.box).place

    def loss(self, share: float) -> float:
        """The share of all worth of each output that goes with a share of the tuples that it tells of."""
        return share if self.histogram is None else self.histogram.lost(share)

    def fewer(self, share: float) -> float:
        """The share of the tuples of each output that goes with it."""
        return share if self.histogram is None else share * self.histogram.known

    def drops(self, share: float) -> tuple[Drop, ...]:
        """The drop boxes that leave that share out."""
        if share <= 0:
            return ()
        if self.histogram is None or self.field is None or not sum(self.histogram.counts):
            return (Drop(self.stream, round(share * WHOLE), box=self.box),)
        whole, part = self.histogram.choose(share)
        found = []
        if whole:
            found.append(Drop(self.stream, WHOLE, self.histogram.condition(self.field, whole), self.box))
        if part is not None and round(part[1] * WHOLE):
            condition = self.histogram.condition(self.field, [part[0]])
            found.append(Drop(self.stream, round(part[1] * WHOLE), condition, self.box))
        return tuple(found)


@dataclass(frozen=True)
class Shedding:
    """`shares` of streams and arcs that are left out, what each output still delivers of its worth and of its tuples
    (`kept`), the seconds of one core that this saves in a second, and those that nothing saves (`shortfall`).

    Where values decide, `chosen` is the share that goes of those tuples that a histogram tells of.
    """

    drops: tuple[Drop, ...] = ()
    shares: Mapping[str, float] = field(default_factory=dict)
    delivered: Mapping[str, float] = field(default_factory=dict)
    kept: Mapping[str, float] = field(default_factory=dict)
    relief: float = 0.0
    shortfall: float = 0.0
    chosen: Mapping[str, float] = field(default_factory=dict)


def can_lose(qos: Qos | None) -> bool:
    """Whether an output may lose tuples: without a graph that says what this costs, never."""
    return qos is not None and (qos.delivered is not None or qos.value is not None)


def find_cuts(
    network: Network,
    flows: Mapping[Place, Flow],
    graphs: Mapping[str, Qos | None],
    histograms: Mapping[str, Histogram] | None = None,
    reaches: Mapping[str, float] | None = None,
) -> list[Cut]:
    """Where drop boxes can stand. `graphs` are those of all ends of the flows; a point has none.

    With `histograms` of the outputs, those with a value graph are cut by their values, too. `reaches` are those that
    were found at work, by place; others are estimated.
    """
    cuts: list[Cut] = []
    for ends in {flow.ends for flow in flows.values()}:
        if not all(can_lose(graphs.get(name)) for name in ends):
            continue
        chosen = [flow for flow in find_topmost(flows, ends) if flow.live and flow.rate > 0 and flow.cost > 0]
        cuts += [_cut(flow) for flow in chosen]
    for name, histogram in (histograms or {}).items():
        qos = graphs.get(name)
        if qos is not None and qos.value is not None and sum(histogram.counts) > 0:
            found = _carry_up(network, flows, name, qos.value.of)
            if found is not None:
                own = replace(_cut(found.flow), field=found.field, histogram=histogram)
                reach = (reaches or {}).get(own.place, found.arrives * histogram.known)
                cuts.append(replace(own, reach=reach, gain=found.gain(reach)))
    places = {cut.place for cut in cuts}
    ordered = sorted(cuts, key=lambda cut: (cut.place, cut.field or ""))
    return [
        replace(cut, above=frozenset(places & _find_above(flows, (network.find(cut.stream, "cut"), cut.box))))
        for cut in ordered
    ]


def _cut(flow: Flow) -> Cut:
    port, box = flow.place
    return Cut(str(port), flow.ends, flow.rate, flow.cost, box=box)


@dataclass(frozen=True)
class _Source:
    """Where a field of an output comes from: a place, and how the field is called there.

    `arrives` is the share of the tuples there that get to the output; such a one costs `whole` on its way.
    """

    flow: Flow
    field: str
    arrives: float
    whole: float

    def gain(self, reach: float) -> float:
        """What a tuple costs if a share is taken: first those that get to the output, then others."""
        if reach <= self.arrives:
            return self.whole
        others = max(self.flow.cost - self.arrives * self.whole, 0.0) / (1 - self.arrives)
        return (self.arrives * self.whole + (reach - self.arrives) * others) / reach


def _carry_up(network: Network, flows: Mapping[Place, Flow], output: str, field: str) -> _Source | None:
    """The place furthest upstream that leads to this output alone and still has the field."""
    port, reader = network.outputs[output].port, ""
    given = flows[port, ""].rate if (port, "") in flows else 0.0
    found: _Source | None = None
    # By how much a tuple that gets to the output costs more than any.
    more = 0.0
    while (flow := flows.get((port, reader)) or flows.get((port, ""))) is not None and flow.ends == {output}:
        if flow.live and flow.rate > 0 and flow.cost > 0:
            found = _Source(flow, field, min(given / flow.rate, 1.0), flow.cost + more)
        if flows[port, ""].ends != {output}:
            break
        box = network.boxes.get(port.box)
        if box is None or box.operator.partition is not None or len(network.streams(box)) != 1:
            break
        (kept,) = box.operator.keeps(port.port)
        before = next((old for old, new in kept.items() if new == field), None)
        if before is None:
            break
        below, (port,), reader, field = flows[port, ""], network.streams(box), box.name, before
        taken = flows[port, ""].rate if (port, "") in flows else 0.0
        more += max(1 - below.rate / taken, 0.0) * below.cost if taken else 0.0
    return found


def _find_above(flows: Mapping[Place, Flow], place: Place) -> set[str]:
    found: set[str] = set()
    pending = list(flows[place].above) if place in flows else []
    while pending:
        port, box = above = pending.pop()
        name = Drop(str(port), box=box).place
        if above in flows and name not in found:
            found.add(name)
            pending += flows[above].above
    return found


def plan_shedding(cuts: list[Cut], graphs: Mapping[str, Qos | None], excess: float) -> Shedding:
    """So much is shed that `excess` seconds of one core are saved in a second, or as much as can be."""
    every = frozenset(range(len(cuts)))
    plans = [_choose_shares(cuts, graphs, excess, {}, every)]
    # What little is left to save after long steps may cost much: then another choice of the long ones is better.
    for number in (n for n in every if not all(_is_even(graphs[name]) for name in cuts[n].outputs)):
        plans.append(_choose_shares(cuts, graphs, excess, {}, every - {number}))
        if _saved(cuts, {number: MOST}) <= excess:
            plans.append(_choose_shares(cuts, graphs, excess, {number: MOST}, every))
    outputs = sorted({name for cut in cuts for name in cut.outputs})
    shares, relief = min(
        plans,
        key=lambda plan: (
            -float(f"{plan[1]:.6g}"),
            float(f"{_lost(cuts, graphs, {}, plan[0], frozenset(outputs)):.6g}"),
        ),
    )
    drops = [drop for number, share in shares.items() for drop in cuts[number].drops(share)]
    return Shedding(
        tuple(sorted(drops, key=lambda drop: (drop.place, drop.where or ""))),
        {place: _left_out(cuts, shares, {place}) for place in dict.fromkeys(cuts[n].place for n in shares)},
        {name: _delivered(cuts, shares, name) for name in outputs},
        {name: _kept(cuts, shares, name) for name in outputs},
        relief,
        excess - relief if relief < (1 - NEARLY) * excess else 0.0,
        {cuts[n].place: share for n, share in shares.items() if cuts[n].histogram is not None},
    )


def _choose_shares(
    cuts: list[Cut],
    graphs: Mapping[str, Qos | None],
    excess: float,
    begun: Mapping[int, float],
    allowed: Collection[int],
) -> tuple[dict[int, float], float]:
    """The shares of the cuts, from those that are begun on, and what they save; only those that are allowed grow."""
    shares = dict(begun)
    relief = _saved(cuts, shares)
    while relief < (1 - NEARLY) * excess:
        best: tuple[float, float, int, float] | None = None
        for number in sorted(allowed):
            share = shares.get(number, 0.0)
            own: tuple[float, float, int, float] | None = None
            for step in _find_steps(cuts, graphs, shares, number):
                saved = _saved(cuts, {**shares, number: share + step}) - relief
                if saved <= 0:
                    continue
                if relief + saved > excess:
                    step *= (excess - relief) / saved
                    saved = excess - relief
                lost = _lost(cuts, graphs, shares, {**shares, number: share + step}, cuts[number].outputs)
                # What differs in the last digits alone is equal: then the larger saving goes first, and of one place
                # the shorter step.
                rank = float(f"{lost / saved:.6g}"), -saved, number, step
                if own is None or rank[0] < own[0]:
                    own = rank
            if own is not None:
                best = own if best is None else min(best, own)
        if best is None:
            break
        *_, number, step = best
        shares[number] = shares.get(number, 0.0) + step
        relief = _saved(cuts, shares)
    return shares, relief


def _is_even(qos: Qos | None) -> bool:
    """Whether no tuple of an output costs less than one that is left out before it."""
    slopes = [(y1 - y0) / (x1 - x0) for (x0, y0), (x1, y1) in pairwise(_find_graph(qos).points)]
    return all(after <= before * (1 + NEARLY) for before, after in pairwise(slopes))


def _find_steps(
    cuts: list[Cut], graphs: Mapping[str, Qos | None], shares: Mapping[int, float], number: int
) -> list[float]:
    """By how much the share of a cut may grow at once: a little, up to each of the next points of the graphs, or all.

    Where a cut goes by values, the share that brings an output to a point is not known: twice as much each time.
    """
    cut, share = cuts[number], shares.get(number, 0.0)
    found = {MOST - share}
    if cut.histogram is not None:
        found |= {STEP * 2**power for power in range(1, 7)}
    else:
        others = {n: own for n, own in shares.items() if n != number}
        for name in cut.outputs:
            left = _delivered(cuts, others, name)
            found |= {1 - x / 100 / left - share for x, _ in _find_graph(graphs[name]).points if left > 0}
    steps = sorted(step for step in found if STEP < step <= MOST - share)
    return [step for step in (min(STEP, MOST - share), *steps) if step > 0]


def _find_graph(qos: Qos | None) -> Graph:
    """What an output is worth by the share of all worth that is delivered."""
    return (qos.delivered if qos is not None else None) or AS_DELIVERED


def _saved(cuts: list[Cut], shares: Mapping[int, float]) -> float:
    """Seconds of one core, in a second: a tuple that is left out further up is not there to be left out again, and
    chance takes what values leave at its place."""
    by_value: dict[str, float] = {}
    total = 0.0
    for number, share in sorted(shares.items(), key=lambda own: cuts[own[0]].histogram is None):
        cut = cuts[number]
        left = cut.rate * (1 - _left_out(cuts, shares, cut.above))
        saved = share * (left * cut.reach * cut.gain - by_value.get(cut.place, 0.0))
        if cut.histogram is not None:
            by_value[cut.place] = saved
        total += saved
    return total


def _left_out(cuts: list[Cut], shares: Mapping[int, float], places: Collection[str]) -> float:
    """The share of a stream that goes at these places."""
    return 1 - prod(1 - share * cuts[n].reach for n, share in shares.items() if cuts[n].place in places)


def _delivered(cuts: list[Cut], shares: Mapping[int, float], output: str) -> float:
    return prod(
        1 - cuts[number].loss(share) for number, share in shares.items() if output in cuts[number].outputs
    )


def _kept(cuts: list[Cut], shares: Mapping[int, float], output: str) -> float:
    return prod(
        1 - cuts[number].fewer(share) for number, share in shares.items() if output in cuts[number].outputs
    )


def _lost(
    cuts: list[Cut],
    graphs: Mapping[str, Qos | None],
    before: Mapping[int, float],
    after: Mapping[int, float],
    outputs: frozenset[str],
) -> float:
    """The utility that goes, of all outputs together."""
    lost = 0.0
    for name in outputs:
        graph = _find_graph(graphs[name])
        was, now = _delivered(cuts, before, name), _delivered(cuts, after, name)
        lost += graph.utility(100 * was) - graph.utility(100 * now)
    return lost
