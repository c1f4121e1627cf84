"""Expressions before any data is seen: types, fields, faults; and the shapes in which they are evaluated."""

import pickle
import subprocess
import sys

import pyarrow as pa
import pytest

from aurora.algebra.expressions import AggregateCall, Expression, parse_aggregates
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import type_name
from aurora.errors import AuroraError

SCHEMA = Schema.parse(
    "Sid int, Time int, Pos int, Name string, COM double, `#` bigint, Ok boolean, ts timestamp, day date, tiny tinyint"
)
SIDES = {"left": SCHEMA, "right": Schema.parse("Pos int, Toll int")}

BATCH = pa.record_batch(
    {
        "Sid": [1, None, 3],
        "Time": [4, 5, 6],
        "Pos": [0, 2**31 - 1, None],
        "Name": ["a", None, "c"],
        "COM": [1.5, float("nan"), None],
        "#": [1, 2, 3],
        "Ok": [True, None, False],
        "ts": pa.nulls(3, SCHEMA["ts"]),
        "day": pa.nulls(3, SCHEMA["day"]),
        "tiny": pa.array([1, 2, 3], pa.int8()),
    },
    SCHEMA.arrow(),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Pos", "int"),
        ("tiny + tiny", "tinyint"),
        ("tiny + 1", "int"),
        ("Pos + `#`", "bigint"),
        ("Pos / 2", "double"),
        ("Pos div 2", "bigint"),
        ("Pos * 1.5", "double"),
        ("CAST(Pos AS float) + `#`", "float"),
        ("Pos > 3", "boolean"),
        ("floor(COM)", "bigint"),
        ("round(COM)", "double"),
        ("3000000000", "bigint"),
        ("-2147483648", "int"),
        ("1e3", "double"),
        ("'a' || 1", "string"),
        ("day + INTERVAL 1 DAY", "date"),
        ("day + INTERVAL 1 HOUR", "timestamp"),
        ("if(Ok, day, ts)", "timestamp"),
        ("length(Name)", "int"),
        ("CASE WHEN Ok THEN NULL ELSE tiny END", "tinyint"),
    ],
)
def test_types_are_known_before_the_data(text: str, expected: str) -> None:
    expression = Expression.parse(text, SCHEMA)
    assert type_name(expression.type) == expected
    assert expression.evaluate(BATCH).type == expression.type
    assert len(expression.evaluate(BATCH)) == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Foo + 1", "unknown field 'Foo': the fields are Sid, Time, Pos, Name, COM, #, Ok, ts, day, tiny"),
        ("pos + 1", "unknown field 'pos' (did you mean Pos?): the fields are Sid"),
        ("left.Pos", "unknown field 'left.Pos': the fields are"),
        ("Pos + 'a'", "+ needs two numbers, found int and string in 'Pos + 'a''"),
        ("Name > 3", "> cannot compare string and int in 'Name > 3'"),
        ("2 * (Name - 1)", "- needs two numbers, found string and int in 'Name - 1'"),
        ("Pos = Ok", "= cannot compare int and boolean in 'Pos = Ok'"),
        ("Name IN (1, 2)", "IN needs values of one type, found string and int in 'Name IN (1, 2)'"),
        ("Pos AND Ok", "AND needs a boolean, found int in 'Pos AND Ok'"),
        ("NOT Pos", "NOT needs a boolean, found int in 'NOT Pos'"),
        ("if(Pos, 1, 2)", "a condition needs a boolean, found int"),
        ("CASE WHEN Ok THEN 1 ELSE 'a' END", "CASE needs values of one type, found int and string"),
        (
            "coalesce(Pos, Name)",
            "coalesce needs values of one type, found int and string in 'coalesce(Pos, Name)'",
        ),
        ("sqrt(Name)", "sqrt needs a number, found string in 'sqrt(Name)'"),
        ("upper(Pos)", "upper needs a string, found int in 'upper(Pos)'"),
        ("COM div 2", "div needs two whole numbers, found double and int"),
        ("COM & 2", "& needs two whole numbers, found double and int"),
        ("shiftleft(Pos, `#`)", "shiftleft needs an int as the number of bits, found bigint"),
        ("Pos IS TRUE", "IS needs a boolean, found int in"),
        ("year(Pos)", "year needs a date or timestamp, found int"),
        ("unix_seconds(day)", "unix_seconds needs a timestamp"),
        ("abs(Pos, 1)", "abs takes 1 argument, found 2 in 'abs(Pos, 1)'"),
        ("round(COM, Pos)", "round needs a whole number written out here, not a computed value"),
        ("Name LIKE Name", "LIKE needs a string written out here, not a computed value"),
        ("Name LIKE 'a\\\\'", "ends in its escape character"),
        ("Name RLIKE '('", "RLIKE cannot use the pattern '(': missing a )"),
        (
            "Name RLIKE '\\\\pL+'",
            "RLIKE cannot use the pattern '\\\\pL+': '\\p' is not supported; write the characters out",
        ),
        ("Name RLIKE '\\\\bcar'", "'\\b' is not supported; write (^|\\W) or (\\W|$)"),
        ("Name RLIKE 'a(?=b)'", "'(?=b': only (..), (?:..) and (?<name>..) are there"),
        ("Name RLIKE 'a*+'", "'*+' is not the same everywhere; use one count"),
        ("Name RLIKE '(a*)*'", "'*' repeats a part that can match nothing"),
        ("Name RLIKE '(a)\\\\1'", "'\\1' is not supported; write"),
        ("Name RLIKE '[a[b]]'", "'[' inside of [..]; write \\[ for the character"),
        ("Name RLIKE 'a)'", "unmatched )"),
        ("Name RLIKE '[a'", "missing a ]"),
        ("Name RLIKE 'a{2'", "'{' is not the start of a count"),
        ("Name RLIKE 'a{2000}'", "a count is {n}, {n,} or {n,m}, at most 1000"),
        ("Name RLIKE '[z-a]'", "cannot read a range inside of [..]"),
        (
            "regexp_replace(Name, 'a*', 'b')",
            "regexp_replace cannot use the pattern 'a*': it can match the empty text; use a+ instead of a*",
        ),
        ("regexp_replace(Name, 'a', '$1')", "there is no group 1, the pattern has 0"),
        ("regexp_replace(Name, 'a', '$')", "'$' stands alone; write \\$ for the character, $1 for a group"),
        ("current_date", "current_date gives a different result in every run: use a field"),
        ("year(NOW())", "'now()' works only in a map"),
        ("current_timestamp", "'current_timestamp()' works only in a map"),
        ("Pos + rand()", "rand gives a different result in every run"),
        ("regexp_extract(Name, 'abc')", "regexp_extract asks for group 1, and the pattern has 0"),
        ("+Name", "+ needs a number, found string in '+Name'"),
        ("+Ok", "+ needs a number, found boolean in '+Ok'"),
        ("300Y", "300 does not fit a tinyint, which holds -128 to 127"),
        ("Pos IN (1,,2)", "syntax error in 'Pos IN (1,,2)' at column 11, near ','"),
        ("coalesce(Pos,)", "syntax error in 'coalesce(Pos,)' at column"),
        ("trim(leading Name)", "syntax error in 'trim(leading Name)'"),
        ("negate(Pos)", "unknown function 'negate'"),
        (
            "ts + INTERVAL 99999999999 YEARS",
            "an interval of 99999999999 years is too long: 2147483647 months at most",
        ),
        ("ts + INTERVAL 999999999 DAYS", "an interval of 999999999 days is too long: 106751991 days at most"),
        ("substring(Name)", "substring takes 2 to 3 arguments, found 1"),
        ("greatest(Pos)", "greatest takes at least 2 arguments, found 1"),
        ("foo(Pos)", "unknown function 'foo' in 'foo(Pos)'"),
        ("coalesc(Pos, 1)", "unknown function 'coalesc' in 'coalesc(Pos, 1)' (did you mean coalesce?)"),
        ("count(*)", "'count(*)' is an aggregate: an expression over a single tuple cannot use it"),
        ("Pos +", "syntax error in 'Pos +' at column 5, near '+'"),
        ("Pos && Ok", "syntax error in 'Pos && Ok' at column 5, near '&&'"),
        ("Pos\n> AND 3", "at line 2, column 3, near 'AND'"),
        ("Pos AS p", "syntax error in 'Pos AS p' at column 5, near 'AS'"),
        ("'abc", "a quote or a comment is not closed"),
        (" ", "the expression is empty"),
        ("NULL", "'NULL' has no type: write CAST(NULL AS type)"),
        ("(Pos = 1) <=> Name NOT LIKE 'a'", "can be read in two ways: put brackets around the inner part"),
        ("Pos <> 2 <=> Pos BETWEEN 1 AND 2", "can be read in two ways: put brackets around the inner part"),
        ("CAST(Pos AS foo)", "unknown type 'foo' in 'CAST(Pos AS foo)' at column 13: the types are boolean"),
        ("CAST(Pos AS decimal(3, 4))", "'DECIMAL(3, 4)': a decimal(p,s) has 1 to 38 digits"),
        ("CAST(day AS int)", "CAST cannot make int of date in 'CAST(day AS INT)'"),
        ("99999999999999999999", "99999999999999999999 does not fit a bigint: write it as a double, 1e+20"),
        ("1e999", "1e999 does not fit a double"),
        ("TIMESTAMP 'noon'", "'noon' is not a timestamp"),
        ("ts > 'noon'", "'noon' is not a timestamp in 'ts > 'noon''"),
        ("INTERVAL 1 DAY", "stands alone: add it to a date or timestamp"),
        ("Pos + INTERVAL 1 DAY", "an interval needs a date or timestamp beside it, found int"),
        ("ts + INTERVAL '1 fortnight'", "unknown unit 'fortnight': the units of an interval are year, month"),
        ("ts + INTERVAL Pos SECOND", "an interval needs a written number"),
        ("ts + INTERVAL '1.5' DAY", "an interval of 1.5 day is not a whole number of days"),
        ("ts - ts", "- needs two numbers, found timestamp and timestamp in 'ts - ts'"),
        ("date_trunc('eon', ts)", "date_trunc has no unit 'eon': the units are year, quarter"),
        ("Pos | 1 & 2", "'Pos | 1 & 2' can be read in two ways: put brackets around the inner part"),
        ("Pos < Sid < Time", "can be read in two ways"),
        ("Pos = Sid IN (1, 2)", "can be read in two ways"),
        ("Name[0]", "string has no elements, in 'Name[0]'"),
        ("Pos IN (SELECT 1)", "IN needs a list of values in brackets"),
        ("Ok IS Ok", "IS goes with NULL, TRUE or FALSE"),
    ],
)
def test_faults_are_found_before_the_run(text: str, message: str) -> None:
    with pytest.raises(AuroraError) as fault:
        Expression.parse(text, SCHEMA, "box over")
    assert str(fault.value).startswith("box over: ")
    assert message in str(fault.value)


