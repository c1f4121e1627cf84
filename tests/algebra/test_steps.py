"""Windows without a key, in two steps: what comes out, and all that is known of it, is as in one."""

from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aurora import Network, from_text
from aurora.algebra.state.turn import Moment
from aurora.algebra.windows.functions.sums import WholeMean
from aurora.engine.drops import Drop
from aurora.engine.local import LocalRun
from aurora.engine.plan import plan as planning
from aurora.engine.plan.explain import describe_stages
from aurora.engine.plan.plan import plan_network
from tests.algebra.harness import Arrival, trains
from tests.algebra.strategies import arrivals, groups, nearly_rising
from tests.thoroughness import examples

BUCKETS = (1, 2, 5)
FEW = settings(max_examples=examples(4, settings().max_examples // 4))
FIELDS = "g int, T int, v bigint"
ROWS = arrivals(nearly_rising(st.integers(-3, 3), least=4), inputs=2, g=groups, v=st.integers(0, 3))

# Functions of all kinds that are exact wherever tuples are.
FUNCTIONS = {
    "n": "count(*)",
    "s": "sum(v)",
    "m": "avg(v)",
    "low": "min(g)",
    "d": "count(DISTINCT v)",
    "a": "approx_count_distinct(v)",
    "p": "percentile(v, 0.3)",
    "f": "mode(v)",
    "c": "sum(CAST(v AS decimal(9, 2)))",
    "r": "max(v) - min(v)",
}
CLOCKED = {"on": "T", "slack": {"value": 1}, "clock": "stream"}


def in_one_step(network: Network, **options: Any) -> planning.Plan:
    with patch.object(planning, "find_steps", lambda *_: None):
        return plan_network(network, **options)


def build(kind: str, **words: Any) -> Network:
    """A box over one input, whose clock may be another, with boxes in front of it and behind."""
    network = Network(kind)
    first, second = network.input("in0", FIELDS), network.input("in1", FIELDS)
    stream = {
        "explode": lambda: first.explode("array(v, v, 1L)", "w", name="several"),
        "keyed": lambda: first.aggregate(
            {"v": "count(*)"},
            order={**CLOCKED, "group_by": ["g"]},
            size=2,
            advance=1,
            align=True,
            name="by_g",
        ),
        "union": lambda: first.union(second, name="both"),
    }.get(words.pop("of", ""), lambda: first)()
    words = {"order": CLOCKED, "size": 3, "align": True, "name": "box", **words}
    if kind == "top":
        best = {"k": words.pop("k", 1), "by": "v DESC", "ties": words.pop("ties", False), "rank": "place"}
        made = stream.top(best, **words)
    else:
        made = stream.aggregate(words.pop("functions", FUNCTIONS), **words)
    network.output("out", made)
    field = "window_start" if kind == "top" else "T"
    # By whose progress it goes.
    behind = {"on": field, "clock": "stream"}
    network.output("later", made.aggregate({"n": "count(*)"}, order=behind, size=6, align=True, name="later"))
    return network


def found_by(run: LocalRun) -> dict[str, Any]:
    return {
        name: [
            (row, arrived, key)
            for train in trains_of
            for row, arrived, key in zip(
                train.rows.to_pylist(), train.arrived.tolist(), train.keys.T.tolist(), strict=True
            )
        ]
        for name, trains_of in run.outputs.items()
    }


def counted_by(run: LocalRun) -> dict[str, Any]:
    return {name: (c.taken, +c.ports, +c.discarded) for name, c in run.counts.items()}


def run_plan(plan: planning.Plan, rows: list[Arrival], cut: int, buckets: int, restart: int = -1) -> LocalRun:
    """With `restart`, another process goes on before that batch."""
    names, schemas = zip(*plan.inputs, strict=True)
    run = LocalRun(plan, buckets)
    starts = [*range(0, len(rows), cut), len(rows)]
    for number, start in enumerate(starts):
        if number == restart:
            later = run.restarted()
            later.outputs, later.counts, run = run.outputs, run.counts, later
        batch = zip(names, trains(rows, schemas, start, start + cut), strict=True)
        run.feed(batch, Moment(0, 2 * start, end=start == starts[-1]))
    return run


VARIANTS: list[dict[str, Any]] = [
    {"kind": "aggregate"},
    {"kind": "aggregate", "advance": 1},
    {"kind": "aggregate", "size": 2, "advance": 5},
    {"kind": "aggregate", "of": "explode"},
    {
        "kind": "aggregate",
        "advance": 1,
        "functions": {"sum": "sum(v / 7)", "mean": "avg(v / 3.7e0)", "means": "avg(DISTINCT v / 7)"},
    },
    {"kind": "aggregate", "of": "keyed", "functions": {"n": "count(*)", "most": "max(v)"}},
    {"kind": "aggregate", "order": {**CLOCKED, "clock": "in1"}},
    {"kind": "top"},
    {"kind": "top", "ties": True},
    {"kind": "top", "k": 3, "advance": 2},
    {"kind": "top", "k": 2, "ties": True, "of": "explode"},
    {"kind": "top", "k": 2, "of": "keyed"},
    {"kind": "top", "ties": True, "of": "keyed"},
    {"kind": "top", "k": 2, "of": "union", "order": {**CLOCKED, "clock": "in1"}},
]


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@FEW
@given(ROWS, st.sampled_from(BUCKETS), st.booleans(), st.sampled_from([1, 3, 10**6]), st.integers(1, 4))
def test_rows_places_times_and_counts_are_as_in_one_step(
    variant: dict[str, Any], rows: list[Arrival], buckets: int, fuse: bool, cut: int, restart: int
) -> None:
    network = build(**variant)
    wanted = run_plan(in_one_step(network), rows, len(rows) + 1, 1)
    plan = plan_network(network, fuse=fuse)
    assert "box" in plan.steps.values()
    run = run_plan(plan, rows, cut, buckets, restart)
    assert found_by(run) == found_by(wanted)
    assert counted_by(run) == counted_by(wanted)


def some_rows(count: int) -> list[Arrival]:
    """Late ones, ties, and a gap in which windows are empty."""
    times = [i // 4 - (9 if i % 11 == 7 else 0) + (20 if i > count // 2 else 0) for i in range(count)]
    return [(0, {"g": i % 3, "T": times[i], "v": i * 7 % 4}) for i in range(count)]


@pytest.mark.parametrize("buckets", BUCKETS)
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_a_restart_in_mid_window_changes_nothing(variant: dict[str, Any], buckets: int) -> None:
    network, rows = build(**variant), some_rows(60)
    whole = run_plan(in_one_step(network), rows, 100, 1)
    for restart in (1, 4, 8):
        run = run_plan(plan_network(network), rows, 7, buckets, restart)
        assert found_by(run) == found_by(whole)
        assert counted_by(run) == counted_by(whole)
    if "order" not in variant and "of" not in variant:
        assert whole.counts["box"].discarded["out of order"] > 0


@pytest.mark.parametrize("buckets", BUCKETS)
def test_ties_in_different_buckets_come_as_they_arrived(buckets: int) -> None:
    network = build("top", k=4, size=10, order={**CLOCKED, "slack": {"value": 9}})
    # Of equals the one with the smaller T is first, then the one that came first.
    rows = [
        (0, {"g": i, "T": time, "v": value})
        for i, (time, value) in enumerate([(5, 1), (4, 2), (4, 2), (5, 2), (3, 2), (2, 0)])
    ]
    run = run_plan(plan_network(network), rows, 100, buckets)
    assert [(row["g"], row["place"]) for row in run.rows("out")] == [(4, 1), (1, 2), (2, 3), (3, 4)]


def test_every_bucket_has_its_share_and_the_second_step_keeps_nothing() -> None:
    network = build("aggregate")
    del network.outputs["later"]
    plan = plan_network(network)
    names, schemas = zip(*plan.inputs, strict=True)
    run = LocalRun(plan, 4)
    rows = [(0, {"g": 1, "T": 7, "v": i}) for i in range(100)]
    run.feed(zip(names, trains(rows, schemas, 0, 100), strict=True), Moment())
    sizes = [run.stored[1, bucket].size("box:in parts") for bucket in range(4)]
    assert min(sizes) > 0 and not any(run.stored[2, bucket].size() for bucket in range(4))
    assert [plan.forgets(stage) for stage in plan.stages] == [True, False, True]


def test_tuples_stay_where_a_box_with_another_key_has_made_them() -> None:
    plan = plan_network(build("top", of="keyed"))
    assert [[box.name for box in stage.boxes] for stage in plan.stages] == [
        [],
        ["by_g", "box:in parts"],
        ["box", "later"],
    ]


def test_what_is_in_one_bucket_already_is_not_spread() -> None:
    network = Network("behind")
    stream = network.input("in0", FIELDS).bsort(CLOCKED, name="sorted")
    words = {"order": {"on": "T", "clock": "stream"}, "size": 2, "align": True, "name": "box"}
    network.output("out", stream.aggregate({"n": "count(*)"}, **words))
    plan = plan_network(network)
    assert not plan.steps and len(plan.stages) == 2


REASONS = {
    "keyed": {"order": {**CLOCKED, "group_by": ["g"]}},
    "by the tuples of the group": {"order": {"on": "T", "slack": 1}},
    "by count": {"order": {"on": "#"}, "size": 3, "align": False},
    "not aligned": {"align": False},
    "with a timeout": {"timeout": "1 second"},
    **{
        function: {"functions": {"x": function}}
        for function in (
            "first(v)",
            "last(v)",
            "collect_list(v)",
            "collect_set(v)",
            "min_by(v, T)",
            # The last digit, or the sign of a zero, would show who met whom.
            "stddev(v)",
            "skewness(v)",
            "max(CAST(v AS double))",
        )
    },
}


@pytest.mark.parametrize("reason", REASONS)
def test_boxes_that_must_be_done_in_one_step(reason: str) -> None:
    network = Network("one")
    words = {"order": CLOCKED, "size": 3, "align": True, "name": "box", **REASONS[reason]}
    functions = words.pop("functions", {"n": "count(*)"})
    network.output("out", network.input("in0", FIELDS).aggregate(functions, **words))
    assert not plan_network(network).steps


def test_another_plan_than_in_one_step() -> None:
    network = build("top")
    assert plan_network(network).fingerprint() != in_one_step(network).fingerprint()


def test_explained() -> None:
    text = f"""
inputs: {{bids: {{schema: "{FIELDS}"}}}}
boxes:
  best: {{top: {{k: 1, by: "v DESC"}}, from: bids, order: {{on: T, clock: stream}}, size: 10, align: true}}
outputs: {{out: best}}
"""
    assert describe_stages(plan_network(from_text(text))).splitlines()[2:] == [
        "stage 1 (with state in Spark's checkpoint)",
        "  -> bids evenly",
        "  -> the clock bids.T to every bucket",
        "     top best, first step: in every bucket, of the tuples there",
        "stage 2 (without state)",
        "  -> the parts of best to one bucket",
        "     top best, second step: the parts put together",
        "  => output out from best.1",
    ]


def test_drops_in_front_of_it_have_its_name() -> None:
    network = build("aggregate", functions={"n": "count(*)"})
    plan = plan_network(network)
    names, schemas = zip(*plan.inputs, strict=True)
    run = LocalRun(plan, 2)
    run.drops = (Drop("in0", where="v > 1", box="box"),)
    rows = [(0, {"g": 1, "T": 7, "v": i % 4}) for i in range(100)]
    run.feed(zip(names, trains(rows, schemas, 0, 100), strict=True), Moment(end=True))
    assert run.rows("out") == [{"T": 6, "n": 50}]
    assert run.counts["box"].taken == 50


def test_means_of_whole_numbers_are_exact_in_any_order() -> None:
    numbers = [2**62, 2**62 - 1, -(2**62), 5, -(2**61), None, 3, 2**53 + 1]
    column = pa.array(numbers, pa.int64())
    mean = WholeMean()
    whole = mean.over([column], np.array([0]), len(column))
    some = [number for number in numbers if number is not None]
    assert whole.to_pylist() == [pytest.approx(sum(some) / len(some), rel=1e-15)]
    for cut in range(1, len(numbers)):
        lifted = [each.slice(0) for each in mean.lift([column], len(column))]
        parts = mean.combine(lifted, np.array([0, cut]))
        turned = [each.take(pa.array([1, 0])) for each in parts]
        assert mean.finish(mean.combine(turned, np.array([0]))).equals(whole)
    assert mean.over([pa.nulls(2, pa.int64())], np.array([0]), 2).to_pylist() == [None]
