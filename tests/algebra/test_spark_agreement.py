"""The Arrow evaluator against Spark: the same values, nulls and types, on values that are hard to get."""

import datetime as dt
import math
import re
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from aurora.algebra.expressions import Expression
from aurora.algebra.tuples.required import relaxed
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.windows.reducer import Reducer
from aurora.errors import AuroraError

UTC = dt.UTC
NAN, INF = math.nan, math.inf

SCHEMA = Schema.parse(
    "t tinyint, s smallint, i int, j int, l bigint, f float, d double, e double, b boolean, c boolean, "
    "x string, y string, n string, w string, day date, ts timestamp, u timestamp"
)

VALUES: dict[str, list[object]] = {
    "t": [None, 0, 1, -1, 127, -128, 5, 64],
    "s": [0, None, 32767, -32768, 1, -1, 300, -7],
    "i": [None, 0, 1, -1, 2**31 - 1, -(2**31), 7, -7, 46341],
    "j": [3, -3, None, 0, 2, -1, 2**31 - 1, -(2**31), 33, 31, 1],
    "l": [0, None, 2**63 - 1, -(2**63), 1, -1, 10**12, -(2**31) - 1, 2**53 + 1],
    "f": [0.0, None, NAN, INF, -INF, -0.0, 1.5, -2.5, 3.4028235e38, 1e-45, 16777216.0, 0.1],
    "d": [
        None,
        0.0,
        -0.0,
        NAN,
        INF,
        -INF,
        1.5,
        2.5,
        -2.5,
        1e300,
        5e-324,
        2.675,
        1e19,
        -1e19,
        0.49999999999999994,
    ],
    "e": [NAN, 1.0, None, NAN, -0.0, INF, 0.0, -1.5, 3.0, 1e-3, -INF, 1e7, 1234567.891, 123456789.125],
    "b": [True, False, None],
    "c": [True, True, True, False, False, False, None, None, None],
    "x": [
        "",
        None,
        "a",
        "Abc",
        "straße",
        "日本語",
        "a%b_c",
        " padded ",
        "abc\ndef",
        "😀 emoji",
        "ÀÉ",
        "\\",
        "A",
        "aaa",
    ],
    "y": ["a", "", None, "b", "Abc", "語", "%", "pad", "def", "a"],
    "n": [
        "1",
        " 2 ",
        "-3",
        "+4",
        "1.5",
        "-1.9",
        "1e3",
        ".5",
        "5.",
        "",
        None,
        "abc",
        "127",
        "128",
        "99999999999",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "NaN",
        "inf",
        "-Infinity",
        "+inf",
        "1.5d",
        "1f",
        "true",
        "F",
        "yes",
        "0",
        "1e400",
        "1e-400",
        "- 1",
        "--1",
        ".",
        "0x1F",
        "1_000",
        "00012",
        "-0",
    ],
    "w": [
        "2020-02-29",
        "2020-02-30",
        "2020",
        "2020-1",
        "2020-1-5",
        "2020-01-05 12:34:56",
        "2020-01-05T12:34:56.789",
        "2020-01-05 12:34:56.123456789",
        "2020-01-05 1:2:3",
        "2020-01-05 12:34",
        "2020-01-05 12",
        "2020-13-01",
        "x",
        "",
        None,
        " 2020-01-05 ",
        "2020-01-05 12:34:56Z",
        "2020-01-05 12:34:56+02:00",
        "2020-01-05 12:34:56 UTC",
        "2020-01-05 24:00:00",
        "1900-01-01",
        "0001-01-01",
        "2020-01-05T",
        "2020-01-05 ",
        "2020-01-05 12:34:56-0830",
        "2020-01-05 12:34:56.",
        "20200105",
        "2020-01-05abc",
        "2020-01-05 abc",
        "2020-01-05 12:60:00",
    ],
    "day": [
        dt.date(1970, 1, 1),
        dt.date(2020, 2, 29),
        None,
        dt.date(1969, 12, 31),
        dt.date(2021, 1, 31),
        dt.date(1, 1, 1),
        dt.date(9999, 12, 31),
        dt.date(2004, 8, 31),
    ],
    "ts": [
        dt.datetime(1970, 1, 1, tzinfo=UTC),
        None,
        dt.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
        dt.datetime(2020, 2, 29, 12, 34, 56, 123456, UTC),
        dt.datetime(2021, 1, 31, 0, 0, 0, 500000, UTC),
        dt.datetime(1900, 3, 1, 1, 2, 3, tzinfo=UTC),
        dt.datetime(2004, 8, 31, 23, 0, tzinfo=UTC),
    ],
    "u": [
        dt.datetime(2020, 2, 29, tzinfo=UTC),
        dt.datetime(1970, 1, 1, tzinfo=UTC),
        None,
        dt.datetime(2004, 8, 31, 22, 59, 59, tzinfo=UTC),
    ],
}
ROWS = 180


