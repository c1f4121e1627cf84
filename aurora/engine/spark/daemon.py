"""The process from which Spark forks its Python workers, with everything loaded that they need.

A worker starts in milliseconds so, and the collection of garbage that Spark asks for after each task passes over
what was loaded here: without that it costs tens of milliseconds a task.
"""

import gc

from pyspark.daemon import manager

import aurora.engine.spark.source_task
import aurora.engine.spark.stage
import aurora.engine.spark.stage_task  # noqa: F401

if __name__ == "__main__":
    gc.collect()
    gc.freeze()
    manager()
