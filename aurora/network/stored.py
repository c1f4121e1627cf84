"""The addresses of stored sets of tuples, and the schemas that such a set has by itself."""

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from glob import glob
from pathlib import Path
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.parquet

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    is_decimal,
    is_struct,
)
from aurora.errors import AuroraError, did_you_mean

__all__ = [
    "check_address",
    "check_no_password",
    "files_opened",
    "host_of",
    "place_of_files",
    "read_stored_schema",
    "split_table",
]

FORMS = "parquet:PATH, csv:PATH, json:PATH, sqlite:FILE?table=NAME or postgres:HOST:PORT/DATABASE/TABLE"
TABLE = re.compile(r"(.+?)\?table=([^&]+)", re.DOTALL)
GIVE = 'give its schema: "Field type, .."'


def check_address(address: object, where: str) -> str:
    """The address, if it is one of a set that can be read again and again."""
    kind, colon, place = address.partition(":") if isinstance(address, str) else ("", "", "")
    if kind in ("postgres", "postgresql"):
        check_no_password(place, where)
    if not colon or kind not in ("parquet", "csv", "json", "sqlite", "postgres") or not place or place == "-":
        raise AuroraError(f"{where}: '{address}' is not the address of a stored set; write {FORMS}")
    if kind == "sqlite":
        split_table(place, where)
    return f"{kind}:{place}"


def place_of_files(address: str) -> str | None:
    """Return the file, folder or pattern of a stored set; None for one in a database on a server."""
    kind, _, place = address.partition(":")
    if kind in ("postgres", "postgresql"):
        return None
    if kind == "sqlite":
        found = TABLE.fullmatch(place)
        return place if found is None else found[1]
    # The text formats have options behind a question mark.
    return place if kind == "parquet" else place.partition("?")[0]


def files_opened(address: str, where: str) -> Iterator[str]:
    """Yield what is opened to find the fields of a stored set: its path, then the file that is really read."""
    path = place_of_files(address)
    if path is not None:
        yield path
        if address.startswith("parquet:"):
            yield _first_file(path, where)


def host_of(address: str) -> str | None:
    """Return HOST:PORT of the server of a stored set; None for files."""
    kind, _, place = address.partition(":")
    return unquote(place.partition("/")[0]) if kind in ("postgres", "postgresql") else None


def check_no_password(place: str, where: str) -> None:
    """Raises a fault that does not show it if there is a user or a password in the address of a database."""
    before, _, options = place.partition("?")
    if "@" in before or any(re.match(r"(?i)(?:pg)?(?:user|pass)", option) for option in options.split("&")):
        raise AuroraError(
            f"{where}: an address must not contain a user or a password, because others can see it: put them into "
            "PGUSER and PGPASSWORD, into ~/.pgpass, or into a service and write ?service=NAME"
        )


def split_table(place: str, where: str) -> tuple[str, str]:
    """The file and the table of FILE?table=NAME."""
    found = TABLE.fullmatch(place)
    if found is None:
        raise AuroraError(f"{where}: 'sqlite:{place}' names no table; write sqlite:FILE?table=NAME")
    return found[1], found[2]


def read_stored_schema(address: str, where: str) -> Schema:
    """What the files, or the database, say about the fields."""
    kind, _, place = address.partition(":")
    try:
        if kind == "parquet":
            return _parquet_schema(place, where)
        if kind == "sqlite":
            return _sqlite_schema(*split_table(place, where), where)
    except ValueError as fault:
        raise AuroraError(f"{where}: {place} cannot be read: {fault}; check the path") from None
    if kind == "postgres":
        raise AuroraError(f"{where}: the schema of a PostgreSQL table must be given; {GIVE}")
    raise AuroraError(f"{where}: {kind.upper()} has no types of its own; {GIVE}")


def _parquet_schema(place: str, where: str) -> Schema:
    path = _first_file(place, where)
    try:
        fields = pyarrow.parquet.read_schema(path)
    except (OSError, pa.ArrowException) as fault:
        reason = (isinstance(fault, OSError) and fault.strerror) or str(fault).partition("\n")[0]
        raise AuroraError(f"{where}: {path} cannot be read as Parquet: {reason}") from None
    found = []
    for field in fields:
        kind = _plain_type(field.type)
        if kind is None:
            raise AuroraError(
                f"{where}: field {field.name} of {path} is {field.type}, which no field of a stream can be; "
                f"{GIVE} without it"
            )
        found.append((field.name, kind))
    return _schema(found, path, where)


