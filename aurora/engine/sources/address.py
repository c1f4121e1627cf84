"""Addresses of sources: csv:PATH, json:PATH, parquet:PATH, tcp:HOST:PORT, or a source object."""

import glob
import os
from pathlib import Path

import pyarrow as pa

from aurora.algebra.tuples.schema import Schema
from aurora.engine.sources.files import LineFiles
from aurora.engine.sources.memory import Memory
from aurora.engine.sources.paced import Paced, PacedSource
from aurora.engine.sources.parquet import ParquetFiles
from aurora.engine.sources.source import Source
from aurora.engine.sources.tcp import Receiver
from aurora.errors import AuroraError

__all__ = ["check_source", "open_source", "read_table"]

KINDS = ("csv", "json", "parquet", "tcp")


def check_source(name: str, address: object) -> None:
    """Raises a fault unless the address can be read; before Spark starts."""
    if isinstance(address, Paced):
        address = address.address
    if isinstance(address, Source):
        return
    kind, place = _split(name, address)
    if kind == "tcp":
        _host_and_port(name, place)
    elif "*" in place:
        if not glob.glob(place):
            raise AuroraError(f"source {name}: there is no file {place}; check the path")
    elif not os.path.exists(place):
        raise AuroraError(f"source {name}: there is no {place}; check the path")
    elif not os.access(place, os.R_OK):
        raise AuroraError(f"source {name}: {place} cannot be read; check its permissions")


def open_source(
    name: str, address: object, schema: Schema, follow: bool, notes: Path
) -> tuple[Source, Receiver | None]:
    """The source, and the thread that feeds it if it is a socket. `notes` is a folder for what restarts need."""
    if isinstance(address, Paced):
        source, receiver = open_source(name, address.address, schema, follow, notes)
        return PacedSource(source, address.rate, wait=address.wait, lose=address.lose), receiver
    if isinstance(address, Memory):
        if address.schema != schema:
            raise AuroraError(f"source {name}: has ({address.schema}), the input has ({schema})")
        return address, None
    if isinstance(address, Source):
        return address, None
    kind, place = _split(name, address)
    if kind == "tcp":
        host, port = _host_and_port(name, place)
        spool, ended = notes / f"{name}.lines", notes / f"{name}.ended"
        receiver = Receiver(host, port, spool, ended)
        return LineFiles(str(spool), "lines", schema, ended_mark=str(ended)), receiver
    path = os.path.abspath(place)
    order = str(notes / f"{name}.files")
    if kind == "parquet":
        return ParquetFiles(path, schema, follow, order), None
    return LineFiles(path, kind, schema, follow, order), None


def read_table(name: str, address: object, schema: Schema) -> pa.RecordBatch:
    """All rows of a static table; a bad row is a fault, because every answer may depend on it."""
    check_source(name, address)
    if not isinstance(address, Source) and _split(name, address)[0] == "tcp":
        raise AuroraError(f"table {name}: a table cannot come from a socket; give a file")
    source, _ = open_source(name, address, schema, False, Path("."))
    if isinstance(source, LineFiles | ParquetFiles):
        source.notes = None
    end = source.advance(source.begin(), 2**62)
    batches = []
    for piece in source.pieces(source.begin(), end, 1):
        portion = piece.read(schema)
        if portion.rejects:
            bad = portion.rejects[0]
            raise AuroraError(f"table {name}: {bad.file}, line {bad.line}: {bad.reason}")
        batches.append(portion.rows)
    return pa.concat_batches(batches) if batches else pa.RecordBatch.from_pylist([], schema.arrow())


def _split(name: str, address: object) -> tuple[str, str]:
    kind, colon, place = str(address).partition(":")
    if not colon or kind not in KINDS or not place:
        raise AuroraError(
            f"source {name}: '{address}' is no address; write csv:PATH, json:PATH, parquet:PATH or tcp:HOST:PORT"
        )
    return kind, place


def _host_and_port(name: str, place: str) -> tuple[str, int]:
    host, _, port = place.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise AuroraError(
            f"source {name}: 'tcp:{place}' needs a host and a port, for example tcp:localhost:9000"
        )
    return host, int(port)
