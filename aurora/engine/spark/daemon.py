"""The process from which Spark forks its Python workers, with everything loaded that they need.

A worker starts in milliseconds so.
"""

from pyspark.daemon import manager

import aurora.engine.spark.source_task
import aurora.engine.spark.stage
import aurora.engine.spark.stage_task  # noqa: F401
from aurora.engine.spark.garbage import set_loaded_aside

if __name__ == "__main__":
    set_loaded_aside()
    manager()
