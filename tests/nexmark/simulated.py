"""A query without Spark: its stages in memory, cut into batches, with a restart after every one of them."""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from aurora import Memory, Schema, json_lines
from aurora.algebra.state.state import State
from aurora.algebra.state.turn import Moment
from aurora.algebra.tuples.train import Train, from_bytes, to_bytes
from aurora.engine.plan import plan_network
from aurora.engine.projection import projected
from aurora.engine.sources.parse import parse_json
from aurora.engine.stage import departures, run_stage
from aurora.network.network import Network, Port

__all__ = ["STATE", "simulated"]

# Under this name the largest number of bytes that waited for later events.
STATE = "bytes of state"


def simulated(
    network: Network, events: list[Any], cut: int, buckets: int, tables: Mapping[str, Memory], pieces: int = 2
) -> tuple[list[Any], Counter[str]]:
    """The rows of the result as they are written, and what was left out by reason."""
    plan = plan_network(projected(network, ["result"]), ["result"])
    plan = plan.with_tables({name: table.rows for name, table in tables.items()})
    (name, schema), (_, result) = plan.inputs[0], plan.outputs[0]
    stored: dict[tuple[int, int], dict[str, bytes]] = {}
    lines, discarded = b"", Counter[str]()
    largest = 0
    starts = (
        [*range(0, len(events), cut), len(events)] if len(events) % cut else [*range(0, len(events), cut)]
    )
    for start in starts or [0]:
        part = events[start : start + cut]
        moment = Moment(0, start - 1, end=start + cut >= len(events))
        waiting: dict[tuple[int, int], dict[Any, list[Train]]] = {}
        given: list[Train] = []
        for stage in plan.stages:
            for bucket in range(buckets if stage.number else pieces):
                if stage.number:
                    arrived = waiting.get((stage.number, bucket), {})
                else:
                    arrived = {Port(name): [_train(part, start, bucket, pieces, schema)]}
                values = stored.setdefault((stage.number, bucket), {})
                state = State(lambda key, values=values: from_bytes(values[key]) if key in values else None)
                here, counts = run_stage(plan, stage.number, arrived, state, moment, bucket == 0)
                for key, value in state.changes():
                    values.pop(key, None)
                    if value is not None:
                        values[key] = to_bytes(value)
                for count in counts.values():
                    discarded.update(count.discarded)
                for index, target, train in departures(plan, stage.number, here, buckets):
                    entry = plan.entries[index]
                    train = Train.from_bytes(train.to_bytes())
                    waiting.setdefault((entry.stage, target), {}).setdefault(entry, []).append(train)
                if plan.made_in[result] == stage.number and result in here:
                    given.append(here[result])
        waits = [
            len(kept) for each in stored.values() for name, kept in each.items() if not name.endswith(KEPT)
        ]
        largest = max(largest, sum(waits))
        lines += (
            json_lines(Train.concat(given).arranged().rows, 3, network.name[:3] != "q0 ") if given else b""
        )
    left = [name for values in stored.values() for name in values if not name.endswith(KEPT)]
    assert left == [], "what no later event needs is still there"
    discarded[STATE] = largest
    return [json.loads(line) for line in lines.splitlines()], discarded


# What a query knows for good: everything else is forgotten when the input has ended.
KEPT = ("largest", "persons", "totals", "prices", "groups", "tops")


def _train(events: list[Any], start: int, piece: int, pieces: int, schema: Schema) -> Train:
    share = -(-len(events) // pieces)
    own = events[piece * share : (piece + 1) * share]
    text = "".join(json.dumps(event, ensure_ascii=False) + "\n" for event in own)
    keys = start + piece * share + np.arange(len(own), dtype=np.int64)
    if not own:
        return Train.empty(schema.arrow())
    return Train(parse_json(schema)(text.encode()), keys * 0, keys[None])
