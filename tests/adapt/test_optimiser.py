"""The optimiser on batches that are made up: when it asks for another order, and when it leaves well alone."""

from collections.abc import Callable
from itertools import pairwise

from aurora import Controls
from aurora.adapt.optimiser import MOST_PATIENCE, Optimiser
from aurora.engine.controls import Rewrites
from aurora.engine.plan.plan import plan_network
from aurora.engine.statistics import BatchReport
from aurora.engine.work import BoxWork, Work
from tests.engine.chains import network_of

CHAIN = """
  a: {filter: ["v > 1"], from: r}
  b: {filter: ["g > 1"], from: a}
  z: {map: {up: "upper(w)"}, from: b}"""
# Of each box, in the order in which they work, what it passes on and what it costs, in microseconds.
Nature = Callable[[tuple[str, ...], float], dict[str, tuple[float, float]]]
OTHER = ("b", "a", "z")


class Run:
    """A run of a batch each second, which obeys the optimiser from the next batch on."""

    def __init__(self, nature: Nature, tuples: int = 100_000) -> None:
        self.optimiser = Optimiser(plan_network(network_of(CHAIN)))
        self.nature, self.tuples = nature, tuples
        self.rewrites: Rewrites = ()
        self.orders: list[tuple[str, ...]] = []
        self.streams: tuple[str, ...] = ()

    def go(self, batches: int) -> "Run":
        for _ in range(batches):
            number = len(self.orders)
            order = self.rewrites[0] if self.rewrites else ("a", "b", "z")
            boxes, left = {}, self.tuples
            for name, (share, cost) in self.nature(order, float(number)).items():
                given = int(left * share)
                boxes[name] = BoxWork(left, {"1": given, "rest": left - given}, left * cost / 1e6)
                left = given
            report = BatchReport(
                number, {}, 0, 0, {}, {}, float(number), False,
                Controls(rewrites=self.rewrites, taps=self.streams), work=Work(boxes),
            )  # fmt: skip
            self.orders.append(self.rewrites[0] if self.rewrites else ())
            self.rewrites = self.optimiser.advise(report)
        return self


def plain(**boxes: tuple[float, float]) -> Nature:
    """Filters that know nothing of each other."""
    return lambda order, at: {name: boxes[name] for name in order}


def test_the_better_order_comes_within_seconds_and_stays() -> None:
    run = Run(plain(a=(0.9, 1), b=(0.1, 1), z=(1, 5))).go(60)
    assert run.orders.index(OTHER) <= 5
    assert set(run.orders[run.orders.index(OTHER) :]) == {OTHER}
    (change,) = run.optimiser.changes
    assert change.batch == run.orders.index(OTHER) and change.what == "b, a and z work in this order"


def test_a_chain_that_is_in_order_is_only_combined() -> None:
    run = Run(plain(a=(0.1, 1), b=(0.9, 1), z=(1, 5))).go(60)
    assert {order for order in run.orders if order} == {("a", "b", "z")}
    assert [change.what for change in run.optimiser.changes] == ["a, b and z work as one box"]


def test_a_change_of_the_input_is_followed() -> None:
    def nature(order: tuple[str, ...], at: float) -> dict[str, tuple[float, float]]:
        shares = {"a": 0.9, "b": 0.1} if at < 100 else {"a": 0.1, "b": 0.9}
        return {name: (shares.get(name, 1.0), 1.0) for name in order}

    run = Run(nature).go(200)
    assert run.orders[99] == OTHER
    assert ("a", "b", "z") in run.orders[101:112], "within ten seconds"
    assert run.orders[-1] == ("a", "b", "z")


def test_boxes_that_look_better_where_they_are_not_change_places_ever_more_rarely() -> None:
    """Who is behind sees what the other left, and drops nearly all of it: whoever it is."""

    def nature(order: tuple[str, ...], at: float) -> dict[str, tuple[float, float]]:
        shares = dict(zip((name for name in order if name != "z"), (0.5, 0.05), strict=True))
        return {name: (shares.get(name, 1.0), 1.0) for name in order}

    run = Run(nature).go(600)
    changed = [number for number in range(1, 600) if run.orders[number] != run.orders[number - 1]]
    gaps = [after - before for before, after in pairwise(changed[1:])]
    assert len(changed) < 12 and gaps == sorted(gaps) and max(gaps) <= MOST_PATIENCE + 3


def test_little_work_is_not_worth_a_change() -> None:
    assert not any(Run(plain(a=(0.9, 1), b=(0.1, 1), z=(1, 5)), tuples=300).go(50).orders)


def test_what_was_asked_for_is_asked_again_until_it_holds() -> None:
    run = Run(plain(a=(0.9, 1), b=(0.1, 1), z=(1, 5)))
    for _ in range(20):
        run.rewrites = ()
        run.go(1)
    assert run.rewrites == (OTHER,) and run.optimiser.changes == ()
    run.go(1)
    assert [change.batch for change in run.optimiser.changes] == [20]


def test_a_batch_that_is_run_again_under_an_older_order_is_no_change() -> None:
    run = Run(plain(a=(0.9, 1), b=(0.1, 1), z=(1, 5)))
    run.rewrites = (("a", "b", "z"),)
    run.go(1)
    assert run.rewrites == (("a", "b", "z"),) and run.optimiser.changes == ()


def test_chains_of_other_networks_are_left_alone() -> None:
    optimiser = Optimiser(plan_network(network_of("  z: {map: {v: v}, from: r}")))
    report = BatchReport(0, {}, 0, 0, {}, {}, 1.0, False, Controls(rewrites=(("x", "y"),)))
    assert optimiser.advise(report) == ()


def test_a_chain_that_somebody_looks_into_is_left_alone_meanwhile() -> None:
    run = Run(plain(a=(0.9, 1), b=(0.1, 1), z=(1, 5)))
    run.streams = ("a.1",)
    assert not any(run.go(20).orders)
    run.streams = ()
    run.go(10)
    assert run.rewrites == (OTHER,)
    run.streams = ("a.1",)
    run.go(20)
    assert run.rewrites == (OTHER,), "as before, when nobody looks any more"


def test_the_next_run_begins_with_the_order_that_was_found() -> None:
    plan = plan_network(network_of(CHAIN))
    run = Run(plain(a=(0.9, 1), b=(0.1, 1), z=(1, 5)))
    run.optimiser = Optimiser(plan, (OTHER, ("of", "another", "network")))
    run.go(30)
    assert run.orders[0] == () and set(run.orders[1:]) == {OTHER}
    assert [change.why for change in run.optimiser.changes] == ["the last run had found it"]
    run = Run(plain(a=(0.1, 1), b=(0.9, 1), z=(1, 5)))
    run.optimiser = Optimiser(plan, (OTHER,))
    run.go(30)
    assert run.orders[1] == OTHER and run.orders[-1] != OTHER, "it is not better any more"


def test_an_order_that_cannot_be_is_not_taken_up() -> None:
    needs = CHAIN.replace('b: {filter: ["g > 1"], from: a}', "b: {map: {g: g, w: w}, from: a}")
    run = Run(plain(a=(0.9, 1), b=(1, 1), z=(1, 1)))
    run.optimiser = Optimiser(plan_network(network_of(needs)), (("z", "b", "a"),))
    assert run.go(1).rewrites == ()
