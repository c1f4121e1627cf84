"""The process from which Spark forks its Python workers, with everything loaded that they need.

A worker starts in milliseconds so. Those of an ad hoc query have one of their own, which leaves the cores to others.
"""

import os

import pyarrow.pandas_compat  # noqa: F401
import pyspark.sql.streaming.proto.StateMessage_pb2  # noqa: F401
from pyspark.daemon import manager

import aurora.engine.spark.source_task
import aurora.engine.spark.stage
import aurora.engine.spark.stage_task  # noqa: F401
from aurora.engine.spark.garbage import set_loaded_aside
from aurora.engine.spark.memory import keep_freed_memory
from aurora.engine.spark.yielding import NICE

if __name__ == "__main__":
    os.nice(int(os.environ.get(NICE, 0)))
    keep_freed_memory()
    set_loaded_aside()
    manager()
