"""Boxes that go by a clock against their naive versions, for cuts, buckets, and boxes that share stages or do not."""

from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora import AuroraError, Network
from tests.algebra.harness import CUTS, Arrival, choose_cuts, plain
from tests.algebra.running import run_network
from tests.algebra.strategies import arrivals, groups, nearly_rising
from tests.spec import clocks, joins, squal

FIELDS = "g int, T int, v int"
Row = dict[str, Any]
ROWS = arrivals(
    nearly_rising(st.one_of(st.integers(-4, 4), st.none()), most=30), inputs=2, g=groups, v=st.integers(0, 6)
)
KNOWN = arrivals(
    nearly_rising(st.integers(-4, 4), most=30), inputs=2, g=st.integers(0, 9), v=st.integers(0, 6)
)
STEPS = st.sampled_from([1, 2, 3, 4, 6, 10])
FUNCTIONS = {"n": "count(*)", "s": "sum(v)", "f": "first(v)"}
UNORDERED = {"n": "count(*)", "s": "sum(v)"}


def compute(rows: list[Row]) -> Row:
    return {"n": len(rows), "s": sum(row["v"] for row in rows), "f": rows[0]["v"]}


def compute_unordered(rows: list[Row]) -> Row:
    return {"n": len(rows), "s": sum(row["v"] for row in rows)}


def check(network: Network, rows: list[Arrival], wanted: dict[str, list[Row]], naive: Any = None) -> None:
    for cut in choose_cuts(rows):
        number = CUTS.index(cut)
        run = run_network(network, rows, cut, buckets=1 + number, fuse=number % 2 == 0)
        for name, want in wanted.items():
            found = [row for train in run.outputs[name] for row in plain(train.rows)]
            assert found == want, f"{name}, cut {cut}"
        if naive is not None:
            assert +run.discarded == +naive.discarded


def input_and_clock() -> tuple[Network, Any]:
    network = Network("clocks")
    stream = network.input("in0", FIELDS)
    network.input("in1", FIELDS)
    return network, stream


@given(ROWS, st.integers(0, 5), STEPS, STEPS, st.booleans(), st.booleans(), st.booleans(), st.booleans())
def test_windows(
    rows: list[Arrival],
    span: int,
    size: int,
    advance: int,
    align: bool,
    grouped: bool,
    other: bool,
    ordered: bool,
) -> None:
    check_windows(rows, span, size, advance, align, grouped, other, ordered)


@given(ROWS, st.integers(0, 5), STEPS, STEPS, st.booleans(), st.booleans())
def test_windows_in_many_small_pieces(
    rows: list[Arrival], span: int, size: int, advance: int, grouped: bool, other: bool
) -> None:
    with small_pieces(), patch.multiple("aurora.algebra.windows.panes", ROWS=3, MANY=4):
        check_windows(rows, span, size, advance, True, grouped, other, False)


def small_pieces() -> Any:
    return patch.multiple("aurora.algebra.state.log", MANY=3, TOGETHER=2, LARGE=4, ROWS=2)


@given(KNOWN, STEPS, STEPS, st.booleans())
def test_windows_that_are_cut_by_key(rows: list[Arrival], size: int, advance: int, other: bool) -> None:
    with small_pieces(), patch.multiple("aurora.algebra.windows.panes", ROWS=2, MANY=3):
        check_windows(rows, 1, size, advance, True, True, other, False)


def test_windows_that_are_cut_by_key_close_when_only_the_clock_moves() -> None:
    own = [(0, {"g": number % 5, "T": 0, "v": number}) for number in range(20)]
    with small_pieces(), patch.multiple("aurora.algebra.windows.panes", ROWS=3, MANY=4):
        check_windows([*own, (1, {"g": 0, "T": 9, "v": 0})], 0, 2, 2, True, True, True, False)


