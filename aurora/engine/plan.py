"""How a network runs: boxes fused into stages, and the streams that enter each stage, spread over buckets."""

from dataclasses import dataclass, field, replace

from aurora.algebra.lookup import Lookup
from aurora.algebra.map import Map
from aurora.algebra.resample import Resample
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.union import Union
from aurora.algebra.user import UserBox
from aurora.errors import AuroraError
from aurora.network.network import Box, Network, Port

__all__ = ["Entry", "Plan", "Stage", "plan_network"]

# The fields whose values decide the bucket; None where every bucket gets the whole stream.
Spread = tuple[str, ...] | None


@dataclass(frozen=True)
class Entry:
    """A stream on its way into a stage."""

    port: Port
    stage: int
    spread: Spread


@dataclass(frozen=True)
class Stage:
    """Boxes that one call of a bucket runs one after the other. Stage 0 has no state and runs where tuples are read."""

    number: int
    boxes: tuple[Box, ...]
    # For each box, for each of its inputs: the entry it comes through, or None where it is made in this stage.
    wiring: tuple[tuple[Entry | None, ...], ...]


@dataclass(frozen=True)
class Plan:
    name: str
    inputs: tuple[tuple[str, Schema], ...]
    stages: tuple[Stage, ...]
    entries: tuple[Entry, ...]
    outputs: tuple[tuple[str, Port], ...]
    made_in: dict[Port, int]
    schemas: dict[Port, Schema]
    depths: dict[Port, int]

    @property
    def has_timeouts(self) -> bool:
        return any(getattr(box.operator, "timeout", None) is not None for s in self.stages for box in s.boxes)

    def in_order(self, output: str) -> bool:
        """Whether each train of an output is all before or all behind the others of its batch."""
        made = self.made_in[dict(self.outputs)[output]]
        if made == 0:
            return len(self.inputs) == 1
        return all(entry.spread == () for entry in self.entries if entry.stage == made)

    def with_tables(self, tables: dict[str, object]) -> "Plan":
        """The plan with the rows of its static tables, which ride inside the boxes that use them."""
        stages = []
        for stage in self.stages:
            boxes = []
            for box in stage.boxes:
                if isinstance(box.operator, Lookup):
                    name = str(box.spec["left" if box.operator.table_is_left else "right"])
                    box = replace(box, operator=replace(box.operator, rows=tables[name]))
                boxes.append(box)
            stages.append(replace(stage, boxes=tuple(boxes)))
        return replace(self, stages=tuple(stages))

    def fingerprint(self) -> str:
        """What must not change between a run and its continuation."""
        boxes = [
            f"{stage.number} {box.name} {box.kind} {[str(p) for p in box.inputs]} {_settled(box)}"
            for stage in self.stages
            for box in stage.boxes
        ]
        return "\n".join([self.name, *(f"{name} {schema}" for name, schema in self.inputs), *boxes])


def _settled(box: Box) -> str:
    return str(
        {
            key: value if isinstance(value, str | int | float | list | dict) else ""
            for key, value in box.spec.items()
        }
    )


@dataclass
class _Placing:
    """Where boxes have been put so far: for each stream its stage, and the fields that hold its bucket there."""

    network: Network
    lowest: dict[str, int]
    stage_of: dict[str, int] = field(default_factory=dict)
    made_in: dict[Port, int] = field(default_factory=dict)
    bucket_fields: dict[Port, Spread] = field(default_factory=dict)
    wiring: dict[str, tuple[Entry | None, ...]] = field(default_factory=dict)


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
    return _finished(network, boxes, placing, wanted)


def _upstream(network: Network, ports: list[Port]) -> list[Box]:
    needed: set[str] = set()
    pending = [port.box for port in ports]
    while pending:
        name = pending.pop()
        if name in network.boxes and name not in needed:
            needed.add(name)
            pending += [port.box for port in network.boxes[name].inputs]
    return [box for box in network.boxes.values() if box.name in needed]


def _place(network: Network, boxes: list[Box], lowest: dict[str, int], fuse: bool) -> _Placing:
    placing = _Placing(network, lowest)
    for name, entry in network.inputs.items():
        if not entry.static:
            placing.made_in[Port(name)] = 0
            placing.bucket_fields[Port(name)] = None
    for box in boxes:
        streams = _streams(network, box)
        here = max([placing.made_in[port] for port in streams] + [lowest.get(box.name, 0)])
        if box.operator.partition is None:
            spreads = _stateless_spreads(box, streams, here, placing)
        else:
            # In the next stage nothing is made yet that could be in the wrong bucket.
            fitting = _keyed_spreads(box, streams, here, placing, boxes) if here and fuse else None
            if fitting is None:
                here += 1
                fitting = _keyed_spreads(box, streams, here, placing, boxes)
            assert fitting is not None
            spreads = fitting
        _put(box, streams, here, spreads, placing)
    return placing


def _streams(network: Network, box: Box) -> list[Port]:
    """The inputs of a box that are streams; a table is part of the box."""
    return [
        port for port in box.inputs if port.box not in network.inputs or not network.inputs[port.box].static
    ]


