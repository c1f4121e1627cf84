"""A stop of the trains in one bucket of a stage: unloaded, passed through the boxes, and loaded for what comes next."""

import os
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from aurora.algebra.state.state import State
from aurora.algebra.state.turn import Moment
from aurora.algebra.tuples.train import Train
from aurora.engine.controls import Controls
from aurora.engine.plan.buckets import labels
from aurora.engine.plan.plan import Entry
from aurora.engine.plan.rewriting import rewrite_plan
from aurora.engine.spark.state import SparkStore
from aurora.engine.stage import check_sample, run_stage
from aurora.engine.wagons import SINKS, Job, Lane, Wagon, read_moment, to_arrow
from aurora.network.network import Port

__all__ = ["make_short_stop", "make_stop"]


# So many bytes are handed to Spark together; what follows is packed when they are gone.
FRAME = 1 << 24


def make_stop(
    job: Job, number: int, label: int, rows: Iterator[pd.DataFrame], values: Any
) -> Iterator[pd.DataFrame]:
    """`rows` are the wagons of the bucket `label`, `values` Spark's map of its state."""
    moment: Moment | None = None
    controls = Controls()
    arrived: dict[Entry | Port, list[Train]] = {}
    leaving: list[Wagon] = []
    for frame in rows:
        for stage, lane, payload in zip(frame["stage"], frame["lane"], frame["payload"], strict=True):
            if stage != number:
                leaving.append(Wagon(label, int(stage), int(lane), payload))
            elif lane == Lane.MOMENT:
                moment, controls = read_moment(payload)
            else:
                arrived.setdefault(job.plan.entries[lane], []).append(Train.from_bytes(payload))
    if moment is None:
        # Only what passes through to a later stage or to the sinks: its labels may be none of this stage's.
        yield from map(_frame, _in_pieces(leaving))
        return
    store = SparkStore(values, os.path.join(job.scratch, f"{number}-{label}"))
    state = State(store)
    loaded = _run_boxes(job, number, label, arrived, state, moment, controls)
    if not moment.end:
        # Nothing comes after the end.
        store.write(state.changes())
    yield from map(_frame, _in_pieces(chain(leaving, loaded)))


def make_short_stop(job: Job, number: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same where nothing is kept. In a partition are the wagons of one bucket, and others that pass through."""
    moment: Moment | None = None
    controls, label = Controls(), 0
    arrived: dict[Entry | Port, list[Train]] = {}
    for batch in batches:
        stops = batch.column("stage").to_numpy() == number
        if not stops.all():
            yield batch.filter(pa.array(~stops))
        for row in np.flatnonzero(stops).tolist():
            lane, payload = batch.column("lane")[row].as_py(), batch.column("payload")[row]
            if lane == Lane.MOMENT:
                moment, controls = read_moment(payload.as_py())
                label = batch.column("bucket")[row].as_py()
            else:
                arrived.setdefault(job.plan.entries[lane], []).append(Train.from_bytes(payload.as_buffer()))
    if moment is not None:
        loaded = _run_boxes(job, number, label, arrived, State(), moment, controls)
        yield from map(to_arrow, _in_pieces(loaded))


def _run_boxes(
    job: Job,
    number: int,
    label: int,
    arrived: dict[Entry | Port, list[Train]],
    state: State,
    moment: Moment,
    controls: Controls,
) -> Iterator[Wagon]:
    """Passes what has arrived through the boxes at once, and gives what leaves them wagon by wagon."""
    bucket = labels(job.buckets).index(label)
    primary = bucket == 0
    plan = rewrite_plan(job.plan, controls.rewrites, controls.streams)
    here, counts = run_stage(plan, number, arrived, state, moment, primary, controls.drops)
    check_sample(plan, number, here, bucket, job.buckets)
    arrived.clear()
    onward = (
        wagon
        for wagon in job.moments(number + 1, moment, controls)
        if (primary if wagon.stage == SINKS else wagon.bucket == label)
    )
    shown = job.tap_wagons(number, here, controls.taps, label)
    return chain(job.load_wagons(number, here, counts, label), shown, onward)


def _in_pieces(wagons: Iterable[Wagon]) -> Iterator[list[Wagon]]:
    """The wagons in pieces of bounded size, one at least."""
    loaded: list[Wagon] = []
    size = 0
    for wagon in wagons:
        if loaded and size + len(wagon.payload) > FRAME:
            yield loaded
            loaded, size = [], 0
        loaded.append(wagon)
        size += len(wagon.payload)
    yield loaded


def _frame(wagons: list[Wagon]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "bucket": pd.array([wagon.bucket for wagon in wagons], dtype="int32"),
            "stage": pd.array([wagon.stage for wagon in wagons], dtype="int32"),
            "lane": pd.array([wagon.lane for wagon in wagons], dtype="int32"),
            "payload": [wagon.payload for wagon in wagons],
        }
    )