def check_windows(
    rows: list[Arrival],
    span: int,
    size: int,
    advance: int,
    align: bool,
    grouped: bool,
    other: bool,
    ordered: bool,
) -> None:
    by = ["g"] if grouped else []
    network, stream = input_and_clock()
    order = {"on": "T", "group_by": by, "clock": "in1" if other else "stream", "slack": span}
    functions = FUNCTIONS if ordered else UNORDERED
    found = stream.aggregate(functions, order=order, size=size, advance=advance, align=align, name="windows")
    network.output("found", found)
    naive = clocks.Windows(
        compute if ordered else compute_unordered,
        squal.Order("T", group_by=tuple(by)),
        size,
        advance,
        align,
    )
    clock = clocks.Clock(span)
    wanted = []
    for side, row in rows:
        if side == 0:
            naive.push(0, row, 0)
        if side == int(other):
            clock.see(row["T"])
            wanted += naive.reach(clock.bound)
    wanted += naive.end()
    check(network, rows, {"found": [row for _, _, row in wanted]}, naive)


@given(ROWS, st.integers(0, 5), STEPS, st.booleans(), st.booleans(), st.booleans())
def test_sessions(
    rows: list[Arrival], span: int, gap: int, grouped: bool, other: bool, ordered: bool
) -> None:
    by = ["g"] if grouped else []
    network, stream = input_and_clock()
    order = {"on": "T", "group_by": by, "clock": "in1" if other else "stream", "slack": span}
    functions = FUNCTIONS if ordered else UNORDERED
    network.output("found", stream.aggregate(functions, order=order, gap=gap, name="sessions"))
    naive = clocks.Sessions(
        compute if ordered else compute_unordered, squal.Order("T", group_by=tuple(by)), gap
    )
    clock = clocks.Clock(span)
    wanted = []
    for side, row in rows:
        if side == 0:
            naive.push(0, row, 0)
        if side == int(other):
            clock.see(row["T"])
            wanted += naive.reach(clock.bound)
    wanted += naive.end()
    check(network, rows, {"found": [row for _, _, row in wanted]}, naive)


@given(ROWS, st.integers(0, 5), STEPS, st.booleans(), st.booleans(), st.booleans())
def test_sessions_of_groups_that_go_by_themselves(
    rows: list[Arrival], slack: int, gap: int, grouped: bool, spanned: bool, ordered: bool
) -> None:
    by = ["g"] if grouped else []
    network, stream = input_and_clock()
    order = {"on": "T", "group_by": by, "slack": {"value": slack} if spanned else slack}
    functions = FUNCTIONS if ordered else UNORDERED
    network.output("found", stream.aggregate(functions, order=order, gap=gap, name="sessions"))
    naive_order = squal.Order("T", 0 if spanned else slack, slack if spanned else None, tuple(by))
    naive = clocks.OwnSessions(compute if ordered else compute_unordered, naive_order, gap)
    wanted = [out for side, row in rows if side == 0 for out in naive.push(0, row, 0)]
    wanted += naive.end()
    check(network, rows, {"found": [row for _, _, row in wanted]}, naive)


@given(ROWS, st.integers(0, 5), st.booleans(), st.booleans())
def test_bsort(rows: list[Arrival], span: int, grouped: bool, other: bool) -> None:
    network, stream = input_and_clock()
    clock_name = "in1" if other else "stream"
    order = {"on": "T", "group_by": ["g"] if grouped else [], "clock": clock_name, "slack": span}
    network.output("sorted", stream.bsort(order, name="sort"))
    naive, clock = clocks.BSort(squal.Order("T")), clocks.Clock(span)
    wanted = []
    for side, row in rows:
        out = naive.push(0, row, 0) if side == 0 else []
        if side == int(other):
            clock.see(row["T"])
            # What the clock brings forth stands before the rows of the arrival itself.
            out = naive.reach(clock.bound) + out
        wanted += out
    wanted += naive.end()
    check(network, rows, {"sorted": [row for _, _, row in wanted]}, naive)


