"""Runs a network: binds it to sources and sinks, starts the Spark query, and stops when the input ends."""

import hashlib
import io
import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from aurora.engine.commit import REJECTS_SINK, BatchReport, Commits, Totals
from aurora.engine.plan import Plan, plan_network
from aurora.engine.processor import StageProcessor
from aurora.engine.projection import projected
from aurora.engine.reader import Admission, TrainSource, packed
from aurora.engine.session import LIGHT_JAVA, keep_log, spark_session
from aurora.engine.shipping import ship_functions
from aurora.engine.sinks.address import Sink, open_sink
from aurora.engine.sinks.parts import PartSink
from aurora.engine.sinks.text import TextSink
from aurora.engine.sources.address import check_source, open_source, read_table
from aurora.engine.sources.source import REJECTS
from aurora.engine.sources.tcp import Receiver
from aurora.engine.wagons import Job
from aurora.errors import AuroraError
from aurora.network.network import Network

__all__ = ["Result", "Settings", "explain_plan", "run", "train_query"]


@dataclass(frozen=True)
class Settings:
    """How to run; the result depends on none of it."""

    master: str | None = None
    batch: int = 1_000_000
    partitions: int | None = None
    follow: bool = False
    checkpoint: str | None = None
    fresh: bool = False
    fuse: bool = True
    rejects: str | None = None


@dataclass(frozen=True)
class Result:
    """What a run did: sums over all its batches, restarts included, and the seconds of this run."""

    totals: Totals
    seconds: float
    ended: bool


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
    bound = _Bound.of(network.checked(), sources, sinks, settings)
    spark = spark_session(f"aurora {network.name}", settings.master, LIGHT_JAVA)
    finished = threading.Event()

    def watched(report: BatchReport) -> None:
        if watch is not None:
            watch(report)
        if report.end:
            finished.set()

    started = time.monotonic()
    commits = Commits(bound.job.plan, bound.sinks, bound.checkpoint / "committed.json", watched)
    if commits.totals.end:
        return Result(commits.totals, 0.0, True)
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
    if commits.totals.end and settings.checkpoint is None:
        shutil.rmtree(bound.checkpoint, ignore_errors=True)
    return Result(commits.totals, time.monotonic() - started, commits.totals.end)


@dataclass(frozen=True)
class _Bound:
    """A network with its sources and sinks, everything checked that can be checked before Spark starts."""

    job: Job
    admission: Admission
    sinks: dict[str, Sink]
    receivers: list[Receiver]
    checkpoint: Path

    @staticmethod
    def of(
        network: Network, sources: Mapping[str, Any], sinks: Mapping[str, Any], settings: Settings
    ) -> "_Bound":
        _check_names("source", sources, list(network.inputs), "input")
        _check_names("sink", sinks, list(network.outputs), "output")
        if not sinks:
            raise AuroraError(f"no sink is given; outputs are {', '.join(network.outputs)}")
        if settings.batch < 1 or (settings.partitions or 1) < 1:
            found = settings.batch if settings.batch < 1 else settings.partitions
            raise AuroraError(f"batch and partitions must be 1 or more, found {found}")
        opened = {
            name: open_sink(name, address, network.schema(network.outputs[name]))
            for name, address in sinks.items()
        }
        plan = plan_network(projected(network, list(sinks)), list(sinks), settings.fuse)
        ship_functions(network)
        used = {name for name, _ in plan.inputs}
        for name in network.inputs:
            if name not in sources:
                raise AuroraError(f"input {name} has no source; add --source {name}=csv:PATH")
            check_source(name, sources[name])
        opened |= _rejects_sink(opened, settings)
        checkpoint = _checkpoint(plan, opened, settings)
        tables = {
            name: read_table(name, sources[name], entry.schema)
            for name, entry in network.inputs.items()
            if entry.static
        }
        plan = plan.with_tables(tables)
        notes = checkpoint / "sources"
        notes.mkdir(parents=True, exist_ok=True)
        streams, receivers = {}, []
        for name, _ in plan.inputs:
            if name in used:
                schema = network.inputs[name].schema
                source, receiver = open_source(name, sources[name], schema, settings.follow, notes)
                streams[name] = source
                receivers += [receiver] if receiver else []
        buckets = _buckets(checkpoint, settings)
        parts = {
            name: sink
            for name, sink in opened.items()
            if isinstance(sink, PartSink)
            or (isinstance(sink, TextSink) and _in_tasks(name, sink, plan, settings))
        }
        job = Job(plan, buckets, parts, _scratch(checkpoint))
        pieces = max(2, _cores(settings.master))
        admission = Admission.of(job, streams, settings.batch, pieces)
        return _Bound(job, admission, opened, receivers, checkpoint)