# One expression a line, in the grammar that both share.
EXACT = r"""
t + t
t * s
i + 1
i * j
l + i
l * l
i + f
l + f
l + d
-t
-i
-l
-d
- f
i - j
f * f
d * e
d + e
i / j
d / e
f / f
l / i
t / 0
i % j
l % j
t % s
d % e
f % e
f % f
i % 0
d % 3
i % -1
i % 7
mod(i, j)
pmod(i, j)
pmod(t, s)
pmod(d, e)
pmod(l, j)
pmod(i, -3)
pmod(t, -3Y)
i div j
l div j
l div -1
i div 0
i = j
i < l
d = e
d < e
d <= e
d > e
d >= e
d <> e
d != 1
d < 1
d > 1
d >= 1
1 > d
f = d
f < d
i = d
x = y
x < y
x >= 'a'
b = c
b < c
b and c
b or c
not b
b and null
b or null
x is null
x is not null
b is true
b is not false
b is false
i <=> j
d <=> e
x <=> y
i <=> null
b is distinct from c
i in (1, 2, 7)
i in (1, null)
i not in (1, 7)
d in (1.5D, 0D)
e in (d, 1D)
x in ('a', 'Abc')
t in (1, 5, 300)
i between -1 and j
d between 0 and 2
x like 'a%'
x like '%b_c'
x like 'a\\%b%'
x like '%'
x like ''
x like '_'
x like '日%'
x not like 'a%'
x like 'abc%def'
x rlike 'b'
x rlike '^a'
x rlike '\\d'
x rlike '[à-ÿ]'
case when b then 1 when c then 2L else 3 end
case i when 1 then 'one' when 7 then 'seven' end
case when b then i end
if(b, i, d)
if(b, t, s)
coalesce(i, j)
coalesce(i, l, d)
coalesce(null, i)
nvl(d, e)
nullif(i, 0)
nullif(d, e)
nvl2(i, j, 5)
ifnull(x, 'none')
cast(i as tinyint)
cast(i as smallint)
cast(l as int)
cast(l as tinyint)
cast(d as int)
cast(d as bigint)
cast(d as smallint)
cast(d as tinyint)
cast(f as int)
cast(f as bigint)
cast(d as float)
cast(f as double)
cast(l as float)
cast(l as double)
cast(i as boolean)
cast(d as boolean)
cast(b as int)
cast(b as double)
cast(n as int)
cast(n as bigint)
cast(n as tinyint)
cast(n as double)
cast(n as float)
cast(n as boolean)
cast(i as string)
cast(l as string)
cast(d as string)
cast(e as string)
cast(f as string)
cast(b as string)
cast(day as string)
cast(ts as string)
cast(w as date)
cast(w as timestamp)
cast(ts as date)
cast(day as timestamp)
cast(ts as bigint)
cast(ts as int)
cast(ts as double)
cast(i as timestamp)
cast(j as timestamp)
cast(x as int)
cast(null as int)
abs(t)
abs(i)
abs(l)
abs(d)
sign(i)
sign(d)
signum(f)
floor(d)
ceil(d)
floor(f)
ceil(i)
floor(l)
floor(e)
ceiling(e)
round(d)
round(e, 2)
round(d, 1)
round(f, 1)
round(e, -1)
round(i, -1)
round(t, -1)
round(l, -2)
round(i)
round(e, 0)
round(l, -18)
sqrt(d)
sqrt(i)
greatest(i, j)
greatest(d, e)
greatest(d, e, f)
least(d, e)
least(i, j, l)
greatest(x, y)
least(x, y, 'b')
greatest(b, c)
least(day, date '2000-01-01')
greatest(ts, u)
greatest(i, null, 3)
isnan(d)
isnan(f)
isnull(d)
isnotnull(d)
length(x)
upper(x)
lower(x)
lower(upper(x))
trim(x)
ltrim(x)
rtrim(x)
trim(both 'a' from x)
btrim(x, 'ac')
substring(x, 2)
substring(x, 2, 2)
substring(x, 0, 2)
substring(x, -2)
substring(x, -2, 1)
substring(x, -20, 19)
substring(x, -3, 3)
substring(x, 1, -1)
substr(x, 3, 100)
left(x, 2)
right(x, 2)
right(x, 0)
left(x, -1)
concat(x, y)
x || y
x || i
concat(x, d, b, day)
concat(x)
replace(x, 'a', 'bb')
replace(x, 'a')
replace(x, '', 'z')
startswith(x, 'a')
startswith(x, y)
endswith(x, 'c')
endswith(x, y)
contains(x, 'b')
contains(x, y)
contains(x, '')
regexp_extract(x, '(a)(b)', 2)
regexp_extract(x, '([A-Z])')
regexp_extract(x, 'a.c', 0)
i & j
i | l
t ^ s
~t
~l
shiftleft(i, j)
shiftright(i, j)
shiftleft(l, j)
shiftright(l, 3)
shiftrightunsigned(i, 3)
shiftrightunsigned(l, j)
shiftleft(t, 3)
i << 2
i >> 2
ts > u
ts = timestamp '1970-01-01'
ts > timestamp '2004-08-31 22:59:59.5'
day >= date '2004-08-31'
day < ts
ts > '2004-01-01'
day = '1970-01-01'
day in ('1970-01-01', '2020-02-29')
ts + interval 3 days
ts - interval '3' hours
ts + interval 1 month
ts - interval 1 year
ts + interval 90 minutes
ts + interval '1.5' second
ts + interval 1 day 2 hours
ts + interval '1 day 2 hours'
ts + interval 5 milliseconds
ts + interval 2 weeks
interval 1 day + ts
day + interval 3 days
day + interval 1 month
day - interval 1 month
day + interval 1 week
day + interval 3 hours
day + 1
day - 1
day + t
year(ts)
month(ts)
day(ts)
dayofmonth(day)
hour(ts)
minute(ts)
second(ts)
dayofweek(ts)
dayofweek(day)
weekday(day)
dayofyear(day)
quarter(ts)
year(day)
hour(day)
unix_timestamp(ts)
unix_timestamp(day)
unix_seconds(ts)
unix_millis(ts)
unix_micros(ts)
timestamp_seconds(i)
timestamp_seconds(f)
timestamp_millis(i)
timestamp_micros(l)
to_timestamp(w)
to_date(w)
to_date(ts)
date(ts)
date_trunc('hour', ts)
date_trunc('minute', ts)
date_trunc('day', ts)
date_trunc('week', ts)
date_trunc('month', ts)
date_trunc('quarter', ts)
date_trunc('year', ts)
date_trunc('second', ts)
date_trunc('millisecond', ts)
date_trunc('day', day)
date_add(day, 3)
date_sub(day, s)
add_months(day, 1)
add_months(day, -13)
datediff(day, ts)
1
3000000000
-2147483648
-9223372036854775808
3L
1e3
2.5D
2.5F
2S
2Y
'it''s'
"dq"
'a\'b'
'a\nb'
'\\'
r'\d'
'a' 'b'
true
i = 1 is null
! b = c
i + j * 2 - l
-i + j
2 + 3
i + 2 = j or not b and d > 2
null + 1
null = 1
null + null
i = 3.0D
i > 2.5D
t > 1000
t + 1000
'a' < 'b'
""".strip().split("\n")