@given(ROWS, st.integers(0, 3), STEPS, STEPS, STEPS, st.booleans(), st.sampled_from(["", "filter", "union"]))
def test_progress_travels(
    rows: list[Arrival], span: int, size: int, advance: int, wide: int, align: bool, through: str
) -> None:
    """Chained windows close at the same arrival."""
    network, stream = input_and_clock()
    order = {"on": "T", "group_by": ["g"], "clock": "stream", "slack": span}
    first = stream.aggregate(
        {"v": "sum(v)"}, order=order, size=size, advance=advance, align=align, name="first"
    )
    behind = first
    if through == "filter":
        behind = first.filter("v >= 0", name="same").map({"g": "g", "T": "T", "v": "v"}, name="again")
    elif through == "union":
        behind = first.filter("v % 2 = 0", name="even").union(
            first.filter("v % 2 <> 0", name="odd"), name="both"
        )
    order = {"on": "T", "clock": "stream"}
    second = behind.aggregate({"n": "count(*)"}, order=order, size=wide, align=True, name="second")
    network.output("first", first)
    network.output("second", second)
    one = clocks.Windows(
        lambda rows: {"v": sum(row["v"] for row in rows)},
        squal.Order("T", group_by=("g",)),
        size,
        advance,
        align,
    )
    two = clocks.Windows(lambda rows: {"n": len(rows)}, squal.Order("T"), wide, wide, True)
    clock = clocks.Clock(span)
    wanted: dict[str, list[Row]] = {"first": [], "second": []}
    for side, row in rows:
        if side:
            continue
        one.push(0, row, 0)
        clock.see(row["T"])
        given = one.reach(clock.bound)
        for _, _, made in given:
            two.push(0, made, 0)
        wanted["first"] += [made for _, _, made in given]
        wanted["second"] += [made for _, _, made in two.reach(one.earliest_start)]
    for _, _, made in one.end():
        two.push(0, made, 0)
        wanted["first"].append(made)
    wanted["second"] += [made for _, _, made in two.end()]
    check(network, rows, wanted)


def test_a_quiet_group_closes_with_the_clock() -> None:
    network, stream = input_and_clock()
    order = {"on": "T", "group_by": ["g"], "clock": "stream"}
    network.output("found", stream.aggregate({"n": "count(*)"}, order=order, size=10, name="windows"))
    rows: list[Arrival] = [(0, {"g": 1, "T": 0, "v": 0}), (0, {"g": 2, "T": 5, "v": 0})]
    rows += [(0, {"g": 2, "T": 12, "v": 0})]
    run = run_network(network, rows, 1)
    # The window of group 1 closes when group 2 has come to 12, before the end of the input.
    closed, rest = run.outputs["found"]
    assert plain(closed.rows) == [{"g": 1, "T": 0, "n": 1}]
    assert plain(rest.rows) == [{"g": 2, "T": 5, "n": 2}]


@given(ROWS, st.integers(0, 3), STEPS, STEPS)
def test_doubles(rows: list[Arrival], span: int, size: int, gap: int) -> None:
    network = Network("doubles")
    stream = network.input("in0", "g int, T double, v int")
    network.input("in1", FIELDS)
    order = {"on": "T", "group_by": ["g"], "clock": "stream", "slack": {"value": span / 4}}
    windows = stream.aggregate(FUNCTIONS, order=order, size=size / 4, align=True, name="windows")
    network.output("windows", windows)
    network.output("sessions", stream.aggregate(FUNCTIONS, order=order, gap=gap / 4, name="sessions"))
    eighths = [(s, {**r, "T": None if r["T"] is None else r["T"] / 8}) for s, r in rows]
    naive = {
        "windows": clocks.Windows(compute, squal.Order("T", group_by=("g",)), size / 4, size / 4, True),
        "sessions": clocks.Sessions(compute, squal.Order("T", group_by=("g",)), gap / 4),
    }
    wanted = {}
    for name, box in naive.items():
        clock, found = clocks.Clock(span / 4), []
        for side, row in eighths:
            if side == 0:
                box.push(0, row, 0)
                clock.see(row["T"])
                found += box.reach(clock.bound)
        wanted[name] = [row for _, _, row in [*found, *box.end()]]
    check(network, eighths, wanted)


@pytest.mark.parametrize(
    ("order", "options", "told"),
    [
        ({"on": "T", "clock": "nowhere"}, {"size": 1}, "box a, clock: no input or box is called nowhere"),
        ({"on": "#", "clock": "stream"}, {"size": 1}, "clock: stream needs an order field, not '#'"),
        ({"on": "T", "clock": 3}, {"size": 1}, "clock is group, stream or the name of a stream, found '3'"),
        ({"on": "v", "clock": "names"}, {"size": 1}, "clock names has no field v; its fields are T"),
        ({"on": "T", "clock": "names"}, {"size": 1}, "T is string there and int here; cast one with a map"),
        ({"on": "T", "clock": "fixed"}, {"size": 1}, "clock fixed is a table; name a stream"),
        ({"on": "T"}, {"size": 1, "gap": 2}, "a session ends with its gap; leave out 'size', or the gap"),
        ({"on": "T"}, {"gap": 0}, "gap must be above 0, found 0"),
        ({"on": "#"}, {"gap": 2}, "a gap needs an order field, not '#'"),
        ({"on": "T"}, {}, "an aggregate needs 'size', or for sessions 'gap'"),
    ],
)
def test_bad_clocks(order: dict[str, Any], options: dict[str, Any], told: str) -> None:
    network, stream = input_and_clock()
    network.input("names", "T string")
    network.table("fixed", FIELDS)
    with pytest.raises(AuroraError, match="box a") as fault:
        stream.aggregate({"n": "count(*)"}, order=order, name="a", **options)
    assert told in str(fault.value)


