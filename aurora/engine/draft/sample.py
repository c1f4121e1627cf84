"""What is in a file: its address with all that must be said about it, its schema, and its first rows."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import DOUBLE, STRING, is_decimal, type_name
from aurora.engine.address_options import without_secrets
from aurora.engine.draft.csv_style import DRAFT, read_style
from aurora.engine.draft.json_fields import find_fields, read_objects
from aurora.engine.draft.names import is_money
from aurora.engine.draft.piped import keep_beginning
from aurora.engine.draft.text_types import find_odd, money_type, type_of_texts
from aurora.engine.kafka.address import is_kafka
from aurora.engine.mqtt.address import is_mqtt
from aurora.engine.paths import check_local
from aurora.engine.postgres.address import is_postgres
from aurora.engine.sources.address import check_source, open_source
from aurora.engine.sources.address_text import read_address
from aurora.engine.sources.files.file_list import list_files
from aurora.engine.sources.files.unpack import is_packed, open_packed
from aurora.engine.sources.source import Reject, Source
from aurora.engine.sources.text.csv_records import UTF_8
from aurora.engine.sources.text.lines import Style
from aurora.engine.sources.text.patterns import read_groups
from aurora.engine.sources.text.suggested_fixes import PACKED, UNZIP, ZIP
from aurora.engine.sources.text.time_patterns import find_pattern
from aurora.errors import AuroraError
from aurora.network.stored import read_stored_schema

__all__ = ["Sample", "guess_address", "look_at", "read_first"]

BYTES, ROWS = 4 << 20, 10_000
STYLE = ("delimiter", "decimal", "header", "null", "encoding")
KINDS = {".csv": "csv", ".tsv": "csv", ".txt": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json"}
KINDS |= {".parquet": "parquet", ".pq": "parquet"}


@dataclass(frozen=True)
class Sample:
    """The address, schema and first rows of a file.

    `patterns` are those by which fields of text are times; `left_out` are fields that no type holds; `notes` are what
    its user should know about single fields.
    """

    address: str
    schema: Schema
    rows: pa.RecordBatch
    rejects: tuple[Reject, ...] = ()
    patterns: dict[str, str] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def look_at(given: str, rows: int = ROWS, purpose: str = DRAFT) -> Sample:
    """The sample of a file, a folder or an address; `purpose` is for the fault where there is nothing."""
    if is_kafka(given) or is_mqtt(given) or is_postgres(given):
        raise AuroraError(
            f"{without_secrets(given)}: only csv:, json:, parquet: and sqlite: can be looked at without a schema; "
            "write a network that has one, and add --source NAME=ADDRESS"
        )
    address = guess_address(given)
    check_source("file", address)
    text = read_address("file", address)
    if text.kind == "tcp" or text.is_pipe:
        raise AuroraError(f"{given} cannot be read twice; save some of it to a file first")
    patterns: dict[str, str] = {}
    left_out: list[str] = []
    notes: list[str] = []
    if text.kind in ("parquet", "sqlite"):
        schema = read_stored_schema(address, text.place)
    else:
        first = _first_file(text.place)
        data = _beginning(first)
        _check_text(first, data)
        if text.kind == "json":
            objects = read_objects(data, os.path.basename(first), purpose)
            fields, left_out = find_fields(objects)
            numbers = {name: _numbers(objects, name) for name, kind in fields.items() if kind == DOUBLE}
            schema = _with_money(Schema.of(fields), numbers)
        else:
            if text.style.pattern is not None:
                columns = read_groups(data, text.style.pattern)
            else:
                style, columns = read_style(data, os.path.basename(first), text.style, purpose)
                address = _with_style(address, text.place, style)
            texts = {name: [cell for cell in cells if cell is not None] for name, cells in columns.items()}
            schema = _with_money(Schema.of({name: type_of_texts(own) for name, own in texts.items()}), texts)
            found = {name: find_pattern(own) for name, own in texts.items() if schema[name] == STRING}
            patterns = {name: pattern for name, pattern in found.items() if pattern is not None}
            for name, own in texts.items():
                odd = find_odd(own) if schema[name] == STRING and name not in patterns else None
                notes += [_tell_odd(name, *odd, len(own))] if odd is not None else []
        notes += [
            f"{name} is taken for money and is exact; a value with more decimals is a reject, unless it is a double."
            for name in schema.names
            if is_decimal(schema[name])
        ]
    batch, rejects = read_first(address, schema, rows)
    if rejects and not batch.num_rows:
        bad = rejects[0]
        line = f"line {bad.line}: " if bad.line else ""
        raise AuroraError(f"{bad.file}: no row can be read; {line}{bad.reason}")
    return Sample(address, schema, batch, rejects, patterns, tuple(left_out), tuple(notes))


def _with_money(schema: Schema, texts: Mapping[str, Sequence[str]]) -> Schema:
    """Return the schema with decimals for doubles that are money, as their names and their digits tell."""
    kinds = {name: schema[name] for name in schema.names}
    for name, kind in kinds.items():
        money = money_type(texts[name]) if kind == DOUBLE and is_money(name) else None
        kinds[name] = kind if money is None else money
    return Schema.of(kinds)


def _numbers(objects: Sequence[Mapping[str, Any]], name: str) -> list[str]:
    return [repr(each[name]) for each in objects if each.get(name) is not None]


def _tell_odd(name: str, kind: pa.DataType, odd: Sequence[str], count: int) -> str:
    """Return what to do about a field that is text for the sake of a few values."""
    word = type_name(kind)
    values = "1 value" if len(odd) == 1 else f"{len(odd)} values"
    kinds = f"is no {word}" if len(odd) == 1 else f"are no {word}s"
    return (
        f"{name} is text, because {values} of {count:,} {kinds}, as '{odd[0]}'. Declare it {word} and such rows are "
        "rejects; with ?unreadable=null they are kept, without the value."
    )


def _check_text(path: str, data: bytes) -> None:
    """Raise a fault if a file is an archive, or compressed without a name that says so."""
    label = os.path.basename(path)
    if data.startswith(ZIP):
        raise AuroraError(f"{label}: {UNZIP}")
    packed = next((ending for sign, ending in PACKED.items() if data.startswith(sign)), None)
    if packed is not None:
        raise AuroraError(f"{label} is compressed: give it a name that ends in {packed}")


def guess_address(given: str) -> str:
    """The address of a path, by the ending of its name, or else by its first bytes; an address stays what it is."""
    if given.partition(":")[0] in ("csv", "json", "lines", "parquet", "sqlite", "tcp"):
        return given
    check_local("the file", given)
    if not os.path.exists(given) and "*" not in given:
        raise AuroraError(f"there is no file {without_secrets(given)}; check the path")
    path = Path(_first_file(given))
    ending = path.with_suffix("").suffix if is_packed(path.name) else path.suffix
    kind = KINDS.get(ending.lower())
    if kind is None:
        start = _beginning(str(path))[:100].lstrip()
        kind = "parquet" if start.startswith(b"PAR1") else "json" if start.startswith((b"{", b"[")) else "csv"
    return f"{kind}:{given}"


def read_first(address: str, schema: Schema, rows: int) -> tuple[pa.RecordBatch, tuple[Reject, ...]]:
    """The first rows as a run would read them, and what it would reject among them."""
    with tempfile.TemporaryDirectory(prefix="aurora-look-") as folder:
        Path(folder, "beginning").mkdir()
        source: Source
        kept = keep_beginning("file", address, rows, Path(folder, "beginning"))
        source, _ = open_source("file", kept, schema, False, Path(folder))
        start = source.begin()
        pieces = source.pieces(start, source.advance(start, rows), 1)
        portions = [piece.read(schema) for piece in pieces]
    empty = pa.RecordBatch.from_pylist([], schema.arrow())
    found = pa.concat_batches([empty, *(portion.rows for portion in portions)])
    return found, tuple(reject for portion in portions for reject in portion.rejects)


def _first_file(place: str) -> str:
    if "*" not in place and not os.path.isdir(place):
        return place
    files = list_files(place)
    if not files:
        raise AuroraError(f"{place} has no files; check the path")
    return files[0]


def _beginning(path: str) -> bytes:
    """The first bytes, up to the end of a line where there are more."""
    try:
        with open_packed(path) as file:
            data = file.read(BYTES)
    except (OSError, EOFError) as fault:
        raise AuroraError(f"{path} cannot be read: {str(fault).splitlines()[0]}") from None
    if len(data) < BYTES:
        return data
    return data[: data.rfind(b"\n") + 1] or data


def _with_style(address: str, place: str, style: Style) -> str:
    """Return an address with the options that a style needs, and those given that have nothing to do with it."""
    given = address.removeprefix(f"csv:{place}").partition("?")[2]
    kept = [option for option in given.split("&") if option and option.partition("=")[0] not in STYLE]
    delimiter = "tab" if style.delimiter == "\t" else style.delimiter
    options = [] if style.delimiter == "," else [f"delimiter={delimiter}"]
    options += [] if style.header is None else [f"header={'yes' if style.header else 'no'}"]
    options += [] if style.decimal == "." else [f"decimal={style.decimal}"]
    options += [f"null={','.join(style.nulls)}"] if style.nulls else []
    options += [] if style.encoding == UTF_8 else [f"encoding={style.encoding}"]
    options += kept
    return f"csv:{place}" + ("?" + "&".join(options) if options else "")
