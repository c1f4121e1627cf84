"""Python workers of a query yield to those of the network that it is attached to."""

import os
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from aurora import Memory, Network, caused
from aurora.engine.sinks.rows import Rows
from aurora.engine.spark.yielding import NICE, YIELDING, worker_priority
from aurora.engine.spark_run import start_run


def tell_priority(inputs: Any, turn: Any) -> Any:
    rows = inputs["in"]
    found = pa.record_batch({"n": pa.array([os.nice(0)] * len(rows), pa.int32())})
    return {"out": caused(rows, found, np.arange(len(rows)))}


@pytest.mark.parametrize("yields", [True, False])
def test_workers_of_a_query_yield(spark: SparkSession, yields: bool) -> None:
    """Where it reads, and in the stages behind; and those of the network are as they were."""
    network = Network("priorities")
    rows = network.input("r", "k int")
    for name, options in {"read": {"stateless": True}, "staged": {"key": {"in": ["k"]}}}.items():
        box = network.user(tell_priority, inputs={"in": rows}, outputs={"out": "n int"}, name=name, **options)
        network.output(name, box)
    sinks = {"read": Rows(), "staged": Rows()}
    source = {"r": Memory.of("k int", [{"k": k} for k in range(4)])}
    with start_run(network, source, sinks, yields=yields) as run:
        assert run.wait().ended
    for sink in sinks.values():
        # As this process itself yields to others, they do; nobody yields more than 19.
        own = os.getpriority(os.PRIO_PROCESS, 0)
        assert set(sink.to_pandas()["n"]) == {min(own + YIELDING, 19) if yields else own}


def test_what_is_set_for_a_query_is_set_for_no_other(spark: SparkSession) -> None:
    environment = spark.sparkContext.environment
    with worker_priority(spark, True):
        assert environment[NICE] == str(YIELDING)
    with worker_priority(spark, False):
        assert NICE not in environment
    with pytest.raises(ValueError), worker_priority(spark, True):
        raise ValueError
    assert NICE not in environment
