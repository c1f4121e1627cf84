"""Which file of tests comes when, on two cores: those that take longest first, so that both end at the same time."""

import pytest

__all__ = ["arrange"]

# In the order of the seconds that they take; all others take less. The simulator is compiled in a new checkout.
LONGEST = (
    "tests/linear_road/test_docs.py",
    "tests/engine/test_kafka.py",
    "tests/linear_road/test_run.py",
    "tests/test_cluster.py",
    "tests/linear_road/test_validate.py",
    "tests/history/test_queries.py",
    "tests/linear_road/test_rivals.py",
    "tests/linear_road/test_simulator.py",
    "tests/history/test_deferred.py",
    "tests/nexmark/test_queries.py",
    "tests/engine/test_session.py",
    "tests/test_package.py",
    "tests/algebra/test_steps.py",
    "tests/test_docs.py",
    "tests/history/test_killed.py",
    "tests/nexmark/test_compare.py",
    "tests/test_running_docs.py",
    "tests/linear_road/test_network.py",
    "tests/history/test_dataframe.py",
    "tests/test_adaptation_docs.py",
    "tests/history/test_overloaded.py",
    "tests/linear_road/test_compare.py",
    "tests/engine/test_run.py",
    "tests/nexmark/test_run.py",
    "tests/engine/test_java.py",
    "tests/engine/test_postgres_runs.py",
    "tests/cli/test_interrupts.py",
    "tests/engine/test_rewriting_killed.py",
    "tests/engine/test_inputs_in_order_spark.py",
    "tests/algebra/test_networks.py",
    "tests/algebra/test_window_functions.py",
    "tests/test_sources_docs.py",
    "tests/engine/test_rewriting_spark.py",
    "tests/history/test_frame_killed.py",
    "tests/algebra/test_spark_drawn.py",
    "tests/linear_road/test_end_to_end.py",
    "tests/engine/test_faults.py",
    "tests/history/test_point_log.py",
    "tests/engine/test_mqtt_runs.py",
    "tests/history/test_frame.py",
    "tests/history/test_attach.py",
    "tests/engine/test_narrowing.py",
    "tests/algebra/test_aggregate.py",
    "tests/algebra/test_clocks.py",
    "tests/nexmark/test_printed.py",
    "tests/linear_road/test_history.py",
)
RANKS = {file: rank for rank, file in enumerate(LONGEST)}


def arrange(items: list[pytest.Item]) -> None:
    """Within a file the tests keep their order; `--no-loadscope-reorder` takes the files in this one."""
    items.sort(key=lambda item: RANKS.get(item.nodeid.partition("::")[0], len(RANKS)))
