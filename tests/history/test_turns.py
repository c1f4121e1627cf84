"""Whose turn it is, by a clock that the test moves: when the later part of a network is held, and when it goes on."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from aurora.adapt.deferral import split_network
from aurora.engine.statistics import BatchReport, Delays
from aurora.engine.work import InputWork, Work
from aurora.history.turns import Turns
from tests.adapt.test_deferral import make_network

LONGEST = 1000


@dataclass
class Main:
    """The urgent part, as far as it is asked."""

    at_work: bool = True
    controls: Any = field(default_factory=lambda: SimpleNamespace(held=False))

    def hold(self, held: bool) -> None:
        self.controls.held = held


@dataclass
class Later:
    age: float = 0.0
    rest: float = 0.0
    rows: int = 100
    held: bool = False
    gathering: float = 0.0
    paused: bool = False
    followed: int = 0

    def follow(self) -> None:
        self.followed += 1

    def waiting(self) -> int:
        return self.rows

    def find_age(self, entering: float) -> float:
        return self.age + entering

    def find_rest(self) -> float:
        return self.rest

    def hold(self, held: bool) -> None:
        self.held = held


class Scene:
    """Two outputs: one with a good zone of 2 s, one of 60 s."""

    def __init__(self) -> None:
        split = split_network(make_network("one arc"), ["quick", "late"])
        assert split is not None
        self.now = 100.0
        self.turns = Turns(split, LONGEST, lambda: self.now)
        self.main, self.later = Main(), Later()

    def end_batch(self, took: float, late: float, waiting: int = 0, old: float = 0.0) -> None:
        """`old` are the rows that come to an arc."""
        self.now += took
        work = Work(inputs={"reports": InputWork(100, 0.0, waiting)}, before=took)
        delays = {"quick": Delays(100, (round(1000 * late),)), "##over.1": Delays(9, (round(1000 * old),))}
        self.turns.note(BatchReport(0, {}, 0, 0, {}, {}, 0.0, False, delays=delays, work=work))

    def is_held(self) -> bool:
        self.turns.decide(self.main, self.later)  # type: ignore[arg-type]
        return self.later.held


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_while_nothing_is_pressed_nothing_gathers(scene: Scene) -> None:
    for _ in range(20):
        scene.end_batch(took=0.1, late=0.15)
    assert not scene.is_held() and scene.later.gathering == 0.0


def test_under_load_trains_gather_and_then_go_on_together(scene: Scene) -> None:
    for _ in range(20):
        scene.end_batch(took=0.6, late=1.0)
    scene.later.rest, scene.later.age = 1.0, 4.0
    assert scene.is_held() and scene.later.gathering == pytest.approx(5.0, abs=0.2)
    scene.later.rest = 6.0
    assert not scene.is_held()
    scene.later.rest = 0.5
    assert scene.is_held(), "what came since its last batch gathers again"
    scene.later.age = 31.0
    assert not scene.is_held(), "half of its good zone is used up"


def test_a_long_batch_holds_the_later_part_before_it_is_done(scene: Scene) -> None:
    for _ in range(20):
        scene.end_batch(took=0.6, late=1.0)
    scene.later.rest = 6.0
    assert not scene.is_held()
    scene.now += 0.8
    assert not scene.is_held(), "as long as others"
    scene.now += 0.4
    assert scene.is_held()
    scene.main.at_work = False
    scene.now += 2.0
    assert not scene.is_held(), "there is nothing to do that would be urgent"


def test_full_arcs_and_a_pause_come_first(scene: Scene) -> None:
    for _ in range(20):
        scene.end_batch(took=0.6, late=1.0)
    scene.later.rows = 31 * LONGEST
    assert not scene.is_held() and not scene.main.controls.held
    scene.later.rows = 33 * LONGEST
    assert not scene.is_held() and scene.main.controls.held
    scene.later.paused = True
    assert not scene.is_held() and scene.main.controls.held and scene.later.followed == 1
    scene.later.rows = 15 * LONGEST
    assert not scene.is_held() and not scene.main.controls.held, "a step of the urgent part goes on"


def test_what_falls_behind_holds_it_until_the_later_part_loses_as_much(scene: Scene) -> None:
    scene.end_batch(took=1.0, late=1.5, waiting=5000)
    scene.later.age = 10.0
    assert scene.is_held()
    scene.later.age = 70.0
    scene.end_batch(took=1.0, late=20.0, waiting=5000)
    assert not scene.is_held(), "the urgent rows have nothing left to lose, the others have"


def test_old_rows_at_an_arc_do_not_press_the_others(scene: Scene) -> None:
    """Those of a window are as old as its first tuple."""
    for _ in range(20):
        scene.end_batch(took=0.1, late=0.15, waiting=5000, old=61.0)
    assert not scene.is_held() and scene.later.gathering == 0.0


def test_the_later_part_makes_a_batch_in_each_of_its_good_zones(scene: Scene) -> None:
    """Beyond the end of its graph it has nothing left to lose, and the urgent part has."""
    scene.end_batch(took=1.0, late=3.0, waiting=5000)
    scene.later.age, scene.later.rest = 200.0, 59.0
    assert scene.is_held()
    scene.later.rest = 60.0
    assert not scene.is_held()
    scene.later.rest = 0.5
    assert scene.is_held(), "it has made one"
    scene.later.age, scene.later.rest = 10.0, 300.0
    assert scene.is_held(), "what waits has just come"
