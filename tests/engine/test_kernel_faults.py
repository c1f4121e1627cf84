"""What goes wrong inside a box is told with the name of the box."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aurora import AuroraError, Memory, Network, Schema, Train, Turn, WindowFunction, caused
from aurora.algebra.state.state import State
from aurora.algebra.state.turn import Moment
from aurora.engine.plan.plan import plan_network
from aurora.engine.stage import run_stage
from aurora.network.network import Port


def divide(inputs: Mapping[str, Train], turn: Turn) -> dict[str, Train]:
    raise ZeroDivisionError("no soldiers\nat all")


def other_fields(inputs: Mapping[str, Train], turn: Turn) -> dict[str, Train]:
    train = inputs["a"]
    return {"o": caused(train, train.rows, np.arange(len(train)))}


def unknown_relation(inputs: Mapping[str, Train], turn: Turn) -> dict[str, Train]:
    turn.relations.get("accounts")
    return {}


def words(inputs: Mapping[str, Train], turn: Turn) -> dict[str, Train]:
    return made(inputs["a"], ["7"])


def halves(inputs: Mapping[str, Train], turn: Turn) -> dict[str, Train]:
    return made(inputs["a"], [2.0])


def giants(inputs: Mapping[str, Train], turn: Turn) -> dict[str, Train]:
    return made(inputs["a"], [2**40])


def made(train: Train, values: list[object]) -> dict[str, Train]:
    return {"o": caused(train, pa.record_batch({"B": values}), np.arange(len(train)))}


LINE = divide.__code__.co_firstlineno + 1


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (divide, f"box g.own: ZeroDivisionError: no soldiers at all (test_kernel_faults.py, line {LINE})"),
        (other_fields, "box g.own: output o of a user's kernel has the fields A; declared are B"),
        (words, "box g.own: output o of a user's kernel: field B is string, declared is int"),
        (halves, "box g.own: output o of a user's kernel: field B is double, declared is int"),
        (
            giants,
            "box g.own: output o of a user's kernel: field B, declared as int: "
            "Integer value 1099511627776 not in range: -2147483648 to 2147483647",
        ),
        (unknown_relation, "box g.own: a user's kernel uses relation accounts; declared are: none"),
    ],
)
def test_fault_of_a_kernel(kernel: object, message: str) -> None:
    net = Network("n")
    stream = net.input("a", "A int")
    with net.group("g"):
        net.output("o", net.user(kernel, inputs={"a": stream}, outputs={"o": "B int"}, name="own"))
    assert fault_of(net) == message


def test_fault_of_a_window_function() -> None:
    net = Network("n")
    stream = net.input("a", "A int")
    wrong = WindowFunction(
        Schema.parse("n int"), dict, lambda state, tuples: state["first"], lambda state: state
    )
    net.output("o", stream.aggregate(wrong, order={"on": "A"}, size=1, name="own"))
    assert fault_of(net).startswith("box own: KeyError: 'first' (test_kernel_faults.py, line ")


def inside_arrow(inputs: Mapping[str, Train], turn: Turn) -> dict[str, Train]:
    pa.array([1]).cast(pa.list_(pa.int64()))
    return {}


def inside_a_library(inputs: Mapping[str, Train], turn: Turn) -> dict[str, Train]:
    json.loads("[")
    return {}


@pytest.mark.parametrize("kernel", [inside_arrow, inside_a_library])
def test_a_fault_inside_a_library_names_the_line_of_the_user(kernel: Any) -> None:
    net = Network("n")
    net.output(
        "o", net.user(kernel, inputs={"a": net.input("a", "A int")}, outputs={"o": "B int"}, name="own")
    )
    line = kernel.__code__.co_firstlineno + 1
    assert fault_of(net).endswith(f" (test_kernel_faults.py, line {line})")


def fault_of(net: Network) -> str:
    """The fault of the stage with state, called for one tuple as the engine calls it."""
    plan = plan_network(net)
    rows = Memory.of("A int", [{"A": 1}]).rows
    train = Train(rows, np.zeros(1, np.int64), np.zeros((1, 1), np.int64))
    (entry,) = (entry for entry in plan.entries if entry.port == Port("a"))
    with pytest.raises(AuroraError) as caught:
        run_stage(plan, 1, {entry: [train]}, State(), Moment(end=True))
    return str(caught.value)