UNMATCHED: list[dict[str, str]] = [
    {},
    *({"outer": side} for side in ("left", "right", "both")),
    *({"anti": side} for side in ("left", "right")),
]
WIDE = "g int, T int, U int, v int"
REACHING = arrivals(
    nearly_rising(st.one_of(st.integers(-3, 3), st.none()), most=24),
    inputs=2,
    g=groups,
    U=st.one_of(st.integers(-3, 20), st.none()),
    v=st.integers(0, 6),
)


def two_sides(both: bool, span: int) -> tuple[Network, Any, Any, dict[str, Any]]:
    """Streams that go by their own clocks, or by that of both together."""
    network = Network("sides")
    left, right = network.input("in0", WIDE), network.input("in1", WIDE)
    left.union(right, name="all")
    return network, left, right, {"on": "T", "slack": span, "clock": "all" if both else "stream"}


def run_two_sides(rows: list[Arrival], naive: Any, both: bool, span: int) -> list[Row]:
    own = clocks.Clock(span), clocks.Clock(span)
    wanted = []
    for side, row in rows:
        out = naive.push(side, row, 0)
        for port in (0, 1) if both else (side,):
            own[port].see(row["T"])
        # What the clock brings forth stands before the rows of the arrival itself.
        wanted += [*(naive.reach((own[0].bound, own[1].bound)) or []), *out]
    return [row for _, _, row in [*wanted, *naive.end()]]


def same_key(left: Row, right: Row) -> bool:
    return left["g"] is not None and left["g"] == right["g"] and right["v"] >= left["v"]


@given(REACHING, st.integers(0, 4), st.booleans(), st.booleans(), st.booleans())
def test_bounds_from_the_data(rows: list[Arrival], span: int, both: bool, ordered: bool, outer: bool) -> None:
    network, left, right, order = two_sides(both, span)
    functions = {"n": "count(*)", "s": "sum(v)"} | ({"f": "first(v)"} if ordered else {})
    found = left.resample(
        right,
        functions,
        match="left.g = right.g AND right.v >= left.v",
        between=["left.T", "left.U"],
        left_order=order,
        right_order=order,
        name="gather",
        **({"outer": "left"} if outer else {}),
    )
    network.output("found", found)
    nothing = {"n": 0, "s": None} | ({"f": None} if ordered else {})
    naive = clocks.Gather(compute if ordered else compute_unordered, same_key, nothing if outer else None)
    check(network, rows, {"found": run_two_sides(rows, naive, both, span)}, naive)


ASOF_PREDICATES: dict[str, tuple[tuple[tuple[str, str], ...], Any]] = {
    "left.g = right.g": ((("g", "g"),), lambda one, other: True),
    "left.g = right.g AND right.v >= left.v": (
        (("g", "g"),),
        lambda one, other: other["v"] >= one["v"],
    ),
    "right.v >= left.v": ((), lambda one, other: other["v"] >= one["v"]),
    "left.g = right.g AND left.v = right.v": ((("g", "g"), ("v", "v")), lambda one, other: True),
}


@pytest.mark.parametrize("predicate", ASOF_PREDICATES)
@given(
    REACHING,
    st.integers(0, 4),
    st.booleans(),
    st.booleans(),
    st.sampled_from([{}, {"outer": "left"}, {"anti": "left"}]),
)
def test_a_join_as_of_by_time(
    predicate: str, rows: list[Arrival], span: int, both: bool, broadcast: bool, word: dict[str, str]
) -> None:
    network, left, right, order = two_sides(both, span)
    asof = {"left": "T", "right": "T"}
    orders = {"left_order": order, "right_order": order, "broadcast": broadcast}
    network.output("found", left.join(right, predicate, asof=asof, name="asof", **orders, **word))
    equal, fits = ASOF_PREDICATES[predicate]
    names = ["g", "T", "U", "v"]
    sides = joins.Sides((names, names), equal, (0,) if word else (), "anti" in word)
    naive = clocks.AsOf(fits, sides)
    check(network, rows, {"found": run_two_sides(rows, naive, both, span)}, naive)