# Java and C differ in the last digit of these.
NEARLY = r"""
power(d, e)
pow(i, 2)
exp(d)
expm1(e)
ln(d)
ln(e)
log(e)
log(2, e)
log(e, d)
log10(e)
log2(e)
log1p(e)
sin(e)
cos(d)
tan(e)
asin(e)
acos(e)
atan(d)
atan2(d, e)
sinh(e)
cosh(e)
tanh(e)
cbrt(e)
degrees(e)
radians(e)
hypot(d, e)
""".strip().split("\n")

# Where our reading is not Spark's: a decimal literal is a double.
OWN = [
    "3.5",
    "-0.5",
    "i * 0.1",
    "d > 2.5",
    "round(2.675, 2)",
    "i in (1, 2.5)",
    "coalesce(i, 0.5)",
    "1.5 + 1.5 = 3",
    "(b and c) = (b or c)",
]


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """Every column repeats its values in a cycle of another length, so most pairs of values meet."""
    columns = {name: [VALUES[name][row % len(VALUES[name])] for row in range(ROWS)] for name in SCHEMA}
    return pa.table(columns, SCHEMA.arrow())


@pytest.fixture(scope="module")
def frame(compiling_spark: SparkSession, table: pa.Table) -> DataFrame:
    return compiling_spark.createDataFrame(table).coalesce(1).cache()


