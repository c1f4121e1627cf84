"""Copies of the state on local disks: nothing of a run stays behind, on whatever machine it was."""

import shutil
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from pyspark.sql import SparkSession

from aurora.engine.private import is_private

__all__ = ["remove_scratch"]

# Tasks for each executor, so that every one gets some.
TASKS = 4


def remove_scratch(spark: SparkSession, folder: str) -> None:
    """Removes the folder here and where the executors are; one that does not answer is left alone."""
    _remove(folder)
    context = spark.sparkContext
    with suppress(Exception):
        if context.master.startswith("local") or context._jsc is None:
            return
        number = TASKS * max(1, context._jsc.sc().getExecutorMemoryStatus().size())
        context.parallelize(range(number), number).foreachPartition(_remover(folder))


def _remover(folder: str) -> Any:
    def remove(_: Iterable[int]) -> None:
        _remove(folder)

    return remove


def _remove(folder: str) -> None:
    """Remove the folder, unless it is somebody else's."""
    if is_private(folder):
        shutil.rmtree(folder, ignore_errors=True)
