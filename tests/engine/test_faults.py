"""Killed at any moment and started again, a run gives every row exactly once."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from aurora import Settings, run
from tests.engine.networks import ALL_BOXES, ZONES, all_boxes, beats, reports, written
from tests.engine.processes import PATIENCE, aurora, cluster, committed, kill, wait_for

OUTPUTS = ("each", "again", "own", "at", "both")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    (folder / "net.yaml").write_text(ALL_BOXES)
    for name, text in {"reports": reports(400, seed=3), "beats": beats(30), "zones": ZONES}.items():
        (folder / f"{name}.csv").write_text(text)
    return folder


@pytest.fixture(scope="module")
def undisturbed(spark: SparkSession, data: Path) -> dict[str, bytes]:
    sources = {name: f"csv:{data}/{name}.csv" for name in ("reports", "beats", "zones")}
    sinks = {name: f"csv:{data}/undisturbed/{name}.csv" for name in OUTPUTS}
    run(all_boxes(), sources, sinks, Settings(batch=1000))
    return written(data / "undisturbed")


def command(data: Path, out: Path, *more: str) -> list[str]:
    sources = [f"--source={name}=csv:{data}/{name}.csv" for name in ("reports", "beats", "zones")]
    sinks = [f"--sink={name}=csv:{out}/{name}.csv" for name in OUTPUTS]
    return ["run", str(data / "net.yaml"), *sources, *sinks, "--batch=40", *more]


def test_kill_and_restart(data: Path, undisturbed: dict[str, bytes], tmp_path: Path) -> None:
    out, log = tmp_path / "out", tmp_path / "log"
    checkpoint = out / ".each.csv.checkpoint"
    # A restart may ask for other partitions and batches: state stays where it is, and nothing changes.
    for stop_at, partitions in ((2, 2), (7, 3)):
        process = aurora(command(data, out, f"--partitions={partitions}"), log)
        wait_for(process, lambda stop_at=stop_at: committed(checkpoint) >= stop_at)
        kill(process)
    process = aurora(command(data, out, "--batch=90"), log)
    assert process.wait(PATIENCE) == 0, log.read_text()
    assert written(out) == undisturbed
    assert not checkpoint.exists()


def test_a_lost_worker_changes_nothing(data: Path, undisturbed: dict[str, bytes], tmp_path: Path) -> None:
    out, log = tmp_path / "out", tmp_path / "log"
    with cluster(tmp_path) as (url, workers):
        process = aurora(command(data, out, "--partitions=2", f"--master={url}"), log)
        wait_for(process, lambda: committed(out / ".each.csv.checkpoint") >= 3)
        kill(workers[0])
        assert process.wait(PATIENCE) == 0, log.read_text()
    assert written(out) == undisturbed
