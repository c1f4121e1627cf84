"""A run that is held in the hand: paused, stepped, resumed, stopped."""

import threading
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from aurora import AuroraError, Memory, Network, Running, Settings, run, start
from aurora.engine.controls import ControlNotes, Controls
from aurora.engine.spark.scratch import remove_scratch
from tests.engine.brake import Brake

SCHEMA = "a int"


def copied() -> Network:
    network = Network("copied")
    network.output("all", network.input("rows", SCHEMA).map({"a": "a"}, name="copy"))
    return network


def rows(number: int) -> dict[str, Any]:
    return {"rows": Memory.of(SCHEMA, [{"a": i} for i in range(number)])}


def begin(number: int, found: list[int], settings: Settings, watch: Any = None) -> Running:
    sinks = {"all": lambda batch: found.extend(batch["a"].to_pylist())}
    return start(copied(), rows(number), sinks, settings, watch)


def test_pause_step_resume(spark: SparkSession) -> None:
    found: list[int] = []
    brake = Brake()
    with begin(40, found, Settings(batch=5), brake) as running:
        assert running.state == "running"
        brake.pull(running)
        assert running.state == "paused"
        before = running.statistics()
        assert before.batches == 1
        running.step(2)
        reports = running.batches()
        seen = [next(reports) for _ in range(before.batches + 2)]
        # A pause returns when the source stands still: no third batch comes behind the two.
        running.pause()
        after = running.statistics()
        assert after.batches == before.batches + 2 and after.last == seen[-1]
        assert after.rows["all"] == before.rows.get("all", 0) + 10 == len(found)
        assert after.taken == {"copy": len(found)} and after.state == "paused"
        running.resume()
        result = running.wait()
        assert [*seen, *reports][-1].end
    assert running.state == "stopped" and result.ended and result.totals.rows["all"] == 40
    assert sorted(found) == list(range(40))
    assert running.wait() is result and running.stop() is result


def test_leaving_the_block_stops_the_run_and_another_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    found: list[int] = []
    settings = Settings(batch=4, checkpoint=str(tmp_path))
    brake = Brake()
    with begin(12, found, settings, brake) as running:
        brake.pull(running)
        running.step()
    assert running.state == "stopped" and not running.stop().ended
    assert len(found) <= 8
    with begin(12, found, settings) as running:
        batches = list(running.batches())
    assert batches[-1].end and sorted(set(found)) == list(range(12))
    with begin(12, found, settings) as running:
        assert running.state == "stopped" and running.wait().ended


def test_a_run_that_was_killed_while_it_was_paused_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    found: list[int] = []
    settings = Settings(batch=4, checkpoint=str(tmp_path))
    brake = Brake()
    with begin(12, found, settings, brake) as running:
        brake.pull(running)
    # This is what a kill leaves behind.
    ControlNotes(str(tmp_path)).order(9, Controls(paused=True))
    with begin(12, found, settings) as running:
        assert running.state != "paused" and running.wait().ended
    assert sorted(set(found)) == list(range(12))


def test_an_event_stops_a_run(spark: SparkSession, tmp_path: Path) -> None:
    stop = threading.Event()
    result = run(
        copied(), rows(1000), {"all": lambda rows: None}, Settings(batch=1, checkpoint=str(tmp_path)),
        lambda report: stop.set(), stop,
    )  # fmt: skip
    assert not result.ended and 1 <= result.totals.rows["all"] < 1000


def test_a_fault_of_a_sink_comes_as_it_was(spark: SparkSession, tmp_path: Path) -> None:
    def broken(rows: object) -> None:
        raise ValueError("the printer is on fire")

    settings = Settings(checkpoint=str(tmp_path))
    with pytest.raises(AuroraError, match="sink all: ValueError: the printer is on fire") as told:
        run(copied(), rows(3), {"all": broken}, settings)
    assert isinstance(told.value.__cause__, ValueError)


def test_a_run_is_not_stopped_from_within(spark: SparkSession, tmp_path: Path) -> None:
    own: list[Running] = []
    held = threading.Event()

    def stopped(_: object) -> None:
        held.wait(60)
        own[0].stop()

    running = start(copied(), rows(3), {"all": stopped}, Settings(checkpoint=str(tmp_path)))
    own.append(running)
    held.set()
    with pytest.raises(AuroraError, match="from its own watch or sink"), running:
        running.wait()


@pytest.mark.parametrize("number", [0, -1])
def test_steps_and_trains_have_a_length(spark: SparkSession, number: int, tmp_path: Path) -> None:
    with begin(1, [], Settings(checkpoint=str(tmp_path))) as own:
        with pytest.raises(AuroraError, match=f"a step is 1 batch or more, found {number}"):
            own.step(number)
        with pytest.raises(AuroraError, match=f"a train has 1 row or more, found {number}"):
            own.set_train_length(number)


def test_a_batch_takes_some_time() -> None:
    with pytest.raises(
        AuroraError,
        match=r"batch_seconds is a number of seconds above 0 .*, found 0",
    ):
        Settings(batch_seconds=0)


def test_nothing_of_a_run_stays_on_the_local_disk(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "scratch" / "1-0"
    folder.parent.mkdir(0o700)
    folder.mkdir()
    (folder / "copy").write_text("x")
    remove_scratch(spark, str(tmp_path / "scratch"))
    assert not (tmp_path / "scratch").exists()
