"""Killed at any moment and started again, a run gives every row exactly once."""

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from aurora import Settings, run
from tests.engine.networks import ALL_BOXES, ZONES, all_boxes, beats, reports, written
from tests.engine.processes import KILLS, aurora, committed, kill, start_here, wait_for

OUTPUTS = ("each", "again", "own", "at", "both")
BATCH = 40


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    (folder / "net.yaml").write_text(ALL_BOXES)
    rows = BATCH * (3 + 3 * KILLS)
    for name, text in {"reports": reports(rows, seed=3), "beats": beats(30), "zones": ZONES}.items():
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
    return ["run", str(data / "net.yaml"), *sources, *sinks, *more]


def test_kill_and_restart(data: Path, undisturbed: dict[str, bytes], tmp_path: Path) -> None:
    out, log, chance = tmp_path / "out", tmp_path / "log", random.Random(KILLS)
    checkpoint = out / ".each.csv.checkpoint"
    reached = 0
    # A restart may ask for other partitions and batches: state stays where it is, and nothing changes.
    for partitions in range(2, 2 + KILLS):
        reached = max(reached, committed(checkpoint)) + chance.randint(1, 2)
        process = aurora(command(data, out, f"--batch={BATCH}", f"--partitions={partitions}"), log)
        wait_for(process, lambda reached=reached: committed(checkpoint) >= reached)  # type: ignore[misc]
        kill(process)
    assert checkpoint.exists()
    with start_here(command(data, out, "--batch=90", "--partitions=3")) as last:
        assert last.wait().ended
    assert written(out) == undisturbed
    assert not checkpoint.exists()
