"""Boxes that change places after every batch, in a run that is killed: what comes out is what would have come out."""

import random
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from pyspark.sql import SparkSession

from aurora import Settings
from aurora.engine.spark_run import start_run
from tests.engine.processes import KILLS, committed, in_background, kill, wait_for
from tests.engine.restless import network, run_restless, write_rows


def test_a_run_that_is_killed_again_and_again(spark: SparkSession, tmp_path: Path) -> None:
    """At random moments, in batches of every order; each time it goes on with the order that its batch had."""
    chance, count, checkpoint = random.Random(KILLS), 70 + 70 * KILLS, tmp_path / "checkpoint"
    sources = write_rows(tmp_path, count)

    def begin() -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.engine.restless", str(tmp_path)]
        return in_background(command, tmp_path / "log")

    for _ in range(KILLS):
        process, before = begin(), committed(checkpoint)
        reached = before + chance.randrange(1, 6)
        wait_for(process, lambda reached=reached: committed(checkpoint) >= reached)  # type: ignore[misc]
        with suppress(subprocess.TimeoutExpired):
            # Somewhere in the batches that follow.
            process.wait(1.5 * chance.random())
        kill(process)
    run_restless(tmp_path)
    with start_run(network(), sources, {"out": f"csv:{tmp_path}/whole.csv"}, Settings(partitions=2)) as run:
        run.wait()
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
