"""A network bound to its sources and sinks: everything is checked here that can be before Spark starts."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aurora.engine.checkpoint import bucket_count, open_checkpoint, scratch_folder
from aurora.engine.commit import REJECTS_SINK
from aurora.engine.plan import Plan, plan_network
from aurora.engine.projection import projected
from aurora.engine.settings import Settings, cores_of
from aurora.engine.sinks.address import Sink, open_sink
from aurora.engine.sinks.parts import PartSink
from aurora.engine.sinks.text import TextSink
from aurora.engine.sources.address import check_source, open_source, read_table
from aurora.engine.sources.receivers import Receiver
from aurora.engine.sources.source import REJECTS
from aurora.engine.spark.source import Admission
from aurora.engine.spark.user_modules import ship_functions
from aurora.engine.wagons import Job
from aurora.errors import AuroraError
from aurora.network.network import Network

__all__ = ["Bound"]


@dataclass(frozen=True)
class Bound:
    """A network with its sources and sinks, everything checked that can be checked before Spark starts."""

    job: Job
    admission: Admission
    sinks: dict[str, Sink]
    receivers: list[Receiver]
    checkpoint: Path

    @staticmethod
    def of(
        network: Network, sources: Mapping[str, Any], sinks: Mapping[str, Any], settings: Settings
    ) -> "Bound":
        _check_names("source", sources, list(network.inputs), "input")
        _check_names("sink", sinks, list(network.outputs), "output")
        if not sinks:
            raise AuroraError(f"no sink is given; outputs are {', '.join(network.outputs)}")
        if settings.batch < 1 or (settings.partitions or 1) < 1:
            found = settings.batch if settings.batch < 1 else settings.partitions
            raise AuroraError(f"batch and partitions must be 1 or more, found {found}")
        opened = {
            name: open_sink(name, address, network.schema(network.outputs[name].port))
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
        tables = {
            name: read_table(name, sources[name], entry.schema)
            for name, entry in network.inputs.items()
            if entry.static
        }
        # Before the checkpoint is looked at: a run that goes on must have the same tables.
        plan = plan.with_tables(tables)
        checkpoint = open_checkpoint(plan, opened, settings)
        notes = checkpoint / "sources"
        notes.mkdir(parents=True, exist_ok=True)
        streams, receivers = {}, []
        for name, _ in plan.inputs:
            if name in used:
                schema = network.inputs[name].schema
                source, receiver = open_source(name, sources[name], schema, settings.follow, notes)
                streams[name] = source
                receivers += [receiver] if receiver else []
        buckets = bucket_count(checkpoint, settings)
        parts = {
            name: sink
            for name, sink in opened.items()
            if isinstance(sink, PartSink)
            or (isinstance(sink, TextSink) and _in_tasks(name, sink, plan, settings))
        }
        job = Job(plan, buckets, parts, scratch_folder(checkpoint))
        pieces = max(2, cores_of(settings.master))
        admission = Admission.of(job, streams, settings.batch, pieces)
        return Bound(job, admission, opened, receivers, checkpoint)


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


def _in_tasks(name: str, sink: TextSink, plan: Plan, settings: Settings) -> bool:
    """Whether the tasks may make the lines of a file: they and this process must see the same disk."""
    local = settings.master is None or settings.master.startswith("local")
    return sink.in_tasks and local and name != REJECTS_SINK and plan.in_order(name)