def same(ours: object, theirs: object, exact: bool) -> bool:
    if isinstance(ours, float) and isinstance(theirs, float):
        if math.isnan(ours) or math.isnan(theirs):
            return math.isnan(ours) and math.isnan(theirs)
        if exact or math.isinf(ours) or ours == 0:
            return ours == theirs and math.copysign(1, ours) == math.copysign(1, theirs)
        return math.isclose(ours, theirs, rel_tol=1e-14)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(same(a, b, exact) for a, b in zip(ours, theirs, strict=True))
    return ours == theirs


def differences(
    texts: list[str],
    sqls: list[str],
    frame: DataFrame,
    table: pa.Table,
    exact: bool = True,
    schema: Schema = SCHEMA,
) -> list[str]:
    """What the two evaluators do not agree on, all expressions in one Spark query."""
    theirs = frame.selectExpr(*(f"{sql} AS r{place}" for place, sql in enumerate(sqls))).toArrow()
    found = []
    for place, text in enumerate(texts):
        expression = Expression.parse(text, schema)
        mine, spark = expression.evaluate(table), theirs.column(place).combine_chunks()
        if not mine.type == expression.type == relaxed(spark.type):
            found.append(f"{text}: type {mine.type} of {expression.type}, Spark has {spark.type}")
            continue
        pairs = enumerate(zip(values(mine), values(spark), strict=True))
        wrong = [(row, a, b) for row, (a, b) in pairs if not same(a, b, exact)]
        if wrong:
            row, a, b = wrong[0]
            used = {name: table.column(name)[row].as_py() for name in expression.fields}
            found.append(f"{text}: {a!r}, Spark has {b!r} where {used} ({len(wrong)} rows)")
    return found


def values(column: pa.Array) -> list[object]:
    """Timestamps as numbers: Spark's can leave the years that Python knows."""
    storage = {pa.timestamp("us", tz="UTC"): pa.int64(), pa.date32(): pa.int32()}.get(column.type)
    return (column if storage is None else column.view(storage)).to_pylist()


def ours_for_spark(texts: list[str]) -> list[str]:
    return [Expression.parse(text, SCHEMA).spark_sql() for text in texts]


def test_spark_reads_the_text_as_we_do(frame: DataFrame, table: pa.Table) -> None:
    assert differences(EXACT, EXACT, frame, table) == []


WHOLE_NUMBERS = ("tinyint", "int", "bigint")
FROM_SPARK = [
    *(f"TRY_CAST({field} AS {kind})" for field in "tsilfdbnx" for kind in WHOLE_NUMBERS),
    *(f"TRY_CAST({field} AS {kind})" for field in "ndi" for kind in ("smallint", "float", "double", "boolean")),
    *(f"TRY_CAST({field} AS string)" for field in ("i", "b", "day")),
    "TRY_CAST(w AS date)", "TRY_CAST(w AS timestamp)", "TRY_CAST(ts AS int)", "TRY_CAST(ts AS date)",
    "TRY_CAST('1.5' AS int)", "TRY_CAST(1e300D AS int)", "TRY_CAST(300 AS tinyint)", "TRY_CAST(NULL AS int)",
    "TRY_CAST(i AS int)", "CAST(300 AS tinyint)", "trim(leading from x)", "trim(trailing from x)", "trim(both from x)",
    "trim(LEADING 'a' FROM x)", "trim(TRAILING 'ca' FROM x)", "trim(BOTH 'a' FROM x)", "trim(leading '' from x)",
    "+i", "+d", "- +i", "+ -t", "1 + +2", "-128Y", "127Y", "-32768S", "3L", "3D", "-3F", "-0D", "i::bigint",
    "ts + INTERVAL +3 DAYS", "ts + INTERVAL 100 YEARS", "i IN (1, 2)",
]  # fmt: skip


