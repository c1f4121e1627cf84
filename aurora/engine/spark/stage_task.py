"""A stop of the trains in one bucket of a stage: unloaded, passed through the boxes, and loaded for what comes next."""

import os
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import pandas as pd

from aurora.algebra.state.state import State
from aurora.algebra.state.turn import Moment
from aurora.algebra.tuples.train import Train
from aurora.engine.buckets import labels
from aurora.engine.controls import Controls
from aurora.engine.plan import Entry
from aurora.engine.rewriting import rewrite_plan
from aurora.engine.spark.state import SparkStore
from aurora.engine.stage import run_stage
from aurora.engine.wagons import SINKS, Job, Lane, Wagon, read_moment
from aurora.network.network import Port

__all__ = ["make_stop"]


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
        yield from _frames(leaving)
        return
    store = SparkStore(values, os.path.join(job.scratch, f"{number}-{label}"))
    state = State(store)
    primary = label == labels(job.buckets)[0]
    plan = rewrite_plan(job.plan, controls.rewrites, controls.streams)
    here, counts = run_stage(plan, number, arrived, state, moment, primary, controls.drops)
    if not moment.end:
        # Nothing comes after the end.
        store.write(state.changes())
    arrived.clear()
    onward = (
        wagon
        for wagon in job.moments(number + 1, moment, controls)
        if (primary if wagon.stage == SINKS else wagon.bucket == label)
    )
    shown = job.tap_wagons(number, here, controls.taps, label)
    loaded = chain(job.load_wagons(number, here, counts, label), shown)
    yield from _frames(chain(leaving, loaded, onward))


def _frames(wagons: Iterable[Wagon]) -> Iterator[pd.DataFrame]:
    """The wagons in frames of bounded size, one at least."""
    loaded: list[Wagon] = []
    size = 0
    for wagon in wagons:
        if loaded and size + len(wagon.payload) > FRAME:
            yield _frame(loaded)
            loaded, size = [], 0
        loaded.append(wagon)
        size += len(wagon.payload)
    yield _frame(loaded)


def _frame(wagons: list[Wagon]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "bucket": pd.array([wagon.bucket for wagon in wagons], dtype="int32"),
            "stage": pd.array([wagon.stage for wagon in wagons], dtype="int32"),
            "lane": pd.array([wagon.lane for wagon in wagons], dtype="int32"),
            "payload": [wagon.payload for wagon in wagons],
        }
    )
