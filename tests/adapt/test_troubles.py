"""What is wrong with a network that runs: noticed after a few batches, told once, and once more when it is over."""

from collections.abc import Iterable

import pytest

from aurora.adapt.figures import Figures, InputFigures
from aurora.adapt.troubles import BEGIN, END, Noticed, end_quiet, look_at, look_at_waiting, notice
from aurora.network.qos import Graph, Qos

GRAPHS = {"far": Qos(latency=Graph(((0.0, 1.0), (2.0, 1.0), (10.0, 0.0)))), "near": None}
OUTSIDE = "output far is outside its good zone: p99 4.2 s > 2 s"
AGAIN = "output far is in its good zone again: p99 1 s"


def told(delays: Iterable[float]) -> list[tuple[str, ...]]:
    noticed, found = Noticed(), []
    for delay in delays:
        looks = look_at(Figures(), GRAPHS, {"far": (delay / 2, delay), "near": (99.0, 99.0)})
        noticed = notice(noticed, looks)
        found.append(noticed.told)
    return found


def test_an_output_outside_its_good_zone() -> None:
    found = told([1.0] * 5 + [4.2] * 8 + [1.0] * 8)
    begun, over = 5 + BEGIN - 1, 13 + END - 1
    assert {at: texts for at, texts in enumerate(found) if texts} == {begun: (OUTSIDE,), over: (AGAIN,)}


@pytest.mark.parametrize(
    "delays",
    [[1.0, 9.0] * 10, [9.0, 9.0, 1.0] * 10, [2.0] * 20, []],
    ids=["now and then", "two of three", "at the end of the zone", "none"],
)
def test_one_slow_batch_is_no_trouble(delays: list[float]) -> None:
    assert not any(told(delays))


def test_one_quick_batch_is_no_cure() -> None:
    assert [texts for texts in told([4.2] * 3 + [1.0, 4.2] * 10) if texts] == [(OUTSIDE,)]


def test_while_it_lasts_the_words_are_those_of_now() -> None:
    noticed = Noticed()
    for delay in (3.0, 3.0, 3.0, 5.5):
        noticed = notice(noticed, look_at(Figures(), GRAPHS, {"far": (1.0, delay)}))
    assert noticed.troubles == ["output far is outside its good zone: p99 5.5 s > 2 s"]
    assert notice(noticed, {}).troubles == noticed.troubles, "a batch without rows says nothing"


def inputs(waiting: int | None, growth: float, live: bool = True) -> Figures:
    return Figures(inputs={"r": InputFigures(10_000.0, 1e-6, waiting, growth, live)})


def test_an_input_that_falls_behind() -> None:
    noticed, found = Noticed(), []
    steps = [(0, 0.0)] * 3 + [(8_000 * n, 4_000.0) for n in range(1, 8)]
    # It keeps up again: what waits becomes less, and then is gone.
    steps += [(50_000 - 9_000 * n, -9_000.0) for n in range(5)] + [(200, -100.0)] * 5
    for waiting, growth in steps:
        noticed = notice(noticed, look_at(inputs(waiting, growth), {}, {}))
        found += noticed.told
    assert found == [
        "input r falls behind: 32,000 rows waiting, growing by 4,000 a second",
        "input r has caught up: 200 rows waiting",
    ]
    assert noticed.troubles == []


@pytest.mark.parametrize(
    "figures",
    [inputs(900, 500.0), inputs(1_000_000, -5_000.0), inputs(1_000_000, 10.0), inputs(None, 0.0)],
    ids=["few rows", "a long past", "hardly growing", "nobody knows"],
)
def test_what_is_not_behind(figures: Figures) -> None:
    noticed = Noticed()
    for _ in range(10):
        noticed = notice(noticed, look_at(figures, {}, {}))
    assert noticed.troubles == []


def test_a_stored_file_waits() -> None:
    assert look_at(inputs(1_000_000, 5_000.0, live=False), {}, {}) == {}


def test_an_output_whose_tuples_wait_too_long_is_told_without_a_batch() -> None:
    noticed = Noticed()
    for age in (1.0, 2.5, 3.0, 4.2):
        noticed = notice(noticed, look_at_waiting(GRAPHS, {"far": age, "near": 99.0}))
    text = "output far is outside its good zone: what leads to it waits for 4.2 s > 2 s"
    assert noticed.told == (text,) and noticed.troubles == [text]


def test_an_output_to_which_nothing_comes_any_more() -> None:
    noticed = Noticed()
    for _ in range(BEGIN):
        noticed = notice(noticed, look_at(Figures(), GRAPHS, {"far": (1.0, 4.2)}))
    quiet = end_quiet(noticed, noticed.open)
    assert quiet.told == ("output far has no late rows any more",) and not quiet.troubles
    assert end_quiet(noticed, []).troubles == noticed.troubles
