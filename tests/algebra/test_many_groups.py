"""Thousands of groups in one call: the naive versions again, on one large seeded input."""

import random
from typing import Any

import pytest

from aurora.algebra.aggregate import Aggregate
from aurora.algebra.bsort import BSort
from aurora.algebra.join import Join
from aurora.algebra.ordering.order import Order
from aurora.algebra.resample import Resample
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.wait import Wait
from tests.algebra.harness import Arrival, check_agreement
from tests.spec import squal
from tests.spec.windows import Aggregate as NaiveAggregate

SCHEMA = Schema.parse("T bigint, g string, v int")


def tuples(count: int, groups: int, inputs: int = 1) -> list[Arrival]:
    chance = random.Random(count)
    return [
        (
            chance.randrange(inputs),
            {
                "T": i // 100 + chance.randrange(12),
                "g": f"g{chance.randrange(groups)}",
                "v": chance.randrange(9),
            },
        )
        for i in range(count)
    ]


def total(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {"n": len(rows), "s": sum(row["v"] for row in rows)}


TEXTS = {"n": "count(*)", "s": "sum(v)"}


@pytest.mark.parametrize(("slack", "slices"), [(0, False), (2, False), (30, False), (2, True)])
def test_one_input(slack: int, slices: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if slices:
        # At the end of the input there are too many groups to be looked at together.
        monkeypatch.setattr("aurora.algebra.state.slices.GROUPS", 100)
    order = {"slack": slack, "group_by": ("g",)}
    rows, cuts = tuples(4000, 2000), (999, 10**6)
    by, naive = Order("T", **order), squal.Order("T", **order)
    check_agreement(BSort.of(by, SCHEMA), lambda: squal.BSort(naive), rows, SCHEMA, cuts=cuts)
    box = Aggregate.of(TEXTS, by, 10, 5, SCHEMA)
    check_agreement(box, lambda: NaiveAggregate(total, naive, 10, 5), rows, SCHEMA, cuts=cuts)


def test_two_inputs() -> None:
    order = {"slack": 1, "group_by": ("g",)}
    by, naive = Order("T", **order), squal.Order("T", **order)
    rows, cuts = tuples(900, 700, inputs=2), (199, 10**6)
    join = Join.of("left.g = right.g", 5, by, by, SCHEMA, SCHEMA)

    def naive_join() -> squal.Join:
        return squal.Join(lambda a, b: a["g"] == b["g"], 5, naive, naive)

    check_agreement(join, naive_join, rows, SCHEMA, SCHEMA, cuts=cuts)
    check_agreement(
        Wait.of("T", by, SCHEMA, SCHEMA), lambda: squal.Wait("T", naive), rows, SCHEMA, SCHEMA, cuts=cuts
    )
    beats = [(0 if i % 100 == 0 else 1, row) for i, (_, row) in enumerate(rows)]
    resample = Resample.of(TEXTS, 5, Order("T"), by, SCHEMA, SCHEMA)
    check_agreement(
        resample, lambda: squal.Resample(total, 5, squal.Order("T"), naive), beats, SCHEMA, SCHEMA, cuts=cuts
    )
