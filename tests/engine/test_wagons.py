"""Long trains go in several wagons and several frames, and come together again as they were."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from aurora import Network
from aurora.algebra.state.turn import Moment
from aurora.algebra.tuples.train import Train
from aurora.engine.plan.buckets import labels
from aurora.engine.plan.plan import plan_network
from aurora.engine.sources.in_memory.memory import Memory
from aurora.engine.spark.stage_task import make_stop
from aurora.engine.wagons import SINKS, Job, Lane, output_lane, read_moment, to_arrow
from tests.engine.test_spark_state import MapState

SCHEMA = "g int, T int"
ORDER = {"on": "T", "slack": 1, "group_by": ["g"]}


def two_stages() -> Network:
    """What the first stage gives goes to a sink, and by another key to a second one."""
    network = Network("two")
    counts = network.input("r", SCHEMA).aggregate({"n": "count(*)"}, order=ORDER, size=2, name="by_group")
    network.output("counts", counts)
    again = counts.aggregate({"m": "sum(n)"}, order={"on": "T", "group_by": ["n"]}, size=9, name="by_count")
    network.output("again", again)
    return network


def stopped(tmp_path: Path) -> list[pd.DataFrame]:
    """The frames of the first stage with state, in the batch with which the input ends."""
    job = Job(plan_network(two_stages()), 2, {}, str(tmp_path))
    rows = [{"g": i % 40, "T": i // 7} for i in range(400)]
    train = Train(Memory.of(SCHEMA, rows).rows, np.zeros(400, np.int64), np.arange(400)[None])
    (entry,) = (entry for entry in job.plan.entries if entry.port.box == "r")
    lane, label = job.plan.entries.index(entry), labels(2)[0]
    wagons = [wagon for wagon in job.moments(1, Moment(end=True)) if wagon.bucket == label]
    frame = to_arrow(wagons).to_pandas()
    frame.loc[len(frame)] = [label, 1, lane, train.to_bytes()]
    return list(make_stop(job, 1, label, iter([frame]), MapState()))


def unloaded(frames: list[pd.DataFrame]) -> dict[tuple[int, int, int], list[bytes]]:
    found: dict[tuple[int, int, int], list[bytes]] = {}
    for frame in frames:
        for bucket, stage, lane, payload in frame.itertuples(index=False):
            found.setdefault((bucket, stage, lane), []).append(payload)
    return found


def test_pieces_are_the_train_that_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (whole,) = stopped(tmp_path / "whole")
    monkeypatch.setattr("aurora.engine.wagons.PIECE", 11)
    monkeypatch.setattr("aurora.engine.spark.stage_task.FRAME", 3000)
    frames = stopped(tmp_path / "pieces")
    assert len(frames) > 3
    for frame in frames:
        assert sum(map(len, frame["payload"])) <= 3000 or len(frame) == 1
    wanted, found = unloaded([whole]), unloaded(frames)
    assert wanted.keys() == found.keys()
    for place, payloads in wanted.items():
        if place[2] in (Lane.MOMENT, Lane.COUNTS):
            continue
        (train,) = map(Train.from_bytes, payloads)
        pieces = [Train.from_bytes(payload) for payload in found[place]]
        assert len(pieces) == -(-len(train) // 11)
        together = Train.concat(pieces[::-1]).arrange()
        assert together.rows.equals(train.arrange().rows)
        assert (together.keys == train.arrange().keys).all()
    outputs = [place for place in found if place[1:] == (SINKS, output_lane(0))]
    assert len(outputs) == 1 and len(found[outputs[0]]) > 3
    moments = [
        read_moment(payload)[0] for place in found if place[2] == Lane.MOMENT for payload in found[place]
    ]
    assert [moment.end for moment in moments] == [True]
