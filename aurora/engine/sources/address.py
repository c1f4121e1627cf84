"""Addresses of sources: csv:PATH, json:PATH, lines:PATH?pattern=.., parquet:PATH, sqlite:PATH?table=NAME,
tcp:HOST:PORT, kafka:HOST:PORT/TOPIC, mqtt:HOST:PORT/TOPIC, postgres:HOST:PORT/DATABASE/TABLE, or an object."""

import glob
import logging
import os
import tempfile
from pathlib import Path

import pyarrow as pa

from aurora.algebra.tuples.schema import Schema
from aurora.engine.kafka.address import is_kafka
from aurora.engine.kafka.source import check_kafka, open_kafka
from aurora.engine.kafka.watch import watch_broker
from aurora.engine.mqtt.address import is_mqtt
from aurora.engine.mqtt.source import check_mqtt, open_mqtt
from aurora.engine.paths import check_local
from aurora.engine.postgres.address import SOURCE_OPTIONS, is_postgres, read_postgres
from aurora.engine.postgres.follow import check_postgres, open_postgres
from aurora.engine.postgres.watch import watch_server
from aurora.engine.postgres.whole import copy_whole
from aurora.engine.sources.address_text import Address, host_and_port, read_address
from aurora.engine.sources.all_rows import read_all_rows
from aurora.engine.sources.files.line_files import LineFiles
from aurora.engine.sources.files.merged import MergedFiles
from aurora.engine.sources.files.parquet import ParquetFiles
from aurora.engine.sources.files.sqlite import SqliteTable
from aurora.engine.sources.in_memory.memory import Memory
from aurora.engine.sources.in_memory.stored_memory import store_if_large
from aurora.engine.sources.keyed_set import KeyedSet
from aurora.engine.sources.live.receivers import Feed, PipeReceiver, Receiver, TcpReceiver
from aurora.engine.sources.live.spool import SpooledLines, SpoolWriter
from aurora.engine.sources.paced import Wrapping
from aurora.engine.sources.source import Opening, Source, catch_up, paths_read
from aurora.engine.sources.text.encodings import is_wide
from aurora.engine.sources.text.lines import check_flat
from aurora.engine.sources.text.patterns import check_pattern
from aurora.errors import AuroraError, did_you_mean

__all__ = ["check_source", "open_source", "open_whole", "read_table", "source_path", "source_paths"]

# Rows of a table that are read at once.
CHUNK = 1 << 17


def check_source(name: str, address: object) -> None:
    """Raises a fault unless the address can be read; before Spark starts."""
    while isinstance(address, Wrapping):
        address = address.address
    if isinstance(address, Source | KeyedSet | Opening):
        return
    if is_kafka(address):
        check_kafka(name, str(address))
        return
    if is_mqtt(address):
        check_mqtt(name, str(address))
        return
    if is_postgres(address):
        check_postgres(name, str(address))
        return
    given = read_address(name, address)
    place = given.place
    assert given.style and given.reconnect >= 0 and given.most_unpacked != 0
    given.check_folder()
    if is_wide(given.style.encoding) and (given.kind == "tcp" or given.is_pipe):
        raise AuroraError(
            f"source {name}: {given.style.encoding} is read from files only; put iconv -t utf-8 before the pipe"
        )
    if given.kind == "tcp":
        host_and_port(name, place)
        return
    check_local(f"source {name}", place)
    if given.is_pipe:
        if given.kind in ("parquet", "sqlite"):
            what = {"parquet": "Parquet", "sqlite": "a database"}[given.kind]
            raise AuroraError(f"source {name}: {what} cannot come from a pipe, as {place} is; give a file")
    elif "*" in place:
        if not glob.glob(place):
            raise AuroraError(f"source {name}: there is no file {place}; check the path")
    elif not os.path.exists(place):
        raise AuroraError(f"source {name}: there is no {place}; check the path")
    elif not os.access(place, os.R_OK):
        raise AuroraError(f"source {name}: {place} cannot be read; check its permissions")


