"""Runs a kernel and its naive version on the same arrivals, cut into trains in several ways."""

import math
import zlib
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import currently_in_test_context

from aurora.algebra.state.runs import merge_runs, part_names, rows_of_part
from aurora.algebra.state.state import Changes, Delta, State, Stored
from aurora.algebra.state.turn import Moment, Turn
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Train, arrival_numbers, from_bytes, to_bytes
from tests.spec.squal import Box
from tests.thoroughness import PROFILE

__all__ = [
    "CUTS",
    "Arrival",
    "Ran",
    "batch",
    "check_agreement",
    "choose_cuts",
    "plain",
    "rows_kept",
    "run_kernel",
    "run_naive",
    "same",
    "same_bits",
    "trains",
]

CUTS = (1, 3, 7, 10**6)
# Whether faults are searched for, or the same examples run again that ran before.
SEARCHES = PROFILE != "quick"

Row = dict[str, Any]
# The number of the input, the tuple. A tuple's arrival number is its place in the list.
Arrival = tuple[int, Row]


@dataclass
class Ran:
    """What came out: for each port rows with their arrival times, and what was left out."""

    ports: dict[str, list[tuple[int, Row]]] = field(default_factory=dict)
    discarded: Counter[str] = field(default_factory=Counter)
    stored: Stored = field(default_factory=Stored)
    relations: Stored = field(default_factory=Stored)


def batch(rows: list[Row], schema: Schema) -> pa.RecordBatch:
    """Times are given as whole numbers: microseconds, days."""
    columns = []
    for name, kind in schema.items():
        values = [row[name] for row in rows]
        if pa.types.is_timestamp(kind):
            columns.append(pa.array(values, pa.int64()).cast(kind))
        elif pa.types.is_date(kind):
            columns.append(pa.array(values, pa.int32()).cast(kind))
        else:
            columns.append(pa.array(values, kind))
    return pa.RecordBatch.from_arrays(columns, schema=schema.arrow())


def plain(rows: pa.RecordBatch) -> list[Row]:
    columns = []
    for column in rows.columns:
        kind = column.type.value_type if pa.types.is_list(column.type) else column.type
        storage = (
            pa.int64() if pa.types.is_timestamp(kind) else pa.int32() if pa.types.is_date(kind) else kind
        )
        columns.append(column.cast(storage if kind == column.type else pa.list_(storage)).to_pylist())
    return [dict(zip(rows.schema.names, values, strict=True)) for values in zip(*columns, strict=True)]


def trains(arrivals: list[Arrival], schemas: tuple[Schema, ...], start: int, stop: int) -> tuple[Train, ...]:
    found = []
    for port, schema in enumerate(schemas):
        numbers = [i for i in range(start, min(stop, len(arrivals))) if arrivals[i][0] == port]
        rows = batch([arrivals[i][1] for i in numbers], schema)
        keys = np.array(numbers, np.int64)
        found.append(Train(rows, arrived(keys), arrival_numbers(0, keys, 0, 1)[None]))
    return tuple(found)


def arrived(numbers: Any) -> Any:
    """Arrival times that do not simply rise with the arrival number."""
    return 1000 + numbers * 10 - 25 * (numbers % 3)


def run_kernel(
    box: Any,
    arrivals: list[Arrival],
    schemas: tuple[Schema, ...],
    cut: int,
    clock: list[int] | None = None,
    end_with_data: bool = False,
    ends: bool = True,
) -> Ran:
    """`clock` is the local time at each arrival, and at last at the end; a turn begins at that of its first."""
    ran = Ran()
    clock = clock or [0] * (len(arrivals) + 1)
    starts = list(range(0, len(arrivals), cut))
    for start in starts:
        last = end_with_data and ends and start == starts[-1]
        moment = Moment(clock[start], 2 * start, last)
        collect(box, trains(arrivals, schemas, start, start + cut), moment, ran)
    if ends and not (end_with_data and starts):
        moment = Moment(clock[-1], 2 * len(arrivals), True)
        collect(box, trains(arrivals, schemas, 0, 0), moment, ran)
    return ran


