"""Which file of tests comes when, on two cores: those that take longest first, so that both end at the same time."""

import pytest

__all__ = ["arrange"]

# In the order of the seconds that they take; all others take less.
LONGEST = (
    "tests/linear_road/test_docs.py",
    "tests/test_cluster.py",
    "tests/linear_road/test_simulator.py",
    "tests/linear_road/test_rivals.py",
    "tests/linear_road/test_run.py",
    "tests/engine/test_kafka.py",
    "tests/history/test_killed.py",
    "tests/history/test_dataframe.py",
    "tests/test_running_docs.py",
    "tests/test_package.py",
    "tests/nexmark/test_run.py",
    "tests/linear_road/test_validate.py",
    "tests/history/test_deferred.py",
    "tests/history/test_queries.py",
    "tests/test_docs.py",
    "tests/cli/test_interrupts.py",
    "tests/linear_road/test_compare.py",
    "tests/engine/test_session.py",
    "tests/engine/test_java.py",
    "tests/engine/test_run.py",
    "tests/engine/test_rewriting_killed.py",
    "tests/history/test_overloaded.py",
    "tests/history/test_frame_killed.py",
    "tests/engine/test_postgres_runs.py",
    "tests/history/test_frame.py",
    "tests/test_adaptation_docs.py",
    "tests/engine/test_rewriting_spark.py",
    "tests/nexmark/test_compare.py",
    "tests/test_examples.py",
    "tests/test_sources_docs.py",
    "tests/test_metrics_docs.py",
    "tests/linear_road/test_end_to_end.py",
    "tests/algebra/test_spark_agreement.py",
    "tests/engine/test_faults.py",
    "tests/algebra/test_spark_drawn.py",
    "tests/history/test_attach.py",
    "tests/nexmark/test_queries.py",
    "tests/algebra/test_networks.py",
    "tests/linear_road/test_network.py",
    "tests/nexmark/test_printed.py",
    "tests/algebra/test_window_functions.py",
    "tests/engine/test_mqtt_runs.py",
)
RANKS = {file: rank for rank, file in enumerate(LONGEST)}


def arrange(items: list[pytest.Item]) -> None:
    """Within a file the tests keep their order; `--no-loadscope-reorder` takes the files in this one."""
    items.sort(key=lambda item: RANKS.get(item.nodeid.partition("::")[0], len(RANKS)))