def source_path(name: str, address: object) -> str | None:
    """The file, folder or pattern that is read; None for a socket, a pipe, a topic, a server, or an object."""
    while isinstance(address, Wrapping):
        address = address.address
    if isinstance(address, KeyedSet):
        return address.place
    if isinstance(address, Source | Opening) or is_kafka(address) or is_mqtt(address) or is_postgres(address):
        return None
    given = read_address(name, address)
    return None if given.kind == "tcp" or given.is_pipe else given.place


def source_paths(name: str, address: object) -> tuple[str, ...]:
    """All that is read: the path of an address, or what a source of the user's says."""
    while isinstance(address, Wrapping):
        address = address.address
    if isinstance(address, Source | Opening):
        return paths_read(address)
    path = source_path(name, address)
    return () if path is None else (path,)


def open_source(
    name: str, address: object, schema: Schema, follow: bool, notes: Path
) -> tuple[Source, Feed | None]:
    """The source, and the thread that feeds it if it is a socket or a pipe, or looks after it if it is on a server.

    `notes` is a folder for what restarts need.
    """
    if isinstance(address, Wrapping):
        source, receiver = open_source(name, address.address, schema, follow, notes)
        return address.wrap(source), receiver
    if isinstance(address, Memory):
        return store_if_large(address.fitted(name, schema), notes / f"{name}.arrow"), None
    if isinstance(address, Source):
        return address, None
    if isinstance(address, Opening):
        return address.open_source(name, schema, notes / f"{name}.opened", follow)
    if isinstance(address, KeyedSet):
        raise AuroraError(
            f"source {name}: a set that is stored by key is a table; give its address for a stream"
        )
    if is_kafka(address):
        topic = open_kafka(name, str(address), schema, follow, notes / f"{name}.kafka")
        return topic, watch_broker(name, topic.address)
    if is_mqtt(address):
        return open_mqtt(name, str(address), schema, notes / f"{name}.mqtt")
    if is_postgres(address):
        return _open_table(name, str(address), schema, follow, notes)
    given = read_address(name, address)
    if given.kind == "tcp" or given.is_pipe:
        return _open_spool(given, schema, notes / f"{name}.spool")
    return _open_files(given, schema, follow, str(notes / f"{name}.files"), notes / f"{name}.unpacked"), None


def open_whole(name: str, address: object, schema: Schema, unpacked: Path) -> Source:
    """The source of a table or a stored set: it ends, and it can be read more than once."""
    check_source(name, address)
    if isinstance(address, Memory):
        return address.fitted(name, schema)
    if isinstance(address, Source):
        return address
    if isinstance(address, Opening):
        return _open_now(name, address, schema, unpacked)
    if is_kafka(address) or is_mqtt(address):
        raise AuroraError(f"table {name}: a table cannot come from a topic; give a file")
    if is_postgres(address):
        table = read_postgres(f"table {name}", str(address), SOURCE_OPTIONS)
        unpacked.mkdir(parents=True, exist_ok=True)
        return copy_whole(f"table {name}", table, schema, unpacked / "table.arrow")
    given = read_address(name, address)
    if given.kind == "tcp" or given.is_pipe:
        raise AuroraError(f"table {name}: a table cannot come from a socket or a pipe; give a file")
    if given.end is not None:
        raise AuroraError(f"table {name}: a table is read whole and more than once; leave out end")
    return _open_files(given, schema, False, None, unpacked)


def _open_table(
    name: str, text: str, schema: Schema, follow: bool, notes: Path
) -> tuple[Source, Feed | None]:
    """A table that is followed by a column, or is read whole without one."""
    address = read_postgres(f"source {name}", text, SOURCE_OPTIONS)
    if address.by is not None:
        table = open_postgres(name, address, schema, follow, notes / f"{name}.postgres")
        return table, watch_server(name, address)
    told = (
        f"source {name}: table {address.table} is read once; to follow it, name a column that grows, as by=id"
    )
    if address.follow:
        raise AuroraError(told)
    if follow and address.follow is None:
        logging.getLogger("aurora").warning(told)
    return copy_whole(f"source {name}", address, schema, notes / f"{name}.rows"), None


