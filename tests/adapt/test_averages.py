"""Moving averages, with the seconds of the run as an argument."""

import json

import pytest

from aurora.adapt.averages import COLD, Averages
from aurora.adapt.trips import Trip, fit_trips
from tests.adapt.batches import batch


def test_costs_selectivities_and_rates() -> None:
    averages = Averages()
    for number in range(10):
        averages = averages.add(batch(number, number + 1.0, 1000, given={"1": 0.3, "rest": 0.7}, took=0.5))
    found = averages.figures(cores=2)
    assert found.boxes["over"].cost == pytest.approx(2e-6)
    assert found.boxes["over"].selectivity == pytest.approx({"1": 0.3, "rest": 0.7})
    assert found.boxes["over"].rate == found.inputs["r"].rate == pytest.approx(1000)
    assert found.outputs["far"].rate == pytest.approx(300)
    assert found.inputs["r"].cost == pytest.approx(1e-6)
    assert found.train == 1000


def test_what_is_new_counts_more() -> None:
    averages = Averages()
    for number in range(30):
        averages = averages.add(batch(number, number + 1.0, 1000, given={"1": 0.1}))
    for number in range(30, 50):
        averages = averages.add(batch(number, number + 1.0, 1000, box=8e-6, given={"1": 0.9}))
    found = averages.figures(1).boxes["over"]
    assert found.selectivity["1"] == pytest.approx(0.9, abs=0.1) and found.cost == pytest.approx(
        8e-6, rel=0.1
    )


def test_who_is_quiet_has_no_rate_and_keeps_its_figures() -> None:
    averages = Averages()
    for number in range(5):
        averages = averages.add(batch(number, number + 1.0, 1000))
    before = averages.figures(1).boxes["over"]
    for number in range(5, 5000):
        averages = averages.add(batch(number, number * 10.0, 0))
    after = averages.figures(1, now=50_100.0).boxes["over"]
    assert after.cost == before.cost and after.selectivity == before.selectivity
    assert after.rate == pytest.approx(0, abs=1e-3)
    assert averages.figures(1, now=1e7).boxes["over"].rate == 0


def test_the_first_batches_hardly_count() -> None:
    averages = Averages().add(batch(0, 5.0, 10, box=0.3))
    assert averages.figures(1).boxes["over"].cost == pytest.approx(0.3), "there is nothing better yet"
    averages = averages.add(batch(1, 6.0, 1000)).add(batch(2, 7.0, 1000))
    assert averages.figures(1).boxes["over"].cost < 2e-6 + COLD * 0.3


def test_the_next_run_begins_with_what_the_last_one_knew() -> None:
    averages = Averages()
    for number in range(10):
        averages = averages.add(batch(number, number + 1.0, 1000 * number, took=0.4 + number / 100))
    again = Averages.from_json(json.loads(json.dumps(averages.to_json())))
    before, after = averages.figures(2), again.figures(2)
    assert after.boxes == before.boxes and (after.fixed, after.per_row) == (before.fixed, before.per_row)
    assert after.train == before.train
    again = again.add(batch(10, 1.0, 1000, took=3.0))
    assert again.trips == averages.trips, "the batch before this one was another run's"


def test_how_long_a_batch_took_is_told_by_the_next_one() -> None:
    averages = Averages()
    for number, (rows, took) in enumerate([(1, 9.0), (2, 9.0), (100, 9.0), (200, 0.1), (300, 0.2), (0, 0.3)]):
        averages = averages.add(batch(number, number + 1.0, rows, took=took))
    assert [(trip.rows, trip.seconds) for trip in averages.trips] == [(100, 0.1), (200, 0.2), (300, 0.3)]


def test_rows_that_wait_grow() -> None:
    averages = Averages()
    for number in range(20):
        averages = averages.add(batch(number, number + 1.0, 1000, waiting=number * 300))
    found = averages.figures(1, live=["r"]).inputs["r"]
    assert found.waiting == 5700 and found.growth == pytest.approx(300, rel=0.1) and found.live


EQUAL = Trip(10_000, 1.0, 0.1)


@pytest.mark.parametrize("trips", [[], [EQUAL], [EQUAL] * 40, [Trip(0, 0.4, 0.0)] * 3])
def test_few_or_equal_batches_show_no_line(trips: list[Trip]) -> None:
    found = fit_trips(trips, cores=2)
    assert found.fixed <= 0.801 and found.per_row >= 0
    if trips and trips[0].rows:
        whole = found.fixed + 10_000 * (found.per_row + 0.1 / 10_000)
        assert whole == pytest.approx(2 * 1.0), "a batch of them takes what it took"


def test_of_short_batches_nothing_belongs_to_the_rows() -> None:
    found = fit_trips([Trip(n, 0.5 + n / 10, n * 0.01) for n in (1, 2, 3, 2, 1)], cores=2)
    assert found.per_row == 0 and found.fixed == pytest.approx(2 * (0.5 + 0.2) - 2 * 0.01)


