"""Runs of networks without state, batch by batch in this process: what a run writes, and when, without Spark."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from aurora import Network, Settings, from_text
from aurora.engine.binding import Bound
from aurora.engine.commit import Commits
from aurora.engine.spark.lazy_pickle import LazyPickle
from aurora.engine.spark.source import TrainReader
from aurora.engine.totals import Totals

BASE = """
network: base
inputs:
  r: {schema: "Sid int, Time int, Pos int"}
boxes:
  over: {filter: ["Pos >= 30"], from: r}
outputs:
  far: {from: over}
  near: {from: over.rest}
"""

ZONED = """
network: zoned
inputs:
  r: {schema: "Sid int, Time int, Pos int"}
  zones: {schema: "Low int, Zone string", static: true}
boxes:
  zoned: {join: "left.Pos = right.Low", left: r, right: zones}
outputs:
  out: {from: zoned}
"""


def base() -> Network:
    return from_text(BASE)


def batches(bound: Bound) -> list[pa.Table]:
    """What the tasks of each batch send to the sinks."""
    reader = TrainReader(LazyPickle(bound.admission))
    offset, found = reader.initialOffset(), []
    while not offset["end"]:
        end = reader.latestOffset(offset, None)
        tasks = reader.partitions(offset, end)
        found.append(pa.Table.from_batches([batch for task in tasks for batch in reader.read(task)]))
        offset = end
    return found


def commit_all(bound: Bound, commits: Commits) -> None:
    """Takes every batch, also those that are done: as Spark does with the last one, they come again."""
    for number, wagons in enumerate(batches(bound)):
        note_spark(bound.checkpoint.spark, "offsets", number)
        commits.take(number, wagons)
        note_spark(bound.checkpoint.spark, "commits", number)


def note_spark(folder: Path, log: str, number: int) -> None:
    """What Spark notes of a batch: before it under offsets, behind it under commits."""
    (folder / log).mkdir(parents=True, exist_ok=True)
    (folder / "metadata").write_text('{"id":"6d70d950"}')
    (folder / log / str(number)).write_text("v1\n{}")


def run_here(
    network: Network, sources: Mapping[str, Any], sinks: Mapping[str, Any], settings: Settings | None = None
) -> Totals:
    """As `run` does, with all its steps but Spark's."""
    with Bound.of(network, sources, sinks, settings or Settings(partitions=1)) as bound:
        if bound.done:
            return bound.already_done()
        commits = bound.commits()
        try:
            commit_all(bound, commits)
        finally:
            commits.finish()
        bound.checkpoint.close(commits.totals)
        return commits.totals


def files(folder: Path) -> dict[str, bytes]:
    """All that lies in a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
