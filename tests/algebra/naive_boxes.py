"""Naive boxes that give g, T and v again, as the boxes of a drawn network do."""

import math
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from tests.algebra.drawn_functions import Compute
from tests.algebra.running import HeldRows
from tests.spec import clocks, joins, squal

__all__ = [
    "EITHER",
    "HELD",
    "RANKED",
    "SAME",
    "SET",
    "AsOfSum",
    "ExplodedSum",
    "Fits",
    "GatherValue",
    "KeptTuples",
    "Mapped",
    "PulledSum",
    "either",
    "last_and_value",
    "nothing_missing",
    "number_and_value",
    "ranked",
    "running_value",
    "value",
    "with_partner",
]

# Every box gives these fields again, so that any box can stand behind any other.
SAME = {"g": "g", "T": "T", "v": "v"}
# What `ranked` and `either` do, as maps.
RANKED = {**SAME, "v": "10 * v + place"}
EITHER = {name: f"if(T IS NULL, {name}_right, {name})" for name in SAME}
Row = dict[str, Any]
# Whether a left and a right tuple belong together.
Fits = Callable[[Row, Row], bool]


def value(compute: Compute) -> squal.Functions:
    return lambda rows: {"v": compute(rows)}


def last_and_value(compute: Compute) -> squal.Functions:
    return lambda rows: {"g": rows[-1]["g"], "v": compute(rows)}


def number_and_value(compute: Compute) -> squal.Functions:
    return lambda rows: {
        "g": float(len({squal.field_key(row["g"]) for row in rows if row["g"] is not None})),
        "v": compute(rows),
    }


def running_value(compute: Compute) -> squal.Functions:
    return lambda rows: {"T": rows[-1]["T"], "v": compute(rows) + rows[-1]["v"] - rows[0]["v"]}


def nothing_missing(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one["g"] is not None and squal.field_key(one["g"]) == squal.field_key(other["g"])


class Mapped(squal.Box):
    """A box with a map behind it."""

    def __init__(self, box: Any, change: Callable[[Row], Row]) -> None:
        super().__init__()
        self.box = box
        self.change = change

    def push(self, port: int, row: Row, ts: int) -> list[squal.Out]:
        return self.changed(self.box.push(port, row, ts))

    def know(self, bounds: list[Any]) -> None:
        self.box.know(bounds)

    def tell(self, bounds: list[Any]) -> list[squal.Out]:
        return self.changed(self.box.tell(bounds))

    def end(self) -> list[squal.Out]:
        return self.changed(self.box.end())

    def changed(self, outs: list[squal.Out]) -> list[squal.Out]:
        return [(port, ts, self.change(row)) for port, ts, row in outs]


def ranked(row: Row) -> Row:
    return {**row, "v": 10 * row["v"] + row["place"]}


def either(row: Row) -> Row:
    """The fields of the left tuple, or of the right one where that is alone."""
    side = "_right" if row["T"] is None else ""
    return {name: row[name + side] for name in SAME}


def with_partner(row: Row) -> Row:
    """The left tuple, with what the right one adds to it."""
    return {**row, "v": row["v"] + (row.get("v_right") or 0)}


class AsOfSum(joins.AsOf):
    """The left tuple, with what the right one adds to it."""

    def push(self, port: int, row: dict[str, Any], ts: int) -> list[squal.Out]:
        narrow = {name: row[name] for name in SAME}
        return [
            (out, ts, {**found, "v": found["v"] + (found.get("v_right") or 0)})
            for out, ts, found in super().push(port, narrow, ts)
        ]


# The rows of a stored set: two of one group, one of none.
SET: list[Row] = [{"g": g, "w": w} for w, g in enumerate((2.0, -0.0, None, 2.0, math.nan), 1)]
HELD = HeldRows(pa.RecordBatch.from_pylist(SET, pa.schema({"g": pa.float64(), "w": pa.int32()})), ("g",))


class PulledSum(joins.Lookup):
    """The tuple, with what a row of the set adds to it."""

    def push(self, port: int, row: Row, ts: int) -> list[squal.Out]:
        narrow = {name: row[name] for name in SAME}
        return [
            (out, ts, {**narrow, "v": found["v"] + (found.get("w") or 0)})
            for out, ts, found in super().push(port, narrow, ts)
        ]


def elements(row: Row) -> list[int] | None:
    if row["v"] > 4:
        return None
    return [row["v"]] if row["g"] == 1 else [row["v"] + 1, row["v"], 6]


class ExplodedSum(squal.Explode):
    """Each element with its place added to it."""

    def __init__(self, outer: bool) -> None:
        super().__init__(elements, "v", "at", outer)

    def push(self, port: int, row: Row, ts: int) -> list[squal.Out]:
        return [
            (out, ts, {**found, "v": (found["v"] or 0) + (found["at"] or 0)})
            for out, ts, found in super().push(port, row, ts)
        ]


class GatherValue(clocks.Gather):
    """Bounds at T and so much behind it; the left tuple gets what is computed of the right ones, or 0."""

    def __init__(self, compute: Compute, fits: Fits, reach: int, outer: bool) -> None:
        super().__init__(value(compute), fits, {"v": 0} if outer else None)
        self.reach_of_one = reach

    def push(self, port: int, row: Row, ts: int) -> list[squal.Out]:
        return super().push(port, {**row, "U": row["T"] + self.reach_of_one}, ts)


class KeptTuples(clocks.KeptJoin):
    """The left tuple of each pair; the left is kept for so long, the right as long or for good."""

    def __init__(self, reach: int, for_good: bool) -> None:
        super().__init__(nothing_missing, for_good)
        self.reach_of_one = reach

    def push(self, port: int, row: Row, ts: int) -> list[squal.Out]:
        return super().push(port, {**row, "U": row["T"] + self.reach_of_one}, ts)