def test_a_line_never_falls_and_never_begins_below_nothing() -> None:
    falling = [Trip(n, 2.0 - n / 1e5, n * 1e-6) for n in (10_000, 50_000, 90_000)]
    found = fit_trips(falling, cores=2)
    assert found.per_row == 0.0 and found.fixed > 0
    steep = [Trip(n, n / 1e5 - 0.05, 0.0) for n in (10_000, 50_000, 90_000)]
    assert fit_trips(steep, cores=1).fixed == 0.0


def test_capacity_is_what_is_left_beside_the_fixed_cost() -> None:
    averages = Averages()
    sizes = [1000, 50_000, 20_000, 100_000, 80_000, 10_000, 60_000]
    for number, (rows, before) in enumerate(zip(sizes, [0, *sizes], strict=False)):
        averages = averages.add(batch(number, number + 1.0, rows, took=0.5 + before * 5e-6))
    found = averages.figures(cores=2)
    assert found.fixed == pytest.approx(1.0) and found.row_cost == pytest.approx(1e-5)
    assert found.seconds(100_000) == pytest.approx(1.0)
    assert found.capacity == pytest.approx((1 - 0.5 / 4) / 5e-6)


def make_trip(rows: int, share: float = 1.0) -> Trip:
    """0.3 s for the trip, 0.05 s to call the boxes, and 3 + 1 microseconds of one core for a row, on two cores."""
    return Trip(rows, share * (0.3 + (0.05 + rows * 4e-6) / 2), share * (0.05 + rows * 3e-6))


def test_calling_boxes_belongs_to_the_batch_not_to_its_rows() -> None:
    """Batches of a sample are short: were a call part of a row's cost, the network would seem slower than it is."""
    found = fit_trips([make_trip(n) for n in (10_000, 100_000) * 4], cores=2)
    assert found.fixed == pytest.approx(2 * 0.3 + 0.05)
    average = sum(make_trip(n).worked for n in (10_000, 100_000)) / 110_000
    assert found.growing * average == pytest.approx(3e-6) and found.per_row == pytest.approx(1e-6)


def test_one_batch_that_hung_changes_no_line() -> None:
    sizes = (10_000, 100_000, 10_000, 100_000, 100_000, 10_000, 100_000, 10_000)
    trips = [make_trip(n) for n in sizes]
    trips[2], trips[4] = make_trip(10_000, share=6), make_trip(100_000, share=3)
    found = fit_trips(trips, cores=2)
    average = sum(trip.worked for trip in trips) / sum(trip.rows for trip in trips)
    assert found.growing * average + found.per_row == pytest.approx(4e-6, rel=0.1)
    assert found.fixed == pytest.approx(0.65, rel=0.1)


def test_work_that_seems_to_fall_with_the_rows_still_grows() -> None:
    found = fit_trips([Trip(n, 1.0, 0.5 - n / 1e6) for n in (10_000, 50_000, 90_000)], cores=2)
    assert found.growing == pytest.approx(0.3)


def test_a_short_sample_predicts_what_a_long_one_does() -> None:
    capacities = []
    for scale in (1, 10):
        averages, sizes = Averages(), [10_000 * scale, 100_000 * scale] * 5
        for number, (rows, before) in enumerate(zip(sizes, [0, *sizes], strict=False)):
            took, box = make_trip(before).seconds, 2e-6 + 0.05 / rows
            averages = averages.add(batch(number, number + 1.0, rows, box, took=took))
        capacities.append(averages.figures(cores=2).capacity)
    assert capacities[0] == pytest.approx(capacities[1], rel=0.05)
    # Four microseconds of two cores, less the trips of batches of four seconds.
    assert capacities[0] == pytest.approx((2 - 0.65 / 4) / 4e-6, rel=0.05)


def test_what_two_parts_that_share_the_cores_cost_together_is_what_there_is() -> None:
    """Both are always at work, with batches of one second: each has one of the two cores."""
    averages = Averages()
    for number in range(20):
        averages = averages.add(batch(number, number + 1.0, 50_000 + 10_000 * (number % 3), took=1.0))
    assert averages.find_busy() == pytest.approx(1.0)
    assert averages.find_busy(now=20.0 + 60.0) < 0.1
    alone, shared = averages.figures(2), averages.figures(2, others=1.0)
    assert alone.seconds(60_000) == pytest.approx(1.0, rel=0.05)
    assert shared.seconds(60_000) == pytest.approx(0.5, rel=0.05)


def test_a_part_that_may_wait_has_batches_and_rows_of_its_own() -> None:
    averages = Averages()
    assert averages.as_later(2) is None
    for number in range(20):
        rows = 10_000 * (1 + number % 5)
        before = 10_000 * (1 + (number - 1) % 5)
        averages = averages.add(batch(number, 2.0 * number + 2.0, rows, took=0.4 + before * 5e-6))
    found = averages.as_later(2)
    assert found is not None and found.batches == pytest.approx(0.5, rel=0.01)
    # Of 10 microseconds of one core the box has 2; reading counts as handing over.
    assert found.fixed == pytest.approx(0.8) and found.per_row == pytest.approx(8e-6)
    assert found.rows == pytest.approx(averages.figures(2).rate) and found.trips == pytest.approx(
        0.4, rel=0.01
    )