@given(REACHING, st.integers(0, 4))
def test_a_join_as_of_by_time_finds_what_a_resample_finds(rows: list[Arrival], span: int) -> None:
    """The last of all right tuples up to the left one, where no two have one value."""
    network, left, right, order = two_sides(False, span)
    rows = [
        (side, row if row["T"] is None else {**row, "T": 2 * len(rows) * row["T"] + number})
        for number, (side, row) in enumerate(rows)
    ]
    lag = {**order, "slack": 2 * len(rows) * (span + 1)}
    orders = {"left_order": lag, "right_order": lag}
    reach = {"match": "left.g = right.g", "between": [f"left.T - {10**6}", "left.T"]}
    last = left.resample(
        right, {"w": "last(v)", "S": "last(T)"}, outer="left", name="last", **reach, **orders
    )
    asof = left.join(
        right, "left.g = right.g", asof={"left": "T", "right": "T"}, outer="left", name="asof", **orders
    )
    fields = {"T": "T", "g": "g", "v": "v"}
    network.output("last", last.map({**fields, "w": "w", "S": "S"}))
    network.output("asof", asof.map({**fields, "w": "v_right", "S": "T_right"}))
    run = run_network(network, rows, 5, buckets=2)
    assert run.rows("asof") == run.rows("last")


def test_of_equal_times_the_right_tuple_that_came_last_counts() -> None:
    network, left, right, _ = two_sides(False, 0)
    asof = {"left": "T", "right": "T"}
    slow = {"right_order": {"slack": 5}}
    found = left.join(right, "left.g = right.g", asof=asof, outer="left", name="asof", **slow)
    network.output("found", found.map({"T": "T", "v": "v_right"}))
    rates = [(3, 1), (5, 2), (5, 3), (3, 4), (4, None), (11, 6)]
    asked = [3, 4, 5, 6]
    rows: list[Arrival] = [(0, {"g": 1, "T": t, "U": 0, "v": 0}) for t in asked]
    rows += [(1, {"g": 1, "T": t, "U": 0, "v": v}) for t, v in rates]
    for cut in CUTS:
        run = run_network(network, rows, cut, buckets=2)
        assert run.rows("found") == [
            {"T": 3, "v": 4}, {"T": 4, "v": None}, {"T": 5, "v": 3}, {"T": 6, "v": 3},
        ]  # fmt: skip


@pytest.mark.parametrize("kind", ["wait", "gather", "resample", "asof", "anti", "outer"])
def test_what_a_clock_had_passed_comes_before_what_it_passes_at_that_moment(kind: str) -> None:
    """3 and 4 leave the bsort at one moment: the clock of the box behind it has passed 3, and passes 4 just then."""
    network, stream = input_and_clock()
    late, soon = {"on": "T", "slack": 2, "clock": "stream"}, {"on": "T", "clock": "stream"}
    sorted_ = stream.bsort(late, name="sorted")
    orders = {"left_order": late, "right_order": soon}
    if kind == "wait":
        found = sorted_.wait("T", until=stream, order=soon, name="box")
    elif kind == "gather":
        bounds = {"match": "left.g = right.g", "between": ["left.T", "left.T"]}
        found = sorted_.resample(stream, {"n": "count(*)"}, name="box", **bounds, **orders)
    elif kind == "resample":
        found = sorted_.resample(stream, {"n": "count(*)"}, size=0, name="box", **orders)
    elif kind == "asof":
        asof = {"left": "T", "right": "T"}
        found = sorted_.join(stream, "left.g = right.g", asof=asof, name="box", **orders)
    else:
        found = sorted_.join(stream, "left.g = right.v", size=0, name="box", **{kind: "left"}, **orders)
    network.output("found", found)
    rows: list[Arrival] = [(0, {"g": 1, "T": t, "v": 0}) for t in (0, 1, 2, 3, 4, 7, 9)]
    for cut in CUTS:
        run = run_network(network, rows, cut, buckets=2)
        assert [row["T"] for row in run.rows("found")] == [0, 1, 2, 3, 4, 7, 9]


