"""Addresses of sinks: csv:PATH, json:PATH, parquet:PATH, kafka:HOST:PORT/TOPIC, mqtt:HOST:PORT/TOPIC,
postgres:HOST:PORT/DATABASE/TABLE, console, a function, or an object."""

import os
import re
from dataclasses import replace
from functools import partial
from shlex import quote

import pyarrow as pa

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Ints
from aurora.engine.address_options import read_options, without_secrets
from aurora.engine.kafka.address import is_kafka
from aurora.engine.kafka.sink import open_kafka_sink
from aurora.engine.mqtt.address import is_mqtt
from aurora.engine.mqtt.sink import open_mqtt_sink
from aurora.engine.paths import check_local
from aurora.engine.postgres.address import is_postgres
from aurora.engine.postgres.sink import open_postgres_sink
from aurora.engine.sinks.function import FunctionSink, Printer
from aurora.engine.sinks.notation import CSV_OPTIONS, OPTIONS, Notation, read_notation
from aurora.engine.sinks.parts import PartSink
from aurora.engine.sinks.rejects import RejectsSink
from aurora.engine.sinks.rows import Rows
from aurora.engine.sinks.sink import Sink
from aurora.engine.sinks.text import TextSink
from aurora.engine.sources.source import REJECTS
from aurora.errors import AuroraError, did_you_mean

__all__ = ["absolute_address", "open_rejects", "open_sink", "sink_path"]

# The kinds of sinks that write files, and the ending of a file of each.
FILES = {"csv": ".csv", "json": ".jsonl", "parquet": ""}
BEFORE_OPTIONS = re.compile(r"(.+?)\?(\w+=[^&]*(?:&\w+=[^&]*)*)", re.DOTALL)
PACKED = (".gz", ".zst", ".bz2", ".zip", ".xz")
# What a name ends in that is one of a file: rows.txt, not rows or rows.2026.
ENDING = re.compile(r"\.[A-Za-z]\w{0,7}")


def open_sink(name: str, address: object, schema: Schema) -> Sink:
    """Return the sink of an address: a path with an ending, as .csv, is one file, any other a folder of parts."""
    if isinstance(address, TextSink):
        # Other processes may have another working folder.
        address = replace(address, path=os.path.abspath(address.path))
        _check_writable(name, address.path)
        return address
    if isinstance(address, Rows):
        address.expect(name, schema.arrow())
    if isinstance(address, Sink):
        return address
    if callable(address):
        return FunctionSink(address)
    text = str(address)
    if text == "console" or text.startswith("console?"):
        given = read_options(f"sink {name}", "console", text.partition("?")[2], OPTIONS)
        return FunctionSink(Printer(name, read_notation(f"sink {name}", given)))
    if is_kafka(text):
        return open_kafka_sink(name, text, schema)
    if is_postgres(text):
        return open_postgres_sink(name, text, schema)
    if is_mqtt(text):
        return open_mqtt_sink(name, text, schema)
    kind, colon, path = text.partition(":")
    if not colon or kind not in FILES or not path:
        near = did_you_mean(kind, (*FILES, "kafka", "mqtt", "postgres")) if colon else ""
        raise AuroraError(
            f"sink {name}: '{without_secrets(text)}' is not an address{near}; write csv:PATH, json:PATH, parquet:PATH, "
            "kafka:HOST:PORT/TOPIC, mqtt:HOST:PORT/TOPIC, postgres:HOST:PORT/DATABASE/TABLE or console"
        )
    path, options = _split(path)
    known = {"csv": CSV_OPTIONS, "json": OPTIONS}.get(kind, ())
    if options and not known:
        raise AuroraError(f"sink {name}: {kind} has no options, found ?{options}; leave them out")
    notation = read_notation(f"sink {name}", read_options(f"sink {name}", kind, options, known))
    check_local(f"sink {name}", path)
    whole = _is_one_file(name, kind, path)
    path = os.path.abspath(path)
    _check_writable(name, path)
    _check_folder(name, path)
    if whole and os.path.isdir(path):
        raise AuroraError(f"sink {name}: {path} is a folder; name a file in it")
    if whole and os.path.exists(path) and not os.path.isfile(path):
        raise AuroraError(f"sink {name}: {path} is not a plain file; choose another path")
    if not whole and os.path.exists(path) and not os.path.isdir(path):
        raise AuroraError(
            f"sink {name}: {path} is a file, and this sink writes a folder of parts; choose another name"
        )
    if not whole:
        return PartSink(path, kind, notation)
    if kind == "csv":
        return TextSink(
            path, partial(_csv_lines, notation), notation.csv_header(schema.arrow()), in_tasks=True
        )
    return TextSink(path, partial(_json_lines, notation), in_tasks=True)


