"""A box spread over buckets by its partition gives the same rows in the same order as one that sees everything."""

from collections import Counter
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from aurora.algebra.aggregate import Aggregate
from aurora.algebra.bsort import BSort
from aurora.algebra.join import Join
from aurora.algebra.ordering.order import Order
from aurora.algebra.resample import Resample
from aurora.algebra.state.state import State
from aurora.algebra.state.turn import Moment, Turn
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Train
from aurora.algebra.wait import Wait
from tests.algebra.harness import Arrival, plain, trains
from tests.algebra.strategies import arrivals, groups, nearly_rising

SCHEMA = Schema.parse("T int, g int, v int")
BY_GROUP = Order("T", 1, group_by=("g",))
BOXES: list[Any] = [
    BSort.of(BY_GROUP, SCHEMA),
    BSort.of(Order("T", span=3, group_by=("g",)), SCHEMA),
    Aggregate.of({"s": "sum(v)"}, BY_GROUP, 4, 3, SCHEMA),
    Aggregate.of({"s": "sum(v)", "m": "median(v)"}, BY_GROUP, 4, 3, SCHEMA, timeout=6),
    Aggregate.of({"s": "sum(v)"}, Order("#", group_by=("g",)), 2, 1, SCHEMA),
    Join.of("left.g = right.g", 2, BY_GROUP, BY_GROUP, SCHEMA, SCHEMA),
    Resample.of({"s": "sum(v)"}, 2, Order("T"), BY_GROUP, SCHEMA, SCHEMA),
    Wait.of("T", BY_GROUP, SCHEMA, SCHEMA),
]


def run(box: Any, rows: list[Arrival], buckets: int, cut: int = 5) -> tuple[list[Any], Counter[str]]:
    states = [State() for _ in range(buckets)]
    discarded: Counter[str] = Counter()
    found = []
    starts = [*range(0, len(rows), cut), len(rows)]
    for start in starts:
        moment = Moment(start, start - 1, end=start == starts[-1])
        inputs = trains(rows, (SCHEMA,) * len(box.partition), start, start + cut)
        parts = []
        for bucket in range(buckets):
            own = tuple(
                train if by is None else train.filter(mine(train, by, bucket, buckets))
                for train, by in zip(inputs, box.partition, strict=True)
            )
            parts.append(box.call(own, Turn(states[bucket], moment, discarded, primary=bucket == 0))["1"])
        found += plain(Train.concat(parts).arranged().rows)
    return found, +discarded


def mine(train: Train, by: tuple[str, ...], bucket: int, buckets: int) -> Any:
    assert by == ("g",)
    return np.array(
        [(0 if g is None else g + 1) % buckets == bucket for g in train.rows["g"].to_pylist()], bool
    )


@given(arrivals(nearly_rising(st.integers(-3, 3), most=30), inputs=2, g=groups, v=st.integers(0, 9)))
def test_buckets_do_not_matter(rows: list[Arrival]) -> None:
    for box in BOXES:
        own = [(port % len(box.partition), row) for port, row in rows]
        whole = run(box, own, 1)
        assert run(box, own, 2) == whole
        assert run(box, own, 8) == whole
