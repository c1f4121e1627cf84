"""Addresses of sources: csv:PATH, json:PATH, parquet:PATH, tcp:HOST:PORT, or a source object."""

import glob
import os
import re
import stat
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from aurora.algebra.tuples.schema import Schema
from aurora.engine.sources.files import LineFiles
from aurora.engine.sources.lines import Style, check_flat
from aurora.engine.sources.memory import Memory
from aurora.engine.sources.paced import Wrapping
from aurora.engine.sources.parquet import ParquetFiles
from aurora.engine.sources.receivers import PipeReceiver, Receiver, TcpReceiver
from aurora.engine.sources.source import Source
from aurora.engine.sources.spool import SpooledLines, SpoolWriter
from aurora.engine.sources.stored import store_if_large
from aurora.errors import AuroraError
from aurora.network.amounts import duration

__all__ = ["check_source", "open_source", "read_table", "source_path"]

# The kinds of addresses, and the options that may stand behind a question mark.
KINDS: dict[str, tuple[str, ...]] = {
    "csv": ("delimiter", "header"),
    "json": (),
    "parquet": (),
    "tcp": ("delimiter", "header", "reconnect"),
}
OPTIONS = re.compile(r"(.+?)\?(\w+=[^&]*(?:&\w+=[^&]*)*)", re.DOTALL)
DELIMITERS = {"tab": "\t", "\\t": "\t"}


@dataclass(frozen=True)
class _Address:
    name: str
    kind: str
    place: str
    options: dict[str, str] = field(default_factory=dict)

    @property
    def style(self) -> Style:
        given = self.options.get("delimiter", ",")
        delimiter = DELIMITERS.get(given, given)
        if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
            raise AuroraError(
                f"source {self.name}: a delimiter is one character, such as ; or tab, found '{given}'"
            )
        header = self.options.get("header", "").lower()
        if header not in ("", "true", "false"):
            raise AuroraError(f"source {self.name}: header is true or false, found '{header}'")
        kind = "lines" if self.kind == "tcp" else self.kind
        return Style(kind, delimiter, {"true": True, "false": False}.get(header))

    @property
    def reconnect(self) -> float:
        given = self.options.get("reconnect")
        return 0.0 if given is None else duration(given, f"source {self.name}: reconnect") / 1000

    @property
    def is_pipe(self) -> bool:
        """Whether its bytes come once, and in their order: standard input, a named pipe, a device."""
        if self.kind == "tcp" or "*" in self.place:
            return False
        if self.place == "-":
            return True
        try:
            mode = os.stat(self.place).st_mode
        except OSError:
            return False
        return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def check_source(name: str, address: object) -> None:
    """Raises a fault unless the address can be read; before Spark starts."""
    while isinstance(address, Wrapping):
        address = address.address
    if isinstance(address, Source):
        return
    given = _read_address(name, address)
    place = given.place
    assert given.style and given.reconnect >= 0
    if given.kind == "tcp":
        _host_and_port(name, place)
    elif given.is_pipe:
        if given.kind == "parquet":
            raise AuroraError(f"source {name}: Parquet cannot come from a pipe, as {place} is; give a file")
    elif "*" in place:
        if not glob.glob(place):
            raise AuroraError(f"source {name}: there is no file {place}; check the path")
    elif not os.path.exists(place):
        raise AuroraError(f"source {name}: there is no {place}; check the path")
    elif not os.access(place, os.R_OK):
        raise AuroraError(f"source {name}: {place} cannot be read; check its permissions")


def source_path(name: str, address: object) -> str | None:
    """The file, folder or pattern that is read; None for a socket, a pipe, or an object."""
    while isinstance(address, Wrapping):
        address = address.address
    if isinstance(address, Source):
        return None
    given = _read_address(name, address)
    return None if given.kind == "tcp" or given.is_pipe else given.place


def open_source(
    name: str, address: object, schema: Schema, follow: bool, notes: Path
) -> tuple[Source, Receiver | None]:
    """The source, and the thread that feeds it if it is a socket or a pipe.

    `notes` is a folder for what restarts need.
    """
    if isinstance(address, Wrapping):
        source, receiver = open_source(name, address.address, schema, follow, notes)
        return address.wrap(source), receiver
    if isinstance(address, Memory):
        if address.schema != schema:
            raise AuroraError(f"source {name}: has ({address.schema}), the input has ({schema})")
        return store_if_large(address, notes / f"{name}.arrow"), None
    if isinstance(address, Source):
        return address, None
    given = _read_address(name, address)
    if given.kind == "tcp" or given.is_pipe:
        return _open_spool(given, schema, notes / f"{name}.spool")
    return _open_files(given, schema, follow, str(notes / f"{name}.files"), notes / f"{name}.unpacked"), None


