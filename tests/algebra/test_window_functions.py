"""Every window function against plain Python, alone and together, whole and in panes."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.algebra.aggregate import Aggregate
from aurora.algebra.ordering.order import Order
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.windows.functions.sketch import EXACT
from aurora.algebra.windows.reducer import WindowFunction
from tests.algebra.harness import Arrival, check_agreement, rows_kept, run_kernel
from tests.algebra.strategies import arrivals, groups, nearly_rising, numbers, reals
from tests.spec import squal
from tests.spec.window_functions import FUNCTIONS
from tests.spec.windows import Aggregate as NaiveAggregate

GATHERING = ["mode", "collect_list", "collect_set"]
NUMBERS = [
    "sum",
    "avg",
    "stddev",
    "stddev_pop",
    "variance",
    "var_pop",
    "median",
    "percentile 0.95",
    "sum distinct",
    "avg distinct",
]
ANY = ["count", "min", "max", "first", "last", "count distinct", "approx_count_distinct", *GATHERING]
MORE_NUMBERS = [
    "percentile 0",
    "percentile 0.3",
    "percentile 1",
    "percentile_approx 0.3",
    "percentile_approx 0.95",
]
SHAPES = ["skewness", "kurtosis"]
TRUTHS = ["count_if", "bool_and", "bool_or"]

KINDS: dict[str, Any] = {
    "tinyint": st.integers(-128, 127),
    "int": numbers(32),
    "bigint": numbers(),
    "float": reals(),
    "double": st.one_of(reals(), st.sampled_from([float("nan"), -0.0])),
    "string": st.sampled_from(["", "a", "b", "ab", "é"]),
    "boolean": st.booleans(),
    "date": st.integers(-5, 5),
    "timestamp": st.integers(-5, 5),
}


def sql(name: str, field: str = "v") -> str:
    function, _, more = name.partition(" ")
    return f"{function}({field}, {more})" if "percentile" in function else f"{function}({more} {field})"


def check_against_naive(
    rows: list[Arrival],
    schema: Schema,
    texts: dict[str, str],
    naive: Any,
    slack: int = 1,
    digits: float = 0.0,
) -> None:
    box = Aggregate.of(texts, Order("T", slack, group_by=("g",)), 6, 4, schema)
    check_agreement(
        box,
        lambda: NaiveAggregate(naive, squal.Order("T", slack, group_by=("g",)), 6, 4),
        rows,
        schema,
        digits=digits,
    )


def tuples(**fields: Any) -> Any:
    return arrivals(nearly_rising(st.integers(-3, 3), most=25), g=groups, **fields)


@pytest.mark.parametrize("kind", KINDS)
@given(st.data())
def test_all_at_once(kind: str, data: Any) -> None:
    rows = data.draw(tuples(v=st.one_of(KINDS[kind], st.none())))
    names = [*ANY]
    if kind == "boolean":
        names += TRUTHS
    elif kind in ("tinyint", "int", "bigint", "float", "double"):
        names += [*NUMBERS, *MORE_NUMBERS]
    schema = Schema.parse(f"T int, g int, v {kind}")

    def naive(rows: list[dict[str, Any]]) -> dict[str, Any]:
        values = [row["v"] for row in rows]
        return {"n": len(rows), **{f"f{i}": FUNCTIONS[name](values) for i, name in enumerate(names)}}

    texts = {"n": "count(*)", **{f"f{i}": sql(name) for i, name in enumerate(names)}}
    check_against_naive(rows, schema, texts, naive, digits=1e-9)


@pytest.mark.parametrize("name", [*ANY, *NUMBERS, *SHAPES, "percentile_approx 0.3"])
@given(tuples(v=st.one_of(st.integers(-9, 9), st.none())))
def test_alone(name: str, rows: list[Arrival]) -> None:
    schema = Schema.parse("T int, g int, v int")
    check_against_naive(
        rows,
        schema,
        {"f": sql(name)},
        lambda rows: {"f": FUNCTIONS[name]([r["v"] for r in rows])},
        digits=1e-9 if name in SHAPES else 1e-12,
    )


@pytest.mark.parametrize("name", ["sum", "avg", "stddev", "median", "percentile 0.3"])
@given(tuples(v=st.one_of(st.floats(-1e9, 1e9), st.sampled_from([1e16, -1e16, 0.1]), st.none())))
def test_doubles_do_not_depend_on_cuts(name: str, rows: list[Arrival]) -> None:
    schema = Schema.parse("T int, g int, v double")
    check_against_naive(
        rows,
        schema,
        {"f": sql(name)},
        lambda rows: {"f": FUNCTIONS[name]([r["v"] for r in rows])},
        digits=30.0,
    )


@given(
    tuples(v=st.one_of(st.integers(-9, 9), st.none()), w=st.one_of(reals(), st.just(float("nan")), st.none()))
)
def test_by(rows: list[Arrival]) -> None:
    schema = Schema.parse("T int, g int, v int, w double")

    def naive(rows: list[dict[str, Any]]) -> dict[str, Any]:
        pairs = [(row["v"], row["w"]) for row in rows]
        return {"least": FUNCTIONS["min_by"](pairs), "most": FUNCTIONS["max_by"](pairs)}

    check_against_naive(rows, schema, {"least": "min_by(v, w)", "most": "max_by(v, w)"}, naive)


@given(tuples(v=st.one_of(st.integers(-9, 9), st.none())))
def test_expressions_over_functions(rows: list[Arrival]) -> None:
    schema = Schema.parse("T int, g int, v int")

    def naive(rows: list[dict[str, Any]]) -> dict[str, Any]:
        values = [row["v"] for row in rows]
        high, low = FUNCTIONS["max"](values), FUNCTIONS["min"](values)
        doubled = FUNCTIONS["sum"]([None if v is None else 2 * v + 1 for v in values])
        return {
            "wide": None if high is None else high - low,
            "total": doubled,
            "busy": len(rows) > 2,
            "max": high,
        }

    texts = {"wide": "max(v) - min(v)", "total": "sum(2 * v + 1)", "busy": "count(*) > 2", "max": "max(v)"}
    check_against_naive(rows, schema, texts, naive)


@pytest.mark.parametrize(
    "text", [*map(sql, [*ANY, *NUMBERS, *SHAPES, *MORE_NUMBERS]), "min_by(v, T)", "max_by(T, v)"]
)
def test_every_function_is_summed_up_by_pane(text: str) -> None:
    schema = Schema.parse("T int, g int, v int")
    box = Aggregate.of({"f": text}, Order("T", group_by=("g",)), 600, 200, schema, align=True)
    rows = [(0, {"T": i, "g": i % 2, "v": i % 7}) for i in range(900)]
    ran = run_kernel(box, rows, (schema,), 100, ends=False)
    # The panes that begin at 400, 600 and 800, of two groups.
    assert rows_kept(ran.stored)["windows"] == 2 * 3


@pytest.mark.parametrize("kind", ["bigint", "string", "double"])
@pytest.mark.parametrize("different", [1, EXACT, EXACT + 1, 2000, 20_000])
def test_many_different_values_are_counted_nearly(kind: str, different: int) -> None:
    schema = Schema.parse(f"T int, v {kind}")
    box = Aggregate.of({"n": "approx_count_distinct(v)"}, Order("T"), 100, 50, schema, align=True)
    convert: Any = {"bigint": int, "string": str, "double": lambda number: number / 7}[kind]
    rows: list[Arrival] = [
        (0, {"T": 200 + i * 50 // different, "v": convert(i % different)}) for i in range(2 * different)
    ]
    whole = run_kernel(box, rows, (schema,), 10**6).ports["1"]
    assert run_kernel(box, rows, (schema,), different // 3 + 1).ports["1"] == whole
    # All values come from 200 to 249, and once more from 250 to 299.
    assert [row["T"] for _, row in whole] == [150, 200, 250]
    allowed = 0.0 if different <= EXACT else 0.05
    assert all(abs(row["n"] / different - 1) <= allowed for _, row in whole)


@given(tuples(v=st.integers(-9, 9)), st.sampled_from([0, 2, 30]))
def test_a_users_function(rows: list[Arrival], slack: int) -> None:
    schema = Schema.parse("T int, g int, v int")

    def incr(state: list[Any], tuples: pa.RecordBatch) -> list[Any]:
        return [*state, *zip(tuples["T"].to_pylist(), tuples["v"].to_pylist(), strict=True)]

    user = WindowFunction(
        Schema.parse("rise int, seen string"),
        list,
        incr,
        lambda state: {"rise": state[-1][1] - state[0][1], "seen": str(state)},
    )

    def naive(rows: list[dict[str, Any]]) -> dict[str, Any]:
        seen = [(row["T"], row["v"]) for row in rows]
        return {"rise": seen[-1][1] - seen[0][1], "seen": str(seen)}

    box = Aggregate.of(user, Order("T", slack, group_by=("g",)), 5, 2, schema)
    check_agreement(
        box, lambda: NaiveAggregate(naive, squal.Order("T", slack, group_by=("g",)), 5, 2), rows, schema
    )
