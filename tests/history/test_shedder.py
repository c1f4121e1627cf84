"""When load is shed, by how much, and when that ends; what was shed is counted for the outputs behind."""

import logging
from dataclasses import replace
from itertools import pairwise

import pytest

from aurora import from_text
from aurora.adapt.figures import BoxFigures, Figures, InputFigures
from aurora.adapt.shedding import Shedding
from aurora.engine.controls import Controls
from aurora.engine.drops import Drop
from aurora.engine.statistics import BatchReport
from aurora.engine.work import BoxWork, InputWork, Work
from aurora.history.shedder import IN_A_ROW, WARM, Shedder
from aurora.network.network import Network

TEXT = """
network: sheds
inputs: {r: {schema: "k int, v double"}}
boxes:
  high: {filter: ["v > 0.9"], from: r}
  score: {map: {k: k, w: v}, from: high.rest}
outputs:
  alarms: {from: high, qos: {latency: [[0, 1], [2, 1], [5, 0]], delivered: [[100, 1], [0, 0]]}}
  scores: {from: score, qos: {latency: [[0, 1], [2, 1], [5, 0]], value: {of: w, graph: [[0, 0], [0.5, 1]]}}}
"""


def make_figures(rate: float, waiting: int = 0, growth: float = 0.0, saved: float = 0.0) -> Figures:
    boxes = {
        "high": BoxFigures(1e-6, {"1": 0.1, "rest": 0.9}, rate),
        "score": BoxFigures(10e-6 - saved, {"1": 1.0}, 0.9 * rate),
    }
    return Figures(
        boxes, {"r": InputFigures(rate, 1e-6, waiting, growth, True)}, fixed=0.2, per_row=2e-6, cores=2
    )


def make_shedder(network: Network | None = None, semantic: bool = True) -> Shedder:
    network = network or from_text(TEXT)
    ends = {name: output.port for name, output in network.outputs.items()}
    shedder = Shedder(network, ends, semantic)
    shedder.inputs = {"r"}
    # What comes first warms up.
    for _ in range(WARM):
        shedder.decide(make_figures(1000), 0.1)
    return shedder


def overload(
    shedder: Shedder, rate: float = 120_000, waiting: int = 600_000, growth: float = 60_000
) -> Shedding:
    """As many batches of it as it takes to be noticed."""
    for _ in range(IN_A_ROW):
        found = shedder.decide(make_figures(rate, waiting, growth), 5.0)
    return found


def report(work: Work, drops: tuple[Drop, ...] = ()) -> BatchReport:
    return BatchReport(1, {}, 0, 0, {}, {}, 1.0, False, Controls(drops=drops), work=work)


def test_load_is_shed_only_while_there_is_too_much(caplog: pytest.LogCaptureFixture) -> None:
    shedder = make_shedder(semantic=False)
    with caplog.at_level(logging.WARNING, "aurora"):
        assert not shedder.decide(make_figures(50_000), 0.5).drops
        # Late alone is not overload: a slow batch, or a short zone.
        assert not shedder.decide(make_figures(50_000), 9.0).drops
        assert not shedder.decide(make_figures(80_000, 400_000), 5.0).drops, "one slow batch is none"
        busy = overload(shedder)
        assert {drop.stream for drop in busy.drops} <= {"r", "high.rest", "high.1"} and busy.drops
        assert sum(busy.shares.values()) > 0.2
        still = shedder.decide(make_figures(150_000, 1000, 0.0), 0.8)
        assert still.drops, "it goes on as long as all that comes could not be done"
        assert not shedder.decide(make_figures(40_000, 0, 0.0), 0.5).drops
    assert caplog.messages[0].startswith("overload: load is shed: ") and "% of " in caplog.messages[0]
    assert caplog.messages[-1] == "the overload is over: nothing is shed any more"


def test_what_waits_in_a_file_is_not_shed() -> None:
    shedder = make_shedder()
    shedder.inputs = set()
    assert not overload(shedder).drops


def test_an_output_without_a_graph_keeps_all_above_it_whole() -> None:
    network = from_text(TEXT.replace(", delivered: [[100, 1], [0, 0]]", ""))
    found = overload(make_shedder(network))
    assert {drop.stream for drop in found.drops} == {"high.rest"}
    plain = TEXT.replace(", delivered: [[100, 1], [0, 0]]", "").replace(
        ", value: {of: w, graph: [[0, 0], [0.5, 1]]}", ""
    )
    assert not make_shedder(from_text(plain)).needed