def _open_now(name: str, address: Opening, schema: Schema, folder: Path) -> Source:
    """A source with all that there is by now."""
    source, feed = address.open_source(name, schema, folder / "opened", False)
    if feed is not None:
        feed.connect()
        try:
            catch_up(feed)
        finally:
            feed.stop()
    return source


def _open_files(
    given: Address, schema: Schema, follow: bool, order: str | None, unpacked: Path
) -> LineFiles | MergedFiles | ParquetFiles | SqliteTable:
    # A path such as /dev/stdin means another file in another process.
    special = given.place.startswith(("/dev/", "/proc/"))
    path = os.path.realpath(given.place) if special else os.path.abspath(given.place)
    if given.kind == "parquet":
        return ParquetFiles(path, schema, follow, order, most=given.most_unpacked)
    if given.kind == "sqlite":
        database = SqliteTable(path, given.options.get("table", ""), schema)
        database.check(given.name)
        return database
    _check_groups(given, schema)
    style, most = given.style, given.most_unpacked
    if "merge" in given.options:
        if follow:
            told = f"source {given.name}: files that are merged are read once; they are not followed"
            logging.getLogger("aurora").warning(told)
        merged = MergedFiles(path, style, schema, given.options["merge"], order, str(unpacked), most=most)
        merged.check(given.name)
        return merged
    source = LineFiles(
        path, style.kind, schema, follow or given.end is not None, order, style.delimiter, style.header,
        str(unpacked), style.encoding, style.nulls, style.loose, style.decimal, given.end, given.says_shed(), most,
        style.pattern,
    )  # fmt: skip
    source.check()
    return source


def _check_groups(given: Address, schema: Schema) -> None:
    """Raise a fault if the pattern of an address has no group for a field."""
    if given.style.pattern is None:
        return
    groups = check_pattern(f"source {given.name}", given.style.pattern)
    missing = [name for name in schema.names if name not in groups]
    if missing:
        raise AuroraError(
            f"source {given.name}: the pattern has no group for field {missing[0]}"
            f"{did_you_mean(missing[0], groups)}; its groups are {', '.join(groups)}"
        )
    check_flat(schema, given.place)


def _open_spool(given: Address, schema: Schema, folder: Path) -> tuple[Source, Receiver]:
    _check_groups(given, schema)
    if given.kind == "csv":
        check_flat(schema, given.place)
    writer = SpoolWriter(folder)
    receiver: Receiver
    if given.kind == "tcp":
        host, port = host_and_port(given.name, given.place)
        receiver = TcpReceiver(host, port, writer, reconnect=given.reconnect)
    else:
        receiver = PipeReceiver("-" if given.place == "/dev/stdin" else given.place, writer)
    return SpooledLines(str(folder), receiver.label, given.style, schema), receiver


def read_table(name: str, address: object, schema: Schema, most: int = 1 << 62) -> pa.RecordBatch:
    """All rows of a static table, which may have so many bytes at most."""
    with tempfile.TemporaryDirectory(prefix="aurora-table-") as folder:
        source = open_whole(name, address, schema, Path(folder))
        batches, size = [pa.RecordBatch.from_pylist([], schema.arrow())], 0
        for batch in read_all_rows(f"table {name}", source, schema, CHUNK):
            batches.append(batch)
            size += batch.nbytes
            if size > most:
                raise AuroraError(
                    f"table {name} has more than {most / 1e6:,.0f} MB, and every task needs a copy of it: leave out "
                    "fields or rows that no box needs, or make it a stored set with a key"
                )
    return pa.concat_batches(batches)
