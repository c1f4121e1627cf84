"""Decimals against Spark: the same values, nulls and types; and exact through windows and files."""

import json
from decimal import ROUND_HALF_UP, Context, Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from aurora import AuroraError, Memory, Network
from aurora.algebra.expressions import Expression
from aurora.algebra.tuples.schema import Schema
from aurora.engine.local import LocalRun
from aurora.engine.plan.plan import plan_network
from aurora.engine.sinks.encode import to_csv, to_json
from aurora.engine.sources.address import open_source
from tests.algebra.spark_harness import aggregated, check_parts, differences, for_spark, frame_of, table_of
from tests.engine.test_sources import drained, rows_of

SCHEMA = Schema.parse(
    "a decimal(10,2), b decimal(5,0), c decimal(38,10), e decimal(18,6), i int, l bigint, t tinyint, d double, "
    "f float, x string, o boolean, g decimal(38,0), h decimal(38,38)"
)


def decimals(*texts: str | None) -> list[Decimal | None]:
    return [None if text is None else Decimal(text) for text in texts]


VALUES: dict[str, list[Any]] = {
    "a": decimals("1.50", None, "-0.01", "99999999.99", "-99999999.99", "0.00", "2.25", "0.05"),
    "b": decimals("0", "1", "99999", "-99999", None, "7", "-2"),
    "c": decimals(
        "0.0000000001", "-9999999999999999999999999999.9999999999", None, "12345678901234567890.5", "0",
        "9223372036854775807.5", "-18446744073709551615.0000000001",
    ),
    "e": decimals("1.500000", "0.000001", None, "-999999999999.999999", "0.333333"),
    "i": [0, 1, None, -1, 2**31 - 1, -(2**31), 25],
    "l": [0, None, 2**63 - 1, -(2**63), 1, 10**12],
    "t": [1, None, -128, 127, 5],
    "d": [0.0, 1.5, None, float("nan"), float("inf"), -2.675, 1e300, 0.1, 1e-7],
    "f": [0.1, None, 1.5, -2.5, float("nan")],
    "x": ["1.5", " 2 ", "-0.005", "1e3", "abc", "", None, "99999999.995", "1e400", "+.5", "5.", "1e-400", "0x1"],
    "o": [True, False, None],
    "g": decimals(
        "1", None, "9" * 38, "-" + "9" * 38, "3", "10000000000000000000", "-7", "0",
        "9223372036854775807", "-18446744073709551615",
    ),
    "h": decimals("0." + "9" * 38, "0." + "0" * 37 + "1", "-0.5", None, "0", "0." + "3" * 38, "-0." + "4" * 37 + "5"),
}  # fmt: skip
ROWS = 200
# Spark's -c and abs(c) round what has more than 34 digits, so they are not here: ours are exact.
EXACT = r"""
a + a
a - b
a * b
a + e
a * a
a + i
a * i
a - t
b * l
a + 1
a * 100
2 - a
a * 1000000000
-a
+a
abs(a)
a + d
a * f
a = b
a < b
a >= e
a <=> b
a > i
a < l
a = 1
a > 1.5D
a <> d
a in (1, 2.25D)
b in (1, 7)
a between -1 and 3
a is null
coalesce(a, b)
coalesce(a, i)
coalesce(a, d)
if(o, a, b)
if(o, a, i)
nullif(a, b)
greatest(a, b)
least(a, e, b)
case when o then a else 0 end
cast(a as int)
cast(a as bigint)
cast(a as tinyint)
cast(c as int)
cast(c as bigint)
cast(a as double)
cast(c as double)
cast(e as double)
cast(e as float)
cast(a as string)
cast(e as string)
cast(a as boolean)
cast(a as decimal(5,1))
cast(a as decimal(12,4))
cast(c as decimal(10,2))
cast(e as decimal(18,0))
cast(i as decimal(10,2))
cast(i as decimal(3,1))
cast(l as decimal(38,10))
cast(l as decimal(5,0))
cast(t as decimal)
cast(d as decimal(10,2))
cast(d as decimal(38,18))
cast(f as decimal(10,4))
cast(x as decimal(10,2))
cast(x as decimal(3,0))
cast(o as decimal(3,1))
cast(null as decimal(10,2))
sqrt(cast(a as double))
array(a, a)[1]
array_contains(array(a, cast(1 as decimal(10,2))), a)
concat(a, 'x')
a / b
b / a
a / a
a / 2
a / 3
1 / a
a / i
i / a
a / l
e / a
c / a
c / c
a / c
l / c
c / 3
a / d
a / f
a / null
a + null
a % b
b % a
a % 2
7 % a
e % a
a % e
c % a
a % l
a % d
mod(a, b)
pmod(a, b)
pmod(a, -3)
pmod(e, a)
pmod(b, e)
a div b
b div a
c div a
a div 3
a * c
c * c
c * e
c + c
c - a
c + e
h + c
h - b
h / b
b / h
h / h
h * c
h % a
a % h
g * g
g + g
g / b
g / g
b / g
g % a
b % g
g + h
g * h
(a / b) * (a / e)
a / b / e
a / b + e
round(a)
round(a, 1)
round(a, 2)
round(a, 5)
round(a, -1)
round(a, -3)
round(a, -8)
round(a, -9)
round(a, -20)
round(b)
round(b, -2)
round(e, 3)
round(c, 4)
round(c, -5)
floor(a)
ceil(a)
floor(b)
ceil(e)
floor(c)
ceiling(c)
sqrt(a)
power(a, 2)
sign(a)
greatest(a, c, 1)
least(a, i)
greatest(a, d)
coalesce(c, g)
coalesce(g, h)
coalesce(null, a)
if(o, c, e)
if(o, c, h)
nullif(a, 0)
nullif(c, g)
c = g
c < g
c < h
g >= h
c = l
c > d
c <=> g
c in (g, 1)
cast(c as string)
cast(h as string)
cast(g as double)
cast(h as double)
cast(c as float)
cast(h as float)
cast(g as bigint)
cast(c as decimal(38,0))
cast(g as decimal(38,10))
cast(x as decimal(38,38))
cast(x as decimal(38,0))
cast(d as decimal(5,5))
cast(f as decimal(38,18))
cast(h as decimal(38,37))
round(c, 3)
round(c, -20)
round(c, -38)
round(h, 20)
ceil(h)
floor(h)
c / 1
l / 1 / a
g / 7
a * 2Y
a + 3S
a * CAST(2 AS bigint)
a + CAST(2 AS decimal(3,1))
""".strip().split("\n")


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return table_of(SCHEMA, VALUES, ROWS)


