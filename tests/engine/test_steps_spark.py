"""Windows without a key on Spark: spread over all buckets, put together in a stage that keeps nothing."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from aurora import AuroraError, Network, Settings, TextSink, from_text, run
from aurora.algebra.state.turn import Moment
from aurora.engine.local import LocalRun
from aurora.engine.plan.buckets import labels
from aurora.engine.plan.plan import plan_network
from aurora.engine.sources.in_memory.memory import Memory
from aurora.engine.spark.stage_task import make_short_stop
from aurora.engine.wagons import SINKS, Job, Lane, Wagon, to_arrow

SCHEMA = "Time int, Price int"
TEXT = f"""
inputs: {{bids: {{schema: "{SCHEMA}"}}}}
boxes:
  best:
    top: {{k: 2, by: "Price DESC", ties: true}}
    from: bids
    order: {{on: Time, slack: {{value: 3}}, clock: stream}}
    size: 10
    align: true
  all:
    aggregate: {{n: "count(*)", prices: "count(DISTINCT Price)", mean: "avg(Price)"}}
    from: bids
    order: {{on: Time, slack: {{value: 3}}, clock: stream}}
    size: 20
    advance: 10
    align: true
outputs: {{best: best, all: all}}
"""
# Some come late.
ROWS = [{"Time": i // 3 - i % 7, "Price": i * 17 % 11} for i in range(300)]


def network() -> Network:
    return from_text(TEXT)


def text_of(rows: pa.RecordBatch, _: object) -> bytes:
    return "".join(f"{row}\n" for row in rows.to_pylist()).encode()


def test_a_run_that_failed_goes_on_in_mid_window(spark: SparkSession, tmp_path: Path) -> None:
    wanted = LocalRun(plan_network(network()))
    wanted.read({"bids": Memory.of(SCHEMA, ROWS)})
    lines = "".join(f"{row['Time']},{row['Price']}\n" for row in ROWS)
    (tmp_path / "bids.csv").write_text(lines)
    calls: list[int] = []

    def write(rows: pa.RecordBatch, arrived: object) -> bytes:
        calls.append(rows.num_rows)
        if len(calls) == 3:
            raise OSError(28, "No space left on device")
        return text_of(rows, arrived)

    sinks = {"best": TextSink(f"{tmp_path}/best.txt", write), "all": TextSink(f"{tmp_path}/all.txt", text_of)}
    sources, settings = {"bids": f"csv:{tmp_path}/bids.csv"}, Settings(batch=37, partitions=2)
    with pytest.raises(AuroraError, match="No space left"):
        run(network(), sources, sinks, settings)
    result = run(network(), sources, sinks, settings)
    for name in ("best", "all"):
        rows = [f"{row}" for row in wanted.rows(name)]
        assert (tmp_path / f"{name}.txt").read_text().splitlines() == rows and len(rows) > 9
        totals, counts = result.totals, wanted.counts[name]
        assert (totals.taken[name], totals.given[name]) == (counts.taken, counts.given) == (300, len(rows))
        assert totals.discarded[name] == counts.discarded and counts.discarded.total() > 0
        assert name in totals.nanoseconds and f"{name}:in parts" not in totals.nanoseconds


def test_what_is_for_others_passes_a_stage_that_keeps_nothing(tmp_path: Path) -> None:
    plan = plan_network(network())
    job = Job(plan, 2, {}, str(tmp_path))
    assert [plan.forgets(stage) for stage in plan.stages] == [True, False, True]
    label = labels(2)[0]
    passing = [Wagon(0, SINKS, Lane.PLACES, b"{}"), Wagon(label, SINKS, Lane.OUTPUTS, b"rows")]
    moments = [wagon for wagon in job.moments(2, Moment(end=True)) if wagon.bucket == label]
    given = make_short_stop(job, 2, iter([to_arrow(passing[:1]), to_arrow([*moments, *passing[1:]])]))
    found = [Wagon(*row.values()) for batch in given for row in batch.to_pylist()]
    assert found[:2] == passing
    assert {wagon.lane for wagon in found[2:]} == {Lane.COUNTS, Lane.MOMENT}
    # Labels that are none of the stage's bring nothing with them.
    assert [b.to_pylist() for b in make_short_stop(job, 2, iter([to_arrow(passing)]))] == [
        to_arrow(passing).to_pylist()
    ]