def test_what_was_not_as_in_spark(frame: DataFrame, table: pa.Table) -> None:
    assert differences(FROM_SPARK * 2, [*FROM_SPARK, *ours_for_spark(FROM_SPARK)], frame, table) == []


REFUSED = [
    "i IN (1,,2)",
    "300Y",
    "-129Y",
    "40000S",
    "ts + INTERVAL 99999999999 YEARS",
    "coalesce(i,)",
    "+b",
    "trim(leading x)",
]


@pytest.mark.parametrize("text", REFUSED)
def test_what_spark_refuses_is_refused(frame: DataFrame, text: str) -> None:
    with pytest.raises(AuroraError):
        Expression.parse(text, SCHEMA)
    with pytest.raises(PySparkException):
        frame.selectExpr(text)


def test_spark_reads_our_rewriting_as_we_do(frame: DataFrame, table: pa.Table) -> None:
    texts = [*EXACT, *OWN]
    assert differences(texts, ours_for_spark(texts), frame, table) == []


def test_functions_of_real_numbers_agree_but_for_the_last_digit(frame: DataFrame, table: pa.Table) -> None:
    assert differences(NEARLY, NEARLY, frame, table, exact=False) == []
    assert differences(NEARLY, ours_for_spark(NEARLY), frame, table, exact=False) == []


AGGREGATES = [
    *(
        f"percentile({field}, {share})"
        for field in "tsilfe"
        for share in ("0", "0.05", "0.3", "0.5", "0.95", "1.0")
    ),
    *(f"{function}({field})" for function in ("median", "min", "max", "count") for field in "tilfe"),
    "percentile(i, 1 / 3)",
    "percentile(if(i > 1000000, i, null), 0.5)",
]
AGGREGATES += [
    *(
        f"percentile_approx({field}, {share})"
        for field in ("t", "s", "i", "l", "e", "day")
        for share in ("0", "0.3", "0.5D", "0.95", "1.0")
    ),
    "approx_percentile(l, 0.25, 10000)",
    "unix_micros(percentile_approx(ts, 0.5))",
    "unix_micros(mode(u, true))",
    *(f"mode({field}, true)" for field in ("t", "i", "l", "x", "day", "b")),
    *(
        f"size({function}({field}))"
        for function in ("collect_list", "collect_set")
        for field in ("i", "x", "ts", "b")
    ),
    "array_join(collect_list(y), '|')",
    "size(array_agg(i))",
]
# Sums of powers, which lose digits in other ways.
DISTRIBUTIONS = [
    f"{function}({field})" for function in ("skewness", "kurtosis") for field in ("t", "s", "if(i = 1, i, 1)")
]
DISTRIBUTIONS += [
    "skewness(if(l = 0, 1000000007, 1000000000 + t))",
    "kurtosis(CAST(NULL AS int))",
    "kurtosis(e)",
]
COUNTED = [*(f"approx_count_distinct({field})" for field in SCHEMA), "approx_count_distinct(l + 7 * j)"]


def aggregated(texts: list[str], table: pa.Table) -> list[object]:
    """Our values of aggregates over all rows."""
    batch = table.combine_chunks().to_batches()[0]
    reducer = Reducer.of({str(place): text for place, text in enumerate(texts)}, SCHEMA, "test")
    found = reducer.over(reducer.arguments(batch), np.zeros(1, np.int64), batch.num_rows)
    return [column[0].as_py() for column in found]


