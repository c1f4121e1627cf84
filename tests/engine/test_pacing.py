"""How long trains are."""

import pytest

from aurora.engine.pacing import FIRST, LEAST, RECENT, Trip, train_length

MOST = 1_000_000


def test_the_first_train_is_short() -> None:
    assert train_length(None, 1000, MOST, live=True) == FIRST
    assert train_length(None, 1000, 50, live=True) == 50


@pytest.mark.parametrize(
    ("took", "live", "length"),
    [
        (1000, False, 200_000),
        (2000, False, 100_000),
        (800, False, 250_000),
        (1, False, 400_000),
        (8000, False, 25_000),
        (1_000_000, False, LEAST),
        (2000, True, 400_000),
        (8000, True, 100_000),
        (16_000, True, 50_000),
    ],
)
def test_a_full_train_is_followed_by_one_that_takes_the_time(took: int, live: bool, length: int) -> None:
    """For live sources four times that, while their input waits."""
    assert train_length(Trip(100_000, 100_000, took), 2000, MOST, live) == length


def test_trains_shrink_when_the_input_keeps_up() -> None:
    assert train_length(Trip(400_000, 100_000, 900), 1000, MOST, live=True) == 200_000
    assert train_length(Trip(200_000, 150_000, 900), 1000, MOST, live=True) == 200_000
    assert train_length(Trip(200_000, 3, 300), 1000, MOST, live=True) == LEAST


def test_nothing_is_learnt_from_a_batch_without_rows_or_of_another_run() -> None:
    assert train_length(Trip(300_000, 0, 9000), 1000, MOST, live=True) == 300_000
    assert train_length(Trip(300_000, 300_000, None), 1000, MOST, live=False) == 300_000


@pytest.mark.parametrize("most", [1, 7, 5000, MOST])
@pytest.mark.parametrize("took", [0, 1, 10**9])
@pytest.mark.parametrize("rows", [1, 10, 10**9])
def test_never_above_the_batch_and_never_below_one(most: int, took: int, rows: int) -> None:
    assert 1 <= train_length(Trip(10, rows, took), 1000, most, live=False) <= most


def test_a_steady_input_finds_its_length() -> None:
    """400 ms for the trip and 4 microseconds a row: 400,000 rows take two seconds."""
    trip = Trip(FIRST, FIRST, 800)
    for _ in range(20):
        length = train_length(trip, 2000, MOST, live=False)
        trip = Trip(length, length, 400 + length * 4 // 1000)
    assert trip.took is not None and 1950 <= trip.took <= 2050


def run_trains(fixed: int, per_row: float, rate: float, longest: int, batches: int = 60) -> tuple[float, int]:
    """Rows that wait in the end, and what the last batch took, at so many rows a millisecond."""
    recent: list[tuple[int, int]] = []
    trip, waiting = Trip(FIRST, 0, None), 50_000.0
    for _ in range(batches):
        length = train_length(trip, 1000, MOST, True, longest, recent)
        rows = min(length, int(waiting))
        took = round(fixed + rows * per_row)
        recent = [*recent, (rows, took)][-RECENT:]
        trip, waiting = Trip(length, rows, took), waiting - rows + rate * took
    assert trip.took is not None
    return waiting, trip.took


def test_trains_do_not_shrink_to_trips_where_these_take_long() -> None:
    """Three seconds for the trip: trains for batches of two seconds would carry ever less, and fall behind for good."""
    waiting, took = run_trains(fixed=3000, per_row=0.005, rate=50, longest=2000)
    assert waiting < 250_000 and took < 5000


def test_overload_keeps_to_the_longest_batch_where_trips_are_short() -> None:
    waiting, took = run_trains(fixed=300, per_row=0.01, rate=200, longest=2000)
    assert waiting > MOST and 1700 <= took <= 2300


def test_one_long_batch_shortens_no_train() -> None:
    recent = [(200_000, 1100)] * 4 + [(200_000, 4000)]
    shrunk = train_length(Trip(200_000, 200_000, 4000), 1000, MOST, True, 2000)
    kept = train_length(Trip(200_000, 200_000, 4000), 1000, MOST, True, 2000, recent)
    assert shrunk == 100_000 and kept > 200_000
    lasting = [(200_000, 1100), *[(200_000, 4000), (100_000, 2200)] * 3]
    assert train_length(Trip(200_000, 200_000, 4000), 1000, MOST, True, 2000, lasting) < 110_000


def test_a_source_of_whole_files_that_leaves_rows_waiting_does_not_keep_up() -> None:
    """A train of 10,000 rows that takes a file of 8,000 and leaves many more is as full as it can be."""
    recent = [(8000, 2300)] * 5
    assert train_length(Trip(10_000, 8000, 2300), 1000, MOST, True, 2000, recent) == 10_000
    assert train_length(Trip(10_000, 8000, 2300, left=90_000), 1000, MOST, True, 2000, recent) == 15_000


def test_a_train_that_is_to_tell_what_a_row_costs_holds_nobody_up_for_long() -> None:
    """Batches that are alike tell nothing, and already take as long as they may."""
    recent = [(240_000, 790), (238_000, 800), (242_000, 805)] * 3
    assert train_length(Trip(240_000, 240_000, 800, left=10**7), 1000, MOST, True, 800, recent) == 360_000


def test_what_is_known_to_be_in_time_need_not_become_shorter() -> None:
    recent = [(rows, 400 + rows // 200) for rows in (100_000, 150_000, 100_000, 200_000, 120_000)]
    assert train_length(Trip(MOST, 120_000, 1000), 1000, MOST, True, 2000, recent) == 720_000
    assert train_length(Trip(500_000, 120_000, 1000), 1000, MOST, True, 2000, recent) == 500_000
