"""The Arrow evaluator against Spark: the same values, nulls and types, on values that are hard to get."""

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from aurora.algebra.expressions import Expression
from aurora.errors import AuroraError
from tests.algebra.spark_harness import check_parts, differences, for_spark, frame_of, table_of
from tests.algebra.spark_values import ROWS, SCHEMA, VALUES

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
(i in (1, 3)) is null
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
    return table_of(SCHEMA, VALUES, ROWS)


@pytest.fixture(scope="module")
def frame(compiling_spark: SparkSession, table: pa.Table) -> DataFrame:
    return frame_of(compiling_spark, table)


def test_spark_reads_the_text_as_we_do(frame: DataFrame, table: pa.Table) -> None:
    assert differences(EXACT, EXACT, frame, table, SCHEMA) == []


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
    assert (
        differences(FROM_SPARK * 2, [*FROM_SPARK, *for_spark(FROM_SPARK, SCHEMA)], frame, table, SCHEMA) == []
    )


REFUSED = [
    "i IN (1,,2)",
    "300Y",
    "-129Y",
    "40000S",
    "ts + INTERVAL 99999999999 YEARS",
    "coalesce(i,)",
    "+b",
    "trim(leading x)",
    "i IN (1, 3) IS NULL",
    "x LIKE 'a' IS NOT NULL",
]


@pytest.mark.parametrize("text", REFUSED)
def test_what_spark_refuses_is_refused(frame: DataFrame, text: str) -> None:
    with pytest.raises(AuroraError):
        Expression.parse(text, SCHEMA)
    with pytest.raises(PySparkException):
        frame.selectExpr(text)


def test_spark_reads_our_rewriting_as_we_do(frame: DataFrame, table: pa.Table) -> None:
    texts = [*EXACT, *OWN]
    assert differences(texts, for_spark(texts, SCHEMA), frame, table, SCHEMA) == []


def test_functions_of_real_numbers_agree_but_for_the_last_digit(frame: DataFrame, table: pa.Table) -> None:
    assert differences(NEARLY, NEARLY, frame, table, SCHEMA, exact=False) == []
    assert differences(NEARLY, for_spark(NEARLY, SCHEMA), frame, table, SCHEMA, exact=False) == []


def test_a_part_of_a_batch_gives_the_part_of_the_result(table: pa.Table) -> None:
    check_parts([*EXACT, *OWN, *NEARLY], SCHEMA, table)
