"""Rates and latencies of the last seconds, with a virtual clock."""

import numpy as np
import pytest

from aurora.engine.statistics import SAMPLES, WINDOW, BatchReport, Delays, Recent, sample_arrivals


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def report(batch: int, reached: int, rows: int, *delays: int) -> BatchReport:
    return BatchReport(
        batch,
        {"out": rows},
        0,
        0,
        {"in": {"row": reached}},
        {},
        0.0,
        False,
        delays={"out": Delays(rows, delays)},
    )


def test_rates_are_those_of_the_last_seconds() -> None:
    clock = Clock()
    recent = Recent(clock)
    assert recent.rates() == ({}, {}) and recent.latency() == {}
    clock.now = 2.0
    recent.add(report(0, 100, 10))
    assert recent.rates() == ({"in": 50.0}, {"out": 5.0}), "a run is not slower for being young"
    clock.now = 20.0
    recent.add(report(1, 300, 40))
    assert recent.rates() == ({"in": 20.0}, {"out": 4.0})
    clock.now = 20.0 + WINDOW + 0.1
    assert recent.rates() == ({"in": 0.0}, {}) and recent.latency() == {}


def test_what_earlier_runs_have_read_is_no_part_of_the_rate() -> None:
    clock = Clock()
    recent = Recent(clock)
    clock.now = 1.0
    recent.add(report(7, 1_000_000, 5))
    recent.add(report(8, 1_000_050, 5))
    assert recent.rates() == ({"in": 50.0}, {"out": 10.0})


def test_latency_weighs_batches_by_their_rows() -> None:
    recent = Recent(Clock())
    recent.add(report(0, 1, 99, *([1000] * 9)))
    recent.add(report(1, 2, 1, 7000))
    assert recent.latency() == {"out": (1.0, 1.0)}
    recent.add(report(2, 3, 300, 2000, 3000, 4000))
    assert recent.latency()["out"] == (pytest.approx(3.0), pytest.approx(4.0))


def test_a_few_arrivals_stand_for_all() -> None:
    assert sample_arrivals(np.array([3, 1, 2], np.int64)) == [1, 2, 3]
    assert sample_arrivals(np.full(1000, 5, np.int64)) == [5]
    found = sample_arrivals(np.random.default_rng(1).permutation(np.arange(1000, dtype=np.int64)))
    assert len(found) == SAMPLES and found == sorted(found) and (found[0], found[-1]) == (0, 999)
    assert sample_arrivals(np.empty(0, np.int64)) == []
