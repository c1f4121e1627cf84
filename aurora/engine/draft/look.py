"""The first rows of a stream of a network, on the first rows of its sources; without Spark."""

import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from aurora.engine.local import LocalRun
from aurora.engine.plan.plan import plan_network
from aurora.engine.postgres.hosts import check_hosts, hosts_named, tell_connection
from aurora.engine.sources.address import check_source, open_source, read_table
from aurora.engine.sources.in_order.inputs import put_in_order
from aurora.engine.sources.source import Cursor, Piece, Reject, Source, why_uncut
from aurora.errors import AuroraError, did_you_mean
from aurora.network.network import Network

__all__ = ["First", "Shown", "first_rows"]

SHOWN = "shown"


@dataclass(frozen=True)
class First:
    """A source that ends after some rows."""

    source: Source
    rows: int

    @property
    def live(self) -> bool:
        return self.source.live

    def begin(self) -> Cursor:
        return self.source.begin()

    def advance(self, cursor: Cursor, rows: int) -> Cursor:
        return self.source.advance(cursor, min(rows, self.rows - cursor["row"]))

    def finished(self, cursor: Cursor) -> bool:
        return bool(cursor["row"] >= self.rows or self.source.finished(cursor))

    def uncut(self, cursor: Cursor) -> str:
        return why_uncut(self.source, cursor)

    def pieces(self, start: Cursor, end: Cursor, number: int) -> list[Piece]:
        return self.source.pieces(start, end, number)


@dataclass(frozen=True)
class Shown:
    """What a stream gave, the rows of each input that could not be read, what the boxes left out, by reason, and what
    the sources have to tell."""

    rows: pa.RecordBatch
    rejects: tuple[tuple[str, Reject], ...]
    left_out: dict[str, dict[str, int]]
    notices: tuple[str, ...] = ()


def first_rows(
    network: Network, stream: str, sources: Mapping[str, str], sample: int, hosts: Collection[str] = ()
) -> Shown:
    """What a stream gives where each input has so many rows; a box, a box and its port, an input, or an output.

    `hosts` are servers, HOST or HOST:PORT, to which a stored set may connect that only a network file names.
    """
    network = network.checked()
    check_hosts(network, sources, {*hosts, *hosts_named(sources)})
    port = network.outputs[stream].port if stream in network.outputs else None
    known = list(dict.fromkeys([*network.inputs, *network.boxes, *network.outputs]))
    if port is None and stream.partition(".")[0] not in known and stream not in known:
        raise AuroraError(
            f"there is no stream {stream}{did_you_mean(stream, known)}; the streams are {', '.join(known)}"
        )
    shown = network.stream(str(port) if port is not None else stream)
    output = SHOWN + "_" * sum(name.startswith(SHOWN) for name in network.outputs)
    network.output(output, shown)
    plan = plan_network(network, [output])
    with tempfile.TemporaryDirectory(prefix="aurora-show-") as folder:
        opened, tables = _open(network, [name for name, _ in plan.inputs], sources, sample, Path(folder))
        run = LocalRun(plan.with_tables(tables))
        run.read(put_in_order(network, {name: opened[name] for name, _ in plan.inputs}))
    empty = pa.RecordBatch.from_pylist([], shown.schema.arrow())
    rows = pa.concat_batches([empty, *(train.rows.cast(empty.schema) for train in run.outputs[output])])
    left_out = {box: dict(counts.discarded) for box, counts in run.counts.items() if counts.discarded}
    return Shown(rows, tuple(run.rejects), left_out, tuple(run.notices))


def _open(
    network: Network, read: list[str], given: Mapping[str, str], sample: int, folder: Path
) -> tuple[dict[str, Source], dict[str, pa.RecordBatch]]:
    opened: dict[str, Source] = {}
    tables: dict[str, pa.RecordBatch] = {}
    for name, entry in network.inputs.items():
        address = given.get(name, entry.stored.address if entry.stored else None)
        if address is None and (name in read or entry.static):
            raise AuroraError(f"input {name} has no source; add --source {name}=csv:PATH")
        if address is None:
            continue
        if name not in given:
            tell_connection(name, address)
        check_source(name, address)
        if entry.static:
            tables[name] = read_table(name, address, entry.schema)
            continue
        source, receiver = open_source(name, address, entry.schema, False, folder)
        if receiver is not None and receiver.once:
            raise AuroraError(
                f"source {name}: a socket or a topic of MQTT cannot be shown; save some of it to a file first"
            )
        opened[name] = First(source, sample)
    return opened, tables
