"""A network under a made-up overload, which sheds, defers and changes in every batch: to be killed, and checked.

As a script it runs the network in a folder, by the clock, until its input has ended.
"""

import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa

from aurora import Memory, Network, Paced, Settings, from_text, run
from aurora.adapt.deferral import Split, split_network
from aurora.adapt.shedding import Shedding
from aurora.algebra.state.turn import Moment
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Train, arrival_numbers
from aurora.engine.controls import Controls
from aurora.engine.drops import WHOLE, Drop
from aurora.engine.local import LocalRun
from aurora.engine.plan.plan import plan_network
from aurora.engine.plan.projection import project_inputs
from aurora.engine.result import Result
from aurora.engine.sinks.encode import csv_header, to_csv
from aurora.engine.sources.portion_schema import narrow_rows
from aurora.engine.spark.session import SESSION
from aurora.network.network import Output
from tests.engine.processes import KILLS

# By place and reason.
Discarded = dict[str, Counter[str]]

SCHEMA = Schema.parse("Sid int, Time int, Pos int")
BATCH, RATE = 100, 150.0
# Each run makes a few batches before it is killed, and the last one the rest.
COUNT = BATCH * (4 * KILLS + 8)
NETWORK = """
network: overloaded
inputs: {reports: {schema: "Sid int, Time int, Pos int"}}
boxes:
  over: {filter: ["Pos >= 30"], from: reports}
  crowd: {aggregate: {N: "count(*)"}, from: over, size: 20, order: {on: Time, slack: 2}}
  few: {filter: ["Sid < 3"], from: over.rest}
  even: {filter: ["Pos % 2 = 0"], from: few}
  sums: {aggregate: {Sum: "sum(Pos)"}, from: even, size: 25, order: {on: Time, slack: 3, group_by: [Sid]}}
  last: {map: {Sid: Sid, Sum: "Sum * 2"}, from: sums}
outputs:
  quick: {from: crowd, qos: {latency: [[0, 1], [2, 1], [5, 0]], delivered: [[100, 1], [0, 0]]}}
  far: {from: over, qos: {latency: [[0, 1], [2, 1], [5, 0]], delivered: [[100, 1], [0, 0]]}}
  late: {from: last, qos: {latency: [[0, 1], [60, 1], [90, 0]], delivered: [[100, 1], [0, 0]]}}
"""
DROPS = (
    Drop("reports", 100_000),
    Drop("over.1", 300_000),
    Drop("over.rest", WHOLE, "Sid = 2"),
    Drop("sums.1", 400_000),
)


def make_rows() -> pa.RecordBatch:
    chance = np.random.default_rng(11)
    columns = {
        "Sid": chance.integers(4, size=COUNT),
        "Time": np.arange(COUNT) // 3 - chance.integers(3, size=COUNT),
        "Pos": chance.integers(60, size=COUNT),
    }
    return pa.record_batch(
        {name: pa.array(each, pa.int32()) for name, each in columns.items()}, SCHEMA.arrow()
    )


def main(folder: Path) -> Result:
    """Sheds, defers and changes the order of its boxes by chance, whatever the load is."""
    chance = random.Random()
    sinks = {name: f"csv:{folder}/{name}.csv" for name in ("quick", "far", "late")}

    def shed(*_: Any) -> Shedding:
        return Shedding(tuple(drop for drop in DROPS if chance.random() < 0.5))

    with (
        # The log of all batches stays, to be checked.
        patch.dict(SESSION, {"spark.sql.streaming.minBatchesToRetain": "1000"}),
        patch("aurora.history.shedder.Shedder.decide", shed),
        # Where it is late, what waits is shed behind the queue as well as in front of it.
        patch("aurora.history.parts.Parts.waited", lambda _: chance.choice([0.0, 2.0])),
        patch("aurora.history.turns.must_hold", lambda *_: chance.random() < 0.5),
        patch("aurora.adapt.optimiser.Optimiser.advise", lambda *_: chance.choice([(), (("even", "few"),)])),
    ):
        source = {"reports": Paced(Memory.of(SCHEMA, make_rows()), RATE)}
        settings = Settings(home=str(folder / "home"), partitions=2, batch=BATCH, batch_seconds=0.3)
        result = run(from_text(NETWORK), source, sinks, settings)
    assert result.ended
    return result


def read_offsets(checkpoint: Path) -> Iterator[dict[str, Any]]:
    """The offsets of all batches, in order, as Spark has logged them; the first is the beginning."""
    folder = checkpoint / "spark" / "offsets"
    yield {"inputs": {}, "number": 0}
    for path in sorted(
        (path for path in folder.iterdir() if path.name.isdigit()), key=lambda path: int(path.name)
    ):
        yield json.loads(path.read_text().splitlines()[-1])


def repeat(
    plan_of: Network, outputs: list[str], checkpoint: Path, streams: dict[str, pa.RecordBatch]
) -> LocalRun:
    """What the batches in a log give, by the drop boxes of each, without Spark."""
    plan = plan_network(project_inputs(plan_of, outputs), outputs)
    local = LocalRun(plan, 2)
    before: dict[str, Any] | None = None
    for offset in read_offsets(checkpoint):
        if before is not None:
            local.drops = Controls.from_json(offset["controls"]).drops
            trains = []
            for name, schema in plan.inputs:
                start = before["inputs"].get(name, {"row": 0})["row"]
                rows = streams[name].slice(start, offset["inputs"][name]["row"] - start)
                keys = arrival_numbers(before["number"], np.arange(len(rows)), 0, 1)
                trains.append(
                    (name, Train(narrow_rows(rows, schema), np.zeros(len(rows), np.int64), keys[None]))
                )
            local.feed(trains, Moment(offset["now"], before["number"], offset["end"]))
        before = offset
    return local


def expected(folder: Path) -> tuple[dict[str, bytes], Discarded]:
    """The files of the outputs, and what was left out on the way to them, by the logs of both parts."""
    split = split_network(from_text(NETWORK), ["quick", "far", "late"])
    assert isinstance(split, Split)
    ((name, arc),) = split.arcs.items()
    split.urgent.outputs[arc.name] = Output(arc.name, arc.port)
    home = folder / "home"
    urgent = repeat(split.urgent, ["quick", "far", arc.name], home / "checkpoint", {"reports": make_rows()})
    passed = Train.concat(urgent.outputs[arc.name]).rows
    later = repeat(split.later, ["late"], home / "deferred" / "checkpoint", {name: passed})
    found = {}
    for local, network, output in (
        (urgent, split.urgent, "quick"),
        (urgent, split.urgent, "far"),
        (later, split.later, "late"),
    ):
        schema = network.schema(network.outputs[output].port).arrow()
        rows = [to_csv(train.rows) for train in local.outputs[output]]
        found[output] = csv_header(schema) + b"".join(rows)
    discarded: Discarded = {}
    for local in (urgent, later):
        for place, counts in local.counts.items():
            if counts.discarded:
                discarded.setdefault(place, Counter()).update(counts.discarded)
    return found, discarded


if __name__ == "__main__":
    main(Path(sys.argv[1]))
