"""What is done about a load, from the reports of batches on: without Spark, by a clock that the test moves."""

from types import SimpleNamespace
from typing import Any

import pytest

from aurora import Settings, from_text
from aurora.adapt.deferral import split_network
from aurora.engine.drops import Drop
from aurora.engine.statistics import BatchReport, Delays
from aurora.engine.work import BoxWork, InputWork, Work
from aurora.history.adapting import Adapting
from aurora.history.parts import Parts
from aurora.history.shedder import WARM
from tests.engine.test_statistics import Clock

TEXT = """
network: gates
inputs: {r: {schema: "Gate int, Time int, Speed int"}}
boxes:
  fast:  {filter: ["Speed > 130"], from: r}
  count: {aggregate: {Cars: "count(*)"}, from: r, order: {on: Time, group_by: [Gate]}, size: 60}
outputs:
  fines: {from: fast, qos: {latency: [[0, 1], [3, 1], [8, 0]], delivered: [[100, 1], [0, 0]]}}
  counts: {from: count, qos: {latency: [[0, 1], [90, 1], [180, 0]], delivered: [[100, 1], [0, 0]]}}
"""
# Seconds of one core for a row, and for a batch; a batch comes each second.
READ, BOX, FIXED, CORES = 1e-6, 2e-6, 0.2, 2
CAPACITY = (CORES - FIXED / 1.2) / (READ + 2 * BOX)


class Scene:
    """A network at so much of its capacity; windows of a minute come out in every batch. With an `age`, which the test
    moves, it is in two parts, and so old is what waits between them."""

    def __init__(self, load: float, monkeypatch: pytest.MonkeyPatch, age: float | None = None) -> None:
        self.clock, self.rows = Clock(), int(load * CAPACITY)
        monkeypatch.setattr("aurora.history.catalog.time.monotonic", self.clock)
        self.drops: tuple[Drop, ...] = ()
        self.later_drops: tuple[Drop, ...] = ()
        self.age = age
        main: Any = SimpleNamespace(
            cores=CORES,
            live={"r"},
            sheddable={"r"},
            skipping=set(),
            set_drops=self._set,
            resume=lambda: None,
            # So nobody asks whose turn it is.
            state="stopped",
        )
        later: Any = SimpleNamespace(
            waiting=lambda: 1,
            find_age=lambda entering: self.age,
            set_drops=self._set_later,
            release=lambda: None,
        )
        # Then all fines must come.
        text = TEXT if age is None else TEXT.replace("[8, 0]], delivered: [[100, 1], [0, 0]]", "[8, 0]]")
        network, outputs = from_text(text), ["fines", "counts"]
        split = None if age is None else split_network(network, outputs)
        adapting = Adapting(network, outputs, split, None, Settings())
        self.parts: Parts = adapting.begin(main, None if age is None else later)
        self._told = adapting.watched(None)
        self._number = 0

    def _set(self, drops: tuple[Drop, ...], patient: bool) -> None:
        self.drops = drops

    def _set_later(self, drops: tuple[Drop, ...]) -> None:
        self.later_drops = drops

    def end_batch(
        self, fines: float, waiting: int | None = 0, waited: float = 0.0, apart: float = 1.0
    ) -> None:
        self.clock.now += apart
        boxes = {
            "fast": BoxWork(self.rows, {"1": self.rows // 10, "rest": 0}, BOX * self.rows),
            "count": BoxWork(self.rows, {"1": self.rows // 50}, BOX * self.rows),
        }
        read = InputWork(self.rows, READ * self.rows, waiting, (waited, waited))
        delays = {"fines": Delays(9, (round(1000 * fines),)), "counts": Delays(9, (61_000,))}
        report = BatchReport(
            self._number,
            {"fines": self.rows // 10},
            0,
            0,
            {},
            {},
            float(self._number),
            False,
            delays=delays,
            work=Work(boxes, {"r": read}, 0.6, apart=apart),
        )
        self._number += 1
        self._told(report)


@pytest.mark.parametrize("waiting", [0, None], ids=["told", "not told"])
@pytest.mark.parametrize("load", [0.05, 0.3, 0.5, 0.8, 0.9])
def test_windows_as_old_as_their_first_tuple_are_no_overload(
    load: float, waiting: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene(load, monkeypatch)
    for _ in range(WARM + 10):
        scene.end_batch(fines=0.6, waiting=waiting)
        assert not scene.drops


def test_what_waits_after_a_pause_is_no_overload(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(0.8, monkeypatch)
    for _ in range(WARM + 5):
        scene.end_batch(fines=0.6)
    scene.parts.resume()
    for left in (7, 6, 5, 4, 3, 2, 1):
        # Seven batches have not been made.
        apart = 8.0 if left == 7 else 1.0
        scene.end_batch(fines=30.0, waiting=left * scene.rows, waited=float(left), apart=apart)
        assert not scene.drops
    scene.end_batch(fines=0.6)
    for _ in range(3):
        scene.end_batch(fines=9.0, waiting=7 * scene.rows, waited=7.0, apart=8.0)
    assert scene.drops, "nobody has wanted that"


def test_what_is_shed_for_the_later_part_is_not_handed_over_and_leaves_the_queue_while_that_is_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = Scene(1.3, monkeypatch, age=5.0)
    for _ in range(WARM + 5):
        scene.end_batch(fines=4.0, waiting=scene.rows)
    (drop,) = [drop for drop in scene.drops if drop.box]
    assert (drop.place, drop.counted) == ("r to ##r", "r to count")
    assert not scene.later_drops
    scene.age = 91.0
    scene.end_batch(fines=4.0, waiting=scene.rows)
    (drop,) = [drop for drop in scene.drops if drop.box]
    assert scene.later_drops == (Drop("r", drop.millionths, box="count"),)
    scene.age = 89.0
    scene.end_batch(fines=4.0, waiting=scene.rows)
    assert not scene.later_drops
