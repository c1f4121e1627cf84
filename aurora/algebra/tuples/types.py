"""The SQL types of the fields: each one is a `pyarrow.DataType` under its SQL name."""

import re

import pyarrow as pa

from aurora.characters import check_characters
from aurora.errors import AuroraError

__all__ = [
    "BIGINT",
    "BOOLEAN",
    "DATE",
    "DOUBLE",
    "FLOAT",
    "INT",
    "MOST_DIGITS",
    "SMALLINT",
    "STRING",
    "TIMESTAMP",
    "TINYINT",
    "VOID",
    "backquoted",
    "check_nesting",
    "is_array",
    "is_decimal",
    "is_map",
    "is_nested",
    "is_struct",
    "parse_fields",
    "parse_type",
    "quoted",
    "struct_fields",
    "type_name",
]

BOOLEAN = pa.bool_()
TINYINT = pa.int8()
SMALLINT = pa.int16()
INT = pa.int32()
BIGINT = pa.int64()
FLOAT = pa.float32()
DOUBLE = pa.float64()
STRING = pa.string()
DATE = pa.date32()
TIMESTAMP = pa.timestamp("us", tz="UTC")
# The type of a bare NULL; no field has it.
VOID = pa.null()

TYPES: dict[str, pa.DataType] = {
    "boolean": BOOLEAN,
    "tinyint": TINYINT,
    "smallint": SMALLINT,
    "int": INT,
    "bigint": BIGINT,
    "float": FLOAT,
    "double": DOUBLE,
    "string": STRING,
    "date": DATE,
    "timestamp": TIMESTAMP,
}

ALIASES = {
    "bool": "boolean",
    "byte": "tinyint",
    "int8": "tinyint",
    "short": "smallint",
    "int16": "smallint",
    "integer": "int",
    "int32": "int",
    "long": "bigint",
    "int64": "bigint",
    "real": "float",
    "float32": "float",
    "float64": "double",
    "double precision": "double",
    "varchar": "string",
    "char": "string",
    "text": "string",
    "timestamp_ntz": "timestamp",
    "timestamp_ltz": "timestamp",
    "timestamptz": "timestamp",
}

KNOWN = ", ".join([*TYPES, "decimal(p,s)", "array<..>", "map<string, ..>", "struct<..>"])
# A decimal is longer than that only with numbers that no type has.
LONGEST_DECIMAL = 100
DECIMAL = re.compile(r"(?:decimal|dec|numeric)(?: ?\( ?(\d+) ?(?:, ?(\d+) ?)?\))?")
MOST_DIGITS = 38
NAMES = {arrow: name for name, arrow in TYPES.items()} | {VOID: "void"}


PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
FIELD = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([^\s,:`<>]+))(\s*:\s*|\s+)")
NOT_NULL = re.compile(r"\s+not\s+null\s*$", re.IGNORECASE)
# What a type is cut at: names in backquotes as a whole, brackets, commas.
MARK = re.compile(r"`(?:[^`]|``)*`|[<>(),`]")


NESTED = re.compile(r"\b(?:array|struct|map)\s*<|>", re.IGNORECASE)
# Types inside types, at most.
DEEPEST = 50


def check_nesting(text: str) -> None:
    """Raise a fault if a type in the text holds others so deep that nobody means it."""
    depth = 0
    for mark in NESTED.finditer(text):
        depth = max(depth - 1, 0) if mark[0] == ">" else depth + 1
        if depth > DEEPEST:
            raise AuroraError(f"a type is nested more than {DEEPEST} levels deep: make it flatter")


def parse_type(text: str) -> pa.DataType:
    """The type of that SQL name, in any case.

    >>> parse_type("BIGINT")
    DataType(int64)
    >>> parse_type("struct<id: bigint, name: string>")
    StructType(struct<id: int64, name: string>)
    >>> parse_type("array<int>")
    ListType(list<item: int32>)
    >>> parse_type("map<string, double>")
    MapType(map<string, double>)
    >>> parse_type("decimal(10, 2)")
    Decimal128Type(decimal128(10, 2))
    """
    check_nesting(text)
    name = " ".join(text.lower().split())
    found = TYPES.get(ALIASES.get(name, name))
    digits = DECIMAL.fullmatch(name)
    if digits is not None and len(name) < LONGEST_DECIMAL:
        return _decimal(int(digits[1] or 10), int(digits[2] or 0), text)
    if found is None:
        inner = re.fullmatch(r"\s*struct\s*<(.*)>\s*", text, re.IGNORECASE | re.DOTALL)
        if inner is not None:
            return _struct(inner[1], text)
        inner = re.fullmatch(r"\s*array\s*<(.*)>\s*", text, re.IGNORECASE | re.DOTALL)
        if inner is not None:
            return pa.list_(parse_type(inner[1]))
        inner = re.fullmatch(r"\s*map\s*<(.*)>\s*", text, re.IGNORECASE | re.DOTALL)
        if inner is not None:
            return _map(inner[1], text)
        raise AuroraError(f"unknown type '{text.strip()}': the types are {KNOWN}")
    return found


def _decimal(precision: int, scale: int, text: str) -> pa.DataType:
    if not 1 <= precision <= MOST_DIGITS or scale > precision:
        raise AuroraError(
            f"'{text.strip()}': a decimal(p,s) has 1 to {MOST_DIGITS} digits, s of them after the point, as in "
            "decimal(10,2)"
        )
    return pa.decimal128(precision, scale)


def _map(inner: str, text: str) -> pa.DataType:
    comma = _type_end(inner, 0, len(inner))
    key = None if comma is None else inner[:comma]
    if comma is None or comma == len(inner) or parse_type(str(key)) != STRING:
        raise AuroraError(f"'{text.strip()}': a map has strings as its keys, as in map<string, double>")
    return pa.map_(STRING, parse_type(inner[comma + 1 :]))


def _struct(inner: str, text: str) -> pa.DataType:
    fields = parse_fields(inner)
    names = [field.name for field in fields]
    for name in names:
        if names.count(name) > 1:
            raise AuroraError(f"field '{name}' appears twice in '{text.strip()}': rename one of the two")
    return pa.struct(fields)


def parse_fields(text: str) -> list[pa.Field]:
    """The fields of "name type, name: type NOT NULL"; a name with other characters stands in backquotes."""
    check_nesting(text)
    fields: list[pa.Field] = []
    position, end = 0, len(text.rstrip())
    while position < end:
        match = FIELD.match(text, position, end)
        stop = None if match is None else _type_end(text, match.end(), end)
        if match is None or stop is None:
            raise AuroraError(
                f"cannot read '{text[position:end].strip()}' in the schema '{text.strip()}': "
                "write it as 'name type, name type'"
            )
        quoted_name, plain, _ = match.groups()
        name = plain if quoted_name is None else quoted_name.replace("``", "`")
        check_characters(name, "schema")
        kind = text[match.end() : stop]
        plain_kind = NOT_NULL.sub("", kind)
        try:
            fields.append(pa.field(name, parse_type(plain_kind), nullable=plain_kind == kind))
        except AuroraError as fault:
            raise AuroraError(f"field '{name}': {fault}") from None
        position = stop + 1
    return fields


def _type_end(text: str, start: int, end: int) -> int | None:
    """Where the type that begins at `start` ends: at a comma outside of all brackets, or with the text."""
    depth = 0
    for mark in MARK.finditer(text, start, end):
        if mark[0] == "," and depth == 0:
            return mark.start()
        if mark[0] == "`" or (mark[0][0] == "`" and depth == 0):
            return None
        depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(mark[0], 0)
        if depth < 0:
            return None
    return end if depth == 0 else None


def is_struct(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_struct(arrow))


def is_array(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_list(arrow))


def is_decimal(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_decimal128(arrow))


def is_map(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_map(arrow))


def is_nested(arrow: pa.DataType) -> bool:
    """Whether it holds other values, so that it is not compared, and no key."""
    return is_struct(arrow) or is_array(arrow) or is_map(arrow)


def struct_fields(arrow: pa.DataType) -> dict[str, pa.DataType]:
    """The fields of a struct, in order."""
    return {field.name: field.type for field in arrow}


def quoted(name: str) -> str:
    """The name as it is written in schemas and expressions: in backquotes if it needs them."""
    return name if PLAIN_NAME.fullmatch(name) else backquoted(name)


def backquoted(name: str) -> str:
    """The name as it can be written everywhere, even if it is a word of SQL."""
    return "`" + name.replace("`", "``") + "`"


def type_name(arrow: pa.DataType) -> str:
    """The SQL name of a type.

    >>> type_name(pa.int32())
    'int'
    >>> type_name(pa.struct({"id": pa.int64()}))
    'struct<id: bigint>'
    """
    if is_struct(arrow):
        for field in arrow:
            check_characters(field.name, "struct")
        inner = ", ".join(
            f"{quoted(field.name)}: {type_name(field.type)}{'' if field.nullable else ' NOT NULL'}"
            for field in arrow
        )
        return f"struct<{inner}>"
    if is_array(arrow):
        return f"array<{type_name(arrow.value_type)}>"
    if is_map(arrow):
        return f"map<{type_name(arrow.key_type)}, {type_name(arrow.item_type)}>"
    if is_decimal(arrow):
        return f"decimal({arrow.precision},{arrow.scale})"
    name = NAMES.get(arrow)
    if name is None:
        raise AuroraError(f"no SQL type holds Arrow's {arrow}: the types are {KNOWN}")
    return name
