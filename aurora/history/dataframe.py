"""The outputs of a network as a streaming DataFrame: Spark's query is the user's own, with a sink of Spark's."""

import atexit
import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

from aurora.engine.binding import check_names, check_settings, find_places, open_streams, read_tables
from aurora.engine.checkpoint import Checkpoint, locate_checkpoint, scratch_folder
from aurora.engine.locks import Locks
from aurora.engine.pacing import find_longest
from aurora.engine.plan.narrowing import insert_projections
from aurora.engine.plan.plan import plan_network
from aurora.engine.plan.projection import project_inputs
from aurora.engine.query import train_query
from aurora.engine.settings import Settings
from aurora.engine.sinks.rejects import REJECTS_SINK
from aurora.engine.sources.address import open_source
from aurora.engine.sources.source import REJECTS, Feed
from aurora.engine.spark.output_rows import output_rows
from aurora.engine.spark.session import clone_session
from aurora.engine.spark.source import Admission
from aurora.engine.spark.tending import Tender
from aurora.engine.spark.user_modules import ship_functions
from aurora.engine.wagons import Job
from aurora.errors import AuroraError, did_you_mean
from aurora.history.prepare import prepare_stored
from aurora.network.network import Network
from aurora.network.qos import find_zone

__all__ = ["to_dataframe"]

# Who feeds the sources of which checkpoint, in this process.
_tenders: dict[Path, Tender] = {}


def to_dataframe(
    network: Network,
    spark: SparkSession,
    sources: Mapping[str, Any],
    output: str | Sequence[str] | None = None,
    settings: Settings | None = None,
) -> DataFrame:
    """An output as a streaming DataFrame, with the rows of `run` in the order of `run`.

    Several outputs, as a list, come in one DataFrame: its column `output` has the name of the output of each row, and a
    struct of that name has its fields. `#rejects` has the rows that could not be read. `Settings(checkpoint=..)` is the
    folder in which sources keep what a restart needs; the state is in the checkpoint of the query that you start. The
    DataFrame belongs to a copy of the session.
    """
    settings = settings or Settings()
    _check(spark, settings)
    network.checked()
    names = _choose(network, output)
    check_names(network, sources, {})
    plain = [name for name in names if name != REJECTS_SINK] or [next(iter(network.outputs))]
    plan = plan_network(insert_projections(project_inputs(network, plain)), plain, settings.fuse)
    ship_functions(network, sources.values())
    parallel = max(int(spark.sparkContext.defaultParallelism), 1)
    checkpoint = locate_checkpoint({}, settings)
    with ExitStack() as held:
        locks = _take_over(checkpoint)
        held.callback(checkpoint.leave)
        held.callback(locks.release)
        checkpoint.open(settings.fresh)
        settings = replace(settings, fresh=False)
        sources = prepare_stored(network, sources, checkpoint.folder / "stored", hosts=settings.allow_hosts)
        find_places(network, sources)
        tables = read_tables(network, plan, sources)
        streams, _, _ = open_streams(network, plan, tables, sources, {}, checkpoint, settings)
        scratch = scratch_folder(checkpoint.folder, spark.sparkContext.master.startswith("local"))
        job = Job(plan.with_tables(tables), checkpoint.buckets(settings.partitions or parallel), {}, scratch)
        seconds = settings.batch_seconds
        zone = find_zone(network.outputs[name].qos for name in plain)
        admission = replace(
            Admission.of(job, streams, settings.batch, max(2, parallel)),
            target=None if seconds is None else max(1, round(seconds * 1000)),
            longest=None if zone == math.inf else round(1000 * find_longest(zone)),
            mark=checkpoint.mark(),
            tended=(str(checkpoint.folder), str(checkpoint.lock)),
        )
        wagons = train_query(clone_session(spark, job.buckets), job, admission)
        outputs = [
            (name, REJECTS if name == REJECTS_SINK else network.schema(network.outputs[name].port))
            for name in names
        ]
        made = output_rows(wagons, admission.job, outputs, network.name or "aurora")

        def open_feeds() -> list[Feed]:
            opened = [
                open_source(
                    name, sources[name], network.inputs[name].schema, settings.follow, checkpoint.sources
                )
                for name, _ in plan.inputs
            ]
            return [feed for _, feed in opened if feed is not None]

        tender = Tender(spark, checkpoint.folder, scratch, open_feeds, locks)
        held.pop_all()
        _tenders[checkpoint.folder] = tender
        tender.start()
        if checkpoint.temporary:
            atexit.register(checkpoint.leave)
    if isinstance(output, str) or output is None:
        return made.select(col("`#0`.*"))
    return made.select("output", *(col(f"`#{number}`").alias(name) for number, name in enumerate(names)))


def _check(spark: SparkSession, settings: Settings) -> None:
    if not hasattr(spark, "_jsparkSession"):
        raise AuroraError(
            f"to_dataframe needs a Spark session whose driver is this process, found a {type(spark).__module__}."
            f"{type(spark).__qualname__}; a session of Spark Connect has none"
        )
    check_settings(settings)
    for name in ("home", "master", "rejects", "log", "metrics"):
        if getattr(settings, name) is not None:
            raise AuroraError(
                f"Settings.{name} is for run and start: with to_dataframe the query is your own; leave it out"
            )


def _choose(network: Network, output: str | Sequence[str] | None) -> list[str]:
    if output is None and len(network.outputs) > 1:
        raise AuroraError(
            f"network {network.name} has the outputs {', '.join(network.outputs)}: name one, or a list of them, which "
            "come in one DataFrame"
        )
    chosen = (
        list(network.outputs) if output is None else [output] if isinstance(output, str) else list(output)
    )
    for name in chosen:
        if name not in network.outputs and name != REJECTS_SINK:
            near = did_you_mean(name, network.outputs)
            raise AuroraError(
                f"the network has no output {name}{near}; there are {', '.join(network.outputs)}"
            )
    if not chosen or len(set(chosen)) < len(chosen):
        raise AuroraError("a list of outputs names one or more, each once")
    if "output" in chosen and len(chosen) > 1:
        raise AuroraError("an output called output has no place beside others: take it alone, or rename it")
    return chosen


def _take_over(checkpoint: Checkpoint) -> Locks:
    """The lock of the checkpoint; one that an earlier call in this process has is given up, unless a query reads."""
    earlier = _tenders.get(checkpoint.folder)
    if earlier is not None and earlier.is_alive():
        earlier.close()
    locks = Locks()
    checkpoint.take(locks)
    return locks
