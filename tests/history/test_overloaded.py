"""A network that sheds and defers, killed at random moments: what was shed is shed again, and nothing else is lost."""

import os
import random
import subprocess
import sys
from pathlib import Path

from tests.engine.processes import PATIENCE, committed, kill, wait_for
from tests.history.overloaded import expected

# By hand more: AURORA_KILLS=30 pytest tests/history/test_overloaded.py
KILLS = int(os.environ.get("AURORA_KILLS", "3"))


def begin(folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.history.overloaded", str(folder)]
    log = (folder / "log").open("ab")
    return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)


def test_what_is_shed_is_shed_again_and_nothing_else_is_lost(tmp_path: Path) -> None:
    chance = random.Random(KILLS)
    checkpoints = [tmp_path / "home" / "checkpoint", tmp_path / "home" / "deferred" / "checkpoint"]
    reached = 0
    for _ in range(KILLS):
        reached += chance.randint(1, 2)
        own, moment, begun = chance.choice(checkpoints), chance.random(), reached
        process = begin(tmp_path)
        wait_for(
            process,
            lambda own=own, begun=begun: (
                committed(own) >= min(begun, committed(checkpoints[0])) and committed(checkpoints[0]) >= begun
            ),
        )
        try:
            process.wait(moment / 3)
        except subprocess.TimeoutExpired:
            kill(process)
    last = begin(tmp_path)
    assert last.wait(PATIENCE) == 0, (tmp_path / "log").read_text()
    for name, content in expected(tmp_path).items():
        assert (tmp_path / f"{name}.csv").read_bytes() == content, name
        assert content.count(b"\n") > 20
