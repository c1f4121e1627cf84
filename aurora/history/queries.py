"""The queries that are attached to a running network: attached, detached, taken up again by the next run."""

import os
import threading
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from aurora.adapt.deferral import ARC
from aurora.algebra.tuples.schema import Schema
from aurora.engine.paths import Read, Written, check_places
from aurora.engine.postgres.hosts import check_hosts, hosts_named, hosts_of
from aurora.engine.settings import Settings
from aurora.engine.sinks.address import open_sink, sink_path
from aurora.engine.sources.address import source_paths
from aurora.engine.spark_run import SparkRun, Stop
from aurora.errors import AuroraError
from aurora.history.home import Home, QueryNote, check_name
from aurora.history.point_source import reader_name
from aurora.history.points import Points, find_start
from aurora.history.query import AttachedQuery, QueryStatus, check_keeps_nothing, check_query, read_query
from aurora.network.network import Network
from aurora.network.text import to_text

__all__ = ["Queries", "check_home", "check_sinks"]


def check_home(network: Network, sources: Mapping[str, Any], sinks: Mapping[str, Any], home: Home) -> None:
    """Nothing of what a network reads or writes may be in its home, where files have names of their own."""
    inside = Written("the home", os.path.join(home.folder, ""))
    given = [
        (name, path)
        for name in network.inputs
        if name in sources
        for path in source_paths(name, sources[name])
    ]
    check_places([Read(f"source {name}", os.path.abspath(path)) for name, path in given], [inside])
    for name, address in sinks.items():
        path = sink_path(address)
        if path is not None:
            check_places([], [Written(f"sink {name}", path), inside])


def check_sinks(query: Network, sinks: Mapping[str, Any], reads: Sequence[Read], home: Home) -> None:
    """A query, or a part of the network, may write neither to what the network reads nor into its home."""
    writes = []
    for name, address in sinks.items():
        if name in query.outputs and isinstance(address, str):
            place = open_sink(name, address, query.schema(query.outputs[name].port)).place
            writes += [] if place is None else [Written(f"sink {name}", place)]
    check_places(reads, writes)
    check_places([], [*writes, Written("the home", os.path.join(home.folder, ""))])


