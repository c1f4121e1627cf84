"""Boxes that change places while a network runs on Spark: nothing of it is seen in the rows, not even after a kill."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from aurora import Memory, Network, Settings
from aurora.engine.controls import Rewrites
from aurora.engine.plan import Plan
from aurora.engine.spark_run import start_run
from aurora.engine.statistics import BatchReport, Change
from tests.engine.chains import SCHEMA, network_of

# A chain where tuples are read, a state, and a chain behind it in a stage of its own.
BOXES = """
  up: {map: {g: g, T: T, v: v, w: "upper(w)"}, from: r}
  odd: {filter: ["v % 2 = 1"], from: up}
  few: {filter: ["T % 3 = 0", "T % 3 = 1"], from: odd.rest}
  sorted: {bsort: {}, from: few.2, order: {on: T, slack: 2, group_by: [g]}}
  more: {map: {g: g, T: T, u: "v + 1"}, from: sorted}
  some: {filter: ["u > 3"], from: more}
  z: {aggregate: {s: sum(u)}, from: some, order: {on: T, slack: 3, group_by: [g]}, size: 4}"""
FIRST, SECOND = ("up", "odd", "few"), ("more", "some")
ORDERS: list[Rewrites] = [
    (),
    (("few", "odd", "up"), ("some", "more")),
    (("odd", "up", "few"),),
    (FIRST, SECOND),
    (("some", "more"), ("odd", "few", "up")),
]
ROWS = [{"g": i % 3, "T": i // 2 + i % 3, "v": i * 7 % 11, "w": "abc"[i % 3]} for i in range(160)]


class Restless:
    """Asks for another order after each batch."""

    def __init__(self, plan: Plan) -> None:
        self.changes: tuple[Change, ...] = ()

    def advise(self, report: BatchReport) -> Rewrites:
        self.changes = (*self.changes, Change(report.batch, "another order", "restless"))
        return ORDERS[(report.batch + 1) % len(ORDERS)]


def network() -> Network:
    return network_of(BOXES).checked()


def go(
    tmp_path: Path, name: str, settings: Settings, adviser: Any = None, until: int | None = None
) -> list[BatchReport]:
    seen: list[BatchReport] = []
    sources = {"r": Memory.of(SCHEMA, ROWS), "table": f"csv:{tmp_path}/none.csv"}
    place = {"out": f"csv:{tmp_path}/{name}.csv"}
    with start_run(network(), sources, place, settings, seen.append, adviser=adviser) as run:
        for report in run.batches():
            if report.batch == until:
                break
    return seen


@pytest.fixture
def whole(spark: SparkSession, tmp_path: Path) -> bytes:
    """What comes out where nothing changes."""
    (tmp_path / "none.csv").write_text("g,name\n")
    go(tmp_path, "whole", Settings(partitions=2))
    return (tmp_path / "whole.csv").read_bytes()


def test_rows_are_the_same_and_a_batch_that_is_run_again_has_its_own_order(
    whole: bytes, tmp_path: Path
) -> None:
    checkpoint = tmp_path / "checkpoint"
    settings = Settings(batch=10, partitions=2, checkpoint=str(checkpoint))
    notes: dict[int, str] = {}

    class Keeping(Restless):
        def advise(self, report: BatchReport) -> Rewrites:
            notes[report.batch] = (checkpoint / "committed.json").read_text()
            return super().advise(report)

    first = go(tmp_path, "out", settings, Keeping, until=8)
    last = first[-1]
    assert len({report.controls.rewrites for report in first}) == len(ORDERS)
    # As if the run had been killed before it could note that the last batch was done.
    (checkpoint / "committed.json").write_text(notes[last.batch - 1])
    for name in (str(last.batch), f".{last.batch}.crc"):
        (checkpoint / "spark" / "commits" / name).unlink(missing_ok=True)
    again = go(tmp_path, "out", settings)
    assert (again[0].batch, again[0].controls, again[0].rows) == (last.batch, last.controls, last.rows)
    assert again[1].controls.rewrites == ()
    assert again[-1].end and (tmp_path / "out.csv").read_bytes() == whole
    boxes = {name: (box.taken, box.given.get("2")) for name, box in again[-2].work.boxes.items()}
    assert set(boxes) == {"up", "odd", "few", "sorted", "more", "some", "z"}


def test_nothing_is_rearranged_where_the_settings_forbid_it(whole: bytes, tmp_path: Path) -> None:
    seen = go(tmp_path, "out", Settings(batch=40, partitions=2, optimise=False), Restless)
    assert {report.controls.rewrites for report in seen} == {()}
    assert (tmp_path / "out.csv").read_bytes() == whole
