"""A network that sheds and defers, killed at random moments: what was shed is shed again, and nothing else is lost."""

import random
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from pyspark.sql import SparkSession

from aurora.engine.drops import SHED
from tests.engine.processes import KILLS, committed, in_background, kill, wait_for
from tests.history.overloaded import expected, main


def begin(folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.history.overloaded", str(folder)]
    return in_background(command, folder / "log")


def test_what_is_shed_is_shed_again_and_nothing_else_is_lost(spark: SparkSession, tmp_path: Path) -> None:
    chance = random.Random(KILLS)
    reached = 0
    for _ in range(KILLS):
        reached += chance.randint(1, 2)
        process = begin(tmp_path)
        wait_for(process, lambda begun=reached: committed(tmp_path / "home" / "checkpoint") >= begun)
        with suppress(subprocess.TimeoutExpired):
            process.wait(chance.random())
        assert process.poll() is None, "the input is too short for so many kills"
        kill(process)
        reached = max(reached, committed(tmp_path / "home" / "checkpoint"))
    result = main(tmp_path)
    files, discarded = expected(tmp_path)
    # A batch that was run again is counted once, with all that it has shed.
    assert result.totals.discarded == discarded
    assert sum(reasons[SHED] for reasons in discarded.values()) > 10
    for name, content in files.items():
        assert (tmp_path / f"{name}.csv").read_bytes() == content, name
        assert content.count(b"\n") > 10