class Queries:
    """All queries of one network. What they need of its points is held for them as long as they are attached."""

    def __init__(
        self,
        network: Network,
        main: SparkRun,
        settings: Settings,
        home: Home,
        points: Points,
        reads: Sequence[Read] = (),
    ) -> None:
        self._main = main
        self._reads = reads
        self._settings = settings
        self._home = home
        self._points = points
        self._stored = {
            name: entry.stored for name, entry in network.inputs.items() if entry.stored is not None
        }
        self.schemas: dict[str, Schema] = {
            **{name: network.inputs[name].schema for name in self._stored},
            **{name: schema for name, schema in points.schemas.items() if not name.startswith(ARC)},
        }
        self._attached: dict[str, AttachedQuery] = {}
        # Those that could not be started, and why.
        self._refused: dict[str, tuple[QueryNote, str]] = {}
        self._changing = threading.RLock()

    def take_up_all(self) -> None:
        """Starts those of an earlier run where they stopped."""
        for note in self._home.notes():
            self._take_up(note, note.sinks)
        self._points.remove_readers(self._attached.keys() | self._refused.keys())

    def attach(
        self,
        query: Network,
        sinks: Mapping[str, Any],
        name: str | None,
        since: str | int | None,
        allow_hosts: Iterable[str] = (),
    ) -> str:
        name = name or query.name.replace(" ", "-")
        check_name(name)
        check_query(query.checked(), self.schemas)
        check_keeps_nothing(query)
        check_sinks(query, sinks, self._reads, self._home)
        hosts = {*allow_hosts, *hosts_named(sinks)}
        check_hosts(query, {}, {*hosts, *self._home.read_hosts()})
        self._home.allow_hosts(hosts | hosts_of(query))
        with self._changing:
            self._check_new(name)
            try:
                note = QueryNote(
                    name,
                    to_text(query),
                    {output: str(address) for output, address in sinks.items()},
                    self._begin(query, name, since),
                    None if since is None else str(since),
                    query.path,
                    uuid.uuid4().hex[:8],
                )
                self._attached[name] = self._start(note, query, sinks)
                if all(isinstance(address, str) for address in sinks.values()):
                    self._home.write_note(note)
            except BaseException:
                self._drop(name)
                raise
        return name

    def detach(self, name: str) -> None:
        with self._changing:
            self._check_known(name)
            self._drop(name)

    def resume(self, name: str) -> None:
        with self._changing:
            self._check_known(name)
            known = self._attached.get(name)
            if known is not None and known.status().state != "failed":
                raise AuroraError(f"query {name} has not failed: it is {known.status().state}")
            # Until it has started, its status is that of before.
            if known is not None:
                note, sinks = known.note, known.sinks
            else:
                note, _ = self._refused[name]
                sinks = note.sinks
            fault = self._take_up(note, sinks)
            if fault is not None:
                raise AuroraError(fault)

    def status(self) -> dict[str, QueryStatus]:
        found = {name: query.status() for name, query in list(self._attached.items())}
        for name, (note, fault) in list(self._refused.items()):
            points = {slot: start["point"] for slot, start in note.starts.items()}
            found[name] = QueryStatus("failed", points, 0, 0, {}, note.sinks, note.since, fault)
        return found

    def wait(self, stop: Stop | None = None) -> None:
        """Until all have worked through points that have ended, or failed."""
        while (query := self.unfinished()) is not None and not (stop is not None and stop.is_set()):
            query.wait(stop)

    def unfinished(self) -> AttachedQuery | None:
        """One that has neither ended nor failed."""
        with self._changing:
            return next((query for query in self._attached.values() if not query.over), None)

    def stop(self, asked: float | None = None) -> None:
        """Ends them with the batches under way left to the next run; each whatever becomes of the others.

        `asked` is when the network was asked to stop.
        """
        with self._changing, ExitStack() as last:
            for query in self._attached.values():
                last.callback(query.stop, time.monotonic() if asked is None else asked)

    def _check_known(self, name: str) -> None:
        if name not in self._attached and name not in self._refused:
            known = ", ".join([*self._attached, *self._refused]) or "none"
            raise AuroraError(f"no query {name} is attached; there are {known}")

    def _check_new(self, name: str) -> None:
        """A query that has failed or ended gives its name up."""
        known = self._attached.get(name)
        if known is not None and known.status().state not in ("failed", "ended", "stopped"):
            raise AuroraError(
                f"a query {name} is attached already; detach it, or give another name with --name"
            )
        if known is not None or name in self._refused:
            self._drop(name)

    def _begin(self, query: Network, name: str, since: str | int | None) -> dict[str, dict[str, Any]]:
        """For each input the row of its log with which it begins, all as of the same two batches."""
        starts: dict[str, dict[str, Any]] = {}
        with self._points.held():
            with self._main.between_batches():
                there = self._points.published()
            for slot, entry in query.inputs.items():
                if entry.point in there:
                    table = self._home.query(name) / f"table-{slot}"
                    reader = reader_name(name, len(starts))
                    starts[slot] = find_start(
                        self._points, entry.point, reader, since, table, there[entry.point]
                    )
        return starts

    def _take_up(self, note: QueryNote, sinks: Mapping[str, Any]) -> str | None:
        """Starts a query where it stopped; one that cannot be started is kept with its fault, which is given."""
        try:
            query = read_query(note, self.schemas)
            check_query(query, self.schemas)
            for start in note.starts.values():
                if self._points.log(start["point"]).published().mark != start["mark"]:
                    raise AuroraError(
                        f"the network was started over, and point {start['point']} with it: detach the query and "
                        "attach it again"
                    )
            self._attached[note.name] = self._start(note, query, sinks)
        except AuroraError as error:
            fault = str(error)
        except Exception as error:
            # Whatever a kernel of the user's does when it is loaded: the network and its other queries go on.
            fault = f"{type(error).__name__}: {' '.join(str(error).split())}"
        else:
            self._refused.pop(note.name, None)
            return None
        self._refused[note.name] = note, fault
        self._attached.pop(note.name, None)
        return fault

    def _start(self, note: QueryNote, query: Network, sinks: Mapping[str, Any]) -> AttachedQuery:
        points = self._points.points
        return AttachedQuery(self._home, note, query, points, self._stored, sinks, self._settings)

    def _drop(self, name: str) -> None:
        if (query := self._attached.pop(name, None)) is not None:
            query.stop()
        self._refused.pop(name, None)
        self._home.remove_query(name)
        self._points.remove_reader(name)
