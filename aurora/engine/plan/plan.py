"""How a network runs: boxes fused into stages, and the streams that enter each stage, spread over buckets."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from aurora.algebra.box.operator import Operator
from aurora.algebra.ordering.progress import Progress
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.windows.steps import find_steps
from aurora.engine.drops import TO
from aurora.engine.plan.buckets import EVENLY, Evenly
from aurora.engine.plan.fingerprint import describe
from aurora.engine.plan.tables import Table, rows_for
from aurora.errors import AuroraError, did_you_mean
from aurora.network.checks import Check
from aurora.network.network import Box, Network, Port
from aurora.network.qos import CAUSE

__all__ = ["Entry", "Plan", "Spread", "Stage", "plan_network"]

# Which fields have progress, not how far they have come, is what a plan asks for.
NOWHERE = Progress.none(np.dtype(np.int64))

# Behind the name of a box: the first of its two steps. No port is called so, by which other boxes get their names.
IN_PARTS = ":in parts"

# The fields whose values decide the bucket; None where every bucket gets the whole stream.
Spread = tuple[str, ...] | None


@dataclass(frozen=True)
class Entry:
    """A stream on its way into a stage, or only how far a field of it, the clock of a box there, has come."""

    port: Port
    stage: int
    spread: Spread | Evenly
    clock: str | None = None


@dataclass(frozen=True)
class Stage:
    """Boxes that one call of a bucket runs one after the other. Stage 0 has no state and runs where tuples are read."""

    number: int
    boxes: tuple[Box, ...]
    # For each box, for each of its inputs: the entry it comes through, or None where it is made in this stage.
    wiring: tuple[tuple[Entry | None, ...], ...]
    # The same for each of its clocks.
    clocks: tuple[tuple[Entry | None, ...], ...] = ()
    # How far fields of streams from earlier stages have come, where boxes of this one hand that on.
    passing: tuple[Entry, ...] = ()


@dataclass(frozen=True)
class Plan:
    name: str
    inputs: tuple[tuple[str, Schema], ...]
    stages: tuple[Stage, ...]
    entries: tuple[Entry, ...]
    outputs: tuple[tuple[str, Port], ...]
    made_in: dict[Port, int]
    # The fields of a stream that say in which bucket its stage has made a tuple; None where none do.
    bucket_fields: dict[Port, Spread]
    schemas: dict[Port, Schema]
    depths: dict[Port, int]
    # Boxes that are done in two steps: the first has a name of its own, behind which stands that of the box.
    steps: dict[str, str] = field(default_factory=dict)
    # Streams with fewer fields, each with the stream of the written network that has the same tuples.
    narrowed: dict[Port, Port] = field(default_factory=dict)
    # Chains that are carried out as one box: by its name that of the box which is the first in the written network.
    first: dict[str, str] = field(default_factory=dict)
    # What the tuples of an input must satisfy, for those inputs that have checks.
    checks: dict[str, tuple[Check, ...]] = field(default_factory=dict)
    # What the time of a row counts from: the arrival that caused it, or the oldest of the tuples that it is made of.
    latency_from: str = CAUSE

    def is_merge(self, box: Box) -> bool:
        """Whether it is the second step of a box, which puts together what the first found in every bucket."""
        return box.name in self.steps.values()

    def is_in_one_bucket(self, box: Box) -> bool:
        """Whether all tuples that a box makes are in one bucket."""
        return all(self.bucket_fields[Port(box.name, port)] == () for port in box.operator.outputs)

    def find_stream(self, name: str) -> str:
        """Return the stream of that name, one of the written network; a box alone means its first output."""
        known = [
            str(port) for port in self.made_in if port.box not in self.steps and port not in self.narrowed
        ]
        if name in known:
            return name
        first = next((stream for stream in known if stream.rpartition(".")[0] == name), None)
        if first is None:
            streams = ", ".join(sorted(known))
            raise AuroraError(
                f"no stream {name} is running{did_you_mean(name, sorted(known))}; the streams are {streams}"
            )
        return first

    def arc(self, port: Port, box: Box) -> str:
        """The arc on which a box takes a stream, as it is called in the written network."""
        reader = self.steps.get(box.name, self.first.get(box.name, box.name))
        return f"{self.narrowed.get(port, port)}{TO}{reader}"

    def forgets(self, stage: Stage) -> bool:
        """Whether nothing is kept in a stage from one batch to the next: no state, and no clock."""
        operators = [box.operator for box in stage.boxes]
        kept = any(op.partition is not None and not op.traits.forgets for op in operators)
        clocked = stage.passing or any(entry is not None for own in stage.clocks for entry in own)
        return not kept and not clocked

    @property
    def has_timeouts(self) -> bool:
        return any(box.operator.traits.timeout is not None for s in self.stages for box in s.boxes)

    def in_order(self, output: str) -> bool:
        """Whether each train of an output is all before or all behind the others of its batch."""
        made = self.made_in[dict(self.outputs)[output]]
        if made == 0:
            return len(self.inputs) == 1
        return all(e.spread == () for e in self.entries if e.stage == made and e.clock is None)

    def with_tables(self, tables: Mapping[str, Table]) -> "Plan":
        """The plan with the rows of its static tables, which ride inside the boxes that use them; of stored sets only
        the ways to them do."""
        stages = [
            replace(stage, boxes=tuple(self._with_table(box, tables) for box in stage.boxes))
            for stage in self.stages
        ]
        return replace(self, stages=tuple(stages))

    def _with_table(self, box: Box, tables: Mapping[str, Table]) -> Box:
        traits = box.operator.traits
        if traits.with_table is None:
            return box
        # The input that is no stream of the plan.
        (name,) = (port.box for port in box.inputs if port not in self.schemas)
        return replace(box, operator=traits.with_table(rows_for(box.name, traits, name, tables[name])))

    def fingerprint(self) -> str:
        """What must not change between a run and its continuation: inputs, boxes with all that they were given, also
        the rows of their tables once these are there, and how tuples are spread, since state lies by that."""
        boxes = [
            f"{stage.number} {box.name} {box.kind} {_names(box.inputs)} {describe(box.operator)}"
            for stage in self.stages
            for box in stage.boxes
        ]
        entries = [
            f"{entry.port} into {entry.stage} by {entry.clock or entry.spread}" for entry in self.entries
        ]
        inputs = [f"{name} {schema}" for name, schema in self.inputs]
        inputs += [f"{name} checked {describe(checks)}" for name, checks in self.checks.items()]
        outputs = [f"{name} from {port}" for name, port in self.outputs]
        return "\n".join([self.name, *inputs, *boxes, *entries, *outputs])

    def describe_parts(self) -> dict[str, str]:
        """Return what the parts of the network were given, by their kinds and names, to say which one differs."""
        boxes = {
            f"box {box.name}": f"{box.kind} {_names(box.inputs)} {describe(box.operator)}"
            for stage in self.stages
            for box in stage.boxes
        }
        inputs = {
            f"input {name}": f"{schema} {describe(self.checks.get(name, ()))}" for name, schema in self.inputs
        }
        return {**inputs, **boxes, **{f"sink {name}": str(port) for name, port in self.outputs}}


@dataclass
class _Placing:
    """Where boxes have been put so far: for each stream its stage, and the fields that hold its bucket there."""

    network: Network
    lowest: dict[str, int]
    boxes: list[Box] = field(default_factory=list)
    steps: dict[str, str] = field(default_factory=dict)
    stage_of: dict[str, int] = field(default_factory=dict)
    made_in: dict[Port, int] = field(default_factory=dict)
    bucket_fields: dict[Port, Spread] = field(default_factory=dict)
    wiring: dict[str, tuple[Entry | None, ...]] = field(default_factory=dict)
    clocks: dict[str, tuple[Entry | None, ...]] = field(default_factory=dict)
    passing: dict[int, list[Entry]] = field(default_factory=dict)
    # The fields of a stream of which the box that makes it knows how far they have come.
    progressing: dict[Port, frozenset[str]] = field(default_factory=dict)

    def find_clock(self, port: Port, name: str, stage: int) -> Entry | None:
        """How a clock gets to a box in a stage; None where it is known there."""
        known = name in self.progressing[port] and self.made_in[port] == stage
        return None if known else Entry(port, stage, None, name)

    def find_stage(self, box: Box) -> int:
        """The first stage in which all that a box needs is there or comes in."""
        earliest = max(self.lowest.get(box.name, 0), self.first_stage(box))
        return max([self.made_in[port] for port in self.network.streams(box)] + [earliest])

    def first_stage(self, box: Box) -> int:
        """The first stage in which the clocks of a box can be known: values are seen in one bucket, and must travel."""
        return max(
            (
                self.made_in[port] + (clock.field not in self.progressing[port])
                for port, clock in zip(box.clocks, box.operator.traits.clocks, strict=True)
            ),
            default=0,
        )


def plan_network(network: Network, outputs: list[str] | None = None, fuse: bool = True) -> Plan:
    """Places every box that leads to an output. `fuse=False` gives each keyed box a stage of its own, to compare."""
    wanted = {name: o.port for name, o in network.outputs.items() if outputs is None or name in outputs}
    boxes = _upstream(network, list(wanted.values()))
    lowest: dict[str, int] = {}
    while True:
        placing = _place(network, boxes, lowest, fuse)
        moved = _gather_relations(boxes, placing, lowest)
        if not moved:
            break
    return _finished(network, placing, wanted)


def _upstream(network: Network, ports: list[Port]) -> list[Box]:
    needed: set[str] = set()
    pending = [port.box for port in ports]
    while pending:
        name = pending.pop()
        if name in network.boxes and name not in needed:
            needed.add(name)
            pending += [port.box for port in (*network.boxes[name].inputs, *network.boxes[name].clocks)]
    return [box for box in network.boxes.values() if box.name in needed]


def _place(network: Network, boxes: list[Box], lowest: dict[str, int], fuse: bool) -> _Placing:
    placing = _Placing(network, lowest)
    watched = {each.name for each in _upstream(network, [port for box in boxes for port in box.clocks])}
    for name, entry in network.inputs.items():
        if not entry.static:
            placing.made_in[Port(name)] = 0
            placing.bucket_fields[Port(name)] = None
            placing.progressing[Port(name)] = frozenset()
    for box in boxes:
        box = _put_first_step(box, placing, fuse, watched)
        streams = network.streams(box)
        here = placing.find_stage(box)
        if box.operator.partition is None:
            spreads = _stateless_spreads(box.operator, streams, here, placing)
        else:
            # In the next stage nothing is made yet that could be in the wrong bucket.
            fitting = _keyed_spreads(box, streams, here, placing, boxes) if here and fuse else None
            if fitting is None:
                here += 1
                fitting = _keyed_spreads(box, streams, here, placing, boxes)
            assert fitting is not None
            spreads = fitting
        _put(box, streams, here, spreads, placing, box.name in watched)
    return placing


def _put_first_step(box: Box, placing: _Placing, fuse: bool, watched: Collection[str]) -> Box:
    """Puts the first step of a box that can be done in two, and gives the second; else the box as it is.

    `watched` are the boxes on which clocks of others may depend. Tuples stay where they are made, if they can. Those
    that would come to one bucket are spread over all of them, unless they are in one already.
    """
    steps = find_steps(box.operator, box.name in watched)
    if steps is None:
        return box
    (port,) = box.inputs
    here = placing.find_stage(box)
    stays = fuse and here > 0 and placing.made_in[port] == here
    if stays and placing.bucket_fields[port] == ():
        return box
    if placing.made_in[port] == here and not stays:
        here += 1
    first, second = steps
    name = f"{box.name}{IN_PARTS}"
    spread = placing.bucket_fields[port] if stays else EVENLY
    _put(replace(box, name=name, operator=first), [port], here, [spread], placing)
    placing.steps[name] = box.name
    parts = Port(name, next(iter(first.outputs)))
    return replace(box, operator=second, inputs=(parts,), clocks=(parts,) * len(second.traits.clocks))


def _stateless_spreads(operator: Operator, streams: list[Port], here: int, placing: _Placing) -> list[Spread]:
    """How the inputs that come from earlier stages are spread: so that the first output holds their buckets in the
    same fields as those of the inputs that are here already, if it can."""
    keeps = operator.keeps(next(iter(operator.outputs)))
    known = [
        _renamed(placing.bucket_fields[port], kept)
        for port, kept in zip(streams, keeps, strict=True)
        if placing.made_in[port] == here
    ]
    like = known[0] if known else None
    return [
        placing.bucket_fields[port]
        if placing.made_in[port] == here
        else _renamed(like, {new: old for old, new in kept.items()}) or ()
        for port, kept in zip(streams, keeps, strict=True)
    ]


def _keyed_spreads(
    box: Box, streams: list[Port], here: int, placing: _Placing, boxes: list[Box]
) -> list[Spread] | None:
    """For each input the fields that hold its bucket, or None if the box cannot run in stage `here`."""
    partition = box.operator.partition
    assert partition is not None
    present = [
        (fields, placing.bucket_fields[port])
        for fields, port in zip(partition, streams, strict=True)
        if placing.made_in[port] == here
    ]
    keyed = [fields for fields in partition if fields is not None]
    if present:
        first_fields, first_spread = present[0]
        if first_spread is None or (first_fields is None and first_spread != ()):
            return None
        if first_fields is None:
            positions: list[int] = []
        else:
            if any(name not in first_fields for name in first_spread):
                return None
            positions = [first_fields.index(name) for name in first_spread]
        if box.operator.traits.relations and len(positions) < len(keyed[0]):
            return None
    else:
        positions = _common_positions(box, keyed, boxes)
    spreads: list[Spread] = []
    for fields, port in zip(partition, streams, strict=True):
        wanted = None if fields is None else tuple(fields[i] for i in positions)
        if placing.made_in[port] == here:
            if placing.bucket_fields[port] != (() if wanted is None else wanted):
                return None
            if wanted is None and positions:
                return None
        spreads.append(wanted)
    return spreads


def _common_positions(box: Box, keyed: list[tuple[str, ...]], boxes: list[Box]) -> list[int]:
    """Which key fields to spread by: those that the keyed boxes behind this one share, so that they fit in too."""
    kept = list(range(len(keyed[0])))
    if box.operator.traits.relations:
        # Boxes that share a relation must agree in which bucket it lies.
        return kept
    reached = {box.name}
    for later in boxes:
        if not any(port.box in reached for port in later.inputs):
            continue
        reached.add(later.name)
        for other in later.operator.partition or ():
            shared = [i for i in kept if other is not None and any(fields[i] in other for fields in keyed)]
            if shared:
                kept = shared
    return kept


def _put(
    box: Box,
    streams: list[Port],
    here: int,
    spreads: Sequence[Spread | Evenly],
    placing: _Placing,
    watched: bool = False,
) -> None:
    placing.boxes.append(box)
    placing.stage_of[box.name] = here
    placing.wiring[box.name] = tuple(
        None if placing.made_in[port] == here else Entry(port, here, spread)
        for port, spread in zip(streams, spreads, strict=True)
    )
    placing.clocks[box.name] = tuple(
        placing.find_clock(port, clock.field, here)
        for port, clock in zip(box.clocks, box.operator.traits.clocks, strict=True)
    )
    travelling = _find_travelling(box, streams, here, placing) if watched else {}
    for stream, names in travelling.items():
        entries = placing.passing.setdefault(here, [])
        entries += [Entry(stream, here, None, name) for name in sorted(names)]
    given = [
        placing.progressing[port] if placing.made_in[port] == here else travelling.get(port, frozenset())
        for port in streams
    ]
    for port in box.operator.outputs:
        fields = _find_progressing(box, port, given) if here else frozenset()
        placing.progressing[Port(box.name, port)] = fields
        placing.made_in[Port(box.name, port)] = here
        after = _after(box.operator, port, spreads) if here else None
        placing.bucket_fields[Port(box.name, port)] = after


def _find_travelling(
    box: Box, streams: list[Port], here: int, placing: _Placing
) -> dict[Port, frozenset[str]]:
    """The fields of streams from earlier stages whose progress a box hands on: it must be told of it."""
    given = [placing.progressing[port] for port in streams]
    found = {}
    for number, port in enumerate(streams):
        without = [*given[:number], frozenset[str](), *given[number + 1 :]]
        if placing.made_in[port] < here and any(
            _find_progressing(box, name, given) != _find_progressing(box, name, without)
            for name in box.operator.outputs
        ):
            found[port] = given[number]
    return found


def _find_progressing(box: Box, port: str, given: Sequence[frozenset[str]]) -> frozenset[str]:
    """The fields of an output that have progress, where these fields of its inputs have."""
    known = (NOWHERE,) * len(box.clocks)
    return frozenset(
        box.operator.progress(port, tuple(dict.fromkeys(names, NOWHERE) for names in given), known)
    )


def _after(operator: Operator, port: str, spreads: Sequence[Spread | Evenly]) -> Spread:
    """The fields of the output that hold the bucket, None where they are lost."""
    found = [_renamed(spread, kept) for spread, kept in zip(spreads, operator.keeps(port), strict=True)]
    if operator.partition is None:
        # A tuple comes from one of the inputs.
        return found[0] if all(other == found[0] for other in found) else None
    # Its inputs are spread alike, position by position: one that still shows it will do.
    return next((fields for fields in found if fields is not None), None)


def _renamed(spread: Spread | Evenly, names: Mapping[str, str]) -> Spread:
    """The fields under their new names; None where one of them is lost."""
    if spread is None or spread is EVENLY or any(name not in names for name in spread):
        return None
    return tuple(names[name] for name in spread)


def _gather_relations(boxes: list[Box], placing: _Placing, lowest: dict[str, int]) -> bool:
    """Boxes that share a relation belong into one stage: raises the stage of those that came too early."""
    sharing: dict[str, list[Box]] = {}
    for box in boxes:
        for relation in box.operator.traits.relations:
            sharing.setdefault(relation, []).append(box)
    moved = False
    for relation, users in sharing.items():
        keys = [fields for box in users for fields in box.operator.partition or ()]
        if len({len(fields) for fields in keys if fields is not None}) > 1:
            raise AuroraError(
                f"relation {relation}: its boxes have different keys: {_names(box.name for box in users)}"
            )
        stage = max(placing.stage_of[box.name] for box in users)
        for box in users:
            if placing.stage_of[box.name] < stage:
                if lowest.get(box.name, 0) >= len(boxes):
                    raise AuroraError(
                        f"relation {relation}: its boxes cannot share a stage: "
                        f"{_names(box.name for box in users)}; a user box between them that keeps the fields of "
                        "its key must declare it with keeps"
                    )
                lowest[box.name] = stage
                moved = True
    return moved


def _names(named: Iterable[object]) -> str:
    return ", ".join(map(str, named))


def _finished(network: Network, placing: _Placing, wanted: dict[str, Port]) -> Plan:
    last = max(placing.stage_of.values(), default=0)
    stages = []
    for number in range(last + 1):
        here = [box for box in placing.boxes if placing.stage_of[box.name] == number]
        wiring, clocks = (tuple(of[box.name] for box in here) for of in (placing.wiring, placing.clocks))
        passing = tuple(dict.fromkeys(placing.passing.get(number, ())))
        stages.append(Stage(number, tuple(here), wiring, clocks, passing))
    wires = [wire for of in (placing.wiring, placing.clocks) for own in of.values() for wire in own]
    wires += [entry for stage in stages for entry in stage.passing]
    entries = list(dict.fromkeys(wire for wire in wires if wire is not None and wire.stage))
    depths: dict[Port, int] = {}
    schemas: dict[Port, Schema] = {}
    inputs = [(name, entry.schema) for name, entry in network.inputs.items() if not entry.static]
    for name, schema in inputs:
        depths[Port(name)] = 1
        schemas[Port(name)] = schema
    for box in placing.boxes:
        depth = box.operator.depth(tuple(depths[port] for port in network.streams(box)))
        for port, schema in box.operator.outputs.items():
            depths[Port(box.name, port)] = depth
            schemas[Port(box.name, port)] = schema
    return Plan(
        network.name,
        tuple(inputs),
        tuple(stages),
        tuple(entries),
        tuple(wanted.items()),
        placing.made_in,
        placing.bucket_fields,
        schemas,
        depths,
        placing.steps,
        {
            Port(box.name, port): box.narrows
            for box in placing.boxes
            if box.narrows is not None
            for port in box.operator.outputs
        },
        {},
        {name: entry.checks for name, entry in network.inputs.items() if entry.checks},
        network.latency_from,
    )
