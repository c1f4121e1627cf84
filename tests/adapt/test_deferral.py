"""Which part of a network may wait, and that its outputs are the same in two parts as in one."""

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from aurora import Memory, Network, from_text
from aurora.adapt.deferral import find_patient, split_network
from aurora.adapt.turns import Standing, must_hold
from aurora.algebra.state.turn import Moment
from aurora.algebra.tuples.train import Train
from aurora.engine.local import LocalRun
from aurora.engine.plan.plan import plan_network
from aurora.network.network import Output
from aurora.network.qos import Graph, Qos

QUICK, SLOW = "{latency: [[0, 1], [2, 1], [5, 0]]}", "{latency: [[0, 1], [60, 1], [90, 0]]}"
HEAD = """
network: two
inputs: {reports: {schema: "Sid int, Time int, Pos int, Note string"}}
boxes:
  over: {filter: ["Pos >= 30"], from: reports}
  crowd: {aggregate: {N: "count(*)"}, from: over, size: 4, order: {on: Time, slack: 2}}
"""
ORDER = "{on: Time, slack: 2, group_by: [Sid]}"
PARTS = {
    "one arc": """
  sums: {aggregate: {Sum: "sum(Pos)"}, from: over, size: 5, order: {on: Time, slack: 3, group_by: [Sid]}}
  last: {map: {Sid: Sid, Sum: "Sum * 2"}, from: sums}
""",
    "an input": """
  last: {aggregate: {Most: "max(Pos)", Notes: "count(Note)"}, from: reports, size: 3, order: {on: Time, slack: 3}}
""",
    "two arcs of one box": f"""
  last: {{join: "left.Sid = right.Sid", left: over, right: over.rest, size: 2,
         left_order: {ORDER}, right_order: {ORDER}}}
""",
    "the same arc twice": """
  both: {map: {Sid: Sid, Time: Time, Pos: "Pos + 1"}, from: over}
  plain: {map: {Sid: Sid, Time: Time, Pos: Pos}, from: over}
  last: {union: [both, plain]}
""",
    "an input and what comes of it": f"""
  far: {{filter: ["Pos >= 50"], from: reports}}
  last: {{join: "left.Sid = right.Sid", left: over, right: far, size: 1,
         left_order: {ORDER}, right_order: {ORDER}}}
""",
    "results and their cause": """
  named: {map: {Time: Time, N: "cast(Pos AS bigint)"}, from: over}
  counted: {map: {Time: Time, N: N}, from: crowd}
  last: {union: [named, counted]}
""",
    "a clock in the other part": """
  last: {aggregate: {N: "count(*)"}, from: over.rest, size: 5,
         order: {on: Time, slack: 1, group_by: [Sid], clock: reports}}
""",
}


def make_network(part: str) -> Network:
    outputs = f"outputs:\n  quick: {{from: crowd, qos: {QUICK}}}\n  late: {{from: last, qos: {SLOW}}}\n"
    return from_text(HEAD + PARTS[part] + outputs)


def make_rows(count: int = 400) -> list[dict[str, Any]]:
    chance = np.random.default_rng(5)
    return [
        {
            "Sid": int(chance.integers(4)),
            "Time": i // 3 - int(chance.integers(3)),
            "Pos": int(chance.integers(70)),
            "Note": None if chance.random() < 0.3 else "n",
        }
        for i in range(count)
    ]


def run_parts(network: Network, cuts: list[int]) -> dict[str, list[dict[str, Any]]]:
    """Both parts, the second on what passed at the arcs, in the order in which it arrived in the first."""
    split = split_network(network, network.outputs)
    assert split is not None
    arcs = split.arcs
    for point in arcs.values():
        split.urgent.outputs[point.name] = Output(point.name, point.port)
    urgent = LocalRun(plan_network(split.urgent), 2)
    urgent.read({"reports": Memory.of(network.inputs["reports"].schema, make_rows())}, cuts)
    passed = {name: Train.concat(urgent.outputs[point.name]) for name, point in arcs.items()}
    causes = sorted(
        (cause, index, row)
        for index, train in enumerate(passed.values())
        for row, cause in enumerate(train.keys[0].tolist())
    )
    numbers: list[list[int]] = [[] for _ in passed]
    for place, (_, index, _) in enumerate(causes):
        numbers[index].append(1 + 2 * place)
    later = LocalRun(plan_network(split.later), 2)
    trains = [
        (name, Train(train.rows, train.arrived, np.array(number, np.int64)[None]))
        for (name, train), number in zip(passed.items(), numbers, strict=True)
    ]
    later.feed(trains, Moment(0, 0, True))
    return {"quick": urgent.rows("quick"), "late": later.rows("late")}