def test_aggregates_agree(frame: DataFrame, table: pa.Table) -> None:
    theirs = frame.selectExpr(*AGGREGATES).collect()[0]
    wrong = [
        (text, a, b)
        for text, a, b in zip(AGGREGATES, aggregated(AGGREGATES, table), theirs, strict=True)
        if not same(a, b, exact=False)
    ]
    assert wrong == []


def test_the_shapes_of_distributions_agree(frame: DataFrame, table: pa.Table) -> None:
    for text, a, b in zip(
        DISTRIBUTIONS,
        aggregated(DISTRIBUTIONS, table),
        frame.selectExpr(*DISTRIBUTIONS).collect()[0],
        strict=True,
    ):
        assert a == b or str(a) == str(b) or math.isclose(a, b, rel_tol=1e-9), (text, a, b)  # type: ignore[arg-type]


def test_approximate_counts_agree_within_their_errors(frame: DataFrame, table: pa.Table) -> None:
    theirs = frame.selectExpr(*COUNTED).collect()[0]
    for text, a, b in zip(COUNTED, aggregated(COUNTED, table), theirs, strict=True):
        # Spark's own standard error is 5%.
        assert isinstance(a, int) and abs(a - b) <= 0.15 * b + 1, text


def test_an_empty_batch_gives_an_empty_column_of_the_type(table: pa.Table) -> None:
    empty = table.slice(0, 0)
    for text in [*EXACT, *OWN, *NEARLY]:
        expression = Expression.parse(text, SCHEMA)
        assert expression.evaluate(empty).type == expression.type
        assert len(expression.evaluate(empty)) == 0


def test_a_part_of_a_batch_gives_the_part_of_the_result(table: pa.Table) -> None:
    """Arrow columns that start in the middle of their buffers are where kernels go wrong."""
    batch = table.combine_chunks().to_batches()[0]
    for text in [*EXACT, *OWN, *NEARLY]:
        expression = Expression.parse(text, SCHEMA)
        whole, part = expression.evaluate(batch), expression.evaluate(batch.slice(13, 70))
        assert str(values(whole)[13:83]) == str(values(part)), text