def _first_file(place: str, where: str) -> str:
    """The file itself, or the first one of the folder or pattern."""
    if "*" in place:
        files = sorted(path for path in glob(place) if os.path.isfile(path))
    elif os.path.isdir(place):
        entries = sorted(Path(place).iterdir())
        files = [str(path) for path in entries if path.is_file() and not path.name.startswith((".", "_"))]
    else:
        files = [place] if os.path.isfile(place) else []
    if not files:
        has = "has no files" if os.path.isdir(place) else "is not a file"
        raise AuroraError(f"{where}: {place} {has}; check the path, or {GIVE}")
    return files[0]


WIDER = {pa.uint8(): SMALLINT, pa.uint16(): INT, pa.uint32(): BIGINT, pa.float16(): FLOAT}
SAME = (BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, STRING)


def _plain_type(kind: pa.DataType) -> pa.DataType | None:
    """The type of a field that holds all values of this type of Arrow, if there is one."""
    if kind in SAME:
        return kind
    if kind in WIDER:
        return WIDER[kind]
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return STRING
    if pa.types.is_date(kind):
        return DATE
    if is_decimal(kind):
        return kind
    if pa.types.is_timestamp(kind):
        return TIMESTAMP
    if pa.types.is_dictionary(kind):
        return _plain_type(kind.value_type)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        element = _plain_type(kind.value_type)
        return None if element is None else pa.list_(element)
    if pa.types.is_map(kind) and _plain_type(kind.key_type) == STRING:
        item = _plain_type(kind.item_type)
        return None if item is None else pa.map_(STRING, item)
    if is_struct(kind):
        inner = [(field.name, _plain_type(field.type)) for field in kind]
        return None if any(own is None for _, own in inner) else pa.struct(inner)
    return None


# What the declared types of columns begin with, or hold, as in SQLite's rules of affinity.
DECLARED = (
    (re.compile(r"BOOL"), BOOLEAN),
    (re.compile(r"DATETIME|TIMESTAMP"), TIMESTAMP),
    (re.compile(r"DATE$"), DATE),
    (re.compile(r".*INT"), BIGINT),
    (re.compile(r".*(?:CHAR|CLOB|TEXT|JSON)"), STRING),
    (re.compile(r".*(?:REAL|FLOA|DOUB)"), DOUBLE),
)


def _sqlite_schema(file: str, table: str, where: str) -> Schema:
    if not os.path.isfile(file):
        raise AuroraError(f"{where}: there is no file {file}; check the path, or {GIVE}")
    try:
        with closing(sqlite3.connect(f"file:{quote(os.path.abspath(file))}?mode=ro", uri=True)) as database:
            columns = database.execute("SELECT name, type FROM pragma_table_info(?)", [table]).fetchall()
            listed = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
            tables = [str(name) for (name,) in listed]
    except sqlite3.Error as fault:
        raise AuroraError(f"{where}: {file} cannot be read as an SQLite database: {fault}") from None
    if table not in tables:
        known = f"there are {', '.join(tables)}" if tables else "it has none"
        raise AuroraError(f"{where}: {file} has no table {table}{did_you_mean(table, tables)}; {known}")
    found = []
    for name, declared in columns:
        kind = next((own for form, own in DECLARED if form.match(str(declared).upper())), None)
        if kind is None:
            what = f"declared as {declared}" if declared else "declared without a type"
            raise AuroraError(f"{where}: column {name} of {table} is {what}; {GIVE}")
        found.append((str(name), kind))
    return _schema(found, file, where)


def _schema(fields: list[tuple[str, pa.DataType]], place: str, where: str) -> Schema:
    if not fields:
        raise AuroraError(f"{where}: {place} has no fields; check the path")
    try:
        return Schema(fields)
    except AuroraError as fault:
        raise AuroraError(f"{where}: {place}: {fault}") from None
