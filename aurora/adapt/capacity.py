"""Static introspection: the cores that a network needs at given rates, box by box, and the largest rates that fit."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from aurora.adapt.deferral import split_network
from aurora.adapt.figures import Figures, find_capacity, longest_batch
from aurora.adapt.flows import find_flows
from aurora.adapt.obstacles import find_obstacles
from aurora.adapt.shedding import Shedding, find_cuts, plan_shedding
from aurora.engine.pacing import find_least
from aurora.engine.plan.plan import plan_network
from aurora.errors import AuroraError, did_you_mean
from aurora.network.network import Network, Port
from aurora.network.qos import Qos, find_zone

__all__ = ["Capacity", "Need", "check_rates", "find_rates", "plan_capacity"]

# A billionth is near enough.
STEPS = 30


@dataclass(frozen=True)
class Need:
    """What one part of the network needs: `rate` times a second, `cost` seconds of one core each."""

    part: str
    kind: str
    rate: float
    cost: float

    @property
    def cores(self) -> float:
        return self.rate * self.cost


@dataclass(frozen=True)
class Capacity:
    """`needed` of the cores against `available` ones (cores times headroom); `scale` is by what all rates could be
    multiplied so that it just fits. Boxes in `unmeasured` never ran, and are not counted.

    Boxes in one bucket work one after the other, on one core however many there are: `one_core` are those of the part
    of the network that needs most of its core, and `one_core_needs` is how much.

    `excess` is what the rows would have to cost less, in cores, so that it fits; `shedding` is what load shedding would
    do about it, by the graphs of the outputs, and `obstacles` say what keeps it from doing more.
    """

    needs: tuple[Need, ...]
    rates: Mapping[str, float]
    cores: float
    headroom: float
    scale: float
    unmeasured: tuple[str, ...] = ()
    excess: float = 0.0
    shedding: Shedding = field(default_factory=Shedding)
    one_core: tuple[str, ...] = ()
    one_core_needs: float = 0.0
    obstacles: tuple[str, ...] = ()

    @property
    def one_core_fits(self) -> bool:
        return self.one_core_needs <= self.headroom

    @property
    def needed(self) -> float:
        return sum(need.cores for need in self.needs)

    @property
    def available(self) -> float:
        return self.cores * self.headroom

    @property
    def fits(self) -> bool:
        return self.scale >= 1.0

    @property
    def largest(self) -> dict[str, float]:
        """The rates that just fit, in the proportions of those given."""
        return {name: rate * self.scale for name, rate in self.rates.items()}

    @property
    def shed(self) -> float:
        """The share of all rows that must not come in, from 0 to 1."""
        return max(1.0 - self.scale, 0.0)


def find_rates(network: Network, figures: Figures, rates: Mapping[str, float]) -> dict[Port, float]:
    """Tuples a second on every arc, from the rates of the inputs and the selectivities on the way."""
    flows = {Port(name): rates.get(name, 0.0) for name in network.inputs}
    for box in network.boxes.values():
        measured = figures.boxes.get(box.name)
        taken = 0.0 if measured is None else _taken(network, figures, box.name, flows)
        for port in box.operator.outputs:
            share = 0.0 if measured is None else measured.selectivity.get(port, 0.0)
            flows[Port(box.name, port)] = taken * share
    return flows


def _taken(network: Network, figures: Figures, name: str, flows: Mapping[Port, float]) -> float:
    """What a box takes: more than comes on its arcs where every bucket gets the whole stream."""
    streams = network.streams(network.boxes[name])
    measured = figures.boxes[name].rate
    came = sum(
        figures.boxes[port.box].gives(port.port) if port.port else figures.inputs[port.box].rate
        for port in streams
        if (port.box in figures.boxes if port.port else port.box in figures.inputs)
    )
    # Rates of a network that is quiet, or has just begun, say nothing.
    copies = max(round(measured / came), 1) if came > 1 and measured > 1 else 1
    return copies * sum(flows[port] for port in streams)


def plan_capacity(
    network: Network, figures: Figures, rates: Mapping[str, float], cores: float, headroom: float
) -> Capacity:
    """The paper's min_cap against C x H; each input needs a rate."""
    check_rates(network, rates)
    if not figures.boxes and not figures.inputs:
        raise AuroraError("nothing was measured: let the network run for some batches, or give --sample")
    flows = find_rates(network, figures, rates)
    needs = [
        Need(name, "input", rate, figures.inputs[name].cost)
        for name, rate in rates.items()
        if name in figures.inputs
    ]
    unmeasured = []
    for box in network.boxes.values():
        if box.name in figures.boxes:
            rate = _taken(network, figures, box.name, flows)
            needs.append(Need(box.name, box.kind, rate, figures.boxes[box.name].cost))
        else:
            unmeasured.append(box.name)
    whole = sum(rates.values())
    needs.append(Need("each row", "", whole, figures.per_row))
    later = figures.later
    if later is not None:
        handed = [flows[network.find(name, "arc")] for name in _find_handed(network)]
        needs.append(Need("each row for later", "", sum(handed), later.per_row))
    row_cost = sum(need.cores for need in needs) / whole
    longest = longest_batch(find_zone(output.qos for output in network.outputs.values()))
    # Batches as long as they may be, in seconds or in rows, but no shorter than the trip is worth.
    batches = max(min(1 / longest, whole / find_least(figures.fixed, row_cost)), whole / figures.most)
    needs.append(Need("each batch", "", batches, figures.fixed))
    available = cores * headroom
    if later is not None:
        needs.append(Need("each batch for later", "", later.batches, later.fixed))
        available = max(available - later.trips, 0.0)
    most = find_capacity(figures.fixed, row_cost, available, longest, figures.most)
    alone, alone_needs = _find_one_core(network, needs)
    scale = most / whole
    by_core = headroom / alone_needs if alone_needs > 0 else math.inf
    found = Capacity(
        tuple(needs),
        dict(rates),
        cores,
        headroom,
        min(scale, by_core),
        tuple(unmeasured),
        one_core=alone,
        one_core_needs=alone_needs,
    )
    if found.fits:
        return found
    found = replace(found, obstacles=find_obstacles(network))
    if by_core < scale:
        # Only what is not done in that bucket helps.
        excess = alone_needs - headroom
        return replace(found, excess=excess, shedding=_shed(network, _only(figures, alone), rates, excess))

    def fits(cost: float) -> bool:
        return find_capacity(figures.fixed, cost, available, longest, figures.most) >= whole

    # The less a row costs, the longer the train that is worth its trip, and the fewer trips there are.
    excess = whole * (row_cost - _find_most(fits, row_cost))
    return replace(found, excess=excess, shedding=_shed(network, figures, rates, excess))