def test_a_tuple_whose_own_arrival_rules_its_partner_out_comes_before_that_arrival() -> None:
    network, stream = input_and_clock()
    later = stream.map({"T": "T + 10", "v": "v"}, name="later")
    orders = {"left_order": {"on": "T", "clock": "stream"}, "right_order": {"on": "T", "clock": "later"}}
    alone = stream.join(later, "left.g = right.v", size=2, anti="left", name="alone", **orders)
    alone = alone.map({"T": "T", "what": "'alone'"}, name="told")
    network.output("found", stream.map({"T": "T", "what": "'came'"}, name="came").union(alone, name="both"))
    rows: list[Arrival] = [(0, {"g": 1, "T": t, "v": 0}) for t in (0, 20)]
    for cut in CUTS:
        run = run_network(network, rows, cut, buckets=2)
        found = [(row["T"], row["what"]) for row in run.rows("found")]
        assert found == [(0, "alone"), (0, "came"), (20, "alone"), (20, "came")]


def test_a_sort_by_the_clock_of_what_it_sorts_leaves_it_in_order() -> None:
    """2, 3 and 4 come at one moment; the clock had reached 2 already, so that it goes straight through."""
    network, stream = input_and_clock()
    late = {"on": "T", "slack": 2, "clock": "stream"}
    sides = {"asof": {"left": "T", "right": "T"}, "left_order": late, "right_order": late}
    joined = stream.join(stream, "left.g = right.g", name="joined", **sides)
    network.output("found", joined.bsort({"on": "T", "clock": "joined"}, name="sorted"))
    rows: list[Arrival] = [(0, {"g": 1, "T": t, "v": 0}) for t in (0, 1, 2, 3, 4, 7, 9)]
    for cut in CUTS:
        run = run_network(network, rows, cut, buckets=2)
        assert [row["T"] for row in run.rows("found")] == [0, 1, 2, 3, 4, 7, 9]


def test_functions_of_no_right_tuples() -> None:
    """As SQL has them: a count is 0, a list is empty, and all else null."""
    network, left, right, order = two_sides(True, 0)
    texts = {
        "rows": "count(*)",
        "values": "count(v)",
        "different": "count(DISTINCT v)",
        "about": "approx_count_distinct(v)",
        "some": "count_if(v > 2)",
        "list": "collect_list(v)",
        "set": "collect_set(v)",
        "size": "size(collect_set(v))",
        **{name: f"{name}(v)" for name in ("sum", "avg", "min", "first", "median", "stddev", "mode")},
        "by": "min_by(v, T)",
    }
    bounds = {"match": "left.g = right.g", "between": ["left.T", "left.U"], "outer": "left"}
    found = left.resample(right, texts, left_order=order, right_order=order, name="gather", **bounds)
    network.output("found", found)
    rows: list[Arrival] = [
        (0, {"g": 1, "T": 1, "U": 3, "v": 0}),
        (1, {"g": 2, "T": 2, "U": 2, "v": 5}),
        (0, {"g": 2, "T": 2, "U": 3, "v": 0}),
    ]
    (none, one) = run_network(network, rows, 10).rows("found")
    assert [name for name in texts if none[name] is not None] == [*texts][:8]
    assert [none[name] for name in texts][:8] == [0, 0, 0, 0, 0, [], [], 0]
    assert [one[name] for name in texts][:8] == [1, 1, 1, 1, 1, [5], [5], 1]


@pytest.mark.parametrize("buckets", [1, 3])
def test_rows_of_one_bound_stay_in_order_when_they_are_spread_anew(buckets: int) -> None:
    """By the left's first field, whatever another key makes of them behind it."""
    network, left, right, order = two_sides(True, 0)
    gathered = left.resample(
        right,
        {"n": "count(*)"},
        match="left.g = right.g",
        between=["left.T", "left.U"],
        left_order=order,
        right_order=order,
        name="gather",
    )
    behind = {"on": "#", "group_by": ["v"]}
    network.output("found", gathered.aggregate({"g": "g"}, order=behind, size="all", name="again"))
    rows: list[Arrival] = [(0, {"g": g, "T": 0, "U": 5, "v": 9 - g % 4}) for g in (7, 3, 1, 5, 2)]
    rows += [(1, {"g": g, "T": 1, "U": 0, "v": 0}) for g in (5, 1, 2, 7, 3)]
    rows += [(1, {"g": 9, "T": 8, "U": 0, "v": 0})]
    for cut in CUTS:
        run = run_network(network, rows, cut, buckets=buckets)
        found = [row["g"] for train in run.outputs["found"] for row in plain(train.rows)]
        assert found == [1, 2, 3, 5, 7]


