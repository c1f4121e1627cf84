"""One stage at work: trains in, boxes one after the other, trains out. Knows nothing of Spark."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from aurora.algebra.ordering.progress import Progress, find_rises
from aurora.algebra.state.state import State
from aurora.algebra.state.turn import Moment, Turn
from aurora.algebra.tuples.train import Train
from aurora.engine.dating import date_rows
from aurora.engine.drops import SHED, Drop, drop_tuples, find_drops
from aurora.engine.fault_places import tell_with_place
from aurora.engine.plan.buckets import split
from aurora.engine.plan.plan import Entry, Plan
from aurora.errors import AuroraError
from aurora.network.network import Box, Port
from aurora.network.qos import CAUSE

__all__ = ["BoxCounts", "check_buckets", "check_sample", "departures", "run_stage"]

# So many rows of a box that its user wrote are looked at in each batch.
SAMPLE = 256

# Names of state begin with the box and this sign, or with it alone where boxes share them: no box has it in its name.
OWN = RELATIONS = "="
CLOCKS = "=="


@dataclass
class BoxCounts:
    """What one call of a box did: tuples in and out, nanoseconds, bytes of state, tuples left out by reason.

    `ports` are the tuples that it gave at each of its ports.
    """

    taken: int = 0
    ports: Counter[str] = field(default_factory=Counter)
    nanoseconds: int = 0
    state: int = 0
    discarded: Counter[str] = field(default_factory=Counter)

    @property
    def given(self) -> int:
        """Tuples out, at all ports."""
        return self.ports.total()

    def add(self, other: "BoxCounts") -> None:
        self.taken += other.taken
        self.ports.update(other.ports)
        self.nanoseconds += other.nanoseconds
        self.state += other.state
        self.discarded.update(other.discarded)


def run_stage(
    plan: Plan,
    number: int,
    arrived: dict[Entry | Port, list[Train]],
    state: State,
    moment: Moment,
    primary: bool = True,
    drops: Sequence[Drop] = (),
) -> tuple[dict[Port | Entry, Train], dict[str, BoxCounts]]:
    """Calls every box of the stage once; gives the streams that were made here (and in stage 0 the inputs), and how far
    the clocks of later stages have come.

    What the boxes did is counted by their names; under a name of its own is the state that they share.
    """
    stage = plan.stages[number]
    # Streams by the port where they were made, and those from earlier stages by their entry.
    here: dict[Port | Entry, Train] = {key: _join_trains(trains) for key, trains in arrived.items() if trains}
    counts: dict[str, BoxCounts] = {}
    dropping = find_drops(drops)
    for port in [key for key in here if isinstance(key, Port)] if dropping else ():
        here[port] = _shed(plan, port, here[port], str(port), dropping, counts)
    relations = state.within(RELATIONS)
    reached = Reached(plan, number, here, state)
    dated = plan.latency_from == CAUSE
    for box, wires, clocks in zip(stage.boxes, stage.wiring, stage.clocks, strict=True):
        streams = [port for port in box.inputs if port in plan.schemas]
        known = reached.find_clocks(box, clocks)
        reached.pass_on(box, streams, known)
        if not primary and plan.is_in_one_bucket(box):
            # Its tuples are all in the primary bucket. Here it has nothing to do, not even at the end of the input,
            # where its user's kernel would give what it gives there once more.
            continue
        inputs = tuple(
            _train(plan, port, here.get(port if entry is None else entry))
            for port, entry in zip(streams, wires, strict=True)
        )
        # Both steps of a box count as the box.
        name = plan.steps.get(box.name, box.name)
        if dropping:
            inputs = tuple(
                _shed(plan, port, train, plan.arc(port, box), dropping, counts)
                for port, train in zip(streams, inputs, strict=True)
            )
        own = f"{box.name}{OWN}"
        if _has_nothing_to_do(box, inputs, known, moment):
            idle = Counter({} if name != box.name else dict.fromkeys(box.operator.outputs, 0))
            counts[name] = BoxCounts(ports=idle, state=state.bytes(own))
            continue
        turn = Turn(state.within(own), moment, primary=primary, relations=relations, clocks=known)
        started = time.perf_counter_ns()
        outputs = _call_box(box, name, inputs, turn)
        counts[name] = BoxCounts(
            0 if plan.is_merge(box) else sum(map(len, inputs)),
            Counter({} if name != box.name else {port: len(train) for port, train in outputs.items()}),
            time.perf_counter_ns() - started,
            state.bytes(own),
            turn.discarded,
        )
        counts |= _count_parts(box.name, turn)
        for output, train in outputs.items():
            made = Port(box.name, output)
            if dated and box.operator.partition is not None:
                timeouts = box.operator.traits.timeout is not None
                train = date_rows(train, (*inputs, *reached.steps), moment, timeouts)
            here[made] = _shed(plan, made, train, str(made), dropping, counts) if dropping else train
    if any(box.operator.traits.relations for box in stage.boxes):
        counts[f"relations of stage {number}"] = BoxCounts(state=state.bytes(RELATIONS))
    given: dict[Port | Entry, Train] = {port: train for port, train in here.items() if isinstance(port, Port)}
    return {**given, **reached.find_leaving(given, primary)}, counts


def _shed(
    plan: Plan,
    port: Port,
    train: Train,
    place: str,
    dropping: Mapping[str, list[Drop]],
    counts: dict[str, BoxCounts],
) -> Train:
    """What the drop boxes at a place let through; what they leave out is counted."""
    if (own := dropping.get(place)) is None:
        return train
    left, number = drop_tuples(train, plan.schemas[port], own)
    if number:
        # A stream of a box is not counted where the box is: its name has the port in it, or is that of an input.
        counts.setdefault(own[0].counted, BoxCounts()).discarded[SHED] += number
    return left


class Reached:
    """How far fields of the streams of a stage have come in one turn."""

    def __init__(self, plan: Plan, number: int, here: Mapping[Port | Entry, Train], state: State) -> None:
        self._plan = plan
        self._number = number
        self._here = here
        self._state = state.within(CLOCKS)
        self._entries: dict[Entry, Progress] = {}
        self._fields: dict[Port, dict[str, Progress]] = {}
        # The steps of all clocks that this stage goes by, each with the time of the arrival that made it.
        self.steps = [train for entry, train in here.items() if isinstance(entry, Entry) and entry.clock]
        for entry in plan.stages[number].passing:
            assert entry.clock is not None
            self._fields.setdefault(entry.port, {})[entry.clock] = self._find(entry)

    def find_clocks(self, box: Box, entries: tuple[Entry | None, ...]) -> tuple[Progress, ...]:
        """The progress of the clocks of a box: from earlier stages, or made in this one."""
        clocks = zip(box.clocks, box.operator.traits.clocks, entries, strict=True)
        return tuple(
            self._fields[port][clock.field] if entry is None else self._find(entry)
            for port, clock, entry in clocks
        )

    def _find(self, entry: Entry) -> Progress:
        if entry in self._entries:
            return self._entries[entry]
        assert entry.clock is not None
        name = f"{entry.port} {entry.clock}"
        known = self._state.get(name)
        kind = pa.types.is_floating(self._plan.schemas[entry.port][entry.clock])
        none = Progress.none(np.dtype(np.float64 if kind else np.int64))
        before = none.before if known is None else known.column("reached").to_numpy()[0]
        arrived = self._here.get(entry)
        progress = Progress.from_trains(before, [none.to_train() if arrived is None else arrived])
        if len(progress.positions):
            self._state.put(name, pa.record_batch({"reached": progress.values[-1:]}))
        self._entries[entry] = progress
        return progress

    def pass_on(self, box: Box, streams: list[Port], clocks: tuple[Progress, ...]) -> None:
        """What is known of the outputs of a box; in every bucket, even where it has no tuples."""
        given = tuple(self._fields.get(port, {}) for port in streams)
        for port in box.operator.outputs:
            self._fields[Port(box.name, port)] = dict(box.operator.progress(port, given, clocks))

    def find_leaving(self, made: Mapping[Port | Entry, Train], primary: bool) -> dict[Port | Entry, Train]:
        """How far the clocks of later stages have come. What every bucket knows, one sends."""
        found: dict[Port | Entry, Train] = {}
        for entry in self._plan.entries:
            if entry.clock is None or self._plan.made_in[entry.port] != self._number:
                continue
            known = self._fields.get(entry.port, {}).get(entry.clock)
            if known is None and entry.port in made:
                found[entry] = self._date(find_rises(made[entry.port], entry.clock), made[entry.port])
            elif known is not None and primary:
                found[entry] = self._date(known, *self.steps)
        return found

    def _date(self, progress: Progress, *causes: Train) -> Train:
        """Return the steps of a clock with their times."""
        return date_rows(progress.to_train(), causes, Moment())


def _has_nothing_to_do(
    box: Box, inputs: tuple[Train, ...], clocks: tuple[Progress, ...], moment: Moment
) -> bool:
    """Whether a turn of a box can change nothing and give nothing: no tuple came, and no time passed for it."""
    traits = box.operator.traits
    waits = not moment.end and traits.timeout is None and not traits.functions
    return waits and not any(map(len, inputs)) and not any(len(clock.positions) for clock in clocks)


def _count_parts(box: str, turn: Turn) -> dict[str, BoxCounts]:
    """What boxes did that were called as one, each for itself; what they left out is with the one that has the name."""
    found = {name: BoxCounts(done.taken, done.given, done.nanoseconds) for name, done in turn.parts.items()}
    if box in found:
        found[box].discarded = turn.discarded
    return found


def _call_box(box: Box, name: str, inputs: tuple[Train, ...], turn: Turn) -> dict[str, Train]:
    """Calls a box; a fault of its kernel, which may be the user's, comes with the name of the box."""
    try:
        return box.operator.call(inputs, turn)
    except AuroraError as fault:
        raise AuroraError(f"box {_at_work(name, turn)}: {fault}") from fault
    except Exception as fault:
        raise AuroraError(f"box {_at_work(name, turn)}: {tell_with_place(fault)}") from fault