def test_without_a_place_the_fault_stands_alone() -> None:
    with pytest.raises(AuroraError, match=r"^unknown field 'Foo'"):
        Expression.parse("Foo", SCHEMA)


def test_fields_and_plain_fields() -> None:
    assert Expression.parse("Pos * 2 > `#` OR Pos = 1", SCHEMA).fields == {"Pos", "#"}
    assert Expression.parse("(`#`)", SCHEMA).is_field == "#"
    assert Expression.parse("Pos + 0", SCHEMA).is_field is None
    assert Expression.parse("3.5", SCHEMA).fields == frozenset()


@pytest.mark.parametrize(
    "name", ["Time", "Date", "Day", "Type", "Left", "End", "Set", "Order", "Key", "Index", "Count"]
)
def test_words_of_sql_are_names_of_fields_too(name: str) -> None:
    schema = Schema.parse(f"{name} int")
    assert Expression.parse(f"{name} + 1 > {name}", schema).fields == {name}


def test_decimals_are_doubles_in_spark_too() -> None:
    assert Expression.parse("Pos > 3.5", SCHEMA).spark_sql() == "(CAST(`Pos` AS double) > 3.5D)"
    assert Expression.parse("`#` = -1", SCHEMA).spark_sql() == "(`#` = (-1L))"
    assert Expression.parse("Name = 'it''s'", SCHEMA).spark_sql() == r"(`Name` = 'it\'s')"