def absolute_address(address: str) -> str:
    """The same address for a process with another working folder."""
    kind, colon, path = address.partition(":")
    if not colon or kind not in FILES or not path:
        return address
    path, options = _split(path)
    return f"{kind}:{os.path.abspath(path)}" + (f"?{options}" if options else "")


def sink_path(address: object) -> str | None:
    """The file or folder that is written, as far as it can be told without opening the sink."""
    if not isinstance(address, str):
        place = getattr(address, "place", None)
        return place if isinstance(place, str) else None
    kind, colon, path = address.partition(":")
    return os.path.abspath(_split(path)[0]) if colon and kind in FILES and path else None


def open_rejects(address: str) -> Sink:
    """Bad rows go to one file, which is there only if there are any."""
    sink = open_sink("rejects", address, REJECTS)
    if isinstance(sink, PartSink):
        raise AuroraError(f"rejects go to one file: end its name in .csv or .jsonl, found {sink.path}")
    if isinstance(sink, TextSink):
        sink = RejectsSink(sink.path, sink.encode, sink.header)
        sink.check()
    return sink


def _is_one_file(name: str, kind: str, path: str) -> bool:
    """Whether a path is that of a file; raise a fault if no sink of the kind writes such a file."""
    ending = os.path.splitext(path)[1].lower()
    if path.endswith(os.sep) or not ENDING.fullmatch(ending):
        return False
    if kind == "parquet":
        if os.path.isdir(path):
            return False
        folder = os.path.splitext(path)[0]
        raise AuroraError(
            f"sink {name}: Parquet is written as a folder of parts, and {path} looks like a file; write "
            f"parquet:{folder}"
        )
    if ending in PACKED:
        raise AuroraError(
            f"sink {name}: {path} looks like a compressed file, and sinks do not compress; write "
            f"{kind}:{os.path.splitext(path)[0]}"
        )
    return True


def _check_folder(name: str, path: str) -> None:
    """Raise a fault if more than the last folder of a path would have to be made: then it is misspelt, most likely."""
    folder = os.path.dirname(path)
    around = os.path.dirname(folder)
    if not os.path.isdir(around):
        raise AuroraError(
            f"sink {name}: there is no folder {around}; check the path, or make it with mkdir -p {quote(around)}"
        )


def _check_writable(name: str, path: str) -> None:
    parent = path
    while not os.path.exists(parent):
        parent = os.path.dirname(parent)
    if parent != path and not os.path.isdir(parent):
        raise AuroraError(f"sink {name}: {parent} is a file, so {path} cannot be in it; choose another path")
    if not os.access(parent, os.W_OK):
        raise AuroraError(f"sink {name}: {parent} cannot be written to; choose another path")


def _split(path: str) -> tuple[str, str]:
    """Return a path and the options behind it; a file that is there may have a question mark in its name."""
    found = BEFORE_OPTIONS.fullmatch(path)
    return (path, "") if found is None or os.path.exists(path) else (found[1], found[2])


def _csv_lines(notation: Notation, rows: pa.RecordBatch, arrived: Ints) -> bytes:
    return notation.to_csv(rows)


def _json_lines(notation: Notation, rows: pa.RecordBatch, arrived: Ints) -> bytes:
    return notation.to_json(rows)