@given(REACHING, st.integers(0, 4), st.integers(0, 5), *[st.booleans()] * 4)
def test_a_resample(
    rows: list[Arrival], span: int, size: int, both: bool, grouped: bool, ordered: bool, alone: bool
) -> None:
    network, left, right, order = two_sides(both, span)
    by = ["g"] if grouped else []
    orders = [{**order, "group_by": by}, {**order, "group_by": by}]
    if alone and not both:
        # A side without groups is one group, whose clock is that of its stream.
        orders[int(not grouped)] = {"on": "T", "slack": {"value": span}}
    functions = FUNCTIONS if ordered else UNORDERED
    found = left.resample(right, functions, size=size, left_order=orders[0], right_order=orders[1], name="at")
    network.output("found", found)
    computed = compute if ordered else compute_unordered
    naive = clocks.Resample(computed, size, squal.Order("T", group_by=tuple(by)))
    check(network, rows, {"found": run_two_sides(rows, naive, both, span)}, naive)


@given(REACHING, st.integers(0, 3), st.integers(0, 5), STEPS, st.booleans())
def test_progress_travels_through_a_resample(
    rows: list[Arrival], span: int, size: int, wide: int, both: bool
) -> None:
    network, left, right, order = two_sides(both, span)
    by = {**order, "group_by": ["g"]}
    at = left.resample(right, {"v": "sum(v)"}, size=size, left_order=order, right_order=by, name="at")
    windows = {"order": {"on": "T", "clock": "stream"}, "size": wide, "align": True}
    network.output("found", at.aggregate({"n": "count(*)"}, name="windows", **windows))
    one = clocks.Resample(
        lambda near: {"v": sum(row["v"] for row in near)}, size, squal.Order("T", group_by=("g",))
    )
    two = clocks.Windows(lambda rows: {"n": len(rows)}, squal.Order("T"), wide, wide, True)
    own, wanted = (clocks.Clock(span), clocks.Clock(span)), []
    for side, row in rows:
        late = one.push(side, row, 0)
        for port in (0, 1) if both else (side,):
            own[port].see(row["T"])
        left_bound, right_bound = (clock.bound for clock in own)
        for _, _, made in [*one.reach((left_bound, right_bound)), *late]:
            two.push(0, made, 0)
        known = None if None in (left_bound, right_bound) else min(left_bound, right_bound - size)
        wanted += two.reach(known)
    for _, _, made in one.end():
        two.push(0, made, 0)
    check(network, rows, {"found": [row for _, _, row in [*wanted, *two.end()]]})


def test_windows_behind_a_resample_close_at_the_same_arrival() -> None:
    network, left, right, order = two_sides(True, 0)
    at = left.resample(right, {"v": "sum(v)"}, size=5, left_order=order, right_order=order, name="at")
    windows = {"order": {"on": "T", "clock": "stream"}, "size": 10, "align": True}
    network.output("found", at.aggregate({"n": "count(*)"}, name="windows", **windows))
    rows: list[Arrival] = [
        (side, {"g": 1, "T": time, "U": 0, "v": 1}) for side, time in ((0, 2), (1, 4), (1, 15))
    ]
    assert run_network(network, rows[:2], 1, ends=False).rows("found") == []
    assert run_network(network, rows, 1, ends=False).rows("found") == [{"T": 0, "n": 1}]


