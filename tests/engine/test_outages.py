"""Servers that are away, without one: what is tried again, and what is told of it."""

import threading
from collections.abc import Callable

import pytest

from aurora.engine import outages
from aurora.engine.outages import Persistence, ServerWatch, Unreachable, stop_waiting_at, try_patiently
from aurora.engine.sinks.sink import Interrupted
from aurora.engine.waits import waits
from aurora.errors import AuroraError
from tests.engine.still_clock import StillClock, stop_the_clock


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> StillClock:
    monkeypatch.setattr(outages, "PAUSE", 0.0)
    monkeypatch.setattr(outages, "EVERY", 0.0)
    return stop_the_clock(monkeypatch)


def failing(times: int, clock: StillClock | None = None, takes: float = 0.0) -> Callable[[], int]:
    """A step that succeeds after so many faults, each of which takes so many seconds."""
    faults = iter([f"fault {number}" for number in range(times)])

    def step() -> int:
        for fault in faults:
            if clock is not None:
                clock.move(takes)
            raise Unreachable(fault)
        return 7

    return step


# A wait is told of after five seconds, with what is known by then.
@pytest.mark.parametrize(
    ("passed", "faults", "takes", "told"),
    [
        (1, 0, 6, []), (1, 1, 2, []), (1, 3, 1, []), (1, 3, 2, [1]), (1, 9, 2, [1]), (1, 2, 3, [1]), (0, 1, 6, [0]),
        (0, 1, 2, []),
    ],
)  # fmt: skip
def test_a_step_is_tried_until_it_succeeds_and_told_once(
    clock: StillClock,
    passed: int,
    faults: int,
    takes: float,
    told: list[int],
    caplog: pytest.LogCaptureFixture,
) -> None:
    slow = "sink far: Kafka at h:1 has not taken the rows of a batch yet; the run waits for it"
    assert Persistence("sink far", "Kafka at h:1", passed).repeat(failing(faults, clock, takes)) == 7
    begin = [
        f"sink far: Kafka at h:1 does not take rows (fault {each}); the run waits for it" for each in told
    ]
    end = ["sink far: Kafka at h:1 takes rows again; the run continues"] if told else []
    assert [each for each in caplog.messages if each != slow] == begin + end
    # A step that takes long, for whatever reason, is told once in a run.
    assert caplog.messages.count(slow) == (faults > 0 and takes * (passed + 1) >= 5)
    assert waits.lasting(0) == []


def test_who_waits_is_interrupted_and_other_faults_are_not_waited_for() -> None:
    persistence = Persistence("sink far", "Kafka at h:1")
    persistence.interrupt()
    assert persistence.repeat(failing(1)) == 7
    with pytest.raises(
        Interrupted, match=r"^sink far: the run was stopped while it waited for Kafka at h:1$"
    ):
        persistence.repeat(failing(9))

    def refuse() -> None:
        raise AuroraError("no")

    with pytest.raises(AuroraError, match=r"^no$"):
        Persistence("sink far", "Kafka at h:1").repeat(refuse)


def test_a_start_is_waited_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    assert try_patiently("source a", "Kafka at h:1", failing(3)) == 7
    monkeypatch.setattr(outages, "PATIENCE", -1.0)
    with pytest.raises(AuroraError) as fault:
        try_patiently("source a", "Kafka at h:1", failing(3))
    assert (
        str(fault.value) == "source a: Kafka at h:1 does not answer: fault 0; start it, or check the address"
    )


def test_who_waits_for_a_start_is_told(clock: StillClock, caplog: pytest.LogCaptureFixture) -> None:
    assert try_patiently("source a", "Kafka at h:1", failing(3)) == 7
    assert caplog.records == []
    assert try_patiently("source a", "Kafka at h:1", failing(3, clock, 3)) == 7
    assert [record.message for record in caplog.records] == [
        "source a: Kafka at h:1 does not answer (fault 0); the run waits for it, up to 30 s",
        "source a: Kafka at h:1 answers; the run starts",
    ]


def test_who_waits_for_a_start_can_stop_it(
    clock: StillClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Between two questions, and in the middle of one, which is told of before there is an answer."""
    stop, answer = threading.Event(), threading.Event()
    monkeypatch.setattr(outages, "GLANCE", 0.001)
    told = caplog.records

    def ask() -> None:
        clock.move(6)
        answer.wait(60)

    def press() -> None:
        while not told:
            answer.wait(0.001)
        stop.set()

    threading.Thread(target=press, daemon=True).start()
    with (
        stop_waiting_at(stop),
        pytest.raises(Interrupted, match=r"^source a: the run was stopped while it waited for Kafka at h:1$"),
    ):
        try_patiently("source a", "Kafka at h:1", ask)
    answer.set()
    assert [record.message for record in told] == [
        "source a: Kafka at h:1 does not answer; the run waits for it, up to 30 s"
    ]
    with stop_waiting_at(stop), pytest.raises(Interrupted, match="stopped while it waited"):
        try_patiently("source a", "Kafka at h:1", failing(9))
    assert try_patiently("source a", "Kafka at h:1", failing(3)) == 7


def test_a_watch_tells_of_an_outage_and_of_its_end(
    clock: StillClock, caplog: pytest.LogCaptureFixture
) -> None:
    answers = iter([True, False, True, False, False, False, True, True])
    closed: list[bool] = []

    def ask() -> None:
        answer = next(answers, None)
        clock.move(2)
        if answer is None:
            raise AuroraError("the topic is gone")
        if not answer:
            raise Unreachable("no route")

    watch = ServerWatch("a", "Kafka at h:1", ask, lambda: closed.append(True))
    watch.connect()
    watch.join()
    assert [record.message for record in caplog.records] == [
        "input a: Kafka at h:1 does not answer (no route); the run waits for it",
        "input a: Kafka at h:1 answers again; the run continues",
    ]
    assert closed == [True]
