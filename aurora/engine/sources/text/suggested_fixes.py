"""What to do where no row can be read: the address or the schema that would do."""

import re
from collections.abc import Sequence

import pyarrow as pa

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import BIGINT, DOUBLE, STRING, TIMESTAMP, type_name
from aurora.engine.sources.source import Portion, Reject
from aurora.engine.sources.text.csv_records import Csv
from aurora.engine.sources.text.hexadecimal import is_hexadecimal
from aurora.engine.sources.text.patterns import NO_MATCH
from aurora.engine.sources.text.reasons import NO_OBJECT
from aurora.engine.sources.text.time_patterns import find_pattern

__all__ = ["PACKED", "UNZIP", "ZIP", "nothing_fits"]

# How packed files begin, and the ending that the name of each should have.
PACKED = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst", b"BZh": ".bz2"}
ZIP = b"PK\x03\x04"
UNZIP = (
    "it is a ZIP archive, or a spreadsheet: unpack it with unzip, or save the sheet as CSV; "
    ".gz, .zst and .bz2 are read as they are"
)
DELIMITERS = {";": ";", "\t": "tab", "|": "|", ",": ","}
NO_VALUES = ("NA", "N/A", "n/a", "null", "NULL", "None", "none", "nan", "NaN", "-", "--", "?", "\\N", ".")
COMMA = re.compile(r"[+-]?\d+,\d+")
SHOWN = 80
VALUE = re.compile(r"field (.+?): '(.*)' is not an? (\w+)", re.DOTALL)


def nothing_fits(portion: Portion, label: str, schema: Schema, csv: Csv | None, start: bytes) -> str:
    """What is wrong with a file of whose first lines none can be read, and what to do; empty if some can.

    `start` are its first bytes.
    """
    if portion.rows.num_rows or not portion.rejects:
        return ""
    bad = portion.rejects[0]
    count = len(portion.rejects)
    lines = f"none of the first {count:,} lines" if count > 1 else "the first line"
    can = "can be read" if count > 1 else "cannot be read"
    reason = bad.reason.partition("; if line 1 is a header")[0]
    return f"{label}: {lines} {can}; line {bad.line}: {reason}; {_fix(portion.rejects, schema, csv, start)}"


def _fix(rejects: Sequence[Reject], schema: Schema, csv: Csv | None, start: bytes) -> str:
    packed = next((ending for sign, ending in PACKED.items() if start.startswith(sign)), None)
    if packed is not None:
        return f"the file is compressed: give it a name that ends in {packed}"
    if start.startswith(ZIP):
        return UNZIP
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "add ?encoding=utf-16" if csv else "convert it to UTF-8"
    reason, text = rejects[0].reason, rejects[0].text
    if reason == NO_MATCH:
        return f"check the pattern; the line is '{text[:SHOWN]}'"
    if csv is None:
        if reason == NO_OBJECT:
            begins_list = start.lstrip().startswith(b"[")
            return (
                "the file is one list: convert it to an object per line, as with jq -c '.[]'"
                if begins_list
                else "json: reads one object per line; for other text write csv:"
            )
        return _fix_value(rejects, schema, csv)
    if text.lstrip().startswith("{"):
        return "the lines look like JSON: write json: in place of csv:"
    if reason.startswith("expected "):
        return _fix_width(text, schema, csv)
    if "UTF-8" in reason:
        return "add ?encoding=latin1, or another encoding that the file is in"
    return _fix_value(rejects, schema, csv)


def _fix_width(text: str, schema: Schema, csv: Csv) -> str:
    for delimiter, name in DELIMITERS.items():
        if delimiter != csv.delimiter and len(Csv(delimiter).cells(text.encode())) == len(schema):
            return f"add ?delimiter={name}"
    return f"name every column in the schema or in a header; the schema has {', '.join(schema.names)}"


def _fix_value(rejects: Sequence[Reject], schema: Schema, csv: Csv | None) -> str:
    found = [VALUE.match(reject.reason) for reject in rejects]
    first = found[0]
    if first is None or first[1] not in schema:
        return "check the schema of the input"
    name, value = first[1], first[2]
    if csv is not None and value in NO_VALUES:
        return f"add ?null={value} if it stands for a missing value"
    values = [match[2] for match in found if match is not None and match[1] == name]
    if schema[name] == TIMESTAMP:
        if all(_fits(each, BIGINT) for each in values):
            unit = "millis" if len(value.lstrip("-")) > 11 else "seconds"
            return f"declare {name} as bigint, and make a time of it in a map: timestamp_{unit}({name})"
        pattern = find_pattern(values)
        by = (
            f"to_timestamp({name}, '{pattern}')"
            if pattern is not None
            else f"to_timestamp({name}, 'dd.MM.yyyy HH:mm') with the pattern that it has"
        )
        return f"write times as 2026-11-16 07:00:00, or declare {name} as string, and make a time of it in a map: {by}"
    fraction = pa.types.is_floating(schema[name]) or pa.types.is_decimal(schema[name])
    if csv is not None and fraction and all(COMMA.fullmatch(each) for each in values):
        return "add ?decimal=,"
    for kind in (BIGINT, DOUBLE):
        if schema[name] not in (kind, STRING) and all(_fits(each, kind) for each in values):
            return f"declare {name} as {type_name(kind)}"
    return f"declare {name} as string"


def _fits(value: str, kind: pa.DataType) -> bool:
    if is_hexadecimal(value):
        return False
    try:
        pa.scalar(value).cast(kind)
    except pa.ArrowInvalid:
        return False
    return True