def test_two_sides() -> None:
    expression = Expression.parse("left.Pos = right.Pos AND Toll > Sid", SIDES)
    assert expression.fields == {("left", "Pos"), ("right", "Pos"), ("right", "Toll"), ("left", "Sid")}
    assert expression.spark_sql() == "((`left`.`Pos` = `right`.`Pos`) and (`right`.`Toll` > `left`.`Sid`))"
    right = pa.record_batch({"Pos": [0, 1, 2], "Toll": [5, 5, 5]}, SIDES["right"].arrow())
    assert expression.evaluate_pairs(BATCH, right).to_pylist() == [True, False, None]
    assert expression.matches_pairs(BATCH, right).tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Pos = 1", "field 'Pos' is on both sides: write left.Pos or right.Pos"),
        (
            "right.Sid = 1",
            "unknown field 'right.Sid': the fields of left are Sid, .*; the fields of right are Pos, Toll",
        ),
        ("Foo = 1", "unknown field 'Foo': the fields of left are"),
    ],
)
def test_faults_of_two_sides(text: str, message: str) -> None:
    with pytest.raises(AuroraError, match=f"^join: {message}"):
        Expression.parse(text, SIDES, "join")


def test_null_does_not_match() -> None:
    assert Expression.parse("Pos > 0", SCHEMA).matches(BATCH).tolist() == [False, True, False]
    assert Expression.parse("TRUE", SCHEMA).matches(BATCH).tolist() == [True, True, True]
    with pytest.raises(AuroraError, match=r"'Pos' is not a predicate: it is int"):
        Expression.parse("Pos", SCHEMA).matches(BATCH)


