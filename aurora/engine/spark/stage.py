"""A stage behind the source, as Spark calls it: once for each bucket and batch."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from aurora.engine.fault_notes import note_fault
from aurora.engine.spark.garbage import set_loaded_aside
from aurora.engine.spark.lazy_pickle import LazyPickle
from aurora.errors import AuroraError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from aurora.engine.wagons import Job

__all__ = ["PassingStage", "StageProcessor"]


# The program of the process that Spark asks for the state's schema, before the first batch of a query.
ASKED = "pyspark.sql.streaming.transform_with_state_driver_worker"


class StageProcessor(StatefulProcessor):
    """State is a map from names to Arrow bytes: Spark stores and restores it, and only what changed is written."""

    def __init__(self, job: "LazyPickle[Job]", number: int) -> None:
        self._job = job
        self._number = number

    def __setstate__(self, fields: dict[str, Any]) -> None:
        self.__dict__.update(fields)
        main = sys.modules["__main__"]
        if getattr(getattr(main, "__spec__", None), "name", None) == ASKED:
            # It prints what it does, on the screen of a session of the user's.
            main.__dict__["print"] = lambda *_: None

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._values = handle.getMapState("values", "name string", "value binary")

    def handleInputRows(
        self, key: Any, rows: "Iterator[pd.DataFrame]", timer_values: Any = None
    ) -> "Iterator[pd.DataFrame]":
        # Spark asks for the state's schema in a process that runs no stage, and need not load one.
        from aurora.engine.spark.stage_task import make_stop

        job = self._job.open()
        try:
            yield from make_stop(job, self._number, int(key[0]), rows, self._values)
            set_loaded_aside()
        except AuroraError as fault:
            note_fault(job.scratch, fault)
            raise

    def close(self) -> None:
        pass


class PassingStage:
    """A stage that keeps nothing: without a store to open and to commit it costs a fraction of one that does."""

    def __init__(self, job: "LazyPickle[Job]", number: int) -> None:
        self._job = job
        self._number = number

    def __call__(self, batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        from aurora.engine.spark.stage_task import make_short_stop

        job = self._job.open()
        try:
            yield from make_short_stop(job, self._number, batches)
            set_loaded_aside()
        except AuroraError as fault:
            note_fault(job.scratch, fault)
            raise
