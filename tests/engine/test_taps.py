"""Taps with a virtual clock: who looks, what is shown, and when it ends."""

import pyarrow as pa

from aurora.engine.taps import BATCHES, PATIENCE, Taps


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def rows(*numbers: int) -> pa.RecordBatch:
    return pa.record_batch({"a": pa.array(numbers, pa.int32())})


def test_nobody_looks_unless_asked_and_not_for_ever() -> None:
    clock = Clock()
    taps = Taps(clock)
    taps.take({"over.1": rows(1)})
    assert taps.names() == ()
    assert taps.ask("over.1", 0) == (None, 0) and taps.ask("all.1", 0) == (None, 0)
    assert taps.names() == ("all.1", "over.1")
    clock.now += PATIENCE
    taps.ask("all.1", 0)
    assert taps.names() == ("all.1", "over.1")
    clock.now += 0.1
    assert taps.names() == ("all.1",)


def test_each_batch_is_shown_once_to_each_who_asks() -> None:
    taps = Taps(Clock())
    taps.ask("all", 0)
    taps.take({"all": rows(1, 2), "other": rows(9)})
    taps.take({"all": rows(3)})
    found, number = taps.ask("all", 0)
    assert (found["a"].to_pylist(), number) == ([1, 2, 3], 2)
    assert taps.ask("all", 2) == (None, 2)
    taps.take({"all": rows(4)})
    assert taps.ask("all", 2)[0]["a"].to_pylist() == [4]
    assert taps.ask("all", 1)[0]["a"].to_pylist() == [3, 4], "another one who looks"


def test_what_nobody_fetches_is_forgotten() -> None:
    taps = Taps(Clock())
    taps.ask("all", 0)
    for number in range(BATCHES + 5):
        taps.take({"all": rows(number)})
    found, number = taps.ask("all", 0)
    assert found["a"].to_pylist() == list(range(5, BATCHES + 5)) and number == BATCHES + 5
