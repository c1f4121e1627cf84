"""Boxes that change places after every batch, in a run that is killed: what comes out is what would have come out."""

import os
import random
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from pyspark.sql import SparkSession

from aurora import Settings
from aurora.engine.spark_run import start_run
from tests.engine.processes import committed, kill, wait_for
from tests.engine.restless import network, write_rows

# So many times a run is killed; by hand AURORA_KILLS=20, with --timeout=0.
KILLS = int(os.environ.get("AURORA_KILLS", "2"))


def test_a_run_that_is_killed_again_and_again(spark: SparkSession, tmp_path: Path) -> None:
    """At random moments, in batches of every order; each time it goes on with the order that its batch had."""
    chance, count, checkpoint = random.Random(KILLS), 120 + 80 * KILLS, tmp_path / "checkpoint"
    sources = write_rows(tmp_path, count)

    def begin() -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.engine.restless", str(tmp_path)]
        log = (tmp_path / "log").open("ab")
        return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

    for _ in range(KILLS):
        process, before = begin(), committed(checkpoint)
        reached = before + chance.randrange(1, 8)
        wait_for(process, lambda reached=reached: committed(checkpoint) >= reached)  # type: ignore[misc]
        with suppress(subprocess.TimeoutExpired):
            # Somewhere in the batches that follow.
            process.wait(1.5 * chance.random())
        kill(process)
    assert begin().wait() == 0, (tmp_path / "log").read_text()
    with start_run(network(), sources, {"out": f"csv:{tmp_path}/whole.csv"}, Settings(partitions=2)) as run:
        run.wait()
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