def _check_names(what: str, given: Mapping[str, Any], known: list[str], of: str) -> None:
    for name in given:
        if name not in known:
            raise AuroraError(
                f"{what} {name}: the network has no {of} of that name; there are {', '.join(known)}"
            )


def _rejects_sink(sinks: dict[str, Sink], settings: Settings) -> dict[str, Sink]:
    """Bad rows go where the user says, or beside the first file that is written."""
    address = settings.rejects
    if address is None:
        paths = [sink.path for sink in sinks.values() if isinstance(sink, TextSink | PartSink)]
        if not paths:
            return {}
        address = f"csv:{os.path.join(os.path.dirname(paths[0]), 'rejects.csv')}"
    sink = open_sink("rejects", address, REJECTS)
    if isinstance(sink, PartSink):
        raise AuroraError(f"rejects go to one file: end its name in .csv or .jsonl, found {sink.path}")
    return {REJECTS_SINK: sink}


def _checkpoint(plan: Plan, sinks: dict[str, Sink], settings: Settings) -> Path:
    """The folder from which a killed run goes on; beside the first sink unless given."""
    mark = hashlib.sha256(plan.fingerprint().encode()).hexdigest()
    if settings.checkpoint is not None:
        folder = Path(settings.checkpoint).absolute()
    else:
        paths = [sink.path for name, sink in sinks.items() if isinstance(sink, TextSink | PartSink)]
        if not paths:
            return Path(tempfile.mkdtemp(prefix="aurora-"))
        folder = Path(os.path.dirname(paths[0])) / f".{os.path.basename(paths[0])}.checkpoint"
    if settings.fresh:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    owner = folder / "network"
    if owner.exists() and owner.read_text() != mark:
        raise AuroraError(
            f"{folder} is the checkpoint of another network or run; remove it or start anew with --fresh"
        )
    owner.write_text(mark)
    return folder


def _in_tasks(name: str, sink: TextSink, plan: Plan, settings: Settings) -> bool:
    """Whether the tasks may make the lines of a file: they and this process must see the same disk."""
    local = settings.master is None or settings.master.startswith("local")
    return sink.in_tasks and local and name != REJECTS_SINK and plan.in_order(name)


def _buckets(checkpoint: Path, settings: Settings) -> int:
    """State lies in buckets: a run that goes on keeps the number that it began with."""
    note = checkpoint / "buckets"
    if not note.exists():
        note.write_text(str(settings.partitions or _cores(settings.master)))
    return int(note.read_text())


def _scratch(checkpoint: Path) -> str:
    """The same for every run that goes on from a checkpoint, so that a killed one leaves nothing behind for good."""
    mark = hashlib.sha256(str(checkpoint.absolute()).encode()).hexdigest()[:16]
    return os.path.join(tempfile.gettempdir(), f"aurora-state-{mark}")


def _cores(master: str | None) -> int:
    local = re.fullmatch(r"local\[(\d+)\]", master or "")
    return int(local[1]) if local else os.cpu_count() or 1


def train_query(spark: SparkSession, job: Job, admission: Admission) -> DataFrame:
    """The whole network as one streaming DataFrame: the source, then a stage with state after the other."""
    spark.dataSource.register(TrainSource)
    spark.conf.set("spark.sql.shuffle.partitions", str(job.buckets))
    wagons = spark.readStream.format("aurora").option("admission", packed(admission)).load()
    for stage in job.plan.stages[1:]:
        wagons = wagons.groupBy("bucket").transformWithStateInPandas(
            StageProcessor(admission.job, stage.number), wagons.schema, "append", "none"
        )
    return wagons


def explain_plan(plan: Plan) -> str:
    """Spark's physical plan for the network, without running it."""
    spark = spark_session("aurora explain", settings=LIGHT_JAVA)
    job = Job(plan, _cores(None), {}, "")
    shown = io.StringIO()
    with redirect_stdout(shown):
        train_query(spark, job, Admission.of(job, {}, 1, 1)).explain()
    return shown.getvalue().strip()


def _start(spark: SparkSession, bound: _Bound, commits: Commits) -> StreamingQuery:
    def take(batch: DataFrame, number: int) -> None:
        commits.take(number, batch.select("lane", "payload").toArrow())

    return (
        train_query(spark, bound.job, bound.admission)
        .writeStream.foreachBatch(take)
        .option("checkpointLocation", str(bound.checkpoint / "spark"))
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
