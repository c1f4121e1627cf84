"""Chains of boxes in other orders: which are the same, by pairs of texts, and that they give the same rows."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora import Controls, Network
from aurora.algebra.box.moving import arrange_chain
from aurora.algebra.state.turn import Moment
from aurora.algebra.tuples.schema import Schema
from aurora.engine.drops import Drop
from aurora.engine.local import LocalRun
from aurora.engine.plan.plan import plan_network
from aurora.engine.plan.rewriting import find_chains, restore_work, rewrite_plan
from aurora.engine.work import BoxWork, Work
from tests.algebra.harness import Arrival, choose_cuts, trains
from tests.engine.chains import SCHEMA, chain_of, network_of, shown

ALL = "outputs: {'1': \"g int, T int, v bigint, w string\"}, stateless: true, keeps: [g, T, v, w]"
EVEN = f"user: tests.engine.chains:even, inputs: {{a: FROM}}, {ALL}, commutes: [v]"
TWICE = (
    "user: tests.engine.chains:twice, inputs: {a: FROM}, stateless: true, keeps: [g, T, v, w], commutes: [g], "
    "outputs: {'1': \"g int, T int, v bigint, w string, n int\"}"
)

# What stands before, in which order the boxes shall work, and what stands there then.
PAIRS = {
    "filters": (
        """
  a: {filter: ["v > 1"], from: r}
  b: {filter: ["g = 2", "T > 3"], from: a}
  z: {filter: ["w is null"], from: b.2}""",
        "z b a",
        """
  z: {filter: ["w is null"], from: r}
  b: {filter: ["g = 2", "T > 3"], from: z}
  a: {filter: ["v > 1"], from: b.2}""",
    ),
    "a filter whose fields pass a map": (
        """
  a: {map: {g: g, x: "v * 7 % 3", T: T}, from: r}
  z: {filter: ["T > 3 and g = 1"], from: a}""",
        "z a",
        """
  z: {filter: ["T > 3 and g = 1"], from: r}
  a: {map: {g: g, x: "v * 7 % 3", T: T}, from: z}""",
    ),
    "a filter whose fields are renamed and computed": (
        """
  a: {map: {x: g, y: "v + 1", heavy: "upper(w)"}, from: r}
  z: {filter: ["x = 1 and y > 5"], from: a}""",
        "z a",
        """
  z: {filter: ["g = 1 and v + 1 > 5"], from: r}
  a: {map: {x: g, y: "v + 1", heavy: "upper(w)"}, from: z}""",
    ),
    "a filter that goes behind a map": (
        """
  a: {filter: ["v > 1"], from: r}
  z: {map: {u: v, T: T}, from: a}""",
        "z a",
        """
  z: {map: {u: v, T: T}, from: r}
  a: {filter: ["u > 1"], from: z}""",
    ),
    "a filter and a table": (
        """
  a: {join: "left.g = right.g", left: r, right: table}
  z: {filter: ["v > 1"], from: a}""",
        "z a",
        """
  z: {filter: ["v > 1"], from: r}
  a: {join: "left.g = right.g", left: z, right: table}""",
    ),
    "a filter and an explode": (
        """
  a: {explode: "split(w, 'b')", as: part, from: r}
  z: {filter: ["v > 1"], from: a}""",
        "z a",
        """
  z: {filter: ["v > 1"], from: r}
  a: {explode: "split(w, 'b')", as: part, from: z}""",
    ),
    "a box of the user's that chooses": (
        f"""
  a: {{map: {{v: v, T: T, up: "upper(w)"}}, from: r}}
  b: {{filter: ["T > 3"], from: a}}
  z: {{{
            EVEN.replace("FROM", "b")
            .replace("g int, T int, v bigint, w string", "v bigint, T int, up string")
            .replace("[g, T, v, w]", "[v, T, up]")
        }}}""",
        "z b a",
        f"""
  z: {{{EVEN.replace("FROM", "r")}}}
  b: {{filter: ["T > 3"], from: z}}
  a: {{map: {{v: v, T: T, up: "upper(w)"}}, from: b}}""",
    ),
    "a filter and a box of the user's that adds a field": (
        f"""
  a: {{{TWICE.replace("FROM", "r")}}}
  z: {{filter: ["T > 3"], from: a}}""",
        "z a",
        f"""
  z: {{filter: ["T > 3"], from: r}}
  a: {{{TWICE.replace("FROM", "z")}}}""",
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_an_order_is_the_network_that_it_says(name: str) -> None:
    before, order, after = PAIRS[name]
    found, wanted = arrange_chain(chain_of(before), order.split()), arranged_text(after, order.split())
    assert found is not None
    assert shown(found) == shown(wanted)


def arranged_text(boxes: str, order: list[str]) -> Any:
    """The chain of a text whose last box is not the one that goes out."""
    (chain,) = find_chains(plan_network(network_of(boxes, f"{{out: {order[-1]}}}")))
    assert list(chain.names) == order
    return chain


@pytest.mark.parametrize(
    ("boxes", "order"),
    [
        ("  a: {map: {x: 'upper(w)'}, from: r}\n  z: {filter: [\"x = 'A'\"], from: a}", "z a"),
        ("  a: {map: {x: 'arrival_time()'}, from: r}\n  z: {filter: ['x is null'], from: a}", "z a"),
        ("  a: {map: {x: v}, from: r}\n  z: {map: {y: x}, from: a}", "z a"),
        ("  a: {explode: \"split(w, 'b')\", as: w, from: r}\n  z: {filter: [w is null], from: a}", "z a"),
        (
            "  a: {join: 'left.g = right.g', left: r, right: table}\n  z: {filter: [name is null], from: a}",
            "z a",
        ),
        (
            f"  a: {{{TWICE.replace('FROM', 'r')}}}\n  z: {{filter: ['n = 1'], from: a}}",
            "z a",
        ),
        # Both say in which order rows of one arrival are.
        (
            f"""  a: {{join: "left.g = right.g", left: r, right: table}}
  b: {{map: {{g: g, T: T, v: v, w: w}}, from: a}}
  z: {{{EVEN.replace("FROM", "b")}}}""",
            "z a b",
        ),
        ("  a: {filter: ['v > 1'], from: r}\n  z: {filter: ['g = 1'], from: a}", "z z"),
    ],
)
def test_an_order_that_would_be_another_network_is_refused(boxes: str, order: str) -> None:
    assert arrange_chain(chain_of(boxes), order.split()) is None


@pytest.mark.parametrize(
    ("boxes", "outputs", "found"),
    [
        ("  a: {filter: ['v > 1'], from: r}\n  z: {filter: [g = 1], from: a}", "{out: z, all: a}", []),
        ("  a: {filter: ['v > 1'], from: r}\n  z: {filter: [g = 1], from: a}", "{out: z, not: z.rest}", []),
        ("  a: {filter: ['v > 1'], from: r}\n  z: {filter: [g = 1], from: a.rest}", "{out: z}", [("a", "z")]),
        (
            "  a: {filter: ['v > 1'], from: r}\n  b: {filter: ['g > 1'], from: a}\n"
            "  s: {bsort: {}, from: b, order: {on: T, group_by: [g]}}\n  c: {filter: ['v > 1'], from: s}\n"
            "  z: {map: {v: v}, from: c}",
            "{out: z}",
            [("a", "b"), ("c", "z")],
        ),
        (
            "  a: {filter: ['v > 1'], from: r}\n  b: {filter: [g = 1], from: a}\n"
            "  z: {aggregate: {n: count(*)}, from: r, order: {on: T, group_by: [g], clock: a}, size: 3}",
            "{out: z, more: b}",
            [],
        ),
        (
            f"  a: {{{EVEN.replace('FROM', 'r').replace(', commutes: [v]', '')}}}\n  z: {{filter: [g = 1], from: a}}",
            "{out: z}",
            [],
        ),
    ],
)
def test_a_chain_has_no_second_reader(boxes: str, outputs: str, found: list[tuple[str, ...]]) -> None:
    assert [chain.names for chain in find_chains(plan_network(network_of(boxes, outputs)))] == found


def test_a_plan_that_is_rewritten_has_the_state_and_the_ways_of_the_other() -> None:
    plan = plan_network(network_of(PAIRS["filters"][0]))
    other = rewrite_plan(plan, (("z", "b", "a"),))
    assert [box.name for box in other.stages[0].boxes] == ["z"] and other.entries == plan.entries
    assert other is rewrite_plan(plan, (("z", "b", "a"),)), "made once"
    assert rewrite_plan(plan, ()) is plan
    for stream in ("a.1", "b.2", "b.1", "z.rest"):
        looked_at = rewrite_plan(plan, (("z", "b", "a"),), (stream,))
        assert [box.name for box in looked_at.stages[0].boxes] == ["a", "b", "z"], stream
    assert len(rewrite_plan(plan, (("z", "b", "a"),), ("z.1", "r")).stages[0].boxes) == 1
    assert len(rewrite_plan(plan, (("z", "b"), ("a", "q"))).stages[0].boxes) == 3, "of another network"


# Boxes that can stand behind each other in any order: all of them give the fields of the input again.
BOXES = {
    "f": 'filter: ["v > 3"], from: FROM',
    "h": 'filter: ["T % 2 = 0", "v < 6"], from: FROM',
    "k": 'filter: ["w like \'a%\'", "g = 1"], from: FROM',
    "e": EVEN,
    "m": 'map: {g: g, T: T, v: v, w: "upper(w)"}, from: FROM',
    "n": 'map: {g: g, T: "T + 1", v: "v * 2", w: w}, from: FROM',
    "j": 'join: "left.g = right.g", left: FROM, right: table, outer: left',
    "t": TWICE,
    "x": "explode: \"split(w, 'b')\", as: part, outer: true, from: FROM",
    "u": 'map: {g: "g - 1", T: "-T", v: v, w: w}, from: FROM',
}
PORTS = {"h": ["1", "2", "rest"], "k": ["1", "2", "rest"], "f": ["1", "rest"]}
TABLE = pa.RecordBatch.from_pylist(
    [{"g": 1, "name": "one"}, {"g": 2, "name": "two"}, {"g": 1, "name": "uno"}],
    pa.schema({"g": pa.int32(), "name": pa.string()}),
)


@st.composite
def networks(draw: Any) -> tuple[str, list[tuple[str, ...]]]:
    """A random chain, perhaps with a window behind it, and orders in which it may work."""
    kinds = draw(st.lists(st.sampled_from(sorted(BOXES)), min_size=2, max_size=5))
    lines, behind = [], "r"
    for number, kind in enumerate(kinds):
        name = "z" if number == len(kinds) - 1 else f"b{number}"
        lines.append(f"  {name}: {{{BOXES[kind].replace('FROM', behind)}}}")
        behind = f"{name}.{draw(st.sampled_from(PORTS.get(kind, ['1'])))}"
        if kind in "jtx":
            # Without the fields that these add.
            lines[-1] = lines[-1].replace(f"  {name}:", f"  {name}x:")
            lines.append(f"  {name}: {{map: {{g: g, T: T, v: v, w: w}}, from: {name}x}}")
    lines.append(f"  last: {{map: {{v: v, T: T, g: g}}, from: {behind}}}")
    if draw(st.booleans()):
        lines.append(
            "  sums: {aggregate: {s: sum(v), l: last(T)}, from: last, order: {on: '#', group_by: [g]}, size: 2}"
        )
    text = "\n".join(lines)
    chain = find_chains(plan_network(network(text)))[0]
    orders = [chain.names]
    for _ in range(draw(st.integers(1, 4))):
        found = chain
        for place in draw(st.lists(st.integers(0, len(chain.links) - 2), max_size=12)):
            found = found.swapped(place) or found
        orders.append(found.names)
    return text, orders


def network(boxes: str) -> Network:
    return network_of(boxes, "{out: sums}" if "sums:" in boxes else "{out: last}")


def rows() -> Any:
    value = st.one_of(st.none(), st.integers(0, 9))
    text = st.sampled_from([None, "a", "ab", "b", ""])
    fields = {"g": st.one_of(st.none(), st.integers(0, 3)), "T": value, "v": value, "w": text}
    return st.lists(st.tuples(st.just(0), st.fixed_dictionaries(fields)), max_size=25)


def run_orders(boxes: str, orders: list[Any], arrivals: list[Arrival], cut: int, buckets: int) -> LocalRun:
    """The network on the arrivals, with another order in every batch."""
    run = LocalRun(plan_network(network(boxes)).with_tables({"table": TABLE}), buckets)
    starts = [*range(0, len(arrivals), cut), len(arrivals)]
    for number, start in enumerate(starts):
        order = orders[number % len(orders)] if orders else ()
        run.rewrites = (order,) if order else ()
        (train,) = trains(arrivals, (Schema.parse(SCHEMA),), start, start + cut)
        run.feed([("r", train)], Moment(0, 2 * start, end=start == starts[-1]))
    return run


@given(networks(), rows())
def test_rows_are_the_same_in_every_order(made: tuple[str, list[Any]], arrivals: list[Arrival]) -> None:
    boxes, orders = made
    for cut in choose_cuts(arrivals):
        wanted = run_orders(boxes, [], arrivals, cut, 2)
        for tried in (orders, [(), *orders[1:]], orders[-1:]):
            found = run_orders(boxes, tried, arrivals, cut, 2)
            assert found.rows("out") == wanted.rows("out")
            for one, other in zip(found.outputs["out"], wanted.outputs["out"], strict=True):
                assert one.arrived.tolist() == other.arrived.tolist()
            assert found.discarded == wanted.discarded and found.counts.keys() == wanted.counts.keys()


def test_boxes_that_work_as_one_are_counted_each_for_itself() -> None:
    boxes = """
  a: {map: {v: v, w: "upper(w)"}, from: r}
  b: {filter: ["v > 3"], from: a}
  last: {filter: ["v < 8"], from: b}"""
    arrivals: list[Arrival] = [(0, {"g": 1, "T": 1, "v": v, "w": "x"}) for v in range(10)]
    run = run_orders(boxes, [("last", "b", "a")], arrivals, 100, 1)
    assert [row["v"] for row in run.rows("out")] == [4, 5, 6, 7]
    taken = {name: (counts.taken, dict(counts.ports)) for name, counts in run.counts.items()}
    assert taken == {"last": (10, {"1": 8, "rest": 2}), "b": (8, {"1": 4, "rest": 4}), "a": (4, {"1": 4})}


def test_a_box_of_several_ports_counts_those_that_nobody_reads() -> None:
    boxes = """
  a: {filter: ["v > 7", "v > 3", "v > 1"], from: r}
  last: {filter: ["v < 6"], from: a.2}"""
    arrivals: list[Arrival] = [(0, {"g": 1, "T": 1, "v": v, "w": "x"}) for v in range(10)]
    for order, counts in (
        (("a", "last"), {"a": (10, {"1": 2, "2": 4, "3": 2, "rest": 2}), "last": (4, {"1": 2, "rest": 2})}),
        (("last", "a"), {"a": (6, {"1": 0, "2": 2, "3": 2, "rest": 2}), "last": (10, {"1": 6, "rest": 4})}),
    ):
        run = run_orders(boxes, [order], arrivals, 100, 1)
        assert [row["v"] for row in run.rows("out")] == [4, 5]
        assert {name: (done.taken, dict(done.ports)) for name, done in run.counts.items()} == counts


def test_work_is_told_for_the_network_as_it_is_written() -> None:
    """The seconds stay with the box; what it took and gave is what it would have, there."""
    plan = plan_network(network_of(PAIRS["filters"][0]))
    boxes = {
        "z": BoxWork(1000, {"1": 100, "rest": 900}, 0.5),
        "b": BoxWork(100, {"2": 50}, 0.2),
        "a": BoxWork(50, {"1": 40}, 0.1),
        "other": BoxWork(7, {"1": 7}, 0.1),
    }
    controls = Controls(rewrites=(("z", "b", "a"),))
    found = restore_work(Work(boxes), find_chains(plan), controls)
    assert found.boxes == {
        "a": BoxWork(1000, {"1": 800}, 0.1),
        "b": BoxWork(800, {"2": 400}, 0.2),
        "z": BoxWork(400, {"1": 40, "rest": 360}, 0.5),
        "other": boxes["other"],
    }
    for other in (Controls(), Controls(rewrites=controls.rewrites, drops=(Drop("a.1", 10),))):
        assert restore_work(Work(boxes), find_chains(plan), other) == Work(boxes)
    nothing = {**boxes, "z": BoxWork(1000, {"1": 0}, 0.5), "a": BoxWork(0, {}, 0.0), "b": BoxWork(0, {}, 0.0)}
    restored = restore_work(Work(nothing), find_chains(plan), controls).boxes
    assert [restored[name].taken for name in "abz"] == [1000, 1000, 1000]
