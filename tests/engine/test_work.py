"""What a batch did, as its tasks tell it."""

import pytest
from pyspark.sql import SparkSession

from aurora import BatchReport, Memory, Network, Settings, run
from aurora.adapt.averages import Averages
from aurora.engine.work import BoxWork, InputWork, Work, sum_work


def part(taken: int, ports: dict[str, int], nanoseconds: int) -> dict[str, object]:
    return {"taken": taken, "ports": ports, "nanoseconds": nanoseconds, "discarded": {}}


def test_the_notes_of_all_tasks_are_summed_up() -> None:
    counts = [
        {"over": part(10, {"1": 4, "rest": 6}, 1_000_000_000), "relations of stage 1": part(0, {}, 0)},
        {"over": part(5, {"1": 5, "rest": 0}, 500_000_000)},
    ]
    reads = [
        {"input": "r", "rows": 10, "nanoseconds": 10**8, "waited": [200, 900]},
        {"input": "r", "rows": 5, "nanoseconds": 10**8, "waited": [100, 300]},
    ]
    found = sum_work(counts, reads, {"r": 7, "quiet": None}, 1500, apart=31_500)
    assert found == Work(
        {"over": BoxWork(15, {"1": 9, "rest": 6}, 1.5)},
        {"r": InputWork(15, 0.2, 7, (0.1, 0.9)), "quiet": InputWork(0, 0.0, None)},
        1.5,
        apart=31.5,
    )
    assert found.rows == 15 and round(found.seconds, 6) == 1.7


def test_a_run_tells_what_each_batch_did(spark: SparkSession) -> None:
    network = Network("work")
    over = network.input("r", "a int").filter("a % 4 = 0", name="over")
    network.output("far", over)
    network.output("near", over["rest"].map({"a": "-a"}, name="less"))
    reports: list[BatchReport] = []
    rows = Memory.of("a int", [{"a": i} for i in range(400)])
    sinks = {"far": lambda batch: None, "near": lambda batch: None}
    run(network, {"r": rows}, sinks, Settings(batch=100), reports.append)
    works = [report.work for report in reports if report.work.rows]
    assert [work.rows for work in works] == [100] * 4
    assert {frozenset(work.boxes["over"].given.items()) for work in works} == {
        frozenset({("1", 25), ("rest", 75)})
    }
    assert all(work.boxes["less"].taken == 75 and work.boxes["less"].seconds > 0 for work in works)
    assert all(work.inputs["r"].seconds > 0 for work in works)
    # The first batch has none before it.
    assert works[0].before is None and all(work.before is not None and work.before > 0 for work in works[1:])
    assert works[0].apart is None
    assert all(work.apart is not None and work.apart >= (work.before or 0.0) for work in works[1:])
    assert all(work.inputs["r"].waited == (0.0, 0.0) for work in works), (
        "rows of a file arrive when they are read"
    )
    averages = Averages()
    for report in reports:
        averages = averages.add(report)
    found = averages.figures(2)
    assert found.boxes["over"].selectivity == pytest.approx({"1": 0.25, "rest": 0.75})
    assert found.boxes["less"].selectivity == pytest.approx({"1": 1.0}) and found.row_cost > 0