def _stateless_spreads(box: Box, streams: list[Port], here: int, placing: _Placing) -> list[Spread]:
    """How the inputs that come from earlier stages are spread: like those that are here already."""
    known = [placing.bucket_fields[port] for port in streams if placing.made_in[port] == here]
    like = known[0] if known and isinstance(box.operator, Union) else None
    return [
        placing.bucket_fields[port] if placing.made_in[port] == here else (like or ()) for port in streams
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
    keyed = next(fields for fields in partition if fields is not None)
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
        if _whole_key(box) and len(positions) < len(keyed):
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


def _whole_key(box: Box) -> bool:
    """Boxes that share a relation must agree in which bucket it lies: they are spread by all fields of their key."""
    return isinstance(box.operator, UserBox) and bool(box.operator.relations)


def _common_positions(box: Box, fields: tuple[str, ...], boxes: list[Box]) -> list[int]:
    """Which key fields to spread by: those that the keyed boxes behind this one share, so that they fit in too."""
    kept = list(range(len(fields)))
    if _whole_key(box):
        return kept
    reached = {box.name}
    for later in boxes:
        if not any(port.box in reached for port in later.inputs):
            continue
        reached.add(later.name)
        for other in later.operator.partition or ():
            shared = [i for i in kept if other is not None and fields[i] in other]
            if shared:
                kept = shared
    return kept


def _put(box: Box, streams: list[Port], here: int, spreads: list[Spread], placing: _Placing) -> None:
    placing.stage_of[box.name] = here
    placing.wiring[box.name] = tuple(
        None if placing.made_in[port] == here else Entry(port, here, spread)
        for port, spread in zip(streams, spreads, strict=True)
    )
    for port in box.operator.outputs:
        placing.made_in[Port(box.name, port)] = here
        placing.bucket_fields[Port(box.name, port)] = _after(box, port, spreads) if here else None


def _after(box: Box, port: str, spreads: list[Spread]) -> Spread:
    """The fields of the output that hold the bucket, None where they are lost."""
    operator = box.operator
    spread = spreads[1] if isinstance(operator, Resample) else spreads[0]
    if isinstance(operator, UserBox):
        spread = next((fields for fields in spreads if fields is not None), None)
    if spread is None or spread == ():
        return spread
    if isinstance(operator, Map):
        names = {expression.is_field: name for name, expression in reversed(operator.fields)}
        return tuple(names[name] for name in spread) if all(name in names for name in spread) else None
    if isinstance(operator, Union):
        return spread if all(other == spread for other in spreads) else None
    if (
        isinstance(operator, Lookup)
        and operator.table_is_left
        and any(name in operator.table for name in spread)
    ):
        return None
    if isinstance(operator, UserBox):
        return spread if all(name in operator.outputs[port] for name in spread) else None
    return spread


def _gather_relations(boxes: list[Box], placing: _Placing, lowest: dict[str, int]) -> bool:
    """Boxes that share a relation belong into one stage: raises the stage of those that came too early."""
    sharing: dict[str, list[Box]] = {}
    for box in boxes:
        if isinstance(box.operator, UserBox):
            for relation in box.operator.relations:
                sharing.setdefault(relation, []).append(box)
    moved = False
    for relation, users in sharing.items():
        keys = [box.operator.key for box in users if isinstance(box.operator, UserBox)]
        lengths = {len(fields) for key in keys for fields in key if fields is not None}
        if len(lengths) > 1:
            raise AuroraError(f"relation {relation}: its boxes have different keys: {_names(users)}")
        stage = max(placing.stage_of[box.name] for box in users)
        for box in users:
            if placing.stage_of[box.name] < stage:
                if lowest.get(box.name, 0) >= len(boxes):
                    raise AuroraError(f"relation {relation}: its boxes cannot share a stage: {_names(users)}")
                lowest[box.name] = stage
                moved = True
    return moved


def _names(boxes: list[Box]) -> str:
    return ", ".join(box.name for box in boxes)


def _finished(network: Network, boxes: list[Box], placing: _Placing, wanted: dict[str, Port]) -> Plan:
    last = max(placing.stage_of.values(), default=0)
    stages = []
    for number in range(last + 1):
        here = [box for box in boxes if placing.stage_of[box.name] == number]
        stages.append(Stage(number, tuple(here), tuple(placing.wiring[box.name] for box in here)))
    entries = list(
        dict.fromkeys(e for wires in placing.wiring.values() for e in wires if e is not None and e.stage)
    )
    depths: dict[Port, int] = {}
    schemas: dict[Port, Schema] = {}
    inputs = [(name, entry.schema) for name, entry in network.inputs.items() if not entry.static]
    for name, schema in inputs:
        depths[Port(name)] = 1
        schemas[Port(name)] = schema
    for box in boxes:
        depth = box.operator.depth(tuple(depths[port] for port in _streams(network, box)))
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
        schemas,
        depths,
    )
