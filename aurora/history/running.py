"""A network that runs, with its connection points and the queries that are attached to it."""

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, replace
from html import escape
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from aurora import __version__
from aurora.adapt.deferral import split_network
from aurora.adapt.drawing import describe_arcs
from aurora.adapt.figures import Figures
from aurora.algebra.tuples.schema import Schema
from aurora.engine.binding import check_names, find_reads
from aurora.engine.outages import stop_waiting_at
from aurora.engine.paths import Read
from aurora.engine.postgres.hosts import check_hosts, hosts_named, hosts_of
from aurora.engine.result import Result
from aurora.engine.settings import Settings
from aurora.engine.showing import html_table
from aurora.engine.sinks.rows import Rows
from aurora.engine.spark_run import SparkRun, Stop, start_run
from aurora.engine.statistics import BatchReport, Statistics
from aurora.engine.waits import waits
from aurora.errors import AuroraError, did_you_mean
from aurora.history.adapting import Adapting
from aurora.history.answers import answers
from aurora.history.control import ControlServer
from aurora.history.deferred import READER, Deferred
from aurora.history.home import Home
from aurora.history.metrics_server import MetricsServer
from aurora.history.parts import Parts
from aurora.history.peek import meet, open_point
from aurora.history.points import Points
from aurora.history.prepare import prepare_stored
from aurora.history.queries import Queries, check_home, check_sinks
from aurora.history.query import QueryStatus
from aurora.history.status import add_figures, add_shedding, add_sums, add_waiting, describe_run
from aurora.history.stored import Progress
from aurora.network.network import Network

__all__ = ["Running", "run", "start"]


def run(
    network: Network,
    sources: Mapping[str, Any] | None = None,
    sinks: Mapping[str, Any] | None = None,
    settings: Settings | None = None,
    watch: Callable[[BatchReport], None] | None = None,
    stop: threading.Event | None = None,
    storing: Progress | None = None,
) -> Result:
    """Runs until the input ends or `stop` is set; a run with a checkpoint continues where the last one stopped.

    `watch` is called with the report of each batch. Without sinks the rows of all outputs are kept in memory:
    `result["alarms"]`, `result.to_pandas()`.
    """
    with stop_waiting_at(stop):
        started = start(network, sources, sinks, settings, watch, storing)
    with started as running:
        return running.wait(stop)


