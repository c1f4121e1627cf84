"""The two parts of a network, as far as it takes no Spark: how old is what waits, whose turn it is, what is told."""

import logging
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from aurora import Settings
from aurora.adapt.deferral import split_network
from aurora.engine.controls import Controls
from aurora.engine.drops import Drop
from aurora.engine.statistics import BatchReport, Delays, Statistics
from aurora.history import parts
from aurora.history.deferred import Deferred
from aurora.history.parts import Parts
from tests.adapt.test_deferral import make_network
from tests.engine.test_statistics import Clock


class Run:
    """The query of the later part, as far as it is asked."""

    def __init__(self) -> None:
        self.controls = Controls()
        self.totals = SimpleNamespace(places={})

    def hold(self, held: bool) -> None:
        self.controls = Controls(held=held)

    hold_if_free = hold

    def wait(self, stop: object = None) -> None:
        pass


class Arc:
    def __init__(self) -> None:
        self.rows = 0

    def there(self) -> int:
        return self.rows


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def arc() -> Arc:
    return Arc()


@pytest.fixture
def later(clock: Clock, arc: Arc, monkeypatch: pytest.MonkeyPatch) -> Deferred:
    monkeypatch.setattr("aurora.history.deferred.start_run", lambda *_, **__: Run())
    monkeypatch.setattr(Deferred, "_wait", lambda _: None)
    monkeypatch.setattr("aurora.history.deferred.PointSource", lambda *_, **__: arc)
    log = SimpleNamespace(folder="", published=lambda: SimpleNamespace(mark=""))
    split = split_network(make_network("one arc"), ["quick", "late"])
    assert split is not None
    points: Any = SimpleNamespace(log=lambda _: log)
    home: Any = SimpleNamespace(deferred=Path("deferred"))
    return Deferred(split, home, points, {}, {"late": None}, Settings(), clock=clock)


def report(late: float = 0.5) -> BatchReport:
    return BatchReport(0, {}, 0, 0, {}, {}, 0.0, False, delays={"late": Delays(1, (round(1000 * late),))})


def test_what_has_just_come_to_a_quiet_arc_is_young(later: Deferred, clock: Clock, arc: Arc) -> None:
    later._note(report())
    clock.now += 600.0
    assert not later.waiting()
    clock.now += 0.25
    arc.rows = 1
    assert later.waiting() and later.find_age() == pytest.approx(0.25)
    assert later.find_age(entering=61.0) == pytest.approx(61.25), "a window that has just closed"
    clock.now += 10.0
    assert later.find_age() == pytest.approx(10.25)


def test_what_waits_since_the_last_batch_is_as_old_as_that(later: Deferred, clock: Clock, arc: Arc) -> None:
    arc.rows = 9
    clock.now += 20.0
    later._note(report(late=3.0))
    clock.now += 5.0
    assert later.waiting() and later.find_age() == pytest.approx(8.0)


def test_a_part_is_not_held_once_the_input_of_the_other_has_ended(
    later: Deferred, arc: Arc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if nobody waits for the network."""
    monkeypatch.setattr(parts, "TICK", 0.0)
    main: Any = SimpleNamespace(state="running")
    ended = threading.Event()

    class Holding:
        entering = 0.0

        def decide(self, main: Any, deferred: Deferred) -> None:
            deferred.gathering = 5.0
            deferred.hold(True)
            if ended.is_set():
                main.state = "stopped"

    turns: Any = Holding()
    both = Parts(main, later, turns)
    ended.set()
    both._ticking.join()
    assert main.state == "stopped" and not later.held and not later.gathering
    later._note(report())
    assert not later.held


def test_trains_do_not_gather_for_a_part_that_is_to_end(later: Deferred) -> None:
    """A batch of it is under way while it is told that nothing more will come."""
    later.gathering = 5.0
    later._note(report())
    assert later.held
    ended = threading.Event()

    class Late:
        """The gathering as it was read just before: told in the middle of the note of a batch."""

        def __bool__(self) -> bool:
            teller = threading.Thread(target=lambda: (later.wait(), ended.set()))
            teller.start()
            ended.wait(0.05)
            tellers.append(teller)
            return True

    tellers: list[threading.Thread] = []
    later.gathering = Late()  # type: ignore[assignment]
    later._note(report())
    for teller in tellers:
        teller.join()
    assert not later.held, "nobody would let it go on"


def test_a_fault_of_a_turn_ends_no_turns(
    later: Deferred, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(parts, "TICK", 0.0)
    turns: list[int] = []
    done = threading.Event()

    def decide(main: object, deferred: object) -> None:
        turns.append(1)
        if len(turns) < 4:
            raise OSError(28, "No space left on device")
        done.set()

    main: Any = SimpleNamespace(state="running")
    decided: Any = SimpleNamespace(decide=decide, entering=0.0, later_zone=60.0)
    with caplog.at_level(logging.WARNING, "aurora"):
        Parts(main, later, decided)
        assert done.wait(60)
        main.state = "stopped"
    assert caplog.messages == ["whose turn it is cannot be said: [Errno 28] No space left on device"]


def test_what_waits_is_looked_at_by_the_outputs_that_it_leads_to(
    later: Deferred, clock: Clock, arc: Arc
) -> None:
    two: Any = object.__new__(Parts)
    two.deferred, two._turns = later, SimpleNamespace(entering=1.0)
    later._note(report(late=99.0))
    assert not later.waiting() and two._find_ages() == {}
    arc.rows = 3
    clock.now += 75.0
    assert two._find_ages() == {"late": 76.0}
    run: Any = later._run
    run.controls = Controls(paused=True)
    assert two._find_ages() == {}


def test_the_controls_of_both_parts_are_told_under_the_written_names() -> None:
    urgent = Statistics(
        "running",
        controls=Controls(
            rows=7,
            drops=(Drop("r", 1), Drop("low.1", 9, None, "##low.1", "low.1")),
            rewrites=(("b", "a"),),
            taps=("r",),
        ),
    )
    drop = Drop("##over.1", 500_000, "`v` < 1", "sums")
    later = Statistics(
        "running", controls=Controls(held=True, drops=(drop,), rewrites=(("d", "c"),), taps=("##over.1",))
    )
    assert parts._merge(urgent, later).controls == Controls(
        rows=7,
        held=True,
        taps=("r", "over.1"),
        drops=(Drop("r", 1), Drop("low.1", 9), Drop("over.1", 500_000, "`v` < 1", "sums")),
        rewrites=(("b", "a"), ("d", "c")),
    )
