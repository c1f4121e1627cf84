"""Graphs of utility on outputs: read, checked, written, and what they say."""

from typing import Any

import numpy as np
import pytest

from aurora import AuroraError, Network, from_text, to_text
from aurora.network.qos import Graph, Qos, read_qos

QOS: dict[str, Any] = {
    "latency": [[0, 1], [2, 1], [10, 0]],
    "delivered": [[100, 1], [50, 0.25], [0, 0]],
    "value": {"of": "Speed", "graph": [[0, 1], [40, 0.1]]},
}


def network(qos: Any = QOS, **view: Any) -> Network:
    made = Network("tolls")
    rows = made.input("rows", "Sid int, Speed double, Name string")
    made.output("out", rows, qos=qos, **view)
    return made


@pytest.mark.parametrize("view", [{}, {"keep": "1h"}, {"keep": "latest", "key": ["Sid"]}])
def test_the_text_has_the_graphs(view: dict[str, Any]) -> None:
    made = network(**view)
    assert from_text(to_text(made)) == made
    assert "latency" in to_text(made) and made != network(None, **view)


def test_graphs_are_linear_between_their_points() -> None:
    graph = Graph(((0.0, 1.0), (2.0, 1.0), (10.0, 0.0)))
    at = np.array([-1.0, 0.0, 2.0, 4.0, 10.0, 99.0])
    assert graph.utilities(at).tolist() == [1.0, 1.0, 1.0, 0.75, 0.0, 0.0]
    assert [graph.utility(x) for x in at] == graph.utilities(at).tolist()
    assert graph.good_until == 2.0 and Graph(((0.0, 1.0), (5.0, 1.0))).good_until == float("inf")


def test_a_delivered_graph_may_be_written_either_way_round() -> None:
    turned = {**QOS, "delivered": QOS["delivered"][::-1]}
    assert network(turned) == network() and to_text(network(turned)) == to_text(network())


def test_a_graph_may_be_made_of_numpy_numbers() -> None:
    qos = {
        "latency": np.array(QOS["latency"]),
        "delivered": [np.array(point) for point in QOS["delivered"]],
        "value": {"of": "Speed", "graph": [[np.int64(0), np.float32(1)], [np.int16(40), np.float64(0.1)]]},
    }
    assert network(qos) == network() and to_text(network(qos)) == to_text(network())


def test_the_utility_of_what_was_delivered() -> None:
    qos = network().outputs["out"].qos
    assert qos is not None
    seconds, rows = np.array([1.0, 6.0]), np.array([3.0, 1.0])
    assert qos.utility(seconds, rows, 1.0) == pytest.approx((3 * 1.0 + 1 * 0.5) / 4)
    assert qos.utility(seconds, rows, 0.5) == pytest.approx(0.875 * 0.25)
    assert Qos().utility(np.empty(0), np.empty(0), 1.0) == 1.0


@pytest.mark.parametrize(
    ("qos", "fault"),
    [
        ({}, r"qos is empty; give one or more of latency, delivered, value, for example \{latency: "),
        ([1], "qos is a mapping, for example"),
        (
            {"latencies": []},
            r"qos has no 'latencies' \(did you mean latency\?\); it has latency, delivered, value",
        ),
        ({"latency": [[0, 1]]}, "latency: a graph is a list of two points or more"),
        ({"latency": [[0, 1], 3]}, r"latency: a point is two numbers such as \[2, 1\], found '3'"),
        ({"latency": [[0, 1], [1, float("nan")]]}, "a point is two numbers"),
        ({"latency": [[0, 1.5], [2, 0]]}, "latency: utility 1.5 at 0 is outside 0 to 1"),
        (
            {"latency": [[0, 0.5], [2, 1]]},
            "utility rises from 0.5 at 0 to 1 at 2; a longer latency",
        ),
        ({"latency": [[0, 1.0000001], [2, 0]]}, "latency: utility 1.0000001 at 0 is outside 0 to 1"),
        (
            {"latency": [[5, 1], [2, 0]]},
            "latency: x = 2 follows x = 5; write the points in ascending order, each x once",
        ),
        ({"latency": [[0, 1], [2, 1], [2, 0]]}, "latency: x = 2 appears twice; write each x once"),
        (
            {"value": {"of": "Speed", "graph": [[0, 1]]}},
            r"value: a graph is a list of two points or more, for example \[\[0, 1\], \[40, 0.1\]\]",
        ),
        ({"latency": [[-1, 1], [1, 0]]}, "latency: begins at -1 s; begin at 0"),
        ({"latency": [[0, 1], [5, 0]]}, "latency: utility falls from 0 s on, and every row takes some time"),
        (
            {"latency": [[0, 1], [10**400, 0]]},
            r"latency: a point is two numbers such as \[2, 1\], found '\[10000*\.\.'",
        ),
        (
            {"value": {"of": ["Sid"], "graph": [[0, 1], [1, 0]]}},
            r"of is the name of one field, found '\['Sid'\]'",
        ),
        (
            {"delivered": [[0, 1], [100, 0]]},
            "utility falls from 1 at 0% to 0 at 100%; more tuples",
        ),
        ({"delivered": [[0, 0], [150, 1]]}, "shares are percent from 0 to 100"),
        ({"value": [[0, 1], [1, 0]]}, "qos value: write {of: Speed, graph:"),
        ({"value": {"of": "Sped", "graph": [[0, 1], [1, 0]]}}, r"no field Sped \(did you mean Speed\?\)"),
        (
            {"value": {"of": "Name", "graph": [[0, 1], [1, 0]]}},
            "Name is string; a value graph needs an integer, float or double field; cast it in a map",
        ),
    ],
)
def test_a_bad_graph_is_one_line(qos: Any, fault: str) -> None:
    with pytest.raises(AuroraError, match=fault) as told:
        network(qos)
    assert str(told.value).startswith("output out: qos") and "\n" not in str(told.value)


def test_only_what_is_given_is_there() -> None:
    schema = network().schema(network().outputs["out"].port)
    assert read_qos({"latency": [[0, 1], [1, 1], [2, 0]]}, schema, "output out") == Qos(
        Graph(((0.0, 1.0), (1.0, 1.0), (2.0, 0.0)))
    )