def start(
    network: Network,
    sources: Mapping[str, Any] | None = None,
    sinks: Mapping[str, Any] | None = None,
    settings: Settings | None = None,
    watch: Callable[[BatchReport], None] | None = None,
    storing: Progress | None = None,
) -> "Running":
    """Starts a network, and returns the run: wait for it, control it, or attach queries to it.

    Without sinks the rows of all outputs are kept in memory.

    `storing` is called with the name of a stored set and the number of its rows that are stored by key so far.
    """
    if not isinstance(network, Network):
        raise AuroraError(
            f"a run is of a Network, found a {type(network).__name__}; read_network(PATH) reads one"
        )
    if not isinstance(settings, Settings | None):
        raise AuroraError(f"settings are Settings(..), found a {type(settings).__name__}")
    settings = settings or Settings()
    sources = {} if sources is None else sources
    sinks = {name: Rows() for name in network.outputs} if sinks is None else sinks
    check_names(network, sources, sinks)
    hosts = {*settings.allow_hosts, *hosts_named(sources), *hosts_named(sinks)}
    with ExitStack() as starting, ExitStack() as held:
        served = None
        if settings.metrics is not None:
            served = held.enter_context(MetricsServer(settings.metrics, _labels(network)))
            watch = _both(served.take, watch)
        home = None if settings.home is None else Home.of(settings.home)
        if home is not None:
            home.check_ours()
            hosts |= set() if settings.fresh else {*home.read_hosts()}
        check_hosts(network, sources, hosts)
        if home is not None:
            check_home(network, sources, sinks, home)
            held.callback(home.release)
            home.open()
            starting.enter_context(waits.noted_in(str(home.waits)))
            if not settings.fresh:
                home.check_begun()
            home.checkpoint.mkdir(exist_ok=True)
            home.allow_hosts(hosts | hosts_of(network), settings.fresh)
        split = None if home is None or not settings.defer else split_network(network, sinks)
        if home is not None and not settings.fresh:
            home.check_parts(split is not None, network.name)
        if home is not None and split is not None:
            # Before the first part is begun: whoever goes on after a kill sees that there are two.
            home.deferred.mkdir(exist_ok=True)
        urgent = network if split is None else split.urgent
        points = Points(urgent, home, sinks)
        if home is not None and not settings.fresh:
            points.register_missing(home.notes())
        arcs = [] if split is None else [point.name for point in split.arcs.values()]
        if split is not None:
            points.register_part(READER, arcs, settings.fresh)
        own = _settings(settings, home)
        folder = home.stored if home is not None else _scratch(network, held)
        sources = prepare_stored(network, sources, folder, storing, fresh=settings.fresh, hosts=hosts)
        reads = find_reads(network, sources)
        if split is not None and home is not None:
            check_sinks(split.later, sinks, reads, home)
        adapting = Adapting(network, sinks, split, home, settings)
        main = start_run(
            points.with_outputs(),
            sources,
            {**{name: sink for name, sink in sinks.items() if name in urgent.outputs}, **points.sinks()},
            own,
            points.watched(adapting.watched(watch)),
            shared=home is not None,
            adviser=adapting.optimiser,
        )
        held.callback(_stop_quietly, main)
        if home is not None and settings.fresh:
            # Not before: a run that could not begin has changed nothing.
            home.forget_queries()
            home.forget_points(but=points.schemas)
            home.forget_deferred(but=split is not None)
        points.describe()
        points.note_passed(main.totals.behind)
        deferred = None
        if split is not None and home is not None:
            # Where logs were begun anew, what was noted of their readers is gone.
            points.register_part(READER, arcs, fresh=False)
            deferred = Deferred(
                split, home, points, sources, sinks, own, adapting.watch_later, adapting.optimiser
            )
            held.callback(_stop_quietly, deferred)
        parts = adapting.begin(main, deferred)
        if home is not None:
            home.write_network(describe_arcs(network))
        held.callback(points.settle)
        points.begin_ageing()
        running = Running(network, parts, list(sinks), own, home, points, adapting, reads)
        if served is not None:
            running.metrics = served.url
            served.follow(running.status)
        running._held.push(held.pop_all())
        running._tables = {name: sink for name, sink in sinks.items() if isinstance(sink, Rows)}
    return running


def _labels(network: Network) -> dict[str, str]:
    return {"network": network.name, "version": __version__}


def _both(
    first: Callable[[BatchReport], None], second: Callable[[BatchReport], None] | None
) -> Callable[[BatchReport], None]:
    def told(report: BatchReport) -> None:
        first(report)
        if second is not None:
            second(report)

    return told


def _scratch(network: Network, held: ExitStack) -> str:
    """A folder that goes with the run, where the network has stored sets to put into it."""
    if not any(entry.stored for entry in network.inputs.values()):
        return ""
    return held.enter_context(TemporaryDirectory(prefix="aurora-stored-", ignore_cleanup_errors=True))


def _stop_quietly(part: SparkRun | Deferred) -> None:
    with suppress(Exception):
        part.stop()


def _settings(settings: Settings, home: Home | None) -> Settings:
    if home is None:
        return settings
    rejects = settings.rejects or f"csv:{home.rejects}"
    return replace(settings, checkpoint=str(home.checkpoint), home=None, rejects=rejects)


