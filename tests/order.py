"""Which file of tests comes when, on two cores: those that take longest first, so that both end at the same time."""

import pytest

__all__ = ["arrange"]

# In the order of the seconds that they take; all others take less.
LONGEST = (
    "tests/linear_road/test_run.py",
    "tests/linear_road/test_docs.py",
    "tests/engine/test_kafka.py",
    "tests/test_cluster.py",
    "tests/history/test_queries.py",
    "tests/linear_road/test_validate.py",
    "tests/engine/test_postgres_runs.py",
    "tests/cli/test_interrupts.py",
    "tests/test_docs.py",
)
RANKS = {file: rank for rank, file in enumerate(LONGEST)}


def arrange(items: list[pytest.Item]) -> None:
    """Within a file the tests keep their order; `--no-loadscope-reorder` takes the files in this one."""
    items.sort(key=lambda item: RANKS.get(item.nodeid.partition("::")[0], len(RANKS)))
