"""Runs a network on arrivals, cut into batches and spread over buckets, in this process."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aurora import Network
from aurora.algebra.state.turn import Moment
from aurora.algebra.tuples.train import LAST, Train
from aurora.engine.local import LocalRun
from aurora.engine.plan.plan import plan_network
from aurora.engine.plan.tables import Table
from tests.algebra.harness import Arrival, arrived, trains
from tests.spec.squal import field_key

__all__ = ["ENDED", "HeldRows", "find_times", "run_network"]

# When the batch that finds the end of the input began.
ENDED = 10**6


@dataclass(frozen=True)
class HeldRows:
    """A set that is asked by key; it gives one row too many, as one may that goes by hashes."""

    rows: pa.RecordBatch
    key: tuple[str, ...]
    place: None = None
    size: int = 0

    def identity(self) -> str:
        return "held"

    def read(self) -> pa.RecordBatch:
        return self.rows

    def fetch(self, keys: pa.RecordBatch) -> tuple[pa.RecordBatch, np.ndarray]:
        asked = set(_keys(keys))
        assert len(asked) == keys.num_rows and not any(field_key(None) in key for key in asked)
        held = _keys(self.rows.select(list(self.key)))
        other = next((place for place, key in enumerate(held) if key not in asked), None)
        found = [place for place, key in enumerate(held) if key in asked or place == other]
        return self.rows.take(pa.array(found, pa.int64())), np.array(found, np.int64)


def _keys(rows: pa.RecordBatch) -> list[tuple[object, ...]]:
    return [tuple(map(field_key, row.values())) for row in rows.to_pylist()]


def run_network(
    network: Network,
    arrivals: list[Arrival],
    cut: int,
    buckets: int = 1,
    fuse: bool = True,
    ticks: bool = False,
    ends: bool = True,
    tables: Mapping[str, Table] | None = None,
    restart: int | None = None,
) -> LocalRun:
    """The inputs of the network have numbers in their order; with `ticks` a millisecond goes by with each arrival.

    At the first batch that begins at or behind arrival `restart`, another process goes on, with a plan of its own.
    """
    plan = plan_network(network, fuse=fuse).with_tables(tables or {})
    names, schemas = zip(*plan.inputs, strict=True)
    run = LocalRun(plan, buckets)
    starts = [*range(0, len(arrivals), cut), len(arrivals)]
    begins_anew = None if restart is None else next((start for start in starts if start >= restart), None)
    for start in starts:
        if start == begins_anew:
            later = run.restarted()
            later.plan = plan_network(network, fuse=fuse).with_tables(tables or {})
            later.outputs, later.counts = run.outputs, run.counts
            run = later
        batch = zip(names, trains(arrivals, schemas, start, start + cut), strict=True)
        run.feed(batch, Moment(start if ticks else 0, 2 * start, ends and start == starts[-1], ENDED))
    return run


def find_times(train: Train) -> list[int]:
    """Return when the causes of these rows came. What a clock brings forth stands just before its cause."""
    return [ENDED if key == LAST else int(arrived(key // 2)) for key in train.keys[0].tolist()]
