"""The queries against naive ones: the same rows in the same order, however the input is cut and spread."""

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aurora import AuroraError
from aurora.nexmark.queries import QUERIES, Rules, query_network
from tests.nexmark.events import small_events
from tests.nexmark.simulated import simulated
from tests.spec.nexmark import ANSWERS, late_events

ORDERED = ("q3", "q4", "q5", "q6", "q7", "q8")


def close(found: list[Any], expected: list[Any]) -> bool:
    """Averages may be rounded in the last place."""
    return len(found) == len(expected) and all(
        one.keys() == other.keys()
        and all(pytest.approx(value, rel=1e-12) == other[name] if name == "avg" else value == other[name]
                for name, value in one.items())
        for one, other in zip(found, expected, strict=True)
    )  # fmt: skip


@pytest.mark.parametrize("profile", ["standard", "draft"])
@pytest.mark.parametrize("query", ANSWERS)
@given(
    seed=st.integers(0, 10**6),
    count=st.integers(0, 120),
    cut=st.sampled_from([1, 7, 40, 1000]),
    buckets=st.integers(1, 3),
    lateness=st.sampled_from([0, 1000, 4000, 10**6]),
)
@example(seed=1, count=300, cut=13, buckets=2, lateness=4000)
@settings(deadline=None, max_examples=15)
def test_the_same_as_the_naive_one(
    query: str, profile: str, seed: int, count: int, cut: int, buckets: int, lateness: int
) -> None:
    events = small_events(seed, count)
    found, discarded = simulated(
        query_network(query, Rules(profile, lateness=lateness)), events, cut, buckets
    )
    expected = ANSWERS[query](events, profile, lateness)
    assert close(found, expected)
    late = sum(late_events(events, lateness)) if query in ORDERED else 0
    assert dict(discarded) == ({"late": late} if late else {})


def test_the_small_inputs_hold_what_is_hard() -> None:
    """Otherwise the test above would not say much."""
    events = [event for seed in range(20) for event in small_events(seed, 120)]
    assert sum(late_events(small_events(1, 300), 4000)) > 10
    for query, answer in ANSWERS.items():
        rows = [row for seed in range(20) for row in answer(small_events(seed, 120), "standard", 4000)]
        assert len(rows) > 20, query
    ties = ANSWERS["q5"](small_events(2, 120), "standard", 4000)
    assert len(ties) > len({row["window_start"] for row in ties})
    assert any(event["bid"]["price"] == 30 for event in events if "bid" in event)


def test_a_lateness_below_zero_and_unknown_names_are_faults() -> None:
    with pytest.raises(AuroraError, match="there is no query 'q99': there are q0, q1"):
        query_network("q99")
    with pytest.raises(AuroraError, match="there is no profile 'paper': give draft or standard"):
        Rules("paper")
    with pytest.raises(AuroraError, match="the lateness must be 0 or more, found -1 ms"):
        Rules(lateness=-1)
    assert set(ANSWERS) <= set(QUERIES)