def _at_work(name: str, turn: Turn) -> str:
    return next(reversed(turn.parts), name)


def _join_trains(trains: list[Train]) -> Train:
    """The trains of one stream as one, in the order of arrival."""
    filled = sorted((train for train in trains if len(train)), key=lambda train: int(train.keys[0, 0]))
    return Train.concat(filled).arrange() if filled else trains[0]


def _train(plan: Plan, port: Port, train: Train | None) -> Train:
    if train is None:
        return Train.empty(plan.schemas[port].arrow(), plan.depths[port])
    return train.deepen(plan.depths[port])


def check_sample(
    plan: Plan, number: int, here: Mapping[Port | Entry, Train], bucket: int, buckets: int
) -> None:
    """Raise a fault if fields that a user's box says it keeps are not those of its bucket, in some of its rows."""
    users = {box.name for box in plan.stages[number].boxes if box.operator.traits.functions}
    sampled = {
        port: _sample(train) for port, train in here.items() if isinstance(port, Port) and port.box in users
    }
    check_buckets(plan, number, sampled, bucket, buckets)


def _sample(train: Train) -> Train:
    if len(train) <= SAMPLE:
        return train
    return train.take(np.linspace(0, len(train) - 1, SAMPLE).astype(np.int64))


def check_buckets(
    plan: Plan,
    number: int,
    here: Mapping[Port, Train] | Mapping[Port | Entry, Train],
    bucket: int,
    buckets: int,
) -> None:
    """A fault if the fields that should say in which bucket a tuple was made say another one."""
    for port, train in here.items():
        if isinstance(port, Entry):
            continue
        spread = plan.bucket_fields[port]
        if plan.made_in[port] == number and spread is not None and len(train):
            wrong = [part for where, part in split(train, spread, buckets) if where != bucket]
            if wrong:
                found = {name: wrong[0].rows.column(name)[0].as_py() for name in spread}
                raise AuroraError(
                    f"box {port.box}: output {port.port} does not keep {', '.join(spread) or 'one bucket'}: "
                    f"{found or 'a tuple'} was made in a bucket that has no tuple of that key; correct keeps"
                )


def departures(
    plan: Plan, number: int, here: Mapping[Port | Entry, Train], buckets: int
) -> Iterator[tuple[int, int, Train]]:
    """What leaves the stage for later ones: (number of the entry, bucket, train)."""
    for index, entry in enumerate(plan.entries):
        train = here.get(entry.port if entry.clock is None else entry)
        if train is not None and entry.stage > number and plan.made_in[entry.port] == number:
            for bucket, part in split(train, entry.spread, buckets):
                yield index, bucket, part