def _find_one_core(network: Network, needs: Sequence[Need]) -> tuple[tuple[str, ...], float]:
    """The boxes that have one bucket for all their tuples, and the cores that they need; of the part that needs most.

    The parts of a network run side by side, the stages of each one after the other.
    """
    plan = plan_network(network)
    alone = [
        box.name
        for stage in plan.stages[1:]
        for box in stage.boxes
        if not plan.is_merge(box) and plan.is_in_one_bucket(box)
    ]
    split = split_network(network, network.outputs)
    later = set() if split is None else set(split.later.boxes)
    cores = {need.part: need.cores for need in needs if need.kind}
    parts = (
        [name for name in alone if (name in later) is own and cores.get(name, 0.0) > 0]
        for own in (False, True)
    )
    return max(
        ((tuple(part), sum(cores[name] for name in part)) for part in parts), key=lambda found: found[1]
    )


def _only(figures: Figures, boxes: Collection[str]) -> Figures:
    """The figures as if nothing cost anything but these boxes."""
    known = {name: box if name in boxes else replace(box, cost=0.0) for name, box in figures.boxes.items()}
    reads = {name: replace(read, cost=0.0) for name, read in figures.inputs.items()}
    return replace(figures, boxes=known, inputs=reads, per_row=0.0, later=None)


def _find_handed(network: Network) -> Mapping[str, Collection[str]]:
    """The streams that are handed over to the part that may wait, and to which of its boxes."""
    split = split_network(network, network.outputs)
    return {} if split is None else split.handed


def _find_most(fits: Callable[[float], bool], most: float) -> float:
    """About the largest number from 0 to `most` that fits, where all smaller ones do."""
    low, high = 0.0, most
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _shed(network: Network, figures: Figures, rates: Mapping[str, float], excess: float) -> Shedding:
    """What would be left out where, if all inputs came live at these rates."""
    inputs = {
        name: replace(read, rate=rates[name], live=True)
        for name, read in figures.inputs.items()
        if name in rates
    }
    graphs: dict[str, Qos | None] = {name: output.qos for name, output in network.outputs.items()}
    ends = {name: output.port for name, output in network.outputs.items()}
    ends |= {f"point {name}": point.port for name, point in network.points.items()}
    flows = find_flows(network, replace(figures, inputs=inputs), ends, handed=_find_handed(network))
    return plan_shedding(find_cuts(network, flows, graphs), graphs, excess)


def check_rates(network: Network, rates: Mapping[str, float]) -> None:
    """A fault unless every input has a rate."""
    inputs = [name for name, entry in network.inputs.items() if not entry.static]
    for name, rate in rates.items():
        if name not in inputs:
            near = did_you_mean(name, inputs)
            raise AuroraError(
                f"--rate {name}: the network has no such input{near}; inputs are {', '.join(inputs)}"
            )
        if not (math.isfinite(rate) and rate > 0):
            raise AuroraError(f"--rate {name}: a rate is a number of rows a second above 0, found {rate:g}")
    missing = [name for name in inputs if name not in rates]
    if missing:
        raise AuroraError(f"input {missing[0]} has no rate; add --rate {missing[0]}=ROWS_PER_SECOND")
