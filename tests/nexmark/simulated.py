"""A query without Spark, from the JSON of its events to that of its results, cut into batches."""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from aurora import Memory, Schema, json_lines
from aurora.algebra.state.turn import Moment
from aurora.algebra.tuples.train import Train, arrival_numbers
from aurora.engine.local import LocalRun
from aurora.engine.plan.plan import plan_network
from aurora.engine.plan.projection import project_inputs
from aurora.engine.sources.text.parse import parse_json
from aurora.engine.stage import CLOCKS
from aurora.network.network import Network

__all__ = ["STATE", "simulated"]

# Under this name the largest number of bytes that waited for later events.
STATE = "bytes of state"


def simulated(
    network: Network, events: list[Any], cut: int, buckets: int, tables: Mapping[str, Memory], pieces: int = 2
) -> tuple[list[Any], Counter[str]]:
    """The rows of the result as they are written, and what was left out by reason."""
    plan = plan_network(project_inputs(network, ["result"]), ["result"])
    plan = plan.with_tables({name: table.rows for name, table in tables.items()})
    ((name, schema),) = plan.inputs
    run = LocalRun(plan, buckets)
    lines, largest = b"", 0
    # The end comes with the last events, or alone where they fill their batch.
    starts = [*range(0, len(events), cut)] + ([] if len(events) % cut else [len(events)])
    for start in starts:
        part = events[start : start + cut]
        moment = Moment(0, 2 * start, end=start == starts[-1])
        trains = [(name, _train(part, start, piece, pieces, schema)) for piece in range(pieces)]
        given = run.feed(trains, moment)
        largest = max(largest, _waiting(run))
        if given:
            lines += json_lines(given["result"].rows, 3, network.name[:3] != "q0 ")
    discarded = Counter({STATE: largest})
    discarded.update(run.discarded)
    return [json.loads(line) for line in lines.splitlines()], discarded


def _waiting(run: LocalRun) -> int:
    """The bytes of what waits for later events; how far clocks have come is a few numbers."""
    return sum(stored.size() - stored.size(CLOCKS) for stored in run.stored.values())


def _train(events: list[Any], start: int, piece: int, pieces: int, schema: Schema) -> Train:
    share = -(-len(events) // pieces)
    own = events[piece * share : (piece + 1) * share]
    text = "".join(json.dumps(event, ensure_ascii=False) + "\n" for event in own)
    if not own:
        return Train.empty(schema.arrow())
    keys = arrival_numbers(2 * start, piece * share + np.arange(len(own), dtype=np.int64), 0, 1)
    return Train(parse_json(schema)(text.encode()), keys * 0, keys[None])
