"""Top against its naive version: windows of every kind, ties, nulls, several expressions, panes put together."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora import Network
from aurora.algebra.ordering.order import Order
from aurora.algebra.state.turn import Turn
from aurora.algebra.top import Top
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Train
from aurora.errors import AuroraError
from tests.algebra.harness import CUTS, Arrival, check_agreement, plain, rows_kept, run_kernel, run_naive
from tests.algebra.running import run_network
from tests.algebra.strategies import arrivals, groups, nearly_rising, numbers, reals
from tests.spec import squal
from tests.spec.top import By
from tests.spec.top import Top as NaiveTop

KS = st.sampled_from([1, 1, 2, 3, 30])
STEPS = st.sampled_from([1, 2, 3, 4, 6, 10])
SLACKS = st.sampled_from([0, 1, 2, 5, 30])

# Texts, and what they mean.
CHOICES: dict[tuple[str, ...], By] = {
    ("v DESC",): [(lambda row: row["v"], True)],
    ("v",): [(lambda row: row["v"], False)],
    ("x desc", "v asc"): [(lambda row: row["x"], True), (lambda row: row["v"], False)],
    ("name", "v DESC", "x"): [
        (lambda row: row["name"], False),
        (lambda row: row["v"], True),
        (lambda row: row["x"], False),
    ],
    ("name DESC",): [(lambda row: row["name"], True)],
    ("v % 3 = 0 DESC",): [(lambda row: None if row["v"] is None else row["v"] % 3 == 0, True)],
    ("x",): [(lambda row: row["x"], False)],
    ("1",): [(lambda row: 1, False)],
}
choices = st.sampled_from(list(CHOICES))


def tuples(values: Any) -> Any:
    return arrivals(
        values,
        g=groups,
        v=st.one_of(st.integers(-3, 3), st.none()),
        x=st.one_of(reals(), st.sampled_from([float("nan"), -0.0, 0.0, float("inf")]), st.none()),
        name=st.one_of(st.sampled_from(["", "a", "b", "é"]), st.none()),
    )


nearly = tuples(nearly_rising(st.one_of(st.integers(-6, 6), st.none())))


def both(
    kind: str, k: int, by: tuple[str, ...], order: dict[str, Any], size: Any, advance: Any, **more: Any
) -> tuple[Top, Any, Schema]:
    schema = Schema.parse(f"T {kind}, g int, v int, x double, name string")
    on = order.pop("on", "T")
    text, step = advance if isinstance(advance, tuple) else (advance, advance)
    box = Top.best(k, by, Order(on, **order), size, text, schema, **more)
    return (
        box,
        lambda: NaiveTop(k, CHOICES[by], squal.Order(on, **order), size, step, **more),
        schema,
    )


def check(rows: list[Arrival], *args: Any, **more: Any) -> None:
    box, naive, schema = both(*args, **more)
    check_agreement(box, naive, rows, schema)


@given(nearly, KS, choices, SLACKS, STEPS, STEPS, st.booleans(), st.booleans(), st.booleans())
def test_windows(
    rows: list[Arrival],
    k: int,
    by: tuple[str, ...],
    slack: int,
    size: int,
    advance: int,
    grouped: bool,
    align: bool,
    ties: bool,
) -> None:
    order = {"slack": slack, "group_by": ("g",) if grouped else ()}
    check(rows, "int", k, by, order, size, advance, align=align, ties=ties, rank="rank")


@given(nearly, KS, choices, st.integers(0, 8), STEPS, STEPS, st.booleans())
def test_span(
    rows: list[Arrival], k: int, by: tuple[str, ...], span: int, size: int, advance: int, ties: bool
) -> None:
    check(rows, "timestamp", k, by, {"span": span, "group_by": ("g",)}, size, advance, ties=ties, start="s")


@given(nearly, KS, choices, STEPS, STEPS, st.booleans())
def test_tuple_counts(
    rows: list[Arrival], k: int, by: tuple[str, ...], size: int, advance: int, ties: bool
) -> None:
    check(rows, "int", k, by, {"on": "#", "group_by": ("g",)}, size, advance, ties=ties, rank="place")


@given(nearly, KS, choices, st.integers(0, 3), STEPS, st.booleans())
def test_advance_as_predicate(
    rows: list[Arrival], k: int, by: tuple[str, ...], slack: int, size: int, ties: bool
) -> None:
    opens = "v > 1", lambda row: row["v"] is not None and row["v"] > 1
    check(rows, "int", k, by, {"slack": slack, "group_by": ("g",)}, size, opens, ties=ties, rank="rank")


@given(
    tuples(nearly_rising(st.one_of(reals(), st.none()))),
    KS,
    choices,
    st.sampled_from([0.25, 1.5]),
    st.sampled_from([0.5, 4.0]),
)
def test_doubles(rows: list[Arrival], k: int, by: tuple[str, ...], size: float, advance: float) -> None:
    check(rows, "double", k, by, {"slack": 1}, size, advance, rank="rank")


@given(
    arrivals(nearly_rising(st.integers(-3, 3)), g=groups, v=st.one_of(numbers(), st.none())),
    KS,
    st.booleans(),
    st.booleans(),
)
def test_the_largest_and_smallest_numbers(rows: list[Arrival], k: int, ties: bool, down: bool) -> None:
    schema = Schema.parse("T int, g int, v bigint")
    by, naive_by = ("v DESC" if down else "v"), [(lambda row: row["v"], down)]
    box = Top.best(k, [by], Order("T", 1), 6, 4, schema, ties=ties)
    check_agreement(box, lambda: NaiveTop(k, naive_by, squal.Order("T", 1), 6, 4, ties), rows, schema)


clocks = st.lists(st.sampled_from([0, 0, 1, 2, 30]), min_size=25, max_size=25)


@given(nearly, clocks, KS, choices, st.sampled_from([0, 2]), STEPS, STEPS, st.integers(1, 9), st.booleans())
def test_timeouts(
    rows: list[Arrival],
    steps: list[int],
    k: int,
    by: tuple[str, ...],
    slack: int,
    size: int,
    advance: int,
    timeout: int,
    ties: bool,
) -> None:
    clock = [sum(steps[: i + 1]) for i in range(len(rows) + 1)]
    order = {"slack": slack, "group_by": ("g",)}
    box, naive, schema = both("int", k, by, order, size, advance, timeout=timeout, ties=ties, rank="rank")
    for cut in CUTS:
        want, got = run_naive(naive(), rows, cut, clock), run_kernel(box, rows, (schema,), cut, clock)
        assert repr(got.ports["1"]) == repr(want.ports.get("1", [])), f"cut {cut}"
        assert +got.discarded == +want.discarded


def test_structs_ride_along() -> None:
    schema = Schema.parse("T int, bid struct<price: int, by: struct<name: string>>")
    bids = [{"price": p, "by": {"name": n}} for p, n in [(3, "a"), (5, None), (5, "c")]]
    rows = [(0, {"T": t, "bid": bid}) for t, bid in enumerate([*bids, None])]
    box = Top.best(2, ["bid.price DESC"], Order("T"), 10, 5, schema, rank="rank", ties=True)
    for cut in CUTS:
        found = [row for _, row in run_kernel(box, rows, (schema,), cut).ports["1"]]
        assert [(row["T"], row["rank"], row["window_start"]) for row in found] == [(1, 1, 0), (2, 1, 0)]
        assert [row["bid"] for row in found] == bids[1:]


def test_what_is_kept_is_what_may_be_among_the_best() -> None:
    schema = Schema.parse("T int, g int, v int")
    box = Top.best(3, ["v DESC"], Order("T", group_by=("g",)), 1000, 1000, schema)
    rows = [(0, {"T": i // 10, "g": i % 5, "v": i * 7919 % 1000}) for i in range(5000)]
    ran = run_kernel(box, rows, (schema,), 500, ends=False)
    assert rows_kept(ran.stored)["windows"] == 5
    (table,) = ran.stored.tables.values()
    held = table[-1].column("/windows").flatten().field("0")
    assert max(held.value_lengths().to_pylist()) == 3


def test_many_groups_at_once() -> None:
    schema = Schema.parse("T int, g int, v int, word string")
    count, chosen = 60_000, 10
    random = np.random.default_rng(1)
    group, value = random.integers(0, 5000, count), random.integers(0, 1000, count)
    rows = pa.record_batch(
        {"T": np.arange(count) // 100, "g": group, "v": value, "word": value.astype(str)}, schema.arrow()
    )
    box = Top.best(chosen, ["v DESC"], Order("#", group_by=("g",)), 12, 12, schema, rank="rank")
    train = box.call((Train(rows, np.zeros(count, int), np.arange(count)[None]),), Turn())["1"]
    assert train.rows.num_rows == int((np.bincount(group) // 12).sum()) * chosen
    ranks = train.rows.column("rank").to_numpy()
    assert (np.bincount(ranks)[1:] == len(ranks) // chosen).all()


@pytest.mark.parametrize(
    ("by", "told"),
    [
        ("who", "unknown field 'who'"),
        ("bid", "take one of its parts, as in bid.price"),
        ("", "empty"),
        ("v DESC NULLS FIRST", "nulls come last"),
        ("v DESC, T", "syntax error"),
        ("max(v)", "is an aggregate"),
        ("NULL", "no type"),
    ],
)
def test_what_tuples_cannot_be_chosen_by(by: str, told: str) -> None:
    schema = Schema.parse("T int, v int, bid struct<price: int>")
    with pytest.raises(AuroraError, match=f"box b: by: .*{told}"):
        Top.best(1, [by], Order("T"), 5, 5, schema, "box b")


def test_what_a_top_looks_at() -> None:
    schema = Schema.parse("T int, g int, v int, w int, bid struct<price: int, url: string>")
    box = Top.best(1, ["bid.price + v"], Order("T", group_by=("g",)), 5, 5, schema, rank="rank")
    assert box.needs(None) == (None,)
    assert box.needs({"window_start": None, "rank": None}) == (
        {"bid": {"price": None}, "v": None, "T": None, "g": None},
    )
    (wants,) = box.needs({"w": None})
    assert wants is not None and set(wants) == {"w", "v", "T", "g", "bid"}


@given(
    arrivals(nearly_rising(st.integers(-6, 6)), g=groups, v=st.one_of(st.integers(-3, 3), st.none())),
    KS,
    st.integers(0, 6),
    st.booleans(),
    st.sampled_from([2, 5, 10]),
    st.sampled_from([2, 5]),
)
def test_by_the_clock_of_the_stream(
    rows: list[Arrival], k: int, slack: int, ties: bool, size: int, advance: int
) -> None:
    """Quiet groups close too; what is in order, and so what the windows hold, follows from the largest value so far."""
    network = Network("clocked")
    stream = network.input("in0", "T int, g int, v int")
    order = {"on": "T", "slack": {"value": slack}, "group_by": ["g"], "clock": "stream"}
    choice = {"k": k, "by": "v DESC", "ties": ties, "rank": "rank"}
    network.output(
        "best", stream.top(choice, order=order, size=size, advance=advance, align=True, name="best")
    )
    largest = [max(row["T"] for _, row in rows[: i + 1]) for i in range(len(rows))]
    inside = [(0, row) for (_, row), most in zip(rows, largest, strict=True) if row["T"] >= most - slack]
    # Those that are in order, with so much slack that nothing else is left out and all comes at the end.
    naive = NaiveTop(
        k, [(lambda row: row["v"], True)], squal.Order("T", 100, group_by=("g",)), size, advance, ties, "rank",
        align=True,
    )  # fmt: skip
    want = [row for _, row in run_naive(naive, inside).ports.get("1", [])]
    first: list[Any] | None = None
    for cut, buckets in ((1, 1), (3, 2), (10**6, 3)):
        run = run_network(network, rows, cut, buckets)
        got = [row for train in run.outputs["best"] for row in plain(train.rows)]
        assert sorted(map(repr, got)) == sorted(map(repr, want))
        assert first is None or got == first
        first = got