def test_a_table_is_evaluated_as_a_batch_is() -> None:
    table = pa.Table.from_batches([BATCH, BATCH.slice(1)])
    expression = Expression.parse("Pos + 1", SCHEMA)
    assert expression.evaluate(table).to_pylist() == [1, -(2**31), None, -(2**31), None]
    assert expression.evaluate(table.slice(0, 0)).to_pylist() == []


def test_a_column_of_a_near_type_is_converted() -> None:
    batch = pa.record_batch(
        {"Name": pa.array(["a", "b"]).dictionary_encode(), "Pos": pa.array([1, 2], pa.int64())}
    )
    assert Expression.parse("Pos + 1", SCHEMA).evaluate(batch).type == pa.int32()
    assert Expression.parse("upper(Name)", SCHEMA).evaluate(batch).to_pylist() == ["A", "B"]


def test_expressions_are_values() -> None:
    one, other = Expression.parse("Pos > 3.5", SCHEMA), Expression.parse(" Pos > 3.5 ", SCHEMA)
    assert one == other and hash(one) == hash(other)
    assert one != Expression.parse("Pos > 3.5", Schema.parse("Pos bigint"))
    assert repr(one) == "<Expression Pos > 3.5: boolean>"
    with pytest.raises(AttributeError, match="does not change"):
        one.text = "Pos"


