"""Maps against Spark: the same values, nulls and types."""

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from aurora.algebra.expressions import Expression
from aurora.algebra.tuples.schema import Schema
from aurora.errors import AuroraError
from tests.algebra.spark_harness import check_parts, differences, for_spark, frame_of, table_of

SCHEMA = Schema.parse(
    "m map<string, double>, c map<string, bigint>, s map<string, string>, a map<string, array<int>>, "
    "o map<string, map<string, int>>, x string, i int, k array<string>, v array<int>, t string, b boolean"
)
NAN = float("nan")
VALUES: dict[str, list[object]] = {
    "m": [{"a": 1.5, "b": None}, None, {}, {"": -0.0, "é": NAN}, {"b": 2.0, "a": 0.1, "日": 3.0}],
    "c": [{}, {"a": 2**63 - 1}, None, {"b": 1, "c": None}],
    "s": [{"a": "x", "b": ""}, None, {"a": None}],
    "a": [{"a": [1, None], "b": None}, {"b": []}, None],
    "o": [{"a": {"b": 1}}, None, {"a": None, "b": {}}],
    "x": ["a", "b", "", None, "é", "A", "日"],
    "i": [0, 1, None, -1],
    "k": [["a", "b"], [], None, ["b"]],
    "v": [[1, None], [], None, [7]],
    "t": ["a:1,b:2", "", None, "a", "a:,b", ":", "a:1:2", "é:日, b : 3 ", "a=1;b=2"],
    "b": [True, False, None],
}
ROWS = 180

EXACT = r"""
m
m['a']
m['b']
m['']
m[x]
m['nope']
c['a'] + 1
s['a']
a['a']
a['a'][0]
a['b'][i]
o['a']
o['a']['b']
o[x]['b']
element_at(m, 'a')
element_at(m, x)
element_at(s, concat('', x))
size(m)
cardinality(c)
size(map_keys(m))
map_keys(m)
map_values(m)
map_keys(o)
map_values(a)
map_keys(m)[0]
array_contains(map_keys(m), 'a')
array_contains(map_keys(m), x)
map_contains_key(m, 'a')
map_contains_key(m, x)
map_contains_key(s, 'a')
map('a', i)
map('a', i, 'b', 2)
map('a', i, 'b', 2L)
map('a', 1.5D, 'b', i)
map('a', x, '', t)
map('a', m)
map('a', k, 'b', array('z'))
map('a', i, 'b', null)['b']
map('a', i)['a']
map('a', i, 'b', 7)[x]
map_from_arrays(k, v)
map_from_arrays(k, v)['a']
map_from_arrays(array('x', 'y'), array(i, 2))
map_from_arrays(map_keys(m), map_values(m))
str_to_map(t)
str_to_map(t, ';', '=')
str_to_map(t)['a']
str_to_map(t, ', ', ' : ')
m is null
m is not null
if(b, m, null)
if(b, c, map('z', 3L))
coalesce(m, map('none', 0D))
case when i = 0 then m when i = 1 then map('i', 1D) end
CAST(NULL AS map<string, double>)
array(m)[0]
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


def test_what_ends_a_query_of_sparks_is_null_or_the_last() -> None:
    schema = Schema.parse("k array<string>, v array<int>, t string")
    rows = pa.record_batch(
        {"k": [["a", "b"], [None], ["a", "a"]], "v": [[1], [1], [1, 2]], "t": ["a:1,a:2,b", "b:1,b", None]},
        schema.arrow(),
    )
    assert Expression.parse("map_from_arrays(k, v)", schema).evaluate(rows).to_pylist() == [
        None,
        None,
        [("a", 2)],
    ]
    assert Expression.parse("str_to_map(t)", schema).evaluate(rows).to_pylist() == [
        [("a", "2"), ("b", None)],
        [("b", None)],
        None,
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("m[0]", r"\[\] needs a string as the key of map<string, double>, found int"),
        ("m.a", r"map<string, double> has no field 'a' inside, in 'm.a': write \['a'\] behind a map"),
        ("m = m", "= cannot compare map<string, double> and map<string, double>"),
        ("m IN (m)", "IN cannot compare map<string, double>"),
        ("greatest(m, m)", "greatest cannot compare map"),
        ("map(1, 2)", "map needs a string written out here"),
        ("map(x, 2)", "map needs a string written out here"),
        ("map('a', 1, 'a', 2)", "map has the key 'a' twice"),
        ("map('a', 1, 'b')", "map takes keys and values in turn"),
        ("map('a', 1, 'b', x)", "map needs values of one type"),
        ("map('a', null)", "map of NULLs has no type"),
        ("map_keys(k)", "map_keys needs a map, found array<string>"),
        ("map_from_arrays(v, k)", "map_from_arrays needs keys of array<string>, found array<int>"),
        ("str_to_map(t, '|')", "str_to_map needs plain characters between the parts"),
        ("concat(m, x)", "concat cannot take a map<string, double>"),
        ("CAST(m AS string)", "CAST cannot make string of map"),
        ("CAST(NULL AS map<int, int>)", "a map has strings as its keys"),
    ],
)
def test_what_is_refused_is_told_with_what_works(text: str, told: str) -> None:
    with pytest.raises(AuroraError, match=told):
        Expression.parse(text, SCHEMA)
