"""A task of the source: reads its piece, runs the boxes without state, and loads trains for the buckets."""

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from aurora.algebra.state.state import State
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Ints, Mask, Train, arrival_numbers
from aurora.engine.drops import SHED, draw
from aurora.engine.plan.rewriting import rewrite_plan
from aurora.engine.sinks.rejects import rejects_train
from aurora.engine.sources.input_checks import check_portion
from aurora.engine.sources.portion_schema import fit_rows
from aurora.engine.sources.source import Piece, Portion, SkippingPiece
from aurora.engine.spark.source import Task
from aurora.engine.stage import BoxCounts, run_stage
from aurora.engine.wagons import SINKS, Job, Lane, Wagon, to_arrow
from aurora.network.network import Port

__all__ = ["carry_out"]


def carry_out(task: Task, job: Job, inputs: int) -> Iterator[pa.RecordBatch]:
    """`inputs` is the number of inputs that take turns."""
    if task.piece is None:
        places = Wagon(0, SINKS, Lane.PLACES, json.dumps(task.places).encode())
        said = {
            **task.controls.to_json(),
            "behind": task.behind,
            "took": task.took,
            "apart": task.apart,
            "waiting": task.waiting,
        }
        controls = Wagon(0, SINKS, Lane.CONTROLS, json.dumps(said).encode())
        yield to_arrow([*job.moments(1, task.moment, task.controls), places, controls])
        return
    name, schema = job.plan.inputs[task.input]
    started = time.perf_counter_ns()
    portion, shed = _read(task.piece, name, schema, task, inputs)
    portion = replace(portion, rows=fit_rows(f"source {name}", portion, schema))
    portion = check_portion(name, portion, job.plan.checks.get(name, ()))
    train = _numbered(portion, task, inputs)
    took = time.perf_counter_ns() - started
    plan = rewrite_plan(job.plan, task.controls.rewrites, task.controls.streams)
    here, counts = run_stage(plan, 0, {Port(name): [train]}, State(), task.moment, drops=task.controls.drops)
    if shed:
        counts.setdefault(name, BoxCounts()).discarded[SHED] += shed
    wagons = list(job.load_wagons(0, here, counts, task.label))
    wagons += job.tap_wagons(0, here, task.controls.taps, task.label)
    read: dict[str, Any] = {"input": name, "rows": len(train) + shed, "nanoseconds": took}
    if len(train):
        # By the newest and by the oldest one, when the batch was made.
        read["waited"] = [max(task.wall - int(end), 0) for end in (train.arrived.max(), train.arrived.min())]
    wagons.append(Wagon(task.label, SINKS, Lane.READS, json.dumps(read).encode()))
    if portion.rejects:
        bad = rejects_train(name, portion.rejects).to_bytes()
        wagons.append(Wagon(task.label, SINKS, Lane.REJECTS, bad))
    yield to_arrow(wagons)


def _read(piece: Piece, name: str, schema: Schema, task: Task, inputs: int) -> tuple[Portion, int]:
    """The rows of a piece. Those that a drop box leaves out by chance are not even read, where that can be."""
    own = [drop for drop in task.controls.drops if drop.place == name and drop.where is None]
    if not own or not isinstance(piece, SkippingPiece):
        return piece.read(schema), 0

    def wanted(numbers: Ints) -> Mask:
        keys = arrival_numbers(task.moment.before, numbers - _start(task), task.input, inputs)
        return np.asarray(~np.logical_or.reduce([draw(keys[None], drop) for drop in own]))

    return piece.read_some(schema, wanted)


def _start(task: Task) -> int:
    assert task.start is not None
    return int(task.start["row"])


def _numbered(portion: Portion, task: Task, inputs: int) -> Train:
    if portion.order is not None:
        keys = arrival_numbers(task.moment.before, portion.order, 0, 1)
    else:
        keys = arrival_numbers(task.moment.before, portion.numbers - _start(task), task.input, inputs)
    arrived = np.full(len(keys), task.wall, np.int64) if portion.arrived is None else portion.arrived
    return Train(portion.rows, arrived, keys[None])
