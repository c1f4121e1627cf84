"""A box spread over buckets by its partition gives the same rows in the same order as one that sees everything."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora import Network
from tests.algebra.harness import SEARCHES, Arrival, plain
from tests.algebra.running import run_network
from tests.algebra.strategies import arrivals, groups, nearly_rising

BY_GROUP = {"on": "T", "slack": 1, "group_by": ["g"]}
SUM = {"s": "sum(v)"}
BOXES: dict[str, dict[str, Any]] = {
    "bsort": {"bsort": {}, "from": "a", "order": BY_GROUP},
    "bsort by span": {"bsort": {}, "from": "a", "order": {**BY_GROUP, "slack": {"value": 3}}},
    "aggregate": {"aggregate": SUM, "from": "a", "order": BY_GROUP, "size": 4, "advance": 3},
    "with timeout": {"aggregate": {**SUM, "m": "median(v)"}, "from": "a", "order": BY_GROUP, "size": 4, "advance": 3,
                     "timeout": "6ms"},
    "by number": {"aggregate": SUM, "from": "a", "order": {"on": "#", "group_by": ["g"]}, "size": 2, "advance": 1},
    "join": {"join": "left.g = right.g", "left": "a", "right": "b", "size": 2, "left_order": BY_GROUP,
             "right_order": BY_GROUP},
    "outer": {"join": "left.g = right.g", "left": "a", "right": "b", "size": 2, "left_order": BY_GROUP,
              "right_order": BY_GROUP, "outer": "both"},
    "anti": {"join": "left.g = right.g AND left.v = right.v", "left": "a", "right": "b", "size": 2,
             "left_order": BY_GROUP, "right_order": BY_GROUP, "anti": "right"},
    "as of": {"join": "left.g = right.g", "left": "a", "right": "b", "asof": True, "outer": "left"},
    "as of by time": {"join": "left.g = right.g", "left": "a", "right": "b", "asof": {"left": "T", "right": "T"},
                      "outer": "left"},
    "as of by time, broadcast": {"join": "left.g = right.g", "left": "a", "right": "b", "broadcast": True,
                                 "asof": {"left": "T", "right": "T"}, "right_order": {"slack": 1}},
    "resample": {"resample": SUM, "left": "a", "right": "b", "size": 2, "left_order": {"on": "T"},
                 "right_order": BY_GROUP},
    "wait": {"wait": "T", "from": "a", "for": "b", "order": BY_GROUP},
}  # fmt: skip


def found_by(spec: dict[str, Any], rows: list[Arrival], buckets: int) -> tuple[list[Any], Counter[str]]:
    network = Network("one box")
    network.input("a", "T int, g int, v int")
    network.input("b", "T int, g int, v int")
    network.output("o", network.add("box", spec))
    run = run_network(network, rows, 5, buckets, ticks=True)
    return [row for train in run.outputs["o"] for row in plain(train.rows)], +run.discarded


@pytest.mark.parametrize("box", BOXES)
@given(arrivals(nearly_rising(st.integers(-3, 3), most=30), inputs=2, g=groups, v=st.integers(0, 9)))
def test_buckets_do_not_matter(box: str, rows: list[Arrival]) -> None:
    whole = found_by(BOXES[box], rows, 1)
    # Buckets have turns of their own, which take the time: a few here, more than there are groups there.
    for buckets in (2, 8) if SEARCHES else (2,) if len(rows) % 3 else (8,):
        assert found_by(BOXES[box], rows, buckets) == whole
