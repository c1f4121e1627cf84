"""What leaves a batch, taken off its wagons: rows of each output in the order of emission, and rejected ones."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from aurora.algebra.tuples.train import Train
from aurora.engine.plan.plan import Plan
from aurora.engine.sinks.rejects import REJECTS_SINK
from aurora.engine.wagons import Lane, output_lane

__all__ = ["ByLane", "sort_wagons", "unload_trains"]

ByLane = dict[int, list[Any]]


def sort_wagons(wagons: pa.Table | pa.RecordBatch, by_lane: ByLane | None = None) -> ByLane:
    """The payloads by lane, behind those that are there already."""
    found: ByLane = {} if by_lane is None else by_lane
    for lane, payload in zip(wagons["lane"].to_pylist(), wagons["payload"], strict=True):
        # Trains may be long: they are read where they lie.
        content = payload.as_buffer() if lane <= Lane.OUTPUTS else payload.as_py()
        found.setdefault(lane, []).append(content)
    return found


def unload_trains(
    plan: Plan, by_lane: Mapping[int, list[Any]], refused: Sequence[Train] = ()
) -> Iterator[tuple[str, Train]]:
    """What came as rows: by output, and what was rejected, by source, file and line.

    `refused` are those that sinks did not take: asked for last, behind all outputs.
    """
    for index, (name, _) in enumerate(plan.outputs):
        trains = [Train.from_bytes(payload) for payload in by_lane.get(output_lane(index), [])]
        if trains:
            yield name, Train.concat(trains).arrange()
    bad = [Train.from_bytes(payload) for payload in by_lane.get(Lane.REJECTS, [])] + list(refused)
    if bad:
        train = Train.concat(bad)
        order = [("source", "ascending"), ("file", "ascending"), ("line", "ascending")]
        yield REJECTS_SINK, train.with_rows(train.rows.sort_by(order))