class Running:
    """A running network. Leaving its `with` block stops it and its attached queries."""

    def __init__(
        self,
        network: Network,
        parts: Parts,
        sinks: Collection[str],
        settings: Settings,
        home: Home | None,
        points: Points,
        adapting: Adapting,
        reads: Sequence[Read] = (),
    ) -> None:
        self._network = network
        # The outputs whose rows are kept in memory.
        self._tables: dict[str, Rows] = {}
        self._result: Result | None = None
        self._sinks = sinks
        self._parts = parts
        self._main = parts.main
        self._settings = settings
        self._home = home
        self._points = points
        self._adapting = adapting
        self._queries: Queries | None = None
        self._changing = threading.RLock()
        self._closed = False
        # When it was asked to stop: never, once everything has ended by itself.
        self._asked: float | None = None
        # Where its figures are served, if anywhere.
        self.metrics: str | None = None
        # What is let go when the run has closed: its home, and what it has made ready for itself alone.
        self._held = ExitStack()
        self._server: ControlServer | None = None
        if home is not None:
            self._queries = Queries(network, parts.main, settings, home, points, reads)
            try:
                self._queries.take_up_all()
                self._server = ControlServer(home, answers(self))
                home.note_started()
            except BaseException:
                self._queries.stop()
                raise

    @property
    def state(self) -> str:
        """running, paused or stopped."""
        return self._main.state

    @property
    def live(self) -> frozenset[str]:
        """The inputs whose rows come while the network runs: it is not known how many there will be."""
        return self._main.live

    def discarded(self) -> dict[str, Counter[str]]:
        """What was left out of the streams so far, by place and reason."""
        return self._parts.discarded()

    def wait(self, stop: Stop | None = None) -> Result:
        """Waits until the input ends or the run is stopped, and until the queries have processed the rest."""
        try:
            if self._parts.wait(stop).ended:
                self._end()
                self._parts.wait_for_later(stop)
                if self._queries is not None:
                    self._queries.wait(stop)
                if stop is None or not stop.is_set():
                    self._asked = self._asked or math.inf
            return self.stop()
        finally:
            self._close()
            if self._server is not None:
                self._server.settle()

    def stop(self) -> Result:
        """Ends the network and its queries, and leaves unfinished batches to the next run; returns what it did."""
        self._asked = self._asked or time.monotonic()
        try:
            # The arcs end before the part behind them is stopped, and the points once both have.
            result = self._parts.stop(self._end)
            if result.ended and self._home is not None:
                self._finish()
            if not self._tables:
                return result
            # The same one, however often it is asked for.
            self._result = self._result or replace(result, tables=self._tables)
            return self._result
        finally:
            self._close()

    def _end(self) -> None:
        """Nothing more will come; once it is closed, the home may be another run's."""
        with self._changing:
            if not self._closed:
                self._points.end()

    def _finish(self) -> None:
        """Notes that nothing is left to do; once it is closed, the home may be another run's."""
        with self._changing:
            if not self._closed and (self._queries is None or self._queries.unfinished() is None):
                self._main.finish()

    def _close(self) -> None:
        with self._changing, ExitStack() as last:
            if self._closed:
                return
            self._closed = True
            # From the last to the first, and each whatever becomes of the others.
            last.callback(self._held.close)
            last.callback(self._points.settle)
            if self._home is not None:
                last.callback(self._note_status, self._home)
            last.callback(self._adapting.catalog.save)
            if self._queries is not None:
                last.callback(self._queries.stop, self._asked)
            if self._server is not None:
                last.callback(self._server.close)

    def _note_status(self, home: Home) -> None:
        """Figures for later are not worth a fault."""
        with suppress(OSError):
            home.write_status(self.status())

    def pause(self) -> None:
        """Finishes the current batch and makes no more: the input waits. Returns when the run stands still."""
        self._parts.pause()

    def resume(self) -> None:
        """Continues a paused network."""
        self._parts.resume()

    def step(self, batches: int = 1) -> None:
        """Makes this many more batches, as soon as there is input, and pauses again; pauses a running network first.

        Of a network in two parts, the later one takes what comes of these batches, and pauses again, too.
        """
        self._parts.step(batches)

    def set_train_length(self, rows: int | None) -> None:
        """Sets the `rows` of each input in the next batches, at most `Settings.batch`; None: the engine decides."""
        self._main.set_train_length(rows)

    def batches(self) -> Iterator[BatchReport]:
        """Yields each batch when it is done, from the first one not yielded before, until the run ends."""
        return self._main.batches()

    def statistics(self) -> Statistics:
        """How far the run has come: batches, rows, rates, latencies, and what each box took and gave."""
        return self._parts.statistics()

    def figures(self) -> Figures:
        """What each box costs and gives, moving averages, what waits before it, and what belongs to no box."""
        found, before = self._adapting.figures(self.statistics().latency), self._parts.waiting_before()
        boxes = {name: replace(box, waiting=before.get(name, 0)) for name, box in found.boxes.items()}
        return replace(found, boxes=boxes)

    @property
    def troubles(self) -> list[str]:
        """What is wrong now, a sentence each: outputs outside their good zone, inputs that fall behind."""
        return self._adapting.catalog.troubles

    def status(self) -> dict[str, Any]:
        """All figures as plain data: what `aurora status --json` prints."""
        outputs = {
            name: output.qos
            for name, output in self._network.outputs.items()
            if name in self._sinks or name in self._points.schemas
        }
        queries = {name: asdict(query) for name, query in self.queries().items()}
        parameters = dict(self._network.parameters)
        seen = self.statistics()
        told = describe_run(seen, list(self._network.boxes), outputs, self._points.status(), queries)
        told |= {"parameters": parameters} if parameters else {}
        told = add_figures(told, self.figures(), self.troubles)
        told = add_sums(told, seen.places, self._main.totals.rejects, self._parts.discarded())
        told = add_shedding(told, outputs, seen, self._adapting.shedding, self._adapting.shed)
        return add_waiting(told, self._parts.waiting(), self._parts.waiting_before())

    def peek(self, name: str, last: int = 10, where: str | None = None) -> pa.RecordBatch:
        """The last rows of a point or view that meet a condition, or the next tuples that pass on a stream."""
        if self._home is not None and name in self._points.schemas:
            return open_point(self._home, name).last(last, where)[0]
        rows: pa.RecordBatch | None = None
        while rows is None and self.state == "running":
            rows, _ = self._parts.look(name, 0)
            threading.Event().wait(0.05 if rows is None else 0)
        if rows is None:
            raise AuroraError(f"no tuples pass on {name}: the network is {self.state}")
        rows = meet(rows, where)
        return rows.slice(max(rows.num_rows - last, 0))

    def look(self, stream: str, after: int = 0) -> tuple[pa.RecordBatch | None, int]:
        """Some tuples that pass on a stream from the next batch on, after number `after`, and the last one's number."""
        return self._parts.look(stream, after)

    def schema(self, point: str) -> Schema:
        """The schema of a point, view or stored set, for an input of a query."""
        if point not in self.schemas:
            known = ", ".join(self.schemas) or "none"
            near = did_you_mean(point, list(self.schemas))
            raise AuroraError(f"the network has no point {point}{near}; there are {known}")
        return self.schemas[point]

    @property
    def schemas(self) -> dict[str, Schema]:
        """The schemas of all points, views and stored sets: everything that a query can read."""
        return {} if self._queries is None else dict(self._queries.schemas)

    def attach(
        self,
        query: Network,
        sinks: Mapping[str, Any],
        name: str | None = None,
        since: str | int | None = None,
        allow_hosts: Collection[str] = (),
    ) -> str:
        """Attaches a query whose inputs are points of this network; returns its name.

        It begins with the history of its points, all of it or as much as `since` says (a span, a number of tuples,
        "all", "now"), and continues live. The next run of the same home continues a query whose sinks are all
        addresses. `allow_hosts` are servers to which stored sets of the query may connect that only its file names.
        """
        if self._queries is None:
            raise AuroraError("a query needs a network with a home: start it with Settings(home=..)")
        with self._changing:
            if self._closed or self.state == "stopped":
                raise AuroraError("the run has ended: no query can be attached any more")
            return self._queries.attach(query, sinks, name, since, allow_hosts)

    def detach(self, name: str) -> None:
        """Stops a query and forgets its progress; what it has written stays."""
        with self._changing:
            self._known_queries(name).detach(name)

    def resume_query(self, name: str) -> None:
        """Restarts a failed query where it stopped."""
        with self._changing:
            self._known_queries(name).resume(name)

    def queries(self) -> dict[str, QueryStatus]:
        """The attached queries, each with its status."""
        return {} if self._queries is None else self._queries.status()

    def _known_queries(self, name: str) -> Queries:
        if self._queries is None:
            raise AuroraError(f"no query {name} is attached: the network has no home")
        if self._closed:
            raise AuroraError(f"the run has ended: query {name} waits for the next run of the home")
        return self._queries

    def __repr__(self) -> str:
        return f"<Running {self._told(self.statistics())}>"

    def _repr_html_(self) -> str:
        """What it is and does, the rows that each output has given, and the first ones of those kept in memory."""
        seen = self.statistics()
        given = html_table(
            ["output", "rows"], [[name, f"{rows:,}"] for name, rows in sorted(seen.rows.items())]
        )
        kept = "".join(rows._repr_html_() for rows in self._tables.values())
        return f"<p>{escape(self._told(seen))}</p>{given}{kept}"

    def _told(self, seen: Statistics) -> str:
        made = seen.batches
        return f"{self._network.name}: {self.state}, {made:,} {'batch' if made == 1 else 'batches'}"

    def __enter__(self) -> "Running":
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        # A fault that is under way says more than what stopping brings to light.
        with suppress(*([Exception] if kind is not None else [])):
            self.stop()
