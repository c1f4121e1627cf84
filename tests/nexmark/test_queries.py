"""The queries against naive ones: the same rows in the same order, however the input is cut and spread."""

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aurora import AuroraError, from_text, to_text
from aurora.nexmark.queries import PROFILES, QUERIES, Rules, query_network
from tests.nexmark.events import small_events
from tests.nexmark.simulated import STATE, simulated
from tests.spec.nexmark import ANSWERS, STATES, late_events
from tests.spec.nexmark_extension import EXTENSION
from tests.thoroughness import examples

ALL = ANSWERS | EXTENSION
# Those that look at no times leave out no late events.
TIMELESS = ("q0", "q1", "q2", "q10", "q12", "q13", "q14", "q21", "q22")
# The rows of windows come by group, and the groups in any order.
GROUPED = ("q15", "q16", "q17")
# What a query takes in, where that is not the bids alone.
TAKEN = {
    "q3": lambda kind, body, states: (
        body["state"] in states if kind == "person" else kind == "auction" and body["category"] == 10
    ),
    "q8": lambda kind, body, states: kind in ("person", "auction"),
    "q20": lambda kind, body, states: kind == "bid" or (kind == "auction" and body["category"] == 10),
    **dict.fromkeys(("q4", "q6", "q9", "q18", "q19"), lambda kind, body, states: kind in ("auction", "bid")),
}


def count_late(query: str, events: list[Any], profile: str, lateness: int) -> int:
    """The late events of those that a query takes in."""
    if query in TIMELESS:
        return 0
    taken = TAKEN.get(query, lambda kind, body, states: kind == "bid")
    late = (event for event, is_late in zip(events, late_events(events, lateness), strict=True) if is_late)
    return sum(taken(kind, body, STATES[profile]) for event in late for kind, body in event.items())


def close(found: list[Any], expected: list[Any]) -> bool:
    """Averages may be rounded in the last place."""
    return len(found) == len(expected) and all(
        one.keys() == other.keys()
        and all(pytest.approx(value, rel=1e-12) == other[name] if name in ("avg", "avg_price") else value == other[name]
                for name, value in one.items())
        for one, other in zip(found, expected, strict=True)
    )  # fmt: skip


CASES = [(query, profile) for query in ALL for profile in PROFILES]


@pytest.mark.parametrize(("query", "profile"), CASES)
@given(
    seed=st.integers(0, 10**6),
    count=st.integers(0, 90),
    cut=st.sampled_from([4, 13, 40, 1000]),
    buckets=st.integers(1, 3),
    lateness=st.sampled_from([0, 1000, 4000, 10**6]),
)
@example(seed=1, count=200, cut=19, buckets=2, lateness=4000)
@example(seed=2, count=25, cut=1, buckets=3, lateness=1000)
@settings(max_examples=examples(3, settings().max_examples // 6))
def test_the_same_as_the_naive_one(
    query: str, profile: str, seed: int, count: int, cut: int, buckets: int, lateness: int
) -> None:
    events = small_events(seed, count)
    network, tables = query_network(query, Rules(profile, lateness=lateness)), QUERIES[query].tables()
    found, discarded = simulated(network, events, cut, buckets, tables)
    expected = ALL[query](events, profile, lateness)
    if query in GROUPED:
        found, expected = (
            sorted(rows, key=lambda row: str(sorted(row.items()))) for rows in (found, expected)
        )
    assert close(found, expected)
    waited = discarded.pop(STATE)
    assert query not in TIMELESS or query == "q12" or waited == 0
    late = count_late(query, events, profile, lateness)
    assert dict(discarded) == ({"out of order": late} if late else {})


@pytest.mark.parametrize("query", ["q4", "q5", "q7", "q8", "q9", "q11", "q18", "q19", "q20"])
def test_state_is_bounded_by_what_is_open(query: str) -> None:
    """Three times the events need no more state: what waits depends on windows, auctions and lateness alone."""
    events = small_events(3, 900)
    sizes = []
    for count in (300, 900):
        _, found = simulated(query_network(query, Rules(lateness=4000)), events[:count], 50, 1, {})
        sizes.append(found[STATE])
    assert sizes[0] > 0 and sizes[1] < 1.5 * sizes[0]


def test_the_small_inputs_hold_what_is_hard() -> None:
    """Otherwise the test above would not say much."""
    events = [event for seed in range(20) for event in small_events(seed, 120)]
    assert sum(late_events(small_events(1, 300), 4000)) > 10
    for query, answer in ALL.items():
        rows = [row for seed in range(20) for row in answer(small_events(seed, 120), "standard", 4000)]
        assert len(rows) >= 20, query
    ties = ANSWERS["q5"](small_events(2, 120), "standard", 4000)
    assert len(ties) > len({row["window_start"] for row in ties})
    assert any(event["bid"]["price"] == 30 for event in events if "bid" in event)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("query", QUERIES)
def test_every_query_is_said_in_boxes_and_in_text(query: str, profile: str) -> None:
    network = query_network(query, Rules(profile))
    assert "user" not in {box.kind for box in network.boxes.values()}
    assert from_text(to_text(network)) == network


def test_a_lateness_below_zero_and_unknown_names_are_faults() -> None:
    with pytest.raises(AuroraError, match="there is no query 'q99': there are q0, q1"):
        query_network("q99")
    with pytest.raises(AuroraError, match="there is no profile 'paper': give draft or standard"):
        Rules("paper")
    with pytest.raises(AuroraError, match="the lateness must be 0 or more, found -1 ms"):
        Rules(lateness=-1)
    assert set(ALL) == set(QUERIES)