def test_a_worker_gets_the_finished_tree() -> None:
    """Evaluated before it is pickled or not, it is small, and it needs no parser on the other side."""
    expression = Expression.parse("Pos * 3 + 1 > Time AND Name LIKE 'a%'", SCHEMA)
    expression.evaluate(BATCH)
    data = pickle.dumps(expression)
    assert len(data) < 1000 and pickle.loads(data) == expression
    code = (
        "import pickle, sys, pyarrow as pa\n"
        f"e = pickle.loads({data!r})\n"
        "batch = pa.record_batch({'Pos': [5], 'Time': [1], 'Name': ['abc']})\n"
        "assert e.evaluate(batch).to_pylist() == [True]\n"
        "assert 'sqlglot' not in sys.modules and 'pyspark' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def call(function: str, argument: str | None, result: str, distinct: bool = False) -> AggregateCall:
    inner = None if argument is None else Expression.parse(argument, SCHEMA)
    types = {"int": pa.int32(), "bigint": pa.int64(), "double": pa.float64(), "boolean": pa.bool_()}
    return AggregateCall(function, inner, distinct, types[result])


@pytest.mark.parametrize(
    ("text", "calls", "result"),
    [
        ("count(*)", [call("count", None, "bigint")], "bigint"),
        ("count(Pos)", [call("count", "Pos", "bigint")], "bigint"),
        ("count(DISTINCT Sid)", [call("count", "Sid", "bigint", distinct=True)], "bigint"),
        ("sum(tiny)", [call("sum", "tiny", "bigint")], "bigint"),
        ("sum(COM)", [call("sum", "COM", "double")], "double"),
        ("mean(Pos)", [call("avg", "Pos", "double")], "double"),
        ("max(Pos) - min(Pos)", [call("max", "Pos", "int"), call("min", "Pos", "int")], "int"),
        ("max(DISTINCT Pos)", [call("max", "Pos", "int")], "int"),
        ("count(*) / count(*)", [call("count", None, "bigint")], "double"),
        (
            "abs(last(COM) - first_value(COM)) >= 5",
            [call("last", "COM", "double"), call("first", "COM", "double")],
            "boolean",
        ),
        ("stddev_samp(Pos)", [call("stddev", "Pos", "double")], "double"),
        ("var_samp(Pos)", [call("variance", "Pos", "double")], "double"),
        ("median(Pos)", [call("median", "Pos", "double")], "double"),
        ("every(Ok)", [call("bool_and", "Ok", "boolean")], "boolean"),
        ("any(Pos > 3)", [call("bool_or", "Pos > 3", "boolean")], "boolean"),
        ("count_if(Ok)", [call("count_if", "Ok", "bigint")], "bigint"),
    ],
)
def test_aggregates(text: str, calls: list[AggregateCall], result: str) -> None:
    expression = parse_aggregates(text, SCHEMA, "box agg")
    assert list(expression.calls) == calls
    assert type_name(expression.type) == result
    assert expression.text == text
    assert pickle.loads(pickle.dumps(expression)) == expression


def test_the_finish_runs_over_the_results_of_the_calls() -> None:
    expression = parse_aggregates("max(Pos) - min(Pos) > count(*)", SCHEMA)
    results = pa.record_batch({"agg0": [9, 3], "agg1": [1, 3], "agg2": [2, 2]})
    assert expression.finish.evaluate(results).to_pylist() == [True, False]
    assert expression.finish.fields == {"agg0", "agg1", "agg2"}


def test_min_by_has_an_order() -> None:
    (only,) = parse_aggregates("min_by(Pos, Time)", SCHEMA).calls
    assert only.argument == Expression.parse("Pos", SCHEMA) and only.order == Expression.parse("Time", SCHEMA)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Pos", "field 'Pos' is outside an aggregate: write last(Pos)"),
        ("max(Pos) + Pos", "field 'Pos' is outside an aggregate"),
        ("max(Foo)", "unknown field 'Foo': the fields are Sid"),
        ("3 + 4", "'3 + 4' has no aggregate: write one, for example count(*)"),
        ("sum(Name)", "sum needs a number, found string in 'sum(Name)'"),
        ("count_if(Pos)", "count_if needs a boolean, found int"),
        ("sum(max(Pos))", "'max(Pos)' is an aggregate"),
        ("sum(Pos, Time)", "sum takes 1 argument, found 2 in 'sum(Pos, Time)'"),
        ("min_by(Pos)", "min_by takes 2 arguments, found 1"),
        ("median(DISTINCT Pos)", "DISTINCT goes with count, sum, avg, not with median"),
        ("meedian(Pos)", "unknown function 'meedian' in 'meedian(Pos)' (did you mean median?)"),
        ("first(Pos) IGNORE NULLS", "is not part of the language"),
        ("count(*) FILTER (WHERE Ok)", "is not part of the language"),
        ("sum(NULL)", "'NULL' has no type: write CAST(NULL AS type)"),
    ],
)
def test_faults_of_aggregates(text: str, message: str) -> None:
    with pytest.raises(AuroraError) as fault:
        parse_aggregates(text, SCHEMA, "box agg")
    assert str(fault.value).startswith("box agg: ")
    assert message in str(fault.value)


