"""Addresses of sinks: csv:PATH, json:PATH, parquet:PATH, console, or a function."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Ints
from aurora.engine.sinks.encode import csv_header, to_csv, to_json
from aurora.engine.sinks.parts import PartSink
from aurora.engine.sinks.text import TextSink
from aurora.errors import AuroraError

__all__ = ["CallbackSink", "Sink", "open_sink"]

Callback = Callable[[pa.RecordBatch], Any]


@dataclass(frozen=True)
class CallbackSink:
    """Calls a function of the user's with the rows of each batch; after a crash a batch may come again."""

    function: Callback


Sink = TextSink | PartSink | CallbackSink


def open_sink(name: str, address: object, schema: Schema) -> Sink:
    """A path that ends in .csv or .jsonl is one file, any other a folder of parts."""
    if isinstance(address, TextSink):
        # Other processes may have another working folder.
        return replace(address, path=os.path.abspath(address.path))
    if callable(address):
        return CallbackSink(address)
    text = str(address)
    if text == "console":
        return CallbackSink(_Console(name))
    kind, colon, path = text.partition(":")
    if not colon or kind not in ("csv", "json", "parquet") or not path:
        raise AuroraError(
            f"sink {name}: '{text}' is no address; write csv:PATH, json:PATH, parquet:PATH or console"
        )
    path = os.path.abspath(path)
    whole = (kind == "csv" and path.endswith(".csv")) or (kind == "json" and path.endswith(".jsonl"))
    parent = path
    while not os.path.exists(parent):
        parent = os.path.dirname(parent)
    if not os.access(parent, os.W_OK):
        raise AuroraError(f"sink {name}: {parent} cannot be written to; choose another path")
    if whole and os.path.isdir(path):
        raise AuroraError(f"sink {name}: {path} is a folder; name a file in it")
    if not whole and os.path.exists(path) and not os.path.isdir(path):
        raise AuroraError(f"sink {name}: {path} is a file; a folder of parts needs another name")
    if not whole:
        return PartSink(path, kind)
    if kind == "csv":
        return TextSink(path, _csv_lines, csv_header(schema.arrow()), in_tasks=True)
    return TextSink(path, _json_lines, in_tasks=True)


def _csv_lines(rows: pa.RecordBatch, arrived: Ints) -> bytes:
    return to_csv(rows)


def _json_lines(rows: pa.RecordBatch, arrived: Ints) -> bytes:
    return to_json(rows)


class _Console:
    """Prints rows as CSV with the output's name in front, so that they can be piped."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, rows: pa.RecordBatch) -> None:
        for line in to_csv(rows).decode().splitlines():
            print(f"{self._name}: {line}", flush=True)