@pytest.fixture(scope="module")
def frame(compiling_spark: SparkSession, table: pa.Table) -> DataFrame:
    return frame_of(compiling_spark, table)


def test_spark_reads_the_text_as_we_do(frame: DataFrame, table: pa.Table) -> None:
    assert differences(EXACT, EXACT, frame, table, SCHEMA) == []


def test_spark_reads_our_rewriting_as_we_do(frame: DataFrame, table: pa.Table) -> None:
    assert differences(EXACT, for_spark(EXACT, SCHEMA), frame, table, SCHEMA) == []


def test_a_part_of_a_batch_gives_the_part_of_the_result(table: pa.Table) -> None:
    check_parts(EXACT, SCHEMA, table)


AGGREGATES = [
    *(
        f"{function}({field})"
        for function in ("sum", "min", "max", "count", "avg", "approx_count_distinct")
        for field in "abe"
    ),
    "sum(a * b)",
    "sum(c)",
    "sum(g)",
    "avg(g)",
    "avg(h)",
    "avg(c)",
    "avg(if(o, c, null))",
    "avg(if(l = 1, c, 0))",
    "avg(distinct a)",
    "sum(distinct e)",
    "avg(b * e)",
    "avg(a / 3)",
    "median(a)",
    "percentile(b, 0.3)",
    "avg(if(a = 0, a, null))",
    "avg(cast(null as decimal(10,2)))",
    "min(c)",
    "count(distinct a)",
    "mode(a, true)",
    "size(collect_set(a))",
]


def test_aggregates_agree(frame: DataFrame, table: pa.Table) -> None:
    found = aggregated(AGGREGATES, SCHEMA, table)
    theirs = frame.selectExpr(*AGGREGATES).toArrow()
    for text, ours, spark in zip(AGGREGATES, found, theirs.columns, strict=True):
        assert (text, ours.type, ours[0].as_py()) == (text, spark.type, spark[0].as_py())


AMOUNTS = st.decimals(min_value=-(10**15), max_value=10**15, places=3)


