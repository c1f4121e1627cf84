"""Boxes that change places while a network runs on Spark: nothing of it is seen in the rows, not even after a kill."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from aurora import Memory, Network, Settings, start
from aurora.algebra.box.moving import arrange_chain
from aurora.engine.controls import Rewrites
from aurora.engine.plan.narrowing import insert_projections
from aurora.engine.plan.plan import plan_network
from aurora.engine.plan.rewriting import find_chains
from aurora.engine.spark_run import start_run
from aurora.engine.statistics import BatchReport
from tests.engine.brake import Brake
from tests.engine.restless import ORDERS, Restless, network, write_rows


def go(
    tmp_path: Path, name: str, settings: Settings, adviser: Any = None, until: int | None = None
) -> list[BatchReport]:
    seen: list[BatchReport] = []
    place = {"out": f"csv:{tmp_path}/{name}.csv"}
    sources = write_rows(tmp_path, 160)
    brake = None if until is None else Brake(until, seen.append)
    with start_run(network(), sources, place, settings, brake or seen.append, adviser=adviser) as run:
        if brake is None:
            run.wait()
        else:
            # So that no later batch is half begun when the run is stopped.
            brake.pull(run)
    return seen


@pytest.fixture
def whole(spark: SparkSession, tmp_path: Path) -> bytes:
    """What comes out where nothing changes."""
    go(tmp_path, "whole", Settings(partitions=2))
    return (tmp_path / "whole.csv").read_bytes()


def test_rows_are_the_same_and_a_batch_that_is_run_again_has_its_own_order(
    whole: bytes, tmp_path: Path
) -> None:
    checkpoint = tmp_path / "checkpoint"
    settings = Settings(batch=10, partitions=2, checkpoint=str(checkpoint))
    notes: dict[int, str] = {}

    class Keeping(Restless):
        def advise(self, report: BatchReport) -> Rewrites:
            notes[report.batch] = (checkpoint / "committed.json").read_text()
            return super().advise(report)

    first = go(tmp_path, "out", settings, Keeping, until=8)
    last = first[-1]
    assert len({report.controls.rewrites for report in first}) == len(ORDERS)
    # As if the run had been killed before it could note that the last batch was done.
    (checkpoint / "committed.json").write_text(notes[last.batch - 1])
    # A run that was killed has left it.
    (tmp_path / ".out.csv.staged").mkdir()
    for name in (str(last.batch), f".{last.batch}.crc"):
        (checkpoint / "spark" / "commits" / name).unlink(missing_ok=True)
    again = go(tmp_path, "out", settings)
    assert (again[0].batch, again[0].controls, again[0].rows) == (last.batch, last.controls, last.rows)
    assert again[1].controls.rewrites == ()
    assert again[-1].end and (tmp_path / "out.csv").read_bytes() == whole
    assert set(again[-2].work.boxes) == {"up", "odd", "few", "few:2", "sorted", "more", "some", "z"}


def test_the_orders_are_possible() -> None:
    """So that nothing is passed over in silence."""
    plan = plan_network(insert_projections(network()))
    orders = {frozenset(chain.names): chain for chain in find_chains(plan)}
    for rewrites in ORDERS:
        assert all(arrange_chain(orders[frozenset(order)], order) for order in rewrites)


def test_nothing_is_rearranged_where_the_settings_forbid_it(whole: bytes, tmp_path: Path) -> None:
    seen = go(tmp_path, "out", Settings(batch=40, partitions=2, optimise=False), Restless)
    assert {report.controls.rewrites for report in seen} == {()}
    assert (tmp_path / "out.csv").read_bytes() == whole


def costly() -> Network:
    """A map that costs much, and behind it a filter that drops nearly all."""
    made = Network("costly")
    rows = made.input("r", "a int, w string")
    slow = rows.map({"a": "a", "w": "regexp_replace(w, '[aeiou]+', '-')"}, name="slow")
    made.output("out", slow.filter("a % 1000 = 0", name="few"))
    return made


def test_a_network_rearranges_itself_by_what_it_measures(spark: SparkSession, tmp_path: Path) -> None:
    rows = [{"a": i, "w": "a quick brown fox jumps over the lazy dog"} for i in range(20_000)]
    source = {"r": Memory.of("a int, w string", rows * 10)}
    found: list[Any] = []
    orders: list[Rewrites] = []
    sink = {"out": lambda batch: found.extend(batch.to_pylist())}
    settings = Settings(batch=20_000, partitions=1)
    with start(
        costly(), source, sink, settings, lambda report: orders.append(report.controls.rewrites)
    ) as run:
        run.wait()
        (change,) = run.status()["changes"]
    assert (
        found
        == [{"a": i, "w": "- q-ck br-wn f-x j-mps -v-r th- l-zy d-g"} for i in range(0, 20_000, 1000)] * 10
    )
    assert orders[0] == () and orders[-1] == (("few", "slow"),)
    assert orders.index((("few", "slow"),)) == change["batch"]
    assert change["what"] == "few and slow work in this order" and "few gives 0.1%" in change["why"]
