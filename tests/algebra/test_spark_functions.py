"""Functions on texts, times, JSON and arrays against Spark: the same values, nulls and types."""

import datetime as dt
from random import Random

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from aurora.algebra.expressions import Expression
from aurora.algebra.tuples.schema import Schema
from aurora.errors import AuroraError
from tests.algebra.spark_harness import check_parts, differences, for_spark, frame_of, table_of
from tests.algebra.test_spark_patterns import TEXTS

UTC = dt.UTC
SCHEMA = Schema.parse(
    "x string, w string, o string, i int, l bigint, ts timestamp, day date, a array<int>, d array<double>, "
    "s array<string>, r array<struct<p: int, q: array<string>>>"
)
NAN = float("nan")
VALUES: dict[str, list[object]] = {
    "x": ["a,b,,c", "", None, "a", ",", ",,", "a,b", "x1y22z", "é,日;😀", "a\n", "a;\n,b\r\n", " a b "],
    "w": [
        "16.11.2026 07:05", "16.11.2026", "6.1.2026 7:5", "2026-11-16", "2026-11-16 07:00:00", "20261116", "16/11/26",
        "2026-02-29 00:00:00", "2024-02-29 23:59:59", "Nov 16 2026", "nov 16 2026", "16 November 2026",
        "07:05 PM", "12:30 AM",
        "13:00 PM", "2026-11-16T07:00:00.123Z", "2026-11-16T07:00:00.1+01:00", "2026-11-16T07:00:00.123456-0530",
        None, "", "x",
        "99.99.2026 07:05", "2026-11-16 24:00:00", " 2026-11-16", "2026-11-16 ", "12345-01-01",
        "0001-01-01", "1.1.1970 0:0",
    ],
    "o": [
        '{"a": {"b": [1, 2.50, "x", null, true, {"c": 1e10}]}, "d e": "f", "a.b": 7, "n": null}',
        '{"a": 1}', "[1, [2, 3]]",
        '"a"', "5", "null", "", "{", None, '{"a": {"b": "é\\u00e9\\"q\\n"}}', '{"a": {"b": {"z": [ ] , "y" : { } }}}',
        "nope",
        '{"a": 1, "a": 2}', '{"a": null, "a": [2]}', '{"a": [{"b": 1}, {"b": [1, "x"]}, {"c": 2}, null]}',
        '{"a": [{"b": "one"}]}', '{"a": [{"b": {"b": null}}]}',
        '{"a": [[{"b": 1}, {"b": 2}], [{"b": [3, [4]]}], [], 5]}',
        '{"a": [[[1, 2], [3]], [[4], 5]]}', '{"a": {"b": []}}', '{"a": []}', '[{"u": 1}, {"u": null}, {"u": "v"}]',
        '{"a": {"b": [{"c": [1, 2]}]}}', '{"a": {"b": [[{"c": 1}], [{"c": "z"}, {}]]}}', '{"a": [1, 2}',
        '[["x"], ["y", []]]', '{"a": 12345678901234567890123, "b": -0.0}', ' {"a":{"b":[[5]]}} ',
    ],
    "i": [0, 1, 2, -1, None, 5, -3, 2**31 - 1, -(2**31)],
    "l": [0, 1, None, 1_700_000_000, -1, 253402300799, -62135596800],
    "ts": [
        dt.datetime(1970, 1, 1, tzinfo=UTC), None, dt.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
        dt.datetime(2020, 2, 29, 12, 34, 56, 123456, UTC), dt.datetime(2026, 11, 16, 0, 0, 0, 500000, UTC),
        dt.datetime(1900, 3, 1, 1, 2, 3, tzinfo=UTC), dt.datetime(1, 1, 1, 13, tzinfo=UTC),
        dt.datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC),
    ],
    "day": [dt.date(1970, 1, 1), dt.date(2020, 2, 29), None, dt.date(1, 1, 1), dt.date(9999, 12, 31)],
    "a": [[1, 2, 3], [], None, [None], [None, 5], [0, 0, -1], [2**31 - 1]],
    "d": [[NAN, 1.0], None, [-0.0], [], [0.0, None], [1.5, NAN, None]],
    "s": [["a", "b"], [""], None, [], [None, "x", None], ["é", ",", "日"]],
    "r": [[{"p": 1, "q": ["u", "v"]}], None, [], [None], [{"p": None, "q": None}, {"p": 2, "q": []}]],
}  # fmt: skip
ROWS = 300