def _open_files(
    given: _Address, schema: Schema, follow: bool, order: str | None, unpacked: Path
) -> LineFiles | ParquetFiles:
    # A path such as /dev/stdin means another file in another process.
    special = given.place.startswith(("/dev/", "/proc/"))
    path = os.path.realpath(given.place) if special else os.path.abspath(given.place)
    if given.kind == "parquet":
        return ParquetFiles(path, schema, follow, order)
    style = given.style
    source = LineFiles(path, given.kind, schema, follow, order, style.delimiter, style.header, str(unpacked))
    source.check()
    return source


def _open_spool(given: _Address, schema: Schema, folder: Path) -> tuple[Source, Receiver]:
    if given.kind == "csv":
        check_flat(schema, given.place)
    writer = SpoolWriter(folder)
    receiver: Receiver
    if given.kind == "tcp":
        host, port = _host_and_port(given.name, given.place)
        receiver = TcpReceiver(host, port, writer, reconnect=given.reconnect)
    else:
        receiver = PipeReceiver("-" if given.place == "/dev/stdin" else given.place, writer)
    return SpooledLines(str(folder), receiver.label, given.style, schema), receiver


def read_table(name: str, address: object, schema: Schema) -> pa.RecordBatch:
    """All rows of a static table; a bad row is a fault, because every answer may depend on it."""
    check_source(name, address)
    if isinstance(address, Source):
        return _read_all(name, address, schema)
    given = _read_address(name, address)
    if given.kind == "tcp" or given.is_pipe:
        raise AuroraError(f"table {name}: a table cannot come from a socket or a pipe; give a file")
    with tempfile.TemporaryDirectory(prefix="aurora-table-") as folder:
        return _read_all(name, _open_files(given, schema, False, None, Path(folder)), schema)


def _read_all(name: str, source: Source, schema: Schema) -> pa.RecordBatch:
    end = source.advance(source.begin(), 2**62)
    batches = []
    for piece in source.pieces(source.begin(), end, 1):
        portion = piece.read(schema)
        if portion.rejects:
            bad = portion.rejects[0]
            line = f", line {bad.line}" if bad.line else ""
            raise AuroraError(f"table {name}: {bad.file}{line}: {bad.reason}")
        batches.append(portion.rows)
    return pa.concat_batches(batches) if batches else pa.RecordBatch.from_pylist([], schema.arrow())


def _read_address(name: str, address: object) -> _Address:
    kind, colon, place = str(address).partition(":")
    if not colon or kind not in KINDS or not place:
        raise AuroraError(
            f"source {name}: '{address}' is not an address; write csv:PATH, json:PATH, parquet:PATH or tcp:HOST:PORT"
        )
    found = OPTIONS.fullmatch(place)
    if found is None or os.path.exists(place):
        return _Address(name, kind, _standard_input(place))
    options = dict(option.split("=", 1) for option in found[2].split("&"))
    for option in options:
        if option not in KINDS[kind]:
            known = ", ".join(KINDS[kind])
            has = f"the options of {kind} are {known}" if known else f"{kind} has no options"
            raise AuroraError(f"source {name}: there is no option {option}; {has}")
    return _Address(name, kind, _standard_input(found[1]), options)


def _standard_input(place: str) -> str:
    """Standard input that is a file, from its beginning, is read as that file: then a restart goes on in it."""
    if place not in ("-", "/dev/stdin"):
        return place
    try:
        path = os.path.realpath("/dev/stdin")
        at_start = os.path.isfile(path) and os.lseek(0, 0, os.SEEK_CUR) == 0
    except OSError:
        return "-"
    return path if at_start else "-"


def _host_and_port(name: str, place: str) -> tuple[str, int]:
    host, _, port = place.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise AuroraError(
            f"source {name}: 'tcp:{place}' needs a host and a port, for example tcp:localhost:9000"
        )
    return host, int(port)
