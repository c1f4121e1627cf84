"""One stage at work: trains in, boxes one after the other, trains out. Knows nothing of Spark."""

import os
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from aurora.algebra.state.state import State
from aurora.algebra.state.turn import Moment, Turn
from aurora.algebra.tuples.train import Train
from aurora.engine.buckets import split
from aurora.engine.plan import Entry, Plan
from aurora.errors import AuroraError
from aurora.network.network import Box, Port

__all__ = ["BoxCounts", "check_buckets", "departures", "run_stage"]

# Names of state begin with the box and this sign, or with it alone where boxes share them: no box has it in its name.
OWN = RELATIONS = "="


@dataclass
class BoxCounts:
    """What one call of a box did: tuples in and out, nanoseconds, bytes of state, tuples left out by reason."""

    taken: int = 0
    given: int = 0
    nanoseconds: int = 0
    state: int = 0
    discarded: Counter[str] = field(default_factory=Counter)

    def add(self, other: "BoxCounts") -> None:
        self.taken += other.taken
        self.given += other.given
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
) -> tuple[dict[Port, Train], dict[str, BoxCounts]]:
    """Calls every box of the stage once; gives the streams that were made here (and in stage 0 the inputs).

    What the boxes did is counted by their names; under a name of its own is the state that they share.
    """
    stage = plan.stages[number]
    # Streams by the port where they were made, and those from earlier stages by their entry.
    here: dict[Port | Entry, Train] = {key: _join_trains(trains) for key, trains in arrived.items() if trains}
    counts: dict[str, BoxCounts] = {}
    relations = state.within(RELATIONS)
    for box, wires in zip(stage.boxes, stage.wiring, strict=True):
        if not primary and _in_one_bucket(plan, box):
            continue
        streams = [port for port in box.inputs if port in plan.schemas]
        inputs = tuple(
            _train(plan, port, here.get(port if entry is None else entry))
            for port, entry in zip(streams, wires, strict=True)
        )
        own = f"{box.name}{OWN}"
        turn = Turn(state.within(own), moment, primary=primary, relations=relations)
        started = time.perf_counter_ns()
        outputs = _call_box(box, inputs, turn)
        counts[box.name] = BoxCounts(
            sum(map(len, inputs)),
            sum(len(train) for train in outputs.values()),
            time.perf_counter_ns() - started,
            state.bytes(own),
            turn.discarded,
        )
        for port, train in outputs.items():
            here[Port(box.name, port)] = train
    if any(box.operator.traits.relations for box in stage.boxes):
        counts[f"relations of stage {number}"] = BoxCounts(state=state.bytes(RELATIONS))
    return {port: train for port, train in here.items() if isinstance(port, Port)}, counts


def _in_one_bucket(plan: Plan, box: Box) -> bool:
    """Whether all tuples that a box makes are in the primary bucket: elsewhere it has nothing to do, not even at the
    end of the input, where its user's kernel would give what it gives there once more."""
    return all(plan.bucket_fields[Port(box.name, port)] == () for port in box.operator.outputs)


def _call_box(box: Box, inputs: tuple[Train, ...], turn: Turn) -> dict[str, Train]:
    """Calls a box; a fault of its kernel, which may be the user's, comes with the name of the box."""
    try:
        return box.operator.call(inputs, turn)
    except AuroraError as fault:
        raise AuroraError(f"box {box.name}: {fault}") from fault
    except Exception as fault:
        place = traceback.extract_tb(fault.__traceback__)[-1]
        where = f"{os.path.basename(place.filename)}, line {place.lineno}"
        told = " ".join(str(fault).split())
        raise AuroraError(f"box {box.name}: {type(fault).__name__}: {told} ({where})") from fault


def _join_trains(trains: list[Train]) -> Train:
    """The trains of one stream as one, in the order of arrival."""
    filled = sorted((train for train in trains if len(train)), key=lambda train: int(train.keys[0, 0]))
    return Train.concat(filled).arrange() if filled else trains[0]


def _train(plan: Plan, port: Port, train: Train | None) -> Train:
    if train is None:
        return Train.empty(plan.schemas[port].arrow(), plan.depths[port])
    return train.deepen(plan.depths[port])


def check_buckets(plan: Plan, number: int, here: dict[Port, Train], bucket: int, buckets: int) -> None:
    """A fault if the fields that should say in which bucket a tuple was made say another one."""
    for port, train in here.items():
        spread = plan.bucket_fields[port]
        if plan.made_in[port] == number and spread is not None and len(train):
            wrong = [part for where, part in split(train, spread, buckets) if where != bucket]
            if wrong:
                found = {name: wrong[0].rows.column(name)[0].as_py() for name in spread}
                raise AuroraError(
                    f"box {port.box}: output {port.port} does not keep {', '.join(spread) or 'one bucket'}: "
                    f"{found or 'a tuple'} was made where no tuple of that key is"
                )


def departures(
    plan: Plan, number: int, here: dict[Port, Train], buckets: int
) -> Iterator[tuple[int, int, Train]]:
    """What leaves the stage for later ones: (number of the entry, bucket, train)."""
    for index, entry in enumerate(plan.entries):
        train = here.get(entry.port)
        if train is not None and entry.stage > number and plan.made_in[entry.port] == number:
            for bucket, part in split(train, entry.spread, buckets):
                yield index, bucket, part
