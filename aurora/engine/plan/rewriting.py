"""Chains of a plan that may be rearranged while it runs, and the plan in which they are: what comes out is the same."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from aurora.algebra.box.moving import Chain, Link, arrange_chain
from aurora.engine.controls import Controls, Rewrites
from aurora.engine.drops import TO
from aurora.engine.plan.combined import Combined
from aurora.engine.plan.plan import Entry, Plan, Stage
from aurora.engine.work import BoxWork, Work
from aurora.network.network import Box, Port

__all__ = ["find_chains", "is_pinned", "restore_work", "rewrite_plan"]

# For each input of a box the entry it comes through.
Wires = tuple[Entry | None, ...]

# Plans that were rewritten in this process lately, by what they were made of.
_MADE: dict[tuple[int, Rewrites, tuple[str, ...]], tuple[Plan, Plan]] = {}
MOST_MADE = 16


def find_chains(plan: Plan) -> tuple[Chain, ...]:
    """Boxes without state one behind the other, two or more, between which nobody else reads or takes the time."""
    return tuple(chain for stage in plan.stages for chain in _chains(plan, stage))


def rewrite_plan(plan: Plan, rewrites: Rewrites, looked_at: Iterable[str] = ()) -> Plan:
    """The plan with chains in other orders, each carried out as one box that has the name of the last in the network.

    A chain stays as it is where somebody looks at a stream in it, and where it cannot be rearranged so.
    """
    if not rewrites:
        return plan
    key = (id(plan), rewrites, tuple(looked_at))
    # The plan is kept with what was made of it, so no other can have its number.
    if key not in _MADE:
        while len(_MADE) >= MOST_MADE:
            del _MADE[next(iter(_MADE))]
        _MADE[key] = plan, _rewritten(plan, rewrites, key[2])
    return _MADE[key][1]


def is_pinned(chain: Chain, streams: Iterable[str]) -> bool:
    """Whether one of the streams or arcs is not there where the chain is carried out as one.

    The arc to its first box is: what is left out there is left out in front of the whole chain.
    """
    ports = {str(Port(link.name, port)) for link in chain.links for port in link.operator.outputs}
    inside = ports - {str(Port(chain.last.name, chain.last.port))}
    behind = set(chain.names[1:])
    return any(stream.partition(TO)[2] in behind if TO in stream else stream in inside for stream in streams)


def restore_work(work: Work, chains: Iterable[Chain], controls: Controls) -> Work:
    """What a batch did as if its boxes had worked in the order of the network: each has its own seconds, for the tuples
    that would have come to it there. Whoever reckons with the network as it is written needs no other order."""
    orders = {frozenset(order): order for order in controls.rewrites}
    boxes = dict(work.boxes)
    for chain in chains:
        order = orders.get(frozenset(chain.names))
        if order is None or is_pinned(chain, controls.streams) or not set(order) <= boxes.keys():
            continue
        taken = float(boxes[order[0]].taken)
        for link in chain.links:
            done = boxes[link.name]
            # Of a box that nothing reached nothing is known.
            given = {
                port: taken * number / done.taken if done.taken else 0.0
                for port, number in done.given.items()
            }
            through = given.get(link.port, 0.0) if done.taken else taken
            rounded = {port: round(number) for port, number in {**given, link.port: through}.items()}
            boxes[link.name] = BoxWork(round(taken), rounded, done.seconds)
            taken = through
    return replace(work, boxes=boxes)


def _rewritten(plan: Plan, rewrites: Rewrites, looked_at: Collection[str]) -> Plan:
    orders = {frozenset(order): order for order in rewrites}
    stages = []
    first: dict[str, str] = {}
    for stage in plan.stages:
        for chain in _chains(plan, stage):
            order = None if is_pinned(chain, looked_at) else orders.get(frozenset(chain.names))
            arranged = None if order is None else arrange_chain(chain, order)
            if arranged is not None:
                first[chain.last.name] = chain.names[0]
                stage = _with_combined(plan, stage, chain, Combined(arranged, chain.last.port))
        stages.append(stage)
    return replace(plan, stages=tuple(stages), first=first)


def _with_combined(plan: Plan, stage: Stage, chain: Chain, operator: Combined) -> Stage:
    """The stage with one box in place of a chain: it takes what the first took, and gives what the last gave."""
    boxes = {box.name: (box, wires, clocks) for box, wires, clocks in _rows(stage)}
    first, wires, clocks = boxes[chain.names[0]]
    inputs = tuple(port for port in first.inputs if port in plan.schemas)
    whole = Box(chain.last.name, operator, inputs, boxes[chain.last.name][0].spec)
    boxes[chain.last.name] = whole, wires, clocks
    left = [row for name, row in boxes.items() if name not in chain.names[:-1]]
    found, wiring, each = zip(*left, strict=True)
    return replace(stage, boxes=found, wiring=wiring, clocks=each)


def _rows(stage: Stage) -> Iterator[tuple[Box, Wires, Wires]]:
    return zip(stage.boxes, stage.wiring, stage.clocks, strict=True)


def _chains(plan: Plan, stage: Stage) -> list[Chain]:
    readers = _count_readers(plan)
    chains: dict[Port, Chain] = {}
    for box, wires, _ in _rows(stage):
        link = _link(box, readers)
        if link is None:
            continue
        (taken,) = (port for port in box.inputs if port in plan.schemas)
        # What comes from another stage, or what others read too, stays as it is.
        before = chains.pop(taken, None) if readers[taken] == 1 and wires == (None,) else None
        links = (link,) if before is None else (*before.links, link)
        schema = plan.schemas[taken] if before is None else before.schema
        chains[Port(link.name, link.port)] = Chain(links, schema)
    return [chain for chain in chains.values() if len(chain.links) > 1]


def _link(box: Box, readers: Counter[Port]) -> Link | None:
    """The box as one of a chain, if it can be: with one input, and one port that is read."""
    streams = len(box.operator.keeps(next(iter(box.operator.outputs))))
    read = [port for port in box.operator.outputs if readers[Port(box.name, port)]]
    if not box.operator.traits.by_itself or streams != 1 or len(read) != 1:
        return None
    return Link(box.name, box.operator, read[0])


def _count_readers(plan: Plan) -> Counter[Port]:
    """For each stream how many read it: boxes, outputs, and boxes that go by its clock."""
    boxes = [box for stage in plan.stages for box in stage.boxes]
    taken = [port for box in boxes for port in (*box.inputs, *box.clocks)]
    return Counter([*taken, *(port for _, port in plan.outputs)])
