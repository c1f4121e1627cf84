"""Structs: their text, the fields inside them, and that Spark agrees."""

import datetime as dt
import pickle

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from aurora.algebra.expressions import Expression, parse_aggregates
from aurora.algebra.ordering.order import Order
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Train
from aurora.algebra.tuples.types import parse_type, type_name
from aurora.errors import AuroraError

INNER = "struct<id: bigint, name: string, at: timestamp, `a b`: struct<x: int, ok: boolean>>"
SCHEMA = Schema.parse(f"k int, one {INNER}, two {INNER}")
TIME = dt.datetime(2015, 7, 15, 0, 0, 0, 123000, dt.UTC)
ROWS = [
    {"k": 1, "one": {"id": 5, "name": "x", "at": TIME, "a b": {"x": 1, "ok": True}}, "two": None},
    {"k": 2, "one": None, "two": {"id": 7, "name": None, "at": None, "a b": {"x": None, "ok": False}}},
    {"k": 3, "one": {"id": None, "name": "", "at": TIME, "a b": None}, "two": None},
    {"k": None, "one": None, "two": None},
]


def test_the_text_of_a_struct_gives_it_back() -> None:
    assert type_name(SCHEMA["one"]) == INNER
    assert (
        parse_type(" STRUCT< id:BIGINT , name string , at: timestamp,`a b`: struct<x int,ok: bool> >")
        == (SCHEMA["one"])
    )
    assert Schema.parse(str(SCHEMA)) == SCHEMA
    assert pickle.loads(pickle.dumps(SCHEMA)) == SCHEMA
    odd = Schema.of({"a": pa.struct({"x,>`": pa.int32(), "y": pa.struct([])})})
    assert Schema.parse(str(odd)) == odd


def test_what_must_be_there() -> None:
    schema = Schema.parse("k int not null, one struct<id: bigint NOT NULL, name: string> , two int")
    assert str(schema) == "k int NOT NULL, one struct<id: bigint NOT NULL, name: string>, two int"
    assert schema.required == {("k",), ("one", "id")} == pickle.loads(pickle.dumps(schema)).required
    assert schema.select(["two", "k"]).required == {("k",)}
    assert schema == Schema.parse(str(schema).replace(" NOT NULL", ""))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a struct<x: int", "cannot read 'a struct<x: int'"),
        ("a struct<x: int>>, b int", "cannot read 'a struct<x: int>>, b int'"),
        ("a struct<x: blob>", "field 'a': field 'x': unknown type 'blob'"),
        ("a struct<x: int, x: int>", "field 'x' appears twice in 'struct<x: int, x: int>'"),
        ("a struct<int>", "field 'a': cannot read 'int'"),
        ("a array<integr>", "unknown type 'integr': the types are boolean"),
        ("a array<int", "cannot read 'a array<int'"),
    ],
)
def test_what_is_wrong_with_a_struct(text: str, message: str) -> None:
    with pytest.raises(AuroraError) as fault:
        Schema.parse(text)
    assert message in str(fault.value)


EXPRESSIONS = """
one.id
one.name
one.at
one.`a b`.x
one.id + k
one.id IS NULL
one IS NULL
one IS NOT NULL
one.`a b` IS NOT NULL
isnull(two)
coalesce(one.id, two.id)
coalesce(one, two).id
coalesce(one, two).`a b`.ok
(one).name
if(k = 1, one, two).name
if(k > 1, one.`a b`, two.`a b`).x
CASE WHEN k = 1 THEN one END.id
one.name || '!'
one.at < TIMESTAMP '2015-07-15 00:00:01'
one.`a b`.ok AND k < 3
one
two.`a b`
coalesce(two, one)
""".strip().splitlines()


@pytest.fixture(scope="module")
def in_spark(compiling_spark: SparkSession) -> pa.Table:
    """All expressions in one query, as we write them and as their author did: a query takes half a second."""
    rows = pa.RecordBatch.from_pylist(ROWS, SCHEMA.arrow())
    written = [
        f"{Expression.parse(text, SCHEMA).spark_sql()} AS `ours {i}`" for i, text in enumerate(EXPRESSIONS)
    ]
    meant = [f"{text} AS `meant {i}`" for i, text in enumerate(EXPRESSIONS)]
    return (
        compiling_spark.createDataFrame(pa.Table.from_batches([rows])).selectExpr(*written, *meant).toArrow()
    )


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_spark_agrees(in_spark: pa.Table, text: str) -> None:
    rows = pa.RecordBatch.from_pylist(ROWS, SCHEMA.arrow())
    expression, place = Expression.parse(text, SCHEMA), EXPRESSIONS.index(text)
    for side in ("ours", "meant"):
        found = in_spark.column(f"{side} {place}").combine_chunks()
        assert expression.evaluate(rows).to_pylist() == found.cast(expression.type).to_pylist(), side


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("one.nope", "unknown field 'nope' in 'one.nope': it has id, name, at, a b"),
        ("k.x", "int has no field 'x' inside, in 'k.x'"),
        ("nope.x", "unknown field 'nope.x': the fields are k, one, two"),
        ("one = two", "= cannot compare struct<"),
        ("one IN (two)", "IN cannot compare struct<"),
        ("greatest(one, two)", "greatest cannot compare struct<"),
        ("one || 'x'", "concat cannot take a struct<"),
        ("CAST(one AS string)", "CAST cannot make string of struct<"),
        ("one.id(3)", "only the name of a field can follow a dot"),
        ("length(one)", "length needs a string, found struct<"),
    ],
)
def test_what_is_wrong_with_an_expression(text: str, message: str) -> None:
    with pytest.raises(AuroraError) as fault:
        Expression.parse(text, SCHEMA)
    assert message in str(fault.value)


def test_sides_come_before_structs() -> None:
    sides = {"left": SCHEMA, "right": Schema.parse("one int, z struct<k: int>, left struct<u: int>")}
    found = [
        Expression.parse(text, sides).spark_sql()
        for text in ("left.one.id = right.one", "z.k", "LEFT.one.`a b`.x", "left.u", "right.left.u")
    ]
    assert found == [
        "(`left`.`one`.`id` = CAST(`right`.`one` AS bigint))",
        "`right`.`z`.`k`",
        "`left`.`one`.`a b`.`x`",
        "`right`.`left`.`u`",
        "`right`.`left`.`u`",
    ]
    with pytest.raises(AuroraError, match=r"field 'one' is on both sides: write left\.one or right\.one"):
        Expression.parse("one.id", sides)


def test_aggregates_take_the_fields_inside() -> None:
    assert parse_aggregates("max(one.id) - min(two.id) + count(one)", SCHEMA).type == pa.int64()
    for text in ("max(one)", "count(DISTINCT one)", "max_by(k, one)", "first(one)"):
        with pytest.raises(AuroraError, match="takes fields of a struct, not the struct"):
            parse_aggregates(text, SCHEMA)


def test_a_struct_is_no_group() -> None:
    with pytest.raises(AuroraError, match="group_by one is a struct; take its fields out with a map"):
        Order("k", group_by=("one",)).check(SCHEMA, "box b")


def test_rows_of_one_cause_are_sorted_by_what_is_inside() -> None:
    rows = pa.RecordBatch.from_pylist(ROWS, SCHEMA.arrow()).select(["one"])
    train = Train(rows, np.zeros(4, np.int64), np.zeros((1, 4), np.int64)).arrange()
    assert [row["one"] and row["one"]["id"] for row in train.rows.to_pylist()] == [5, None, None, None]
    assert [row["one"] is None for row in train.rows.to_pylist()] == [False, False, True, True]
