"""Why a record cannot be read, in the words of its reader: the field's name, what was found, what was expected."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import is_array, is_decimal, is_map, is_struct, struct_fields, type_name

__all__ = [
    "NOT_UTF8",
    "NO_OBJECT",
    "Unreadable",
    "a_type",
    "csv_reason",
    "json_reason",
    "not_a",
    "too_many_digits",
    "unreadable_column",
]

NOT_UTF8 = "not UTF-8 text"
NO_OBJECT = "not a JSON object"
LONGEST = 100

COLUMN = re.compile(r"In CSV column #(\d+)")
TOLD_FIELD = re.compile(r"field (.+?): ")
FIELDS = re.compile(r"Expected (\d+) columns, got (\d+)")
CSV_VALUE = re.compile(
    r"In CSV column #(\d+): (?:Row #\d+: )?(?:(?:CSV )?conversion error to [^:]+: |The string )(.*)",
    re.DOTALL,
)
JSON_DECIMAL = re.compile(r"The string '(.*)' is not a valid decimal|to decimal.*: (\S+) requires", re.DOTALL)
DIGITS = re.compile(r"In CSV column #(\d+): .*(?:Rescaling Decimal|precision)")
QUOTED = re.compile(r"'(.*)'", re.DOTALL)
JSON_VALUE = re.compile(r"Failed to convert JSON to ([^,]+), couldn't parse:(.*)", re.DOTALL)
CAST_VALUE = re.compile(r"Failed to parse string: '(.*)' as a scalar of type ([^ ]+)", re.DOTALL)
KINDS = re.compile(r"Column\(/(.*)\) changed from (\w+) to (\w+)")
TWICE = re.compile(r"Column\(/(.*)\) was specified twice")


class Unreadable(ValueError):
    """A record that cannot be read; the text is the reason."""


def a_type(kind: pa.DataType) -> str:
    """A type with its article: an int, a timestamp."""
    nested = ((is_struct, "struct"), (is_array, "array"), (is_map, "map"))
    name = next((word for is_kind, word in nested if is_kind(kind)), "") or type_name(_with_zone(kind))
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"


def not_a(field: str, value: str, kind: pa.DataType) -> str:
    shown = value if len(value) <= LONGEST else value[:LONGEST] + ".."
    return f"field {field}: '{shown}' is not {a_type(kind)}"


def too_many_digits(field: str, kind: pa.DataType) -> str:
    return f"field {field}: more digits than {a_type(kind)} has"


def csv_reason(fault: Exception, columns: tuple[str, ...], schema: Schema) -> str:
    """`columns` are those of the file."""
    if isinstance(fault, Unreadable):
        return str(fault)
    text = str(fault)
    fields = FIELDS.search(text)
    if fields:
        return f"expected {fields[1]} fields, found {fields[2]}"
    digits = DIGITS.search(text)
    if digits:
        name = columns[int(digits[1])]
        return too_many_digits(name, schema[name])
    value = CSV_VALUE.search(text)
    if value:
        name = columns[int(value[1])]
        found = QUOTED.search(value[2])
        if "UTF8" in value[2] or found is None:
            return f"field {name}: {NOT_UTF8}"
        return not_a(name, found[1], schema[name])
    return NOT_UTF8 if "UTF8" in text or "utf-8" in text else f"cannot be read as ({schema})"


def unreadable_column(fault: Exception, columns: tuple[str, ...]) -> str | None:
    """The column whose value is the reason, if it is one."""
    told = TOLD_FIELD.match(str(fault)) if isinstance(fault, Unreadable) else None
    if told is not None:
        return told[1]
    found = COLUMN.search(str(fault))
    return columns[int(found[1])] if found else None


def json_reason(fault: Exception, line: bytes, schema: Schema) -> str:
    if isinstance(fault, Unreadable):
        return str(fault)
    text = str(fault)
    value = JSON_VALUE.search(text)
    cast = CAST_VALUE.search(text)
    if value or cast:
        kind, found = (value[1], value[2]) if value else (cast[2], cast[1])  # type: ignore[index]
        for path, expected, there in _values(_parsed(line), schema):
            if there == found and str(_without_zone(expected)) == kind:
                return not_a(path, found, expected)
    number = JSON_DECIMAL.search(text)
    for path, expected, there in _values(_parsed(line), schema) if number else ():
        assert number is not None
        if is_decimal(expected) and there is not None and there in number.groups():
            return not_a(path, there, expected) if number[1] else too_many_digits(path, expected)
    kinds = KINDS.search(text)
    if kinds:
        path = kinds[1].replace("/", ".")
        types = dict(_types(schema))
        wanted = a_type(types[path]) if path in types else kinds[2]
        return f"field {path}: found {_a(kinds[3])} where {wanted} is expected"
    twice = TWICE.search(text)
    if twice:
        return f"field {twice[1].replace('/', '.')} is there twice"
    if "UTF8" in text or "utf-8" in text:
        return NOT_UTF8
    try:
        json.loads(line.rstrip(b"\r\n"))
    except ValueError as error:
        where = f" at character {error.pos + 1}" if isinstance(error, json.JSONDecodeError) else ""
        return f"not valid JSON{where}"
    return f"cannot be read as ({schema})"


def _a(word: str) -> str:
    return f"an {word}" if word[0] in "aeiou" else word if word == "null" else f"a {word}"


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return None


def _types(fields: Mapping[str, pa.DataType], before: str = "") -> Iterator[tuple[str, pa.DataType]]:
    for name, kind in fields.items():
        yield before + name, kind
        if is_struct(kind):
            yield from _types(struct_fields(kind), f"{before}{name}.")
        elif is_array(kind):
            yield from _types({"[]": kind.value_type}, f"{before}{name}.")
        elif is_map(kind):
            yield from _types({"value": kind.item_type}, f"{before}{name}.[].")


def _values(
    found: Any, fields: Mapping[str, pa.DataType], before: str = ""
) -> Iterator[tuple[str, pa.DataType, Any]]:
    for name, kind in fields.items():
        value = found.get(name) if isinstance(found, dict) else None
        if is_struct(kind):
            yield from _values(value, struct_fields(kind), f"{before}{name}.")
        elif is_array(kind):
            for each in value if isinstance(value, list) else ():
                yield from _values({"[]": each}, {"[]": kind.value_type}, f"{before}{name}.")
        elif is_map(kind):
            for key, each in value.items() if isinstance(value, dict) else ():
                yield from _values({key: each}, {key: kind.item_type}, f"{before}{name}.")
        else:
            yield before + name, kind, value


def _without_zone(kind: pa.DataType) -> pa.DataType:
    return pa.timestamp("us") if pa.types.is_timestamp(kind) else kind


def _with_zone(kind: pa.DataType) -> pa.DataType:
    return pa.timestamp("us", tz="UTC") if pa.types.is_timestamp(kind) else kind