def collect(box: Any, inputs: tuple[Train, ...], moment: Moment, ran: Ran) -> None:
    # Each turn gets its state from what the last one stored, and from nothing else.
    state, relations = State(ran.stored), State(ran.relations)
    turn = Turn(state, moment, ran.discarded, relations=relations)
    for port, train in box.call(inputs, turn).items():
        assert train.rows.schema == box.outputs[port].arrow()
        train.rows.validate(full=True)
        assert train.depth == box.depth(tuple(each.depth for each in inputs))
        assert len(train.arrived) == len(train) == train.keys.shape[1]
        rows = zip(train.arrived.tolist(), plain(train.rows), strict=True)
        ran.ports.setdefault(port, []).extend(rows)
    for changed, store in ((state, ran.stored), (relations, ran.relations)):
        store.write(through_bytes(changed.changes()))


def through_bytes(changes: Changes) -> Changes:
    """As a store would give them back."""
    return Changes(
        {name: value and from_bytes(to_bytes(value)) for name, value in changes.values.items()},
        {name: Delta(from_bytes(to_bytes(delta.run)), delta.whole) for name, delta in changes.deltas.items()},
    )


def rows_kept(store: Stored) -> Counter[str]:
    """How many rows the groups hold in each part, and each named batch."""
    kept: Counter[str] = Counter({name: value.num_rows for name, value in store.values.items()})
    for runs in store.tables.values():
        entries = merge_runs(runs, drop_empty=True)
        for name in part_names(entries):
            found = rows_of_part(entries, name)
            kept[name] += 0 if found is None else len(found[0])
    return +kept


def run_naive(
    box: Box,
    arrivals: list[Arrival],
    cut: int = 1,
    clock: list[int] | None = None,
    ends: bool = True,
) -> Ran:
    ran = Ran()
    clock = clock or [0] * (len(arrivals) + 1)
    found = []
    for number, (port, row) in enumerate(arrivals):
        if number % cut == 0:
            found += box.tick(clock[number])
        found += box.push(port, row, int(arrived(number)))
    if ends:
        found += box.tick(clock[-1])
        found += box.end()
    for port, ts, row in found:
        ran.ports.setdefault(port, []).append((ts, row))
    ran.discarded = box.discarded
    return ran


def same(one: Any, other: Any, digits: float = 0.0) -> bool:
    """Equal, NaN and the sign of zero included; doubles up to a relative difference of `digits`."""
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[name], other[name], digits) for name in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(same(a, b, digits) for a, b in zip(one, other, strict=True))
    if isinstance(one, float) and isinstance(other, float):
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        if one == other:
            return math.copysign(1, one) == math.copysign(1, other)
        return math.isclose(one, other, rel_tol=digits, abs_tol=digits)
    return type(one) is type(other) and bool(one == other)


def same_bits(one: Any, other: Any) -> bool:
    """Equal to the sign of zero; NaN equals NaN."""
    return repr(one).replace("-nan", "nan") == repr(other).replace("-nan", "nan")


def choose_cuts(arrivals: Any) -> tuple[int, ...]:
    """Everything at once and, of the shorter cuts, one that differs from example to example: most of the time goes
    into the many turns of short ones. All of them for a single example, and when faults are searched for."""
    if SEARCHES or not currently_in_test_context():
        return CUTS
    return CUTS[zlib.crc32(repr(arrivals).encode()) % (len(CUTS) - 1)], CUTS[-1]


def check_agreement(
    box: Any,
    naive: Any,
    arrivals: list[Arrival],
    *schemas: Schema,
    digits: float = 0.0,
    cuts: tuple[int, ...] = (),
) -> Ran:
    """Holds the kernel to its naive version for several cuts; `naive` makes a fresh one."""
    wanted = run_naive(naive(), arrivals)
    first: Ran | None = None
    for number, cut in enumerate(cuts or choose_cuts(arrivals), len(arrivals)):
        # The end comes in turns of its own and together with the last tuples.
        ran = run_kernel(box, arrivals, schemas, cut, end_with_data=number % 2 == 1)
        for port in box.outputs:
            got, want = ran.ports.get(port, []), wanted.ports.get(port, [])
            assert same(got, want, digits), f"cut {cut}, port {port}:\n got {got}\nwant {want}"
        assert +ran.discarded == +wanted.discarded, f"cut {cut}"
        first = first or ran
        # To the last bit the same for every cut, where the naive version allows a difference.
        assert same([ran.ports[port] for port in box.outputs], [first.ports[port] for port in box.outputs])
    assert first is not None
    return first
