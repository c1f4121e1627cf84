"""A stage with state, as Spark calls it: once for each bucket and batch."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from aurora.algebra.train import Train
from aurora.algebra.turn import Moment, State
from aurora.engine.buckets import labels
from aurora.engine.plan import Entry
from aurora.engine.stage import run_stage
from aurora.engine.stored import StoredState
from aurora.engine.wagons import SINKS, TOKEN, Job, Wagon, moment_of
from aurora.network.network import Port

__all__ = ["StageProcessor"]


class StageProcessor(StatefulProcessor):
    """State is a map from names to Arrow bytes: Spark stores and restores it, and only what changed is written."""

    def __init__(self, job: Job, number: int) -> None:
        self._job = job
        self._number = number

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._values = handle.getMapState("values", "name string", "value binary")

    def handleInputRows(
        self, key: Any, rows: Iterator[pd.DataFrame], timer_values: Any = None
    ) -> Iterator[pd.DataFrame]:
        label = int(key[0])
        moment: Moment | None = None
        arrived: dict[Entry | Port, list[Train]] = {}
        leaving: list[Wagon] = []
        for frame in rows:
            for stage, lane, payload in zip(frame["stage"], frame["lane"], frame["payload"], strict=True):
                if stage != self._number:
                    leaving.append(Wagon(label, int(stage), int(lane), payload))
                elif lane == TOKEN:
                    moment = moment_of(payload)
                else:
                    entry = self._job.plan.entries[lane]
                    arrived.setdefault(entry, []).append(Train.from_bytes(payload))
        if moment is None:
            # Only what passes through to a later stage or to the sinks: its labels may be none of this stage's.
            yield _frame(leaving)
            return
        stored = StoredState(self._values, Path(self._job.scratch) / f"{self._number}-{label}")
        state = State(stored.read)
        primary = label == labels(self._job.buckets)[0]
        here, counts = run_stage(self._job.plan, self._number, arrived, state, moment, primary)
        stored.write(state.changes())
        leaving += self._job.loaded(self._number, here, counts, label)
        for wagon in self._job.tokens(self._number + 1, moment):
            if primary if wagon.stage == SINKS else wagon.bucket == label:
                leaving.append(wagon)
        yield _frame(leaving)

    def close(self) -> None:
        pass


def _frame(wagons: list[Wagon]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "bucket": pd.array([wagon.bucket for wagon in wagons], dtype="int32"),
            "stage": pd.array([wagon.stage for wagon in wagons], dtype="int32"),
            "lane": pd.array([wagon.lane for wagon in wagons], dtype="int32"),
            "payload": [wagon.payload for wagon in wagons],
        }
    )
