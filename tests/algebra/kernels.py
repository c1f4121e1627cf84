"""Kernels of user boxes that take their rows one by one, so that one function serves the naive version too."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from aurora import Network, Schema, Stream, Train, Turn, caused

__all__ = ["FIELDS", "USERS", "RowByRow", "User"]

FIELDS = "g double, T int, v bigint"
SCHEMA = Schema.parse(FIELDS)
Row = dict[str, Any]
# Gets the number of the input, a row, and what it has kept; gives rows with their ports.
Step = Callable[[int, Row, dict[Any, Any]], Iterator[tuple[str, Row]]]


@dataclass(frozen=True)
class RowByRow:
    """Calls the step for the rows of all inputs in the order of their arrival."""

    step: Step
    ports: tuple[str, ...] = ("1",)
    stateless: bool = False

    def __call__(self, inputs: Mapping[str, Train], turn: Turn) -> dict[str, Train]:
        memory: dict[Any, Any] = {}
        if not self.stateless:
            stored = turn.state.get("memory")
            memory = {} if stored is None else dict(json.loads(stored["json"][0].as_py()))
        trains = list(inputs.values())
        rows = [train.rows.to_pylist() for train in trains]
        places = [
            (tuple(train.keys[:, i]), number, i)
            for number, train in enumerate(trains)
            for i in range(len(train))
        ]
        found: dict[tuple[str, int], list[tuple[int, Row]]] = {}
        for _, number, i in sorted(places):
            for port, row in self.step(number, rows[number][i], memory):
                found.setdefault((port, number), []).append((i, row))
        if not self.stateless:
            turn.state.put(
                "memory", pa.record_batch({"json": [json.dumps(list(memory.items()))]}) if memory else None
            )
        return {
            port: Train.concat([made(train, found.get((port, n), [])) for n, train in enumerate(trains)])
            for port in self.ports
        }  # fmt: skip


def made(train: Train, found: list[tuple[int, Row]]) -> Train:
    rows = pa.RecordBatch.from_pylist([row for _, row in found], SCHEMA.arrow())
    return caused(train, rows, np.array([cause for cause, _ in found], np.int64))


def key_of(value: float | None) -> str:
    """The same for 0.0 and -0.0, and for all NaNs."""
    return str(value and value + 0.0) if value != 0 else "0"


def running(port: int, row: Row, state: dict[Any, Any]) -> Iterator[tuple[str, Row]]:
    """The total of the group so far."""
    own = key_of(row["g"])
    state[own] = state.get(own, 0) + row["v"] + port
    yield "1", {**row, "v": state[own]}


def turned(port: int, row: Row, state: dict[Any, Any]) -> Iterator[tuple[str, Row]]:
    """The same, but what is called g is another group now; those of the even totals leave elsewhere too."""
    ((_, given),) = running(port, row, state)
    other = {**given, "g": None if row["g"] == 0 else (row["g"] or 0.0) // 2}
    yield "1", other
    if given["v"] % 2 == 0:
        yield "even", given


def numbered(port: int, row: Row, state: dict[Any, Any]) -> Iterator[tuple[str, Row]]:
    """The number of the tuple among all, and where it is divisible by three, nothing."""
    state["n"] = state.get("n", 0) + 1
    if state["n"] % 3:
        yield "1", {**row, "v": state["n"]}


def doubled(port: int, row: Row, state: dict[Any, Any]) -> Iterator[tuple[str, Row]]:
    """Needs no state: large ones come twice."""
    yield "1", {**row, "v": row["v"] - port}
    if row["v"] > 3:
        yield "1", {**row, "v": 0}


def regrouped(port: int, row: Row, state: dict[Any, Any]) -> Iterator[tuple[str, Row]]:
    yield "1", {**row, "g": float(row["v"] % 3)}


def beside(port: int, row: Row, state: dict[Any, Any]) -> Iterator[tuple[str, Row]]:
    """The total of the second input, of all its groups, beside each tuple of the first."""
    if port == 1:
        state["all"] = state.get("all", 0) + row["v"]
        return
    own = key_of(row["g"])
    state[own] = state.get(own, 0) + 1
    yield "1", {**row, "v": state.get("all", 0) + state[own]}


@dataclass(frozen=True)
class User:
    """How a box with this kernel is declared."""

    step: Step
    inputs: int = 1
    key: Any = ("g",)
    second: Any = ("g",)
    ports: tuple[str, ...] = ("1",)
    keeps: Any = ()
    stateless: bool = False

    def add(self, network: Network, name: str, streams: list[Stream]) -> Stream:
        keyed = {} if self.key == () else {"a": self.key, "b": self.second}
        return network.user(
            RowByRow(self.step, self.ports, self.stateless),
            inputs=dict(zip("ab", streams, strict=False)),
            outputs=dict.fromkeys(self.ports, FIELDS),
            key={slot: key for slot, key in keyed.items() if slot in "ab"[: self.inputs]},
            keeps=self.keeps,
            stateless=self.stateless,
            name=name,
        )


USERS = {
    "keyed": User(running),
    "keyed, kept": User(running, keeps=["g"]),
    "keyed, recomputed": User(turned, ports=("1", "even"), keeps={"even": ["g"]}),
    "keyless": User(numbered, key=()),
    "two, keyed": User(running, inputs=2, keeps=["g"]),
    "two, keyless": User(numbered, inputs=2, key=()),
    "seen whole": User(beside, inputs=2, second=None, keeps=["g"]),
    "stateless": User(doubled, key=(), stateless=True),
    "stateless, kept": User(doubled, key=(), stateless=True, keeps=["g"]),
    "two, stateless": User(doubled, inputs=2, key=(), stateless=True, keeps=["g"]),
    "stateless, recomputed": User(regrouped, key=(), stateless=True),
}
