"""A network with points, queries to attach to it, and what each must answer, without Spark."""

import gc
import os
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from aurora import Memory, Network, Running, from_text
from aurora.algebra.state.turn import Moment
from aurora.algebra.tuples.train import Train
from aurora.engine.local import LocalRun
from aurora.engine.plan.plan import plan_network
from aurora.engine.plan.projection import project_inputs
from aurora.engine.sinks.encode import csv_header, to_csv
from aurora.engine.sources.portion_schema import narrow_rows
from aurora.engine.spark.yielding import YIELDING
from aurora.network.network import Output

PATIENCE = 120.0

BORDER = """
network: border
inputs:
  reports: {schema: "Sid int, Time int, Pos int"}
boxes:
  over: {filter: ["Pos >= 30"], from: reports}
  crowd: {aggregate: {Cnt: "count(*)", Far: "max(Pos)"}, from: over, size: 4, order: {on: Time, slack: 2}}
points:
  recent: {from: over, keep: all, key: [Sid]}
  near: {from: over.rest, keep: 25}
  timed: {from: over, keep: 12, on: Time}
outputs:
  crowds: {from: crowd}
  view: {from: crowd, keep: all}
"""

QUERIES = {
    "one": """
network: one
inputs: {p: {point: recent}}
boxes: {mine: {filter: ["Sid = 1"], from: p}}
outputs: {out: {from: mine}}
""",
    "sums": """
network: sums
inputs: {p: {point: timed}}
boxes:
  sums: {aggregate: {N: "count(*)", Sum: "sum(Pos)"}, from: p, size: 7, order: {on: Time, slack: 3, group_by: [Sid]}}
outputs: {out: {from: sums}}
""",
    "pairs": """
network: pairs
inputs: {a: {point: recent}, b: {point: near}}
boxes:
  pairs: {join: "left.Sid = right.Sid", left: a, right: b, size: 3,
          left_order: {on: Time, slack: 2, group_by: [Sid]}, right_order: {on: Time, slack: 2, group_by: [Sid]}}
outputs: {out: {from: pairs}}
""",
    "seen": """
network: seen
inputs: {v: {point: view}}
boxes: {each: {map: {Time: Time, Twice: "2 * Cnt"}, from: v}}
outputs: {out: {from: each}}
""",
}


def border() -> Network:
    return from_text(BORDER)


def reports(count: int, seed: int = 3) -> list[dict[str, Any]]:
    chance = np.random.default_rng(seed)
    return [
        {
            "Sid": int(chance.integers(4)),
            "Time": i // 3 - int(chance.integers(3)),
            "Pos": int(chance.integers(60)),
        }
        for i in range(count)
    ]


def source(count: int, seed: int = 3) -> dict[str, Memory]:
    return {"reports": Memory.of("Sid int, Time int, Pos int", reports(count, seed))}


def query(name: str) -> Network:
    return from_text(QUERIES[name], name, border().point_schemas())


def streams(count: int, seed: int = 3, network: Network | None = None) -> dict[str, Train]:
    """All that passes at the points and outputs of the network, in order."""
    network = border() if network is None else network
    for name, point in network.points.items():
        network.outputs[name] = Output(name, point.port)
    run = LocalRun(plan_network(network))
    run.read(source(count, seed), [1000])
    return {name: Train.concat(trains).arrange() for name, trains in run.outputs.items() if trains}


def answers(asked: Network, starts: Mapping[str, Mapping[str, Any]], passed: Mapping[str, Train]) -> bytes:
    """The file of the output `out`, if the query begins with these rows of its points and sees all that follow."""
    rows = {slot: passed[start["point"]].rows.slice(start["first"]) for slot, start in starts.items()}
    causes = [
        (cause, index, row)
        for index, (slot, start) in enumerate(starts.items())
        for row, cause in enumerate(passed[start["point"]].keys[0][start["first"] :].tolist())
    ]
    keys: dict[int, list[int]] = {index: [] for index in range(len(rows))}
    for place, (_, index, _) in enumerate(sorted(causes)):
        keys[index].append(1 + 2 * place)
    plan = plan_network(project_inputs(asked, ["out"]))
    run = LocalRun(plan)
    trains = []
    for index, (slot, found) in enumerate(rows.items()):
        numbers = np.array(keys[index], np.int64)[None]
        schema = dict(plan.inputs)[slot]
        trains.append((slot, Train(narrow_rows(found, schema), np.zeros(len(found), np.int64), numbers)))
    run.feed(trains, Moment(0, 0, True))
    kind = asked.schema(asked.outputs["out"].port).arrow()
    return to_file(Train.concat(run.outputs["out"]).rows if run.outputs["out"] else None, kind)


def to_file(rows: pa.RecordBatch | None, schema: pa.Schema) -> bytes:
    return csv_header(schema) + (b"" if rows is None else to_csv(rows))


def wait_until(reached: Callable[[], bool]) -> None:
    """Returns when the condition holds."""
    for _ in range(int(PATIENCE * 50)):
        if reached():
            return
        threading.Event().wait(0.02)
    raise AssertionError(f"it did not come about in time\n{tell_all()}")


def tell_all() -> str:
    """What all networks and queries of this process do, and where each thread is."""
    told = []
    for running in (found for found in gc.get_objects() if isinstance(found, Running)):
        told.append(f"{running!r} {running._main._cause or ''}")
        told += [f"query {name}: {status}" for name, status in running.queries().items()]
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    for ident, frame in sys._current_frames().items():
        told.append(f"thread {names.get(ident)}\n{''.join(traceback.format_stack(frame))}")
    return "\n".join(told)


def yielding(above: int) -> list[int]:
    """The processes below one that belong to queries: their workers, and the process that forks these."""
    parents: dict[int, list[int]] = {}
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            parents.setdefault(parent, []).append(int(place.name))
    found = [above]
    for process in found:
        found += parents.get(process, [])
    return [process for process in found if _priority(process) == YIELDING]


def _priority(process: int) -> int | None:
    try:
        return os.getpriority(os.PRIO_PROCESS, process)
    except ProcessLookupError:
        return None


def read(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""
