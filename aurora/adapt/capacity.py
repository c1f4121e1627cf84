"""Static introspection: the cores that a network needs at given rates, box by box, and the largest rates that fit."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from aurora.adapt.figures import LONGEST, Figures
from aurora.errors import AuroraError, did_you_mean
from aurora.network.network import Network, Port

__all__ = ["Capacity", "Need", "check_rates", "find_flows", "plan_capacity"]


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
    multiplied so that it just fits. Boxes in `unmeasured` never ran, and are not counted."""

    needs: tuple[Need, ...]
    rates: Mapping[str, float]
    cores: float
    headroom: float
    scale: float
    unmeasured: tuple[str, ...] = ()

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


def find_flows(network: Network, figures: Figures, rates: Mapping[str, float]) -> dict[Port, float]:
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
    flows = find_flows(network, figures, rates)
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
    per_second = sum(need.cores for need in needs)
    needs.append(Need("each batch", "", max(1 / LONGEST, whole / figures.most), figures.fixed))
    scale = _scale(per_second, whole, figures, cores * headroom)
    return Capacity(tuple(needs), dict(rates), cores, headroom, scale, tuple(unmeasured))


def _scale(per_second: float, whole: float, figures: Figures, available: float) -> float:
    """By what the rates can be multiplied: batches are as long as they may be, in seconds or in rows."""
    if per_second <= 0:
        return math.inf
    by_time = (available - figures.fixed / LONGEST) / per_second
    by_rows = available / (per_second + whole * figures.fixed / figures.most)
    return max(min(by_time, by_rows), 0.0)


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