@pytest.mark.parametrize("part", PARTS)
def test_two_parts_give_what_one_gives(part: str) -> None:
    network = make_network(part)
    whole = LocalRun(plan_network(network), 2)
    whole.read({"reports": Memory.of(network.inputs["reports"].schema, make_rows())}, [37])
    found = run_parts(network, [37])
    assert found["late"] and found["quick"]
    assert found == {"quick": whole.rows("quick"), "late": whole.rows("late")}


def test_a_part_whose_ties_cannot_be_kept_does_not_wait() -> None:
    """Of tuples with one cause, each of the two unions would have another one first."""
    part = """
  a: {map: {Sid: Sid}, from: over}
  b: {map: {Sid: Sid}, from: reports}
  ab: {union: [a, b]}
  ba: {union: [b, a]}
  last: {union: [ab, ba]}
"""
    outputs = f"outputs:\n  quick: {{from: crowd, qos: {QUICK}}}\n  late: {{from: last, qos: {SLOW}}}\n"
    assert split_network(from_text(HEAD + part + outputs), ["quick", "late"]) is None


def test_only_what_is_needed_waits_at_an_arc() -> None:
    split = split_network(make_network("one arc"), ["quick", "late"])
    assert split is not None
    assert {name: point.port.box for name, point in split.arcs.items()} == {"##over.1": "##over.1"}
    assert str(split.later.inputs["##over.1"].schema) == "Sid int, Time int, Pos int"
    assert set(split.later.boxes) == {"sums", "last"} and set(split.urgent.outputs) == {"quick"}
    assert split.zone == 2.0


@pytest.mark.parametrize(
    ("sinks", "why"),
    [(["late"], "nothing is urgent"), (["quick"], "nothing can wait")],
)
def test_nothing_is_split_where(sinks: list[str], why: str) -> None:
    assert split_network(make_network("one arc"), sinks) is None, why


def test_an_output_waits_only_with_a_much_longer_good_zone() -> None:
    def zone(seconds: float) -> Qos:
        return Qos(Graph(((0.0, 1.0), (seconds, 1.0), (2 * seconds, 0.0))))

    assert find_patient({"a": zone(2), "b": zone(7.9), "c": zone(8), "d": None}) == {"c"}


def test_what_a_view_or_point_keeps_does_not_wait() -> None:
    text = HEAD + PARTS["one arc"] + "points: {p: {from: sums, keep: 5}}\noutputs:\n"
    text += f"  quick: {{from: crowd, qos: {QUICK}}}\n  late: {{from: last, qos: {SLOW}}}\n"
    split = split_network(from_text(text), ["quick", "late"])
    assert split is not None and set(split.later.boxes) == {"last"}


def test_whose_turn_it_is() -> None:
    quick, slow = Graph(((0.0, 1.0), (2.0, 1.0), (4.0, 0.0))), Graph(((0.0, 1.0), (60.0, 1.0), (90.0, 0.0)))
    # Between the two limits nothing changes.
    for held in (False, True):
        assert must_hold(held, [Standing(quick, 0.6)], [Standing(slow, 9.0)]) is held
    assert must_hold(False, [Standing(quick, 1.1)], [Standing(slow, 59.0)])
    assert not must_hold(True, [Standing(quick, 0.5)], [Standing(slow, 9.0)])
    # One that is worth nothing any more does not hold up one that still is.
    assert not must_hold(True, [Standing(quick, 20.0)], [Standing(slow, 70.0)])


PRINT_PARTS = """
import sys
from aurora import from_text
from aurora.adapt.deferral import split_network
from aurora.engine.plan.plan import plan_network

network = from_text(sys.stdin.read())
split = split_network(network, list(network.outputs))
print(list(split.later.inputs), plan_network(split.urgent).fingerprint(), plan_network(split.later).fingerprint())
"""


def test_the_parts_are_the_same_in_every_process() -> None:
    """Also where nothing but the order of a set would say which output, or which arc, comes first."""
    boxes = "".join(
        f"  {name}: {{filter: ['Pos >= {number}'], from: reports}}\n  own_{name}: {{map: {{Sid: Sid}}, from: {name}}}\n"
        for number, name in enumerate(("third", "second", "first"))
    )
    boxes += "  one: {union: [own_first, own_third]}\n  two: {union: [own_second, own_third]}\n"
    outputs = "outputs:\n"
    outputs += "".join(f"  {name}: {{from: {name}, qos: {QUICK}}}\n" for name in ("first", "second", "third"))
    outputs += "".join(
        f"  late_{name}: {{from: {name}, qos: {SLOW}}}\n" for name in ("one", "two", "own_first", "own_third")
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", PRINT_PARTS],
            input=HEAD + boxes + outputs,
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in range(4)
    }
    assert len(found) == 1
    network = from_text(HEAD + boxes + outputs)
    split = split_network(network, network.outputs)
    assert split is not None
    assert list(split.later.outputs) == [name for name in network.outputs if name.startswith("late_")]
