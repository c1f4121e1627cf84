"""The SQL types of the fields: each one is a `pyarrow.DataType` under its SQL name."""

import pyarrow as pa

from aurora.errors import AuroraError

__all__ = [
    "BIGINT",
    "BOOLEAN",
    "DATE",
    "DOUBLE",
    "FLOAT",
    "INT",
    "SMALLINT",
    "STRING",
    "TIMESTAMP",
    "TINYINT",
    "VOID",
    "parse_type",
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

NAMES = {arrow: name for name, arrow in TYPES.items()} | {VOID: "void"}


def parse_type(text: str) -> pa.DataType:
    """The type of that SQL name, in any case.

    >>> parse_type("BIGINT")
    DataType(int64)
    """
    name = " ".join(text.lower().split())
    found = TYPES.get(ALIASES.get(name, name))
    if found is None:
        raise AuroraError(f"unknown type '{text.strip()}': the types are {', '.join(TYPES)}")
    return found


def type_name(arrow: pa.DataType) -> str:
    """The SQL name of a type.

    >>> type_name(pa.int32())
    'int'
    """
    name = NAMES.get(arrow)
    if name is None:
        raise AuroraError(f"no SQL type holds Arrow's {arrow}: the types are {', '.join(TYPES)}")
    return name
