"""What a network costs, measured on a sample: it runs on Spark, in trains of several lengths, and writes files."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from aurora.adapt.averages import WARM, Averages
from aurora.adapt.figures import Figures
from aurora.algebra.tuples.types import is_struct
from aurora.engine.outages import stop_waiting_at
from aurora.engine.settings import Settings
from aurora.engine.sources.train_lengths import Cut
from aurora.engine.statistics import BatchReport
from aurora.errors import AuroraError
from aurora.history.parts import Either
from aurora.history.running import start
from aurora.network.network import Network

__all__ = ["measure_sample"]

# The first trains warm the network up: Java compiles its code as batches go by, whatever they hold, and the first long
# train takes memory that the next ones find there. The others differ in length, so that what a row costs can be told
# from what a batch does.
WARMING = (*(0.01,) * 23, 0.15)
MEASURED = (0.03, 0.15, 0.03, 0.15, 0.03, 0.15)
# As long as the trains of a run may be.
LONGEST_TRAIN = Settings.batch


def measure_sample(
    network: Network,
    sources: Mapping[str, Any],
    master: str | None = None,
    watch: Callable[[BatchReport], None] | None = None,
    stop: threading.Event | None = None,
) -> Figures:
    """Runs the network on the sample, or the beginning of a long one, or until `stop` is set; all outputs go to files
    that are removed."""
    for name, entry in network.inputs.items():
        if name not in sources:
            kind = "table" if entry.static else "input"
            raise AuroraError(f"{kind} {name} has no sample; add --sample {name}=csv:PATH")
    shares = (*WARMING, *MEASURED)
    most = round(LONGEST_TRAIN / max(shares))
    cut = {
        name: source if network.inputs[name].static else Cut(source, shares, most)
        for name, source in sources.items()
        if name in network.inputs
    }
    settings = Settings(master, defer=False, shed=False)
    averages, enough, made = Averages(), threading.Event(), 0

    def take(report: BatchReport) -> None:
        nonlocal averages, made
        made += 1
        if made == len(WARMING) - WARM:
            averages = Averages(at=report.seconds)
        # At the end of a finite input all windows close: in a stream that goes on, this does not happen.
        elif not report.end or not averages.batches:
            averages = averages.add(report)
        if made > len(shares):
            enough.set()
        if watch is not None:
            watch(report)

    with TemporaryDirectory(prefix="aurora-sample-", ignore_cleanup_errors=True) as folder:
        with stop_waiting_at(stop):
            started = start(network, {**sources, **cut}, _sinks(network, folder), settings, take)
        with started as running:
            cores = running.figures().cores
            running.wait(Either(enough, stop))
    found = averages.figures(cores)
    stopped = stop is not None and stop.is_set()
    if not stopped and not any(read.rate for read in found.inputs.values()):
        raise AuroraError("the sample has no row that can be read: check its schema, and what the file holds")
    return replace(found, most=LONGEST_TRAIN * len(found.inputs))


def _sinks(network: Network, folder: str) -> dict[str, str]:
    """A file for each output: CSV where it can hold the fields."""
    sinks = {}
    for number, (name, output) in enumerate(network.outputs.items()):
        schema = network.schema(output.port)
        nested = any(is_struct(schema[field]) for field in schema.names)
        kind, ending = ("json", "jsonl") if nested else ("csv", "csv")
        sinks[name] = f"{kind}:{Path(folder, f'{number}.{ending}')}"
    return sinks