WIDE = Schema.parse("i int, d double, b boolean, x string")
ROWS = pa.record_batch(
    {"i": [1, 2, None], "d": [1.5, 2.0, 3.0], "b": [True, None, False], "x": ["a", "b", None]}, WIDE.arrow()
)
LONG = {
    " OR ".join(f"i = {number}" for number in range(400)): [True, True, None],
    " AND ".join(f"i <> {number + 2}" for number in range(3000)): [True, False, None],
    "i+" * 500 + "i": [501, 1002, None],
    "d-i*2+" * 1000 + "i": [-499.0, -1998.0, None],
    "x||" * 999 + "x": ["a" * 1000, "b" * 1000, None],
    "(" * 50 + "i" + ")" * 50: [1, 2, None],
    "(" * 300 + "i" + ")" * 300 + " > 1": [False, True, None],
    "abs(" * 400 + "i" + ")" * 400: [1, 2, None],
    "i + (" * 400 + "1" + ")" * 400: [401, 801, None],
    "NOT (" * 400 + "b" + ")" * 400: [True, None, False],
    "if(b, i, " * 400 + "7" + ")" * 400: [1, 7, 7],
    "NOT " * 201 + "b": [False, None, True],
    "CASE WHEN b THEN i ELSE " * 400 + "7" + " END" * 400: [1, 7, 7],
    f"i IN ({', '.join(map(str, range(5000)))})": [True, True, None],
}


@pytest.mark.parametrize("text", LONG, ids=range(len(LONG)))
def test_long_and_deep_expressions_work(text: str) -> None:
    expression = Expression.parse(text, WIDE)
    again = pickle.loads(pickle.dumps(expression))
    assert again == expression
    assert again.evaluate(ROWS).to_pylist() == LONG[text]
    assert expression.uses and expression.fields and expression.spark_sql().count("(") < 2 * len(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(" * 20000 + "i" + ")" * 20000, "has too many brackets inside brackets: compute a part in a map"),
        ("abs(" * 20000, "has too many brackets inside brackets"),
        ("i+" * 30000 + "i", "has more than 50,000 parts: use a table and a join"),
        ("CASE " * 30 + "i" + " WHEN 1 THEN 2 WHEN 2 THEN 1 END" * 30, "repeats its parts too often"),
    ],
)
def test_an_expression_has_a_limit(text: str, message: str) -> None:
    with pytest.raises(AuroraError) as caught:
        Expression.parse(text, WIDE)
    assert message in str(caught.value) and len(str(caught.value)) < 200