LEAVES = {
    "whole": ["t", "s", "i", "j", "l", "i", "l", "0", "1", "-1", "7", "2147483647", "3000000000", "2Y"],
    "fraction": ["f", "d", "e", "d", "e", "0D", "-0D", "1.5D", "1e300", "2.5F"],
    "truth": ["b", "c", "b", "c", "TRUE", "CAST(NULL AS BOOLEAN)"],
    "word": ["x", "y", "n", "x", "'a'", "''", "'日'"],
    "words": ["'-'", "''", "'日'"],
    "moment": ["ts", "u", "day", "TIMESTAMP '2004-08-31 12:00:00.25'", "DATE '2020-02-29'"],
}
# {kind} is an expression of that kind, {number} a whole number or a fraction, {same} one of the kind to be
# made, (a|b) a choice. Only operations whose result is the same to the last bit.
SHAPES = {
    "any": [
        "if({truth}, {same}, {same})",
        "coalesce({same}, {same})",
        "nullif({same}, {same})",
        "greatest({same}, {same}, {same})",
        "least({same}, {same})",
        "CASE WHEN {truth} THEN {same} WHEN {truth} THEN {same} END",
    ],
    "whole": [
        *["({whole} (+|-|*|%|div|&|^) {whole})"] * 4,
        "CAST({number} AS (tinyint|smallint|int|bigint))",
        "CAST({word} AS (tinyint|int|bigint))",
        "(floor|ceil)({fraction})",
        "length({word})",
        "pmod({whole}, {whole})",
        "(shiftleft|shiftright)({whole}, (0|1|33|-1))",
        "(abs|-|~)({whole})",
        "(year|month|day|hour|minute|second|dayofweek|unix_timestamp)({moment})",
        "size(split({word}, '(a|b|,)'))",
        "crc32({word})",
        *["{whole} (+|-|*|%|div) {whole} (+|-|*) {whole}"] * 2,
        "- {whole}",
    ],
    "fraction": [
        *["({fraction} (+|-|*|/|%) {number})"] * 4,
        "({whole} / {whole})",
        "pmod({fraction}, {number})",
        "CAST({number} AS (float|double))",
        "CAST({word} AS double)",
        "(abs|-|sqrt|sign)({fraction})",
        "{fraction} (+|-|*|/) {number} (+|-|*|/) {number}",
    ],
    "truth": [
        "({whole} (=|<>|<|<=|>|>=|<=>) {whole})",
        *["({fraction} (=|<>|<|<=|>|>=|<=>) {number})"] * 3,
        "({word} (=|<>|<|<=|>|>=|<=>) {word})",
        "({moment} (=|<>|<|<=|>|>=|<=>) {moment})",
        "({truth} (=|<>|<|<=|>|>=|<=>) {truth})",
        *["({truth} (AND|OR) {truth})"] * 3,
        "(NOT {truth})",
        "(({whole}|{fraction}|{word}|{moment}|{truth}) IS NULL)",
        "({fraction} IN ({fraction}, {number}))",
        "({whole} IN (1, {whole}, NULL))",
        "({whole} BETWEEN {number} AND {number})",
        "isnan({fraction})",
        "(contains|startswith|endswith)({word}, {word})",
        "({word} LIKE '(a%|%b_c|%|_)')",
        "CAST({number} AS boolean)",
        "CAST({word} AS boolean)",
        "array_contains(split({word}, '(a|b|,)'), {word})",
        "{truth} (AND|OR) {truth} (AND|OR) NOT {truth}",
        "{whole} (<|=|>=) {whole} (AND|OR) {word} (=|<>) {word}",
        "{whole} + 1 BETWEEN {whole} AND {number} (AND|OR) {truth}",
        "{word} (NOT LIKE|LIKE) '%a' (AND|OR) {whole} IN ({whole}, 3)",
    ],
    "word": [
        "concat({word}, {word})",
        "({word} || ({whole}|{truth}))",
        "substring({word}, (0|1|2|-2), (0|1|2|5))",
        "(upper|lower|trim|ltrim)({word})",
        "replace({word}, 'a', '(b|日|)')",
        "CAST(({whole}|{truth}) AS string)",
        "regexp_replace({word}, '[ab]', '(x|$0$0|)')",
        "split({word}, '(a|b|,)')[(0|1|2)]",
        "element_at(split({word}, '(a|b)'), (1|-1|-2))",
        "array_join(split({word}, 'a'), {words})",
        "array({word}, {word})[pmod({whole}, 2)]",
        "date_format({moment}, '(yyyy-MM-dd HH:mm|d.M.yy|EEE d MMM|SSS|hh a)')",
        "from_unixtime(length({word}) * 1000000)",
        "(md5|sha1)({word})",
        "get_json_object({word}, '$.a')",
    ],
    "moment": [
        "({moment} (+|-) INTERVAL '(1|2|-5|33)' (DAY|MONTH|HOUR|SECOND|YEAR))",
        "date_trunc('(week|hour|month)', {moment})",
        "CAST({moment} AS (date|timestamp))",
        "to_timestamp(date_format({moment}, 'yyyy-MM-dd HH:mm'), 'yyyy-MM-dd HH:mm')",
        "to_timestamp({word}, '(yyyy-MM-dd|yyyy|H)')",
    ],
}
CHOICE = re.compile(r"\(([^()]*\|[^()]*)\)")


def written(random: Random, kind: str, depth: int) -> str:
    """An expression of that kind, at most so deep."""
    if kind == "words":
        return random.choice(LEAVES[kind])
    if kind == "number":
        kind = random.choice(["whole", "fraction"])
    if depth == 0 or random.random() < 0.1:
        return random.choice(LEAVES[kind])
    both = kind != "truth" and random.random() < 0.25
    shape = random.choice(SHAPES["any" if both else kind])
    shape = CHOICE.sub(lambda match: random.choice(match[1].split("|")), shape)
    return re.sub(
        r"\{(\w+)\}",
        lambda match: written(random, kind if match[1] == "same" else match[1], depth - 1),
        shape,
    )