EXACT = r"""
split(x, ',')
split(x, ',')[0]
split(x, ',')[1]
split(x, ',')[i]
split(x, ',', 2)
split(x, ',', 1)
split(x, ',', 0)
split(x, '[,;]')
split(x, '\\d+')
split(x, '(a|b)', 3)
split(x, 'a$')
split(x, '\\.')
size(split(x, ','))
element_at(split(x, ','), -1)
element_at(split(x, ','), 2)
array_join(split(x, ','), '-')
array_join(s, '+')
array_join(s, '+', 'none')
regexp_replace(x, '[ab]', '<$0>')
a[0]
a[i]
a[i + 1]
a[l]
s[1]
d[0]
r[0]
r[0].p
r[1].q[0]
r[i].q
element_at(a, 1)
element_at(a, -2)
size(a)
size(s)
cardinality(a)
array_size(a)
array_contains(a, 5)
array_contains(a, 0)
array_contains(a, i)
array_contains(d, 0D)
array_contains(d, CAST('NaN' AS double))
array_contains(s, 'x')
array_contains(s, x)
array(i, 1, NULL)
array(x, 'z')
array(i, l)
array(1.5D, i)
array(a, array(1))
array(a)[0][1]
to_timestamp('00012', 'H')
if(i > 0, a, array(7))
coalesce(a, array(9))
CASE WHEN i = 0 THEN a WHEN i = 1 THEN array(i) END
a IS NULL
CAST(NULL AS array<int>)
date_format(ts, 'yyyy-MM-dd HH:mm:ss')
date_format(ts, 'd.M.yy')
date_format(ts, 'dd/MM/y')
date_format(ts, 'EEE, dd MMM yyyy')
date_format(ts, 'EEEE d MMMM')
date_format(ts, 'E')
date_format(ts, 'hh:mm a')
date_format(ts, 'h K k H')
date_format(ts, 'kk KK HH')
date_format(ts, 's.SSS')
date_format(ts, 'S SS SSSSSS SSSSSSSSS')
date_format(ts, 'D')
date_format(ts, 'DDD')
date_format(ts, "yyyy-MM-dd'T'HH:mm:ssXXX")
date_format(ts, 'X XX x xx xxx Z')
date_format(ts, "'it''s' yyyy")
date_format(ts, 'yyyy年')
date_format(day, 'yyyyMMdd')
date_format(day, 'EEEE')
from_unixtime(i)
from_unixtime(l)
from_unixtime(l, 'yyyy-MM-dd')
from_unixtime(i, 'HH:mm')
to_timestamp(w, 'dd.MM.yyyy HH:mm')
to_timestamp(w, 'd.M.yyyy H:m')
to_timestamp(w, 'dd.MM.yyyy')
to_timestamp(w, 'yyyy-MM-dd HH:mm:ss')
to_timestamp(w, 'yyyyMMdd')
to_timestamp(w, 'dd/MM/yy')
to_timestamp(w, 'MMM dd yyyy')
to_timestamp(w, 'd MMMM yyyy')
to_timestamp(w, 'hh:mm a')
to_timestamp(w, "yyyy-MM-dd'T'HH:mm:ss.SSSX")
to_timestamp(w, "yyyy-MM-dd'T'HH:mm:ss.SSSXXX")
to_timestamp(w, "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXX")
to_date(w, 'yyyy-MM-dd')
to_date(w, 'dd.MM.yyyy')
to_date(w, 'yyyy-MM-dd HH:mm:ss')
unix_timestamp(w, 'yyyy-MM-dd HH:mm:ss')
unix_timestamp(w, 'dd.MM.yyyy HH:mm')
get_json_object(o, '$')
get_json_object(o, '$.a')
get_json_object(o, '$.a.b')
get_json_object(o, '$.a.b[0]')
get_json_object(o, '$.a.b[1]')
get_json_object(o, '$.a.b[2]')
get_json_object(o, '$.a.b[3]')
get_json_object(o, '$.a.b[5].c')
get_json_object(o, '$.a.b[9]')
get_json_object(o, "$['d e']")
get_json_object(o, '$[1]')
get_json_object(o, '$[1][0]')
get_json_object(o, '$.n')
get_json_object(o, '$.nope.nothing')
get_json_object(o, '$.b')
get_json_object(o, '$[*]')
get_json_object(o, '$[*][*]')
get_json_object(o, '$[*][0]')
get_json_object(o, '$[0][*]')
get_json_object(o, '$[1][*]')
get_json_object(o, '$[*].u')
get_json_object(o, '$.a[*]')
get_json_object(o, '$.a.b[*]')
get_json_object(o, '$.a.b[*].c')
get_json_object(o, '$.a.b[*][*]')
get_json_object(o, '$.a.b[*][*].c')
get_json_object(o, '$.a[*].b')
get_json_object(o, '$.a[*].b[*]')
get_json_object(o, '$.a[*].b[*].c')
get_json_object(o, '$.a[*].b[0]')
get_json_object(o, '$.a[0].b[*]')
get_json_object(o, '$.a[*][*].b')
get_json_object(o, '$.a[*][*][*]')
get_json_object(o, '$.a[*][0][*]')
get_json_object(o, '$.a[*][*].b[*]')
get_json_object(o, '$.a[0][*].b')
get_json_object(o, '$.a[0][*].b[*]')
concat_ws('-', x, w)
concat_ws('', x, i, 'z')
concat_ws(', ', x)
lpad(x, 4, 'é*')
lpad(x, 2)
lpad(x, 0, 'a')
lpad(x, -1, 'a')
lpad(x, 6, '')
rpad(x, 7, 'ab')
rpad(x, 3)
instr(x, 'b')
instr(x, '')
instr(x, '日')
locate(',', x)
reverse(x)
repeat(x, 3)
repeat(x, 0)
repeat(x, -1)
split_part(x, ',', 1)
split_part(x, ',', 2)
split_part(x, ',', -1)
split_part(x, ',', 9)
split_part(x, ',', -9)
split_part(x, '', 1)
split_part(x, '', 2)
split_part(w, '.', 2)
md5(x)
sha1(x)
sha(x)
sha2(x, 256)
sha2(x, 0)
sha2(x, 224)
sha2(x, 512)
crc32(x)
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


SPLITS = [
    ",", "[,;]", "(a|b)", r"\d+", r"\s", "a$", r"\n", "[^a]+", "b+?", "(?i)A", "(,|;)+", r"\.", r"\|", "x|y", "(.)",
]  # fmt: skip


def test_splits_agree(compiling_spark: SparkSession) -> None:
    table = pa.table({"x": [*TEXTS, "a,b;c", ",,", None]})
    schema, random = Schema.parse("x string"), Random(3)
    texts = []
    for pattern in SPLITS:
        literal = pattern.replace("\\", "\\\\")
        texts += [f"split(x, '{literal}', {limit})" for limit in (-1, random.choice([0, 1, 2, 3]))]
    frame = compiling_spark.createDataFrame(table).coalesce(1)
    assert differences(texts, texts, frame, table, schema) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("split(x, '')", "can match nothing: give the text between the parts, as in split"),
        ("element_at(a, 0)", "element_at counts from 1"),
        ("element_at(a, i)", r"for a computed one write a\[i\], from 0"),
        ("x[0]", r"string has no elements, in 'x\[0\]'"),
        ("a.p", r"take an element first, as in a\[0\].b"),
        ("a = a", "= cannot compare array<int> and array<int>"),
        ("a IN (a)", "IN cannot compare array<int>"),
        ("explode(a)", "so it is a box"),
        ("array_contains(a, 'x')", r"cannot look for string in array<int>"),
        ("array_contains(a, NULL)", "cannot look for void"),
        ("array_join(a, ',')", "array_join needs an array<string>"),
        ("date_format(ts, 'yyyy-ww')", "'ww' is not known; there are yyyy, MMMM"),
        ("date_format(ts, '[yyyy]')", "put text between quotes"),
        ("date_format(ts, '')", "the pattern is empty"),
        ("to_timestamp(w, 'EEE d')", "'EEE' is not known; there are yyyy, MMMM, dd"),
        ("to_timestamp(w, 'd dd')", "the pattern has the day twice"),
        ("to_timestamp(ts, 'yyyy')", "needs a string beside a pattern"),
        ("split_part(x, ',', 0)", "split_part counts from 1"),
        ("lpad(x, 20000)", "lpad fills up to 10,000 characters at most, found 20,000"),
        ("concat_ws(',', s)", "array_join puts the elements of one together"),
        ("sha2(x, 128)", "sha2 has 224, 256, 384 or 512 bits, found 128"),
        ("get_json_object(o, 'a.b')", r"write it as \$.name.inner\[0\]"),
        ("get_json_object(o, '$.*')", r"write it as \$.name.inner\[0\] or \$.name\[\*\].inner"),
        ("current_timestamp", "'current_timestamp.*' works only in a map"),
        ("now()", "'now.*' works only in a map"),
        ("uuid()", "gives a different result in every run"),
    ],
)
def test_what_is_refused_is_told_with_what_works(text: str, told: str) -> None:
    with pytest.raises(AuroraError, match=told):
        Expression.parse(text, SCHEMA)


def test_deep_expressions_are_read_and_computed() -> None:
    schema = Schema.parse("a bigint, b boolean")
    batch = pa.record_batch({"a": [1, None], "b": [True, False]}, schema.arrow())
    for text, expected in [
        (" + ".join(["a"] * 2000), [2000, None]),
        (" - ".join(["a"] * 2000), [-1998, None]),
        (" AND ".join(["b"] * 2000), [True, False]),
        (" || ".join(["'x'"] * 2000), ["x" * 2000] * 2),
        ("concat(" + ", ".join(["a"] * 2000) + ")", ["1" * 2000, None]),
    ]:
        assert Expression.parse(text, schema).evaluate(batch).to_pylist() == expected


def test_years_of_more_than_four_digits_agree(compiling_spark: SparkSession) -> None:
    far = [
        *(
            2**63 - 1,
            -(2**63),
            253402300800000000,
            -62135596800000001,
            -62198755200000000,
            2**62,
            -(2**61),
            None,
            0,
        ),
        *(
            1_000_000_000_000_000_000,
            971_890_963_200_000_000,
            1_096_000_000_000_000_000 + 86_400_000_000 * 59,
        ),
    ]
    schema = Schema.parse("l bigint, n int")
    days = [2**31 - 1, -(2**31), 2_932_897, -719_163, -719_529, None, 11_248_737, 12_000_000]
    rows = len(far) * len(days)
    table = pa.table(
        {
            "l": [far[row % len(far)] for row in range(rows)],
            "n": [days[row // len(far)] for row in range(rows)],
        },
        schema.arrow(),
    )
    moments = ("timestamp_micros(l)", "date_add(DATE '1970-01-01', n)")
    parts = ("year", "quarter", "month", "day", "dayofyear", "dayofweek", "weekday")
    texts = [f"{part}({moment})" for part in parts for moment in moments]
    texts += [f"CAST({moment} AS string)" for moment in moments]
    texts += [f"{part}({moments[0]})" for part in ("hour", "minute", "second")]
    patterns = ("yyyy-MM-dd HH:mm:ss.SSS", "y D EEE", "yy MMM")
    texts += [f"date_format({moments[0]}, '{pattern}')" for pattern in patterns]
    texts += [
        f"CAST(date_trunc('{unit}', timestamp_micros(l div 2)) AS string)"
        for unit in ("year", "quarter", "month", "week", "day", "hour")
    ]
    texts += [f"concat({moment}, '!')" for moment in moments]
    frame = compiling_spark.createDataFrame(table).coalesce(1)
    assert differences(texts, texts, frame, table, schema) == []


def test_sums_that_are_no_moment_are_null() -> None:
    schema = Schema.parse("l bigint, n int")
    rows = pa.record_batch(
        {"l": pa.array([2**63 - 1, 0], pa.int64()), "n": pa.array([2**31 - 1, 0], pa.int32())}
    )
    moment = "timestamp_micros(l)"
    for text in (
        f"{moment} + INTERVAL 1 SECOND", f"{moment} + INTERVAL 1 DAY", "timestamp_millis(l)",
        "CAST(date_add(DATE '1970-01-01', n) AS timestamp)",
    ):  # fmt: skip
        found = Expression.parse(f"unix_micros({text})", schema).evaluate(rows).to_pylist()
        assert found[0] is None and found[1] is not None, text
