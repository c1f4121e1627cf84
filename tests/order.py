"""Which file of tests comes when, on two cores: those that take longest first, so that both end at the same time."""

from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

__all__ = ["arrange", "make_scheduler"]

# In the order of the seconds that they take; all others take less.
LONGEST = (
    "tests/linear_road/test_run.py",
    "tests/linear_road/test_docs.py",
    "tests/engine/test_kafka.py",
)
# Files that share a server are one piece.
TOGETHER = {"tests/engine/test_postgres_runs.py": "tests/engine/test_kafka.py"}
RANKS = {file: rank for rank, file in enumerate(LONGEST)}


def arrange(items: list[pytest.Item]) -> None:
    """Within a file the tests keep their order."""
    items.sort(key=lambda item: RANKS.get(_piece(item.nodeid), len(RANKS)))


def _piece(nodeid: str) -> str:
    file = nodeid.partition("::")[0]
    return TOGETHER.get(file, file)


class _Pieces(LoadFileScheduling):
    def _split_scope(self, nodeid: str) -> str:
        return _piece(nodeid)


def make_scheduler(config: Any, log: Any) -> Any:
    """For `--dist loadfile`: each of the processes takes the next file that nobody has taken."""
    if config.getvalue("dist") != "loadfile":
        return None
    config.option.loadscopereorder = False
    return _Pieces(config, log)
