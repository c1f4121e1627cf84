"""Drop boxes: which tuples they leave out, and that a batch that is run again leaves out the same."""

import numpy as np
import pyarrow as pa
import pytest

from aurora import Memory, from_text
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Train
from aurora.engine.controls import Controls
from aurora.engine.drops import SHED, WHOLE, Drop, drop_tuples
from aurora.engine.local import LocalRun
from aurora.engine.plan.narrowing import insert_projections
from aurora.engine.plan.plan import plan_network
from aurora.engine.plan.rewriting import find_chains, is_pinned

SCHEMA = Schema.parse("Sid int, Time int")
NETWORK = """
network: counts
inputs: {reports: {schema: "Sid int, Time int"}}
boxes:
  even: {filter: ["Sid % 2 = 0"], from: reports}
  count: {aggregate: {N: "count(*)"}, from: even, size: 10, order: {on: Time, group_by: [Sid]}}
outputs:
  counts: {from: count}
  odd: {from: even.rest}
"""


def make_train(rows: int, first: int = 0) -> Train:
    batch = pa.record_batch(
        {"Sid": np.arange(rows, dtype=np.int32) % 8, "Time": np.arange(rows, dtype=np.int32) // 8},
        SCHEMA.arrow(),
    )
    return Train(batch, np.zeros(rows, np.int64), (first + 2 * np.arange(rows))[None])


@pytest.mark.parametrize("millionths", [0, 1000, 250_000, 990_000, WHOLE])
def test_the_share_is_kept_to(millionths: int) -> None:
    left, number = drop_tuples(make_train(100_000), SCHEMA, [Drop("reports", millionths)])
    assert len(left) + number == 100_000
    assert abs(number / 100_000 - millionths / WHOLE) < 0.005


def test_a_tuple_is_chosen_by_its_place_however_the_stream_is_cut() -> None:
    whole, drop = make_train(1000), [Drop("reports", 400_000)]
    pieces = [drop_tuples(whole.slice(start, 77), SCHEMA, drop)[0] for start in range(0, 1000, 77)]
    assert Train.concat(pieces).rows == drop_tuples(whole, SCHEMA, drop)[0].rows


def test_a_larger_share_takes_what_a_smaller_one_took_and_streams_differ() -> None:
    train = make_train(1000)
    few, many, other = (
        set(drop_tuples(train, SCHEMA, [drop])[0].keys[0].tolist())
        for drop in (Drop("reports", 200_000), Drop("reports", 500_000), Drop("even.1", 500_000))
    )
    assert many < few and other != many


def test_only_what_meets_the_condition_is_left_out() -> None:
    left, number = drop_tuples(make_train(800), SCHEMA, [Drop("reports", WHOLE, "Sid >= 2 AND Sid < 4")])
    assert number == 200 and set(left.rows["Sid"].to_pylist()) == {0, 1, 4, 5, 6, 7}


def run(drops: tuple[Drop, ...], cuts: list[int], buckets: int = 2) -> LocalRun:
    made = LocalRun(plan_network(from_text(NETWORK)), buckets)
    made.drops = drops
    rows = make_train(4000).rows
    made.read({"reports": Memory.of(SCHEMA, rows)}, cuts)
    return made


def test_a_run_sheds_on_any_stream_and_counts_it() -> None:
    whole = run((), [700])
    shed = run((Drop("even.1", 300_000), Drop("even.rest", 500_000)), [700])
    dropped = {
        stream: count.discarded[SHED] for stream, count in shed.counts.items() if SHED in count.discarded
    }
    assert set(dropped) == {"even.1", "even.rest"}
    assert len(shed.rows("odd")) == len(whole.rows("odd")) - dropped["even.rest"]
    counted = sum(row["N"] for row in shed.rows("counts"))
    assert counted == sum(row["N"] for row in whole.rows("counts")) - dropped["even.1"]


def test_a_batch_that_is_run_again_sheds_the_same() -> None:
    first = run((Drop("reports", 500_000),), [500, 900])
    assert first.rows("odd") == run((Drop("reports", 500_000),), [500, 900], buckets=3).rows("odd")


def test_drops_ride_in_the_controls() -> None:
    controls = Controls(drops=(Drop("reports", 10), Drop("even.1", WHOLE, "Sid = 1")))
    assert Controls.from_json(controls.to_json()) == controls


def test_a_drop_box_before_one_box_leaves_the_other_readers_alone() -> None:
    text = NETWORK.replace(
        "outputs:", "  all: {map: {Sid: Sid}, from: reports}\noutputs:\n  every: {from: all}"
    )
    made = LocalRun(plan_network(from_text(text)), 2)
    made.drops = (Drop("reports", 500_000, box="even"),)
    made.read({"reports": Memory.of(SCHEMA, make_train(4000).rows)}, [700])
    assert len(made.rows("every")) == 4000
    dropped = made.counts["reports to even"].discarded[SHED]
    assert 1800 < dropped < 2200 and made.counts["even"].taken == 4000 - dropped


NARROWED = """
network: narrowed
inputs: {r: {schema: "Sid int, Time int, Note string"}}
boxes:
  notes: {filter: ["Note = 'n'"], from: r}
  sums: {aggregate: {N: "count(*)"}, from: r, size: 10, order: {on: Time, group_by: [Sid]}}
  others: {aggregate: {N: "count(*)"}, from: r, size: 7, order: {on: Time, group_by: [Sid]}}
  all: {aggregate: {N: "count(*)"}, from: r, size: 10, align: true, order: {on: Time, clock: stream}}
outputs: {notes: notes, sums: sums, others: others, all: all}
"""


@pytest.mark.parametrize("name", ["notes", "sums", "others", "all"])
def test_a_drop_box_before_a_box_whose_stream_was_narrowed_leaves_the_same_tuples_out(name: str) -> None:
    """Boxes with state read a stream of fewer fields; `all` works in two steps."""
    found = []
    for insert in (lambda network: network, insert_projections):
        plan = plan_network(insert(from_text(NARROWED)))
        made = LocalRun(plan, 2)
        made.drops = (Drop("r", 500_000, box=name),)
        rows = make_train(4000).rows.append_column("Note", pa.array(["n", "x"] * 2000))
        made.read({"r": Memory.of("Sid int, Time int, Note string", rows)}, [700])
        found.append(({name: made.rows(name) for name in made.outputs}, made.discarded))
    assert "all" in plan.steps.values() and len(plan.narrowed) == 1
    assert found[0] == found[1] and 1800 < found[0][1][SHED] < 2200


CHAIN = """
network: chain
inputs: {r: {schema: "Sid int, Time int"}}
boxes:
  slow: {map: {Sid: Sid, Time: Time, Same: "Sid * 2"}, from: r}
  few: {filter: ["Sid < 3"], from: slow}
  other: {filter: ["Sid = 1"], from: r}
outputs: {few: few, other: other}
"""


def test_a_chain_behind_a_drop_box_keeps_its_order_and_loses_the_same_tuples() -> None:
    drops = (Drop("r", 400_000, box="slow"), Drop("r", 500_000, "Time % 2 = 0", "slow"))
    found = []
    for rewrites in ((), (("few", "slow"),)):
        made = LocalRun(plan_network(from_text(CHAIN)), 2)
        made.drops, made.rewrites = drops, rewrites
        made.read({"r": Memory.of(SCHEMA, make_train(4000).rows)}, [700])
        found.append((made.rows("few"), made.rows("other"), made.discarded, made.counts["slow"].taken))
    assert found[0][:3] == found[1][:3] and len(found[0][1]) == 500
    assert found[1][3] < found[0][3] / 2, "the filter went first"


def test_a_chain_stays_as_it_is_around_a_drop_box_inside_it() -> None:
    (chain,) = find_chains(plan_network(from_text(CHAIN)))
    inside = (Drop("slow.1"), Drop("slow.1", box="few"))
    outside = (Drop("r"), Drop("r", box="slow"), Drop("r", box="other"), Drop("few.1"))
    assert [is_pinned(chain, Controls(drops=(drop,)).streams) for drop in inside] == [True] * 2
    assert [is_pinned(chain, Controls(drops=(drop,)).streams) for drop in outside] == [False] * 4