@settings(max_examples=4, deadline=None, derandomize=True, phases=[Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_generated_expressions_agree(frame: DataFrame, table: pa.Table, seed: int) -> None:
    """Four times seventy-five texts, read by us and by Spark; what can be read in two ways is refused."""
    random = Random(seed)
    texts = [written(random, kind, 3) for kind in LEAVES if kind != "words" for _ in range(15)]
    texts = [text for text in texts if not is_refused(text)]
    assert len(texts) > 40
    assert differences(texts, texts, frame, table) == []


def is_refused(text: str) -> bool:
    try:
        Expression.parse(text, SCHEMA)
    except AuroraError as fault:
        assert "two ways" in str(fault) or "compare" in str(fault) or "needs" in str(fault), fault
        return True
    return False


TEXTS = [
    "", "a", "b", "ab", "aB", "AB", "aab", "abab", "ba", "a\n", "a\r\n", "\r\n", "\n", "a\n\n", "b\r", "ab\u2028",
    "a\x85",
    "a\nb", "a\rb", "a b", " ", "\t", "a\x0bb", "\x0b", "_1", "a1b2", "0", "é", "É", "日本", "😀", "a😀b", "a-b", "a]b",
    "^a$", "x=1&y=2", "https://a.b/c/d", "{a}", "a.b", "\\d", "k", "K", "\u212a", "ſ", "a\x00b",
]  # fmt: skip
PATTERNS = r"""
^a$ $ ^$ a$ a$b (a|$) ($) ([^/]*)$ \n$ \r$ .$ (.*)$ (?s)(.*)$ . .. \s \S \w+ \W \d \D+ [\w-]+ [^\w] [^\s\d] (?i)k
(?i)[a-b]+ (?i)[^a] (?i)é (?i)[A-Z_] (?is)a.b []x] [a\]] \A(a)\z (a)(b)? (a|ab)(b|) ((a)|b)+ (?:(a)|(b))+ (a+?)(b*)
(a{1,2}?)b a{2} (?<first>a)b (&|^)y=([^&]*) ^(?:[^/]*/){2}([^/]*) \x41 \u00e9 \. \\ \{a\} a-b [a-] [-a] \- } ] [日-本]
[😀] \t (a|b)*c? () a||b (?i)[\x41-\x42] [^\s\S] [a&b] (?i)\w (?i)[^A-Z]+ ^*a a^ (^a|b$)+
[\^a] [a^] \x0b (a)|(b) (a)?b$
"""


def piece(random: Random, depth: int) -> str:
    kind = random.randrange(9 if depth else 5)
    if kind < 3:
        return random.choice(["a", "b", ".", r"\w", r"\s", "[ab]", "[^a]", r"[\d_]", "é", "/"])
    if kind == 3:
        return random.choice(["^", "$", r"\z", ""])
    if kind == 4:
        return random.choice(["a", "b", "[^b]"]) + random.choice(
            ["*", "+", "?", "*?", "+?", "??", "{1,2}", "{2}"]
        )
    inside = "|".join(
        "".join(piece(random, depth - 1) for _ in range(random.randrange(3)))
        for _ in range(random.choice([1, 1, 2, 3]))
    )
    group = f"({'?:' if kind == 8 else ''}{inside})"
    return group + random.choice(["", "", "*", "+", "?", "+?", "{2}"])


def accepted(pattern: str) -> list[str]:
    """The tests that a pattern can be put to, none where it is refused."""
    written = "'" + pattern.replace("\\", "\\\\") + "'"
    texts = [f"x RLIKE {written}", *(f"regexp_extract(x, {written}, {group})" for group in range(4))]
    texts += [f"regexp_replace(x, {written}, '{by}')" for by in ("", "<$0>", r"$1\\\\\\$2", "$12", "$3")]
    found = []
    for text in texts:
        try:
            Expression.parse(text, SCHEMA)
        except AuroraError as fault:
            assert "\n" not in str(fault)
        else:
            found.append(text)
    return found


def test_regular_expressions_agree(compiling_spark: SparkSession) -> None:
    table = pa.table({"x": [*TEXTS, None]})
    random = Random(8)
    patterns = PATTERNS.split()
    patterns += ["(?i)" * (random.random() < 0.1) + piece(random, 2) + piece(random, 2) for _ in range(50)]
    texts = [text for pattern in dict.fromkeys(patterns) for text in accepted(pattern)]
    assert len(texts) > 200
    frame = compiling_spark.createDataFrame(table).coalesce(1)
    assert differences(texts, texts, frame, table) == []
