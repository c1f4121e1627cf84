"""Runs a network: starts its Spark query, and stops when the input ends."""

import logging
import re
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from aurora.engine.binding import Bound
from aurora.engine.commit import BatchReport, Commits, Totals
from aurora.engine.query import train_query
from aurora.engine.settings import Settings
from aurora.engine.sources.source import notices
from aurora.engine.spark.session import LIGHT_JAVA, keep_log, spark_session
from aurora.errors import AuroraError
from aurora.network.network import Network

__all__ = ["Result", "run"]


@dataclass(frozen=True)
class Result:
    """What a run did: sums over all its batches, restarts included, and the seconds of this run.

    `already` if there was nothing to do: an earlier run with this checkpoint finished the same input.
    """

    totals: Totals
    seconds: float
    ended: bool
    already: bool = False


def run(
    network: Network,
    sources: Mapping[str, Any],
    sinks: Mapping[str, Any],
    settings: Settings | None = None,
    watch: Callable[[BatchReport], None] | None = None,
    stop: threading.Event | None = None,
) -> Result:
    """Runs until the input ends, or until `stop` is set; a run with a checkpoint goes on where the last one ended."""
    settings = settings or Settings()
    with Bound.of(network.checked(), sources, sinks, settings) as bound:
        return _run(network.name, bound, settings, watch, stop)


def _run(
    name: str,
    bound: Bound,
    settings: Settings,
    watch: Callable[[BatchReport], None] | None,
    stop: threading.Event | None,
) -> Result:
    if bound.done:
        return Result(bound.already_done(), 0.0, True, already=True)
    spark = spark_session(f"aurora {name}", settings.master, LIGHT_JAVA)
    finished = threading.Event()

    def watched(report: BatchReport) -> None:
        for text in notices(report.places):
            logging.getLogger("aurora").warning(text)
        if watch is not None:
            watch(report)
        if report.end:
            finished.set()

    started = time.monotonic()
    commits = bound.commits(watched)
    try:
        for receiver in bound.receivers:
            receiver.connect()
        query = _start(spark, bound, commits)
        try:
            while not finished.wait(0.05) and query.isActive and not (stop is not None and stop.is_set()):
                pass
            if finished.is_set() and query.isActive:
                query.processAllAvailable()
            fault = query.exception()
        except StreamingQueryException as error:
            fault = error
        finally:
            query.stop()
        if fault is not None and not finished.is_set():
            raise AuroraError(_told(fault)) from None
    finally:
        for receiver in bound.receivers:
            receiver.stop()
        shutil.rmtree(bound.job.scratch, ignore_errors=True)
        commits.finish()
    bound.checkpoint.close(commits.totals.end)
    return Result(commits.totals, time.monotonic() - started, commits.totals.end)


def _start(spark: SparkSession, bound: Bound, commits: Commits) -> StreamingQuery:
    def take(batch: DataFrame, number: int) -> None:
        commits.take(number, batch.select("lane", "payload").toArrow())

    return (
        train_query(spark, bound.job, bound.admission)
        .writeStream.foreachBatch(take)
        .option("checkpointLocation", str(bound.checkpoint.spark))
        .start()
    )


def _told(fault: Any) -> str:
    """The line of a failed query that its user can do something about."""
    text = str(fault)
    own = re.findall(r"AuroraError: (.+)", text)
    if own:
        return str(own[-1]).strip()
    python = re.findall(r"^\s*(\w*(?:Error|Exception)\w*: .+)$", text, re.MULTILINE)
    cause = (python[-1] if python else text.splitlines()[0]).strip()[:500]
    return f"the run failed: {cause} (more in {keep_log()})"
