"""Running windows against their naive version: orders, sizes, every function; then state and faults."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aurora import AuroraError, Network, WindowFunction, from_text
from aurora.algebra.expressions import parse_aggregates
from aurora.algebra.ordering.order import Order
from aurora.algebra.ordering.progress import Progress
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.variants.running import Running
from aurora.algebra.windows.functions import scans
from tests.algebra.harness import Arrival, check_agreement, rows_kept, run_kernel
from tests.algebra.running import run_network
from tests.algebra.strategies import arrivals, groups, nearly_rising, numbers, reals
from tests.algebra.test_window_functions import ANY, GATHERING, KINDS, NUMBERS, TRUTHS, sql
from tests.spec import squal
from tests.spec.running import Running as NaiveRunning
from tests.spec.window_functions import FUNCTIONS, wrapped
from tests.thoroughness import examples

TEXTS = {
    "n": "count(*)", "v": "v", "before": "first(v)", "least": "min(v)", "most": "max(v)", "total": "sum(v)",
    "there": "count(v)", "moved": "v <> first(v)", "mean": "avg(v)",
}  # fmt: skip


def functions(rows: list[dict[str, Any]]) -> dict[str, Any]:
    values = [row["v"] for row in rows]
    some = [value for value in values if value is not None]
    own, first = values[-1], values[0]
    return {
        "n": len(rows),
        "v": own,
        "before": first,
        "least": min(some, default=None),
        "most": max(some, default=None),
        "total": wrapped(sum(some)) if some else None,
        "there": len(some),
        "moved": None if own is None or first is None else own != first,
        "mean": sum(some) / len(some) if some else None,
    }


def tuples(values: Any, **fields: Any) -> Any:
    return arrivals(values, g=groups, v=st.one_of(st.integers(-9, 9), st.none()), **fields)


nearly = tuples(nearly_rising(st.one_of(st.integers(-6, 6), st.none())))
FEW = settings(max_examples=examples(5, settings().max_examples // 4))
SIZES = st.sampled_from([None, 1, 2, 3, 4, 7, 100])


def check_against_naive(
    rows: list[Arrival], kind: str, order: dict[str, Any], last: int | None = None
) -> None:
    schema = Schema.parse(f"T {kind}, g int, v int")
    on = order.pop("on", "T")
    box = Running.of(TEXTS, Order(on, **order), last, schema)
    naive = squal.Order(on, **order)
    check_agreement(box, lambda: NaiveRunning(functions, naive, last), rows, schema)


@given(nearly, SIZES, st.booleans())
def test_in_the_order_of_arrival(rows: list[Arrival], last: int | None, grouped: bool) -> None:
    check_against_naive(rows, "int", {"on": "#", "group_by": ("g",) if grouped else ()}, last)


@given(nearly, st.sampled_from([0, 1, 2, 5, 30]), st.booleans())
def test_in_the_order_of_a_field(rows: list[Arrival], slack: int, grouped: bool) -> None:
    check_against_naive(rows, "int", {"slack": slack, "group_by": ("g",) if grouped else ()})


@pytest.mark.parametrize("kind", ["int", "timestamp"])
@FEW
@given(nearly, st.integers(0, 8), st.booleans())
def test_slack_as_a_span(kind: str, rows: list[Arrival], span: int, grouped: bool) -> None:
    check_against_naive(rows, kind, {"span": span, "group_by": ("g",) if grouped else ()})


@given(tuples(st.lists(numbers(), max_size=20)), st.integers(0, 2))
def test_extreme_values(rows: list[Arrival], slack: int) -> None:
    check_against_naive(rows, "bigint", {"slack": slack, "group_by": ("g",)})
    check_against_naive(rows, "bigint", {"span": slack * 7})


@given(
    tuples(nearly_rising(st.one_of(reals(), st.none(), st.sampled_from([float("nan"), float("inf")])))),
    st.integers(0, 2),
)
def test_doubles_as_order(rows: list[Arrival], slack: int) -> None:
    check_against_naive(rows, "double", {"slack": slack, "group_by": ("g",)})
    check_against_naive(rows, "double", {"span": slack / 4})


@given(st.lists(st.integers(0, 40), max_size=300), SIZES)
def test_many_groups(members: list[int], last: int | None) -> None:
    rows = [(0, {"T": 0, "g": g, "v": i}) for i, g in enumerate(members)]
    check_against_naive(rows, "int", {"on": "#", "group_by": ("g",)}, last)


def check_functions(rows: list[Arrival], kind: str, names: list[str], digits: float = 1e-9) -> None:
    # What they keep for each row would be large.
    exact = [name for name in names if name not in ("approx_count_distinct", *GATHERING)]
    check_window(rows, kind, exact, None, digits)
    check_window(rows, kind, names, 3, digits)


def check_window(rows: list[Arrival], kind: str, names: list[str], last: int | None, digits: float) -> None:
    schema = Schema.parse(f"T int, g int, v {kind}")
    texts = {f"f{i}": sql(name) for i, name in enumerate(names)}

    def naive(rows: list[dict[str, Any]]) -> dict[str, Any]:
        values = [row["v"] for row in rows]
        return {f"f{i}": FUNCTIONS[name](values) for i, name in enumerate(names)}

    box = Running.of(texts, Order("#", group_by=("g",)), last, schema)
    order = squal.Order("#", group_by=("g",))
    cuts = (1, 3, 10**6)
    check_agreement(box, lambda: NaiveRunning(naive, order, last), rows, schema, digits=digits, cuts=cuts)


@pytest.mark.parametrize("kind", KINDS)
@FEW
@given(st.data())
def test_every_function(kind: str, data: Any) -> None:
    values = st.lists(st.just(0), max_size=20)
    rows = data.draw(arrivals(values, g=groups, v=st.one_of(KINDS[kind], st.none())))
    names = [*ANY]
    if kind == "boolean":
        names += TRUTHS
    elif kind in ("tinyint", "int", "bigint", "float", "double"):
        names += NUMBERS
    check_functions(rows, kind, names)


@FEW
@given(
    arrivals(
        st.lists(st.just(0), max_size=20),
        g=groups,
        v=st.one_of(st.floats(-1e9, 1e9), st.sampled_from([1e16, -1e16, 0.1]), st.none()),
    )
)
def test_doubles_do_not_depend_on_cuts(rows: list[Arrival]) -> None:
    check_functions(rows, "double", ["sum", "avg"], digits=0.0)
    check_functions(rows, "double", ["stddev", "var_pop", "median", "sum distinct"], digits=30.0)


@FEW
@given(
    arrivals(
        st.lists(st.just(0), max_size=20),
        g=groups,
        v=st.one_of(st.integers(-9, 9), st.none()),
        w=st.one_of(reals(), st.just(float("nan")), st.none()),
    ),
    SIZES,
)
def test_by(rows: list[Arrival], last: int | None) -> None:
    schema = Schema.parse("T int, g int, v int, w double")

    def naive(rows: list[dict[str, Any]]) -> dict[str, Any]:
        pairs = [(row["v"], row["w"]) for row in rows]
        return {"least": FUNCTIONS["min_by"](pairs), "most": FUNCTIONS["max_by"](pairs)}

    order = squal.Order("#", group_by=("g",))
    texts = {"least": "min_by(v, w)", "most": "max_by(v, w)"}
    box = Running.of(texts, Order("#", group_by=("g",)), last, schema)
    check_agreement(box, lambda: NaiveRunning(naive, order, last), rows, schema)


@pytest.mark.parametrize("last", [None, 2])
def test_a_tuple_without_an_order_is_never_the_best(last: int | None) -> None:
    box = Running.of(
        {"a": "max_by(v, w)", "b": "min_by(v, w)"}, Order("#"), last, Schema.parse("v string, w double")
    )
    rows: list[Arrival] = [(0, {"v": v, "w": w}) for v, w in (("a", None), ("b", 5.0), ("c", None))]
    ran = run_kernel(box, rows, (Schema.parse("v string, w double"),), 2)
    assert [(row["a"], row["b"]) for _, row in ran.ports["1"]] == [(None, None), ("b", "b"), ("b", "b")]


SEEN = WindowFunction(
    Schema.parse("seen string"),
    list,
    lambda state, tuples: [*state, *tuples["v"].to_pylist()],
    lambda state: {"seen": str(state)},
)


@given(nearly, st.integers(1, 4))
def test_a_users_function(rows: list[Arrival], last: int) -> None:
    schema = Schema.parse("T int, g int, v int")
    box = Running.of(SEEN, Order("#", group_by=("g",)), last, schema)
    order = squal.Order("#", group_by=("g",))
    naive = lambda rows: {"seen": str([row["v"] for row in rows])}  # noqa: E731
    check_agreement(box, lambda: NaiveRunning(naive, order, last), rows, schema)


@given(st.lists(st.lists(st.floats(-9, 9), min_size=1, max_size=30), max_size=9))
def test_long_and_short_runs_are_added_up_alike(runs: list[list[float]]) -> None:
    values = np.array([value for run in runs for value in run], float)
    starts = np.cumsum([0, *map(len, runs)])[:-1].astype(np.int64)
    wanted = [total for run in runs for total in np.add.accumulate(run).tolist()]
    assert scans.accumulate_runs(np.add, values, starts).tolist() == wanted


def test_windows_are_written_out_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scans, "MOST_ROWS", 5)
    rows = [(0, {"T": 0, "g": i % 2, "v": i % 5}) for i in range(40)]
    check_functions(rows, "int", ["median", "avg", "count distinct"])


@pytest.mark.parametrize(("on", "last"), [("#", None), ("#", 3), ("T", None)])
def test_state_does_not_grow(on: str, last: int | None) -> None:
    schema = Schema.parse("T int, g int, v int")
    box = Running.of(TEXTS, Order(on, 0 if on == "#" else 2, group_by=("g",)), last, schema)
    rows = [(0, {"T": i // 4 + i % 3, "g": i % 5, "v": i % 7}) for i in range(3000)]

    def kept(count: int) -> int:
        return rows_kept(run_kernel(box, rows[:count], (schema,), 100, ends=False).stored).total()

    assert kept(3000) <= kept(500) + 20 < 100


def test_what_does_not_look_back_is_not_kept() -> None:
    schema = Schema.parse("g int, v int, w int, x string")
    texts = {"n": "count(*)", "x": "x", "l": "last(w)", "a": "min(v)", "b": "max(v)", "c": "v - first(v)"}
    box = Running.of(texts, Order("#", group_by=("g",)), 2, schema)
    ran = run_kernel(box, [(0, {"g": 1, "v": 5, "w": 2, "x": "long"})] * 3, (schema,), 2, ends=False)
    (run, *_) = ran.stored.tables["groups"]
    assert run.column("/running").type.value_type.names == ["#", "0"]


def test_bare_fields_are_those_of_the_tuple_itself() -> None:
    schema = Schema.parse("Seg int, bid struct<price: bigint>")
    found = parse_aggregates("Seg <> first(Seg)", schema, running=True)
    assert [call.function for call in found.calls] == ["last", "first"]
    assert parse_aggregates("Seg + last(Seg)", schema, running=True).calls == found.calls[:1]
    inside = parse_aggregates("bid.price + count(*)", schema, running=True)
    assert inside.calls[0].argument is not None and inside.calls[0].argument.text == "bid.price"
    assert parse_aggregates("bid", schema, running=True).type == schema["bid"]
    with pytest.raises(AuroraError, match="'3' has neither a field nor an aggregate"):
        parse_aggregates("3", schema, running=True)


def test_whole_records_ride_along() -> None:
    schema = Schema.parse("g int, bid struct<price: bigint>")
    texts = {"bid": "bid", "price": "bid.price", "best": "max(bid.price)"}
    box = Running.of(texts, Order("#", group_by=("g",)), None, schema)
    rows = [(0, {"g": 1, "bid": {"price": price}}) for price in (4, 9, 2)]
    ran = run_kernel(box, rows, (schema,), 2)
    assert [row["best"] for _, row in ran.ports["1"]] == [4, 9, 9]
    assert [row["bid"] for _, row in ran.ports["1"]] == [row["bid"] for _, row in rows]


@pytest.mark.parametrize("clock", ["stream", "b"])
@given(
    arrivals(nearly_rising(st.integers(-6, 6)), inputs=2, g=groups, v=st.integers(0, 9)), st.integers(0, 8)
)
def test_a_clock_lets_tuples_go_as_a_bsort_does(clock: str, rows: list[Arrival], slack: int) -> None:
    """What is out of order stands apart: a bsort passes it on, a running window leaves it out."""
    network = Network("clocks")
    schema = "T int, g int, v int"
    stream = network.input("a", schema)
    network.input("b", schema)
    order = {"on": "T", "slack": slack, "group_by": ["g"], "clock": clock}
    counted = {"on": "#", "group_by": ["g"]}
    functions = {"v": "v", "n": "count(*)", "s": "sum(v)"}
    network.output("running", stream.aggregate(functions, order=order, size="all", name="running"))
    sorted_ = stream.bsort(order, name="sort").aggregate(
        {"T": "T", **functions}, order=counted, size="all", name="after"
    )
    network.output("after", sorted_)
    first: Any = None
    for cut in (1, 3, 100):
        run = run_network(network, rows, cut, buckets=2)
        found = run.rows("running")
        first = found if first is None else first
        assert found == first
        if not run.discarded:
            assert found == [{name: row[name] for name in found[0]} for row in run.rows("after")]


def test_progress_travels_with_bare_fields() -> None:
    schema = Schema.parse("g int, T int, v int")
    box = Running.of({"At": "T", "n": "count(*)", "later": "T + 1"}, Order("#", group_by=("g",)), 2, schema)
    known = Progress(np.int64(1), np.array([3, 5]), np.array([4, 9]))
    assert box.progress("1", ({"T": known},), ()) == {"At": known}
    late = Running.of({"At": "T"}, Order("v", 2, group_by=("g",)), None, schema)
    assert late.progress("1", ({"T": known},), ()) == {}


BOX = 'inputs: {{a: {{schema: "g int, T int, v int"}}}}\nboxes: {{b: {{{}}}}}\noutputs: {{o: {{from: b}}}}'
RUNNING = 'aggregate: {n: "count(*)"}, from: a'


def test_the_text_form() -> None:
    schema = Schema.parse("g int, T int, v int")
    order = 'order: {on: "#", group_by: [g]}'
    every = from_text(BOX.format(f"{RUNNING}, {order}, size: all")).boxes["b"].operator
    assert every == Running.of({"n": "count(*)"}, Order("#", group_by=("g",)), None, schema)
    last = from_text(BOX.format(f"{RUNNING}, {order}, size: 10, advance: 1, partial: true")).boxes["b"]
    assert last.operator == Running.of({"n": "count(*)"}, Order("#", group_by=("g",)), 10, schema)
    short = from_text(BOX.format(f"{RUNNING}, {order}, size: 10, partial: true")).boxes["b"]
    assert short == last
    full = from_text(BOX.format(f"{RUNNING}, {order}, size: 10, advance: 1, partial: false")).boxes["b"]
    assert type(full.operator).__name__ == "Aggregate"
    assert str(every.outputs["1"]) == "g int, `#` bigint, n bigint"


def test_rows_come_at_once_in_the_order_of_arrival() -> None:
    schema = Schema.parse("g int, v int")
    box = Running.of({"total": "sum(v)"}, Order("#", group_by=("g",)), None, schema)
    rows = [(0, {"g": g, "v": v}) for v, g in enumerate([2, 1, 2, 3, 1, 2])]
    ran = run_kernel(box, rows, (schema,), 4, ends=False)
    assert [row["total"] for _, row in ran.ports["1"]] == [0, 1, 2, 3, 5, 7]
    assert [row["#"] for _, row in ran.ports["1"]] == [1, 1, 2, 1, 2, 3]


def test_the_table_of_the_manual() -> None:
    manual = (Path(__file__).parent.parent.parent / "docs" / "networks.md").read_text()
    network = from_text(manual[manual.index("network: moves") :].split("```")[0])
    lines = manual[manual.index("| report (Sid") :].split("\n\n")[0].splitlines()[2:]
    cells = [[text.strip() for text in line.strip("| ").split("|")] for line in lines]
    rows = [
        (0, dict(zip(("Sid", "Time", "Pos"), map(int, report.split(", ")), strict=True)))
        for report, _, _ in cells
    ]
    for cut in (1, 2, 9):
        run = run_network(network, rows, cut, buckets=2)
        for name, column in (("moves", 1), ("far", 2)):
            found = [", ".join(str(value) for value in row.values()).lower() for row in run.rows(name)]
            assert found == [line[column] for line in cells]


def test_sums_over_no_value_are_null_and_numbers_wrap_around() -> None:
    schema = Schema.parse("v bigint")
    box = Running.of({"total": "sum(v)", "c": "count(v)"}, Order("#"), None, schema)
    rows = [(0, {"v": v}) for v in (None, 2**63 - 1, 1, None)]
    found = [row["total"] for _, row in run_kernel(box, rows, (schema,), 2).ports["1"]]
    assert found == [None, 2**63 - 1, -(2**63), -(2**63)]
    assert pa.types.is_int64(box.outputs["1"]["total"])
