"""Runs a network without Spark: the same stages, states and buckets, in this process."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from aurora import Cursor, Network, Source
from aurora.algebra.state.state import State
from aurora.algebra.state.turn import Moment
from aurora.algebra.tuples.train import Train
from aurora.engine.plan import Plan, plan_network
from aurora.engine.stage import departures, run_stage
from aurora.network.network import Port


def batches(source: Source, rows: Sequence[int]) -> Iterator[tuple[Cursor, Cursor]]:
    """Places of batches of about so many rows each, over and over."""
    cursor, turn = source.begin(), 0
    while not source.finished(cursor):
        reached = source.advance(cursor, rows[turn % len(rows)])
        turn += 1
        yield cursor, reached
        cursor = reached


class LocalRun:
    def __init__(self, network: Network, buckets: int) -> None:
        self.plan: Plan = plan_network(network)
        self.buckets = buckets
        self.states: dict[tuple[int, int], dict[str, pa.RecordBatch]] = {}
        self.number = 0
        self.outputs: dict[str, list[Train]] = {name: [] for name, _ in self.plan.outputs}
        self.nanoseconds: dict[str, int] = {}
        self.written = 0

    def step(self, source: Any, start: Cursor, end: Cursor, pieces: int = 2, last: bool = False) -> None:
        moment = Moment(0, self.number, last)
        (name, schema), waiting = self.plan.inputs[0], {}
        for piece in source.pieces(start, end, pieces):
            portion = piece.read(schema)
            keys = self.number + 1 + portion.numbers - start["row"]
            train = Train(portion.rows, np.zeros(len(keys), np.int64), keys[None])
            self._stage(0, {Port(name): [train]}, State(), moment, waiting, 0)
        self.number += end["row"] - start["row"] + 1
        for number in range(1, len(self.plan.stages)):
            for bucket in range(self.buckets):
                stored = self.states.setdefault((number, bucket), {})
                state = State(stored.get)
                arrived: dict[Any, list[Train]] = {}
                for index, train in waiting.get((number, bucket), []):
                    arrived.setdefault(self.plan.entries[index], []).append(train)
                self._stage(number, arrived, state, moment, waiting, bucket)
                for key, value in state.changes():
                    if value is None:
                        stored.pop(key, None)
                    else:
                        stored[key] = value
                        self.written += value.nbytes

    def _stage(
        self, number: int, arrived: Any, state: State, moment: Moment, waiting: Any, bucket: int
    ) -> None:
        here, counts = run_stage(self.plan, number, arrived, state, moment, bucket == 0)
        for box, count in counts.items():
            self.nanoseconds[box] = self.nanoseconds.get(box, 0) + count.nanoseconds
        for index, target, train in departures(self.plan, number, here, self.buckets):
            waiting.setdefault((self.plan.entries[index].stage, target), []).append((index, train))
        for name, port in self.plan.outputs:
            if self.plan.made_in[port] == number and port in here and len(here[port]):
                self.outputs[name].append(here[port])

    def rows(self, name: str) -> list[dict[str, Any]]:
        trains = self.outputs[name]
        return Train.concat(trains).rows.to_pylist() if trains else []