def mean(values: list[Decimal]) -> Decimal:
    working = Context(prec=60, rounding=ROUND_HALF_UP)
    return working.divide(sum(values), len(values)).quantize(Decimal("1e-7"), context=working)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.one_of(st.none(), AMOUNTS)), max_size=30),
    st.sampled_from([1, 3, 100]),
)
def test_sums_are_exact_for_every_cut(rows: list[tuple[int, Decimal | None]], cut: int) -> None:
    schema = Schema.parse("T int, g decimal(3,1), v decimal(18,3)")
    network = Network("sums")
    stream = network.input("r", schema)
    order = {"on": "T", "group_by": ["g"]}
    functions = {"s": "sum(v)", "m": "max(v)", "a": "avg(v)"}
    network.output("sums", stream.aggregate(functions, order=order, size=10**9, name="sums"))
    functions = {"s": "sum(v)", "a": "avg(v)"}
    network.output("so_far", stream.aggregate(functions, order=order, size="all", name="so_far"))
    given = [{"T": at, "g": Decimal(group) / 2, "v": value} for at, (group, value) in enumerate(rows)]
    run = LocalRun(plan_network(network), 3)
    run.read({"r": Memory.of(schema, given)}, [cut])
    wanted: dict[Decimal, list[Decimal]] = {}
    so_far = []
    for row in given:
        own = wanted.setdefault(row["g"], [])
        own.extend([] if row["v"] is None else [row["v"]])
        so_far.append((sum(own), mean(own)) if own else (None, None))
    assert {row["g"]: (row["s"], row["m"], row["a"]) for row in run.rows("sums")} == {
        group: (sum(own), max(own), mean(own)) if own else (None, None, None) for group, own in wanted.items()
    }
    assert [(row["s"], row["a"]) for row in run.rows("so_far")] == so_far


@pytest.mark.parametrize("rows", [1, 100])
def test_decimals_in_files(tmp_path: Path, rows: int) -> None:
    schema = Schema.parse("a decimal(5,2), b array<decimal(3,1)>")
    (tmp_path / "t.csv").write_text("a\n1.5\n-999.99\n\n1.234\n1000\nx\n")
    flat = schema.select(["a"])
    source, _ = open_source("r", f"csv:{tmp_path}/t.csv", flat, False, tmp_path)
    portions = drained(source, flat, rows)
    assert [row["a"] for row in rows_of(portions)] == decimals("1.50", "-999.99", None)
    assert [bad.reason for portion in portions for bad in portion.rejects] == [
        "field a: more digits than a decimal(5,2) has",
        "field a: more digits than a decimal(5,2) has",
        "field a: 'x' is not a decimal(5,2)",
    ]
    lines = ['{"a": 1.5, "b": [0.5, null]}', '{"a": "2.25"}', '{"a": 1.234}', '{"a": "x"}', '{"b": [100.5]}']
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    source, _ = open_source("r", f"json:{tmp_path}/t.jsonl", schema, False, tmp_path)
    portions = drained(source, schema, rows)
    assert [row["a"] for row in rows_of(portions)] == decimals("1.50", "2.25")
    assert rows_of(portions)[0]["b"] == decimals("0.5", None)
    assert [bad.reason for portion in portions for bad in portion.rejects] == [
        "field a: more digits than a decimal(5,2) has",
        "field a: 'x' is not a decimal(5,2)",
        "field b.[]: more digits than a decimal(3,1) has",
    ]
    batch = pa.record_batch({"a": decimals("1.50", None)}, flat.arrow())
    assert to_csv(batch) == b"1.50\n\n"
    assert [json.loads(line) for line in to_json(batch).splitlines()] == [{"a": 1.5}, {"a": None}]
    pyarrow.parquet.write_table(pa.table(batch), tmp_path / "t.parquet")
    source, _ = open_source("r", f"parquet:{tmp_path}/t.parquet", flat, False, tmp_path)
    assert [row["a"] for row in rows_of(drained(source, flat, rows))] == decimals("1.50", None)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a + x", r"\+ cannot take decimal.10,2. and string: CAST the string to decimal"),
        ("CAST(a AS timestamp)", "CAST cannot make timestamp of decimal"),
        ("CAST(a AS decimal(40,2))", r"a decimal\(p,s\) has 1 to 38 digits"),
    ],
)
def test_what_is_refused_is_told_with_what_works(text: str, told: str) -> None:
    with pytest.raises(AuroraError, match=told):
        Expression.parse(text, SCHEMA)


def test_a_decimal_is_no_order() -> None:
    stream = Network("orders").input("r", "a decimal(10,2)")
    with pytest.raises(AuroraError, match="is neither a number nor a time"):
        stream.aggregate({"n": "count(*)"}, order={"on": "a"}, size=1, name="b")