def test_values_that_are_worth_least_go_first() -> None:
    shedder = make_shedder()
    counts = [0, *[10] * 8, 100]
    shedder.take(report(Work(values={"scores": counts})))
    found = overload(shedder, 110_000, 300_000, 40_000)
    by_value = [drop for drop in found.drops if drop.where is not None]
    assert by_value and by_value[0].stream == "high.rest" and "`v` >= 0.0D" in str(by_value[0].where)
    assert found.delivered["scores"] > found.kept["scores"]
    # What is left out is not seen any more, and still known.
    before = shedder._histograms["scores"]
    shedder.take(report(Work(values={"scores": [0] * 9 + [100]}), found.drops))
    assert shedder._histograms["scores"] == before


def test_what_was_shed_is_counted_for_every_output_behind() -> None:
    shedder = make_shedder()
    assert shedder.count({"r": {"shed": 5}, "high.rest": {"shed": 7}, "high": {"late": 3}}) == {
        "alarms": 5,
        "scores": 12,
    }
    assert shedder.count({"high.rest to score": {"shed": 2}, "##high.rest": {"shed": 1}}) == {"scores": 3}


FORK = """
network: fork
inputs: {r: {schema: "k int, v double"}}
boxes:
  high: {filter: ["v > 0.9"], from: r}
  score: {map: {k: k, w: v}, from: r}
outputs:
  alarms: {from: high, qos: {latency: [[0, 1], [2, 1], [5, 0]], delivered: [[100, 1], [0, 0]]}}
  scores: {from: score, qos: {latency: [[0, 1], [2, 1], [5, 0]], value: {of: w, graph: [[0, 0], [0.5, 1]]}}}
"""


def test_a_costly_reader_of_a_shared_stream_loses_and_a_cheap_one_does_not() -> None:
    shedder = make_shedder(from_text(FORK))
    shedder.take(report(Work(values={"scores": [0, *[10] * 8, 100]})))
    found = overload(shedder, 105_000, 240_000, 10_000)
    assert {(drop.stream, drop.box) for drop in found.drops} == {("r", "score")}
    assert found.kept["alarms"] == 1.0 and found.kept["scores"] < 0.8
    assert all(drop.where and "`v`" in drop.where for drop in found.drops)


def test_what_waits_too_long_between_the_parts_is_overload() -> None:
    shedder = make_shedder()
    for _ in range(IN_A_ROW):
        found = shedder.decide(make_figures(150_000, 0, 0.0), 0.5, waited=1.2)
    assert found.drops
    assert shedder.decide(make_figures(20_000, 0, 0.0), 0.5, waited=1.2).relief == 0.0


def test_much_more_or_less_is_told_again(caplog: pytest.LogCaptureFixture) -> None:
    shedder = make_shedder(semantic=False)
    with caplog.at_level(logging.WARNING, "aurora"):
        overload(shedder, 85_000, 200_000, 1_000)
        first = max(shedder.shedding.shares.values())
        overload(shedder, 85_000, 200_000, 1_000)
        assert len(caplog.messages) == 1
        overload(shedder, 400_000, 900_000, 90_000)
    assert max(shedder.shedding.shares.values()) > first + 0.25 and len(caplog.messages) == 2


def test_the_next_run_knows_the_values_that_the_last_one_saw() -> None:
    first, second = make_shedder(), make_shedder()
    assert first.learnt() == {}
    bins = len(first._histograms["scores"].counts)
    seen = [4, *[1] * (bins - 1)]
    first.take(BatchReport(0, {}, 0, 0, {}, {}, 0.0, False, work=Work(values={"scores": seen})))
    second.recall({**first.learnt(), "gone": (1.0,)})
    assert second.learnt() == first.learnt() != {}
    second.recall({"scores": (1.0, 2.0)})
    assert second.learnt() == first.learnt(), "as an earlier version noted them"
    for before, after in ((" [0.5, 1]]", " [5, 1]]"), ("of: w", "of: k")):
        other = make_shedder(from_text(TEXT.replace(before, after)))
        other.recall(first.learnt())
        assert other.learnt() == {}, "another graph has other bins, and another field other values"


