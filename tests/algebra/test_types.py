"""Types and schemas: names, text and back, faults."""

import pickle

import pyarrow as pa
import pytest

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import ALIASES, TYPES, parse_type, type_name
from aurora.errors import AuroraError


@pytest.mark.parametrize("name", TYPES)
def test_a_type_has_one_name(name: str) -> None:
    assert type_name(parse_type(name)) == name
    assert parse_type(f" {name.upper()} ") == parse_type(name)


@pytest.mark.parametrize("alias", ALIASES)
def test_an_alias_is_a_type(alias: str) -> None:
    assert type_name(parse_type(alias)) == ALIASES[alias]


def test_a_timestamp_is_in_utc_and_microseconds() -> None:
    assert parse_type("timestamp") == pa.timestamp("us", tz="UTC")


def test_an_unknown_type_names_those_that_exist() -> None:
    with pytest.raises(
        AuroraError, match=r"unknown type 'money': the types are boolean, tinyint, .*timestamp"
    ):
        parse_type("money")
    with pytest.raises(AuroraError, match=r"no SQL type holds Arrow's time32"):
        type_name(pa.time32("s"))


def test_a_schema_is_an_ordered_mapping() -> None:
    schema = Schema.parse("Sid int, Time INTEGER,\n  Pos bigint")
    assert schema.names == ("Sid", "Time", "Pos") == tuple(schema)
    assert schema["Pos"] == pa.int64() and schema["Time"] == pa.int32()
    assert "Pos" in schema and "pos" not in schema and len(schema) == 3
    assert str(schema) == "Sid int, Time int, Pos bigint"
    assert schema.select(["Pos", "Sid"]) == Schema.of({"Pos": pa.int64(), "Sid": pa.int32()})
    assert schema.arrow() == pa.schema({"Sid": pa.int32(), "Time": pa.int32(), "Pos": pa.int64()})


def test_the_text_of_a_schema_gives_it_back() -> None:
    schema = Schema.of({"#": pa.int64(), "a b": pa.string(), "a,`b": pa.bool_(), "_x1": pa.date32()})
    assert Schema.parse(str(schema)) == schema
    assert pickle.loads(pickle.dumps(schema)) == schema
    assert eval(repr(schema)) == schema


def test_the_order_of_fields_counts() -> None:
    one, other = Schema.parse("a int, b int"), Schema.parse("b int, a int")
    assert one != other and one == Schema.parse("a int, b int")
    assert len({one, other, Schema.parse("a int,b int")}) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a int, a string", "field 'a' appears twice in the schema"),
        ("a int, b blob", "field 'b': unknown type 'blob': the types are boolean"),
        ("a", "cannot read 'a' in the schema 'a': write it as 'name type, name type'"),
        ("a int,, b int", "cannot read ', b int'"),
        ("a int b int", "field 'a': unknown type 'int b int'"),
        ("a int, `b int", "cannot read '`b int'"),
        ("", "the schema is empty"),
    ],
)
def test_what_is_wrong_with_a_schema(text: str, message: str) -> None:
    with pytest.raises(AuroraError) as fault:
        Schema.parse(text)
    assert message in str(fault.value)


def test_an_arrow_type_without_a_name_is_refused() -> None:
    with pytest.raises(AuroraError, match="field 'a': no SQL type holds Arrow's uint8"):
        Schema.of({"a": pa.uint8()})


def test_a_missing_field_is_named_with_those_that_exist() -> None:
    with pytest.raises(
        AuroraError, match=r"unknown field 'Pso' \(did you mean Pos\?\): the fields are Sid, Pos"
    ):
        Schema.parse("Sid int, Pos int")["Pso"]