@given(REACHING, st.integers(0, 4), st.booleans(), st.booleans())
def test_a_wait(rows: list[Arrival], span: int, both: bool, grouped: bool) -> None:
    network, left, right, order = two_sides(both, span)
    order["group_by"] = ["g"] if grouped else []
    network.output("found", left.wait("T", until=right, order=order, name="held"))
    rows = [(side, {**row, "U": number}) for number, (side, row) in enumerate(rows)]
    naive, clock, wanted = clocks.Wait(), clocks.Clock(span), []
    for side, row in rows:
        out = naive.push(side, row, 0)
        if both or side == 1:
            clock.see(row["T"])
            # What the clock brings forth stands before the rows of the arrival itself.
            out = naive.reach(clock.bound) + out
        wanted += out
    check(network, rows, {"found": [row for _, _, row in [*wanted, *naive.end()]]}, naive)


@pytest.mark.parametrize("lefts", [True, False])
def test_quiet_groups_are_resampled_with_the_clock_and_nothing_piles_up(lefts: bool) -> None:
    network, left, right, order = two_sides(True, 0)
    by_group = {**order, "group_by": ["g"]}
    found = left.resample(right, {"n": "count(*)"}, size=5, left_order=order, right_order=by_group, name="at")
    network.output("found", found)
    # The groups come one after the other, and none of them again.
    rows: list[Arrival] = [
        (int(i % 10 != 0 or not lefts), {"g": i // 10, "T": i // 4, "U": 0, "v": i}) for i in range(2000)
    ]
    kept = []
    for count in (500, 2000):
        run = run_network(network, rows[:count], 20, buckets=2, ends=False)
        assert len(run.rows("found")) > (count // 10 if lefts else -1)
        kept.append(run.state_bytes)
    assert kept[1] < 1.2 * kept[0]


@given(REACHING, st.integers(0, 4), st.booleans(), st.booleans())
def test_a_join_that_keeps(rows: list[Arrival], span: int, both: bool, for_good: bool) -> None:
    network, left, right, order = two_sides(both, span)
    found = left.join(
        right,
        "left.g = right.g AND right.v >= left.v",
        keep={"left": "U", "right": "all" if for_good else "U"},
        left_order=order,
        right_order=order,
        name="meet",
    )
    network.output("found", found)
    naive = clocks.KeptJoin(same_key, for_good)
    check(network, rows, {"found": run_two_sides(rows, naive, both, span)}, naive)


@given(REACHING, st.integers(0, 4), st.integers(0, 5), st.booleans(), st.sampled_from(UNMATCHED))
def test_a_join(rows: list[Arrival], span: int, size: int, both: bool, options: dict[str, str]) -> None:
    network, left, right, order = two_sides(both, span)
    found = left.join(
        right,
        "left.g = right.g AND right.v >= left.v",
        size=size,
        left_order=order,
        right_order=order,
        name="meet",
        **options,
    )
    network.output("found", found)
    sides = {"left": (0,), "right": (1,), "both": (0, 1), "": ()}["".join(options.values())]
    naive = clocks.Join(same_key, size, sides, "anti" in options)
    check(network, rows, {"found": run_two_sides(rows, naive, both, span)}, naive)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"between": ["left.T", "left.U"]}, 'between needs match: "left.Field = right.Field"'),
        ({"between": ["left.T"], "match": "left.g = right.g"}, "between has two bounds; write"),
        ({"match": "left.g = right.g"}, "a resample needs 'size', or 'match' together with 'between'"),
        ({"between": ["T", "U"], "match": "true", "size": 3}, "a resample has 'size' or 'between', not both"),
        ({"between": ["T", "'x'"], "match": "true"}, "between ''x'' is string, the right's order is int"),
    ],
)
def test_bad_bounds(options: dict[str, Any], told: str) -> None:
    _, left, right, order = two_sides(False, 0)
    with pytest.raises(AuroraError, match="box gather") as fault:
        left.resample(right, {"n": "count(*)"}, left_order=order, right_order=order, name="gather", **options)
    assert told in str(fault.value)


def test_bounds_and_keep_go_by_a_clock() -> None:
    _, left, right, order = two_sides(False, 0)
    orders = {"left_order": order, "right_order": {"on": "T"}}
    told = "needs a clock; write clock: stream or clock: NAME in right_order"
    with pytest.raises(AuroraError, match=told):
        left.join(right, "left.g = right.g", keep={"left": "U", "right": "all"}, name="meet", **orders)
    with pytest.raises(AuroraError, match=told):
        left.resample(
            right, {"n": "count(*)"}, match="left.g = right.g", between=["T", "U"], name="gather", **orders
        )