TWO = """
network: two
inputs: {r: {schema: "k int, v double"}}
boxes:
  one: {filter: ["k = 1"], from: r}
outputs:
  ones: {from: one, qos: {value: {of: v, graph: [[0, 0], [1, 1]]}}}
  others: {from: one.rest, qos: {value: {of: v, graph: [[0, 0], [1, 1]]}}}
"""


def test_values_that_drift_are_followed_unless_some_are_left_out_before_they_are_seen() -> None:
    shedder = make_shedder(from_text(TWO))
    low, high = [0, *[5] * 4, *[0] * 5], [0] * 5 + [5] * 4 + [0]
    shedder.take(report(Work(values={"ones": low, "others": low})))
    before = shedder.learnt()
    for _ in range(50):
        shedder.take(
            report(Work(values={"ones": high, "others": high}), (Drop("one.1", where="`v` < 0.5D"),))
        )
    assert shedder.learnt()["ones"] == before["ones"]
    assert shedder.learnt()["others"]["counts"] == pytest.approx([count / 20 for count in high], abs=0.01)


@pytest.mark.parametrize("ahead", [False, True], ids=["", "ahead"])
@pytest.mark.parametrize("part", ["", "##"], ids=["", "later"])
def test_what_a_drop_box_really_leaves_out_is_planned_with(part: str, ahead: bool) -> None:
    """In the later part of a network its stream has another name. What stands in for a drop box leaves out more."""
    shedder = make_shedder()
    shedder.take(report(Work(values={"scores": [0, *[10] * 8, 100]})))
    first = overload(shedder, 60_000, 100_000, 10_000)
    (share,) = first.chosen.values()
    assert {drop.place for drop in first.drops if drop.where is not None} == {"high.rest"} and share > 0.1
    drops = tuple(replace(drop, stream=f"{part}{drop.stream}") for drop in first.drops)
    if ahead:
        shedder.ahead = {"high.rest"}
        drops = tuple(replace(drop, box="##high.rest", of=drop.place) for drop in first.drops)
    # A quarter of what it was to be.
    shed = {"high.rest" if ahead else f"{part}high.rest": round(0.25 * share * 90_000)}
    read = InputWork(90_000, 0.1)
    work = Work(
        {"high": BoxWork(100_000, {"1": 10_000, "rest": 90_000}, 0.1)}, {"##high.rest": read}, shed=shed
    )
    shedder.take(report(work, drops))
    second = overload(shedder, 60_000, 100_000, 10_000)
    assert second.relief == pytest.approx(first.relief)
    assert second.chosen.get("high.rest", 0.0) > 1.5 * share or any(d.where is None for d in second.drops)
    # It is forgotten as soon as it is not tried any more.
    shedder.decide(make_figures(1000), 0.1)
    assert not shedder.shedding.drops
    assert overload(shedder, 60_000, 100_000, 10_000).chosen == first.chosen


def count_shedding(shedder: Shedder, figures: Figures) -> int:
    """For how many batches, of a second each, something is still shed."""
    for number in range(5000):
        if not shedder.decide(figures, 0.1).drops:
            return number
    return 5000


def test_what_was_shed_comes_back_bit_by_bit_unless_the_load_is_gone() -> None:
    near, gone = make_figures(70_000), make_figures(20_000)
    shedder = make_shedder(semantic=False)
    most = overload(shedder, 100_000, 200_000, 20_000).relief
    shares = [shedder.decide(near, 0.1).relief / most for _ in range(30)]
    assert all(later < sooner for sooner, later in pairwise(shares))
    assert shares[19] == pytest.approx(0.5, abs=0.05)
    assert not shedder.decide(gone, 0.1).drops


def test_bursts_that_come_again_and_again_find_more_and_more_left_out() -> None:
    near = make_figures(70_000)
    shedder = make_shedder(semantic=False)
    lasted = []
    for _ in range(4):
        overload(shedder, 100_000, 200_000, 20_000)
        lasted.append(count_shedding(shedder, near))
    assert 20 < lasted[0] < 200 and lasted[1] > 2 * lasted[0] and lasted[2] > 1.5 * lasted[1]
    assert lasted[3] == lasted[2], "but not for ever"
    for _ in range(130):
        shedder.decide(make_figures(20_000), 0.1)
    overload(shedder, 100_000, 200_000, 20_000)
    assert count_shedding(shedder, near) == lasted[0], "calm forgets it"
