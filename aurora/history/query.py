"""An ad hoc query that is attached to a running network: a network of its own whose inputs are connection points."""

import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from aurora.adapt.optimiser import Optimiser
from aurora.algebra.tuples.schema import Schema
from aurora.engine.durable import AGAIN
from aurora.engine.settings import Settings
from aurora.engine.sources.in_memory.memory import Memory
from aurora.engine.spark.faults import NO_JAVA, SILENT
from aurora.engine.spark.session import QUERY_POOL
from aurora.engine.spark_run import SparkRun, Stop, start_run
from aurora.errors import AuroraError
from aurora.history.aligned import AlignedPoint, Together
from aurora.history.home import Home, QueryNote
from aurora.history.log import Published
from aurora.history.point_source import PointSource, reader_name
from aurora.history.point_table import PointTable
from aurora.history.prepare import prepare_stored
from aurora.history.pull import find_wanted
from aurora.network.ends import check_points
from aurora.network.modules import forget_modules, modules_beside
from aurora.network.network import Network
from aurora.network.points import Point, Stored
from aurora.network.text import from_text

__all__ = [
    "AttachedQuery",
    "QueryStatus",
    "align",
    "check_keeps_nothing",
    "check_query",
    "parse_query",
    "read_query",
]


# What a query says whose processes were ended from outside.
KILLED = (SILENT, NO_JAVA)
# A signal to a whole group of processes ends Spark's before the network has heard of it, by so many seconds at most.
BEFORE = 5.0


@dataclass(frozen=True)
class QueryStatus:
    """How an attached query does: `behind` are the tuples of its points that it has not taken yet."""

    state: str
    points: dict[str, str]
    taken: int
    behind: int
    rows: dict[str, int]
    sinks: dict[str, str]
    since: str | None = None
    fault: str | None = None


class AttachedQuery:
    """A query that runs; what goes wrong with it is kept, and stops nobody else."""

    def __init__(
        self,
        home: Home,
        note: QueryNote,
        network: Network,
        points: Mapping[str, Point],
        stored: Mapping[str, Stored],
        sinks: Mapping[str, Any],
        settings: Settings,
    ) -> None:
        self.note = note
        self.sinks = sinks
        self._sources = {
            name: _open_source(home, note, name, network, points[start["point"]].key, number)
            for number, (name, start) in enumerate(note.starts.items())
            if not network.inputs[name].static
        }
        tables = {
            name: _open_table(home, note, start, network.inputs[name].schema, points[start["point"]].key)
            for name, start in note.starts.items()
            if network.inputs[name].static
        }
        aligned = self._sources if len(self._sources) < 2 else align(home, self._sources)
        self._fault: str | None = None
        # When it failed, and whether its processes were ended together with the network.
        self._failed_at = 0.0
        self._interrupted = False
        self._run: SparkRun | None = None
        self._told = threading.Event()
        # Its rejects lie there, and a sink makes no folders around its own.
        home.query(note.name).mkdir(parents=True, exist_ok=True)
        own = replace(
            settings,
            home=None,
            fresh=False,
            checkpoint=str(home.query(note.name) / f"checkpoint-{note.mark}"),
            rejects=f"csv:{home.query(note.name) / 'rejects.csv'}",
        )
        sources = prepare_stored(
            network,
            {**aligned, **tables},
            home.query(note.name) / "stored",
            points=stored,
            hosts=home.read_hosts(),
        )
        # Its rejects go there.
        home.query(note.name).mkdir(parents=True, exist_ok=True)
        self._run = start_run(network, sources, sinks, own, pool=QUERY_POOL, adviser=Optimiser, yields=True)
        self._waiting = threading.Thread(target=self._wait, name=f"query {note.name}", daemon=True)
        self._waiting.start()

    def _wait(self) -> None:
        assert self._run is not None
        try:
            self._run.wait()
        except Exception as fault:
            self._failed_at = time.monotonic()
            self._fault = self._tell(fault)
        finally:
            self._told.set()

    def _tell(self, fault: Exception) -> str:
        return str(fault).replace(AGAIN, f"give aurora resume DIR {self.note.name}")

    def _ended(self) -> bool:
        assert self._run is not None
        return self._fault is None and not self._interrupted and self._run.stop().ended

    @property
    def over(self) -> bool:
        """Whether it has ended, failed or been stopped."""
        return self._told.is_set()

    def wait(self, stop: Stop | None = None) -> None:
        """Until it has worked through points that have ended, or failed."""
        while not self._told.wait(0.05) and not (stop is not None and stop.is_set()):
            pass

    def stop(self, asked: float | None = None) -> None:
        """Ends it with the batch under way left to the next start; what it was held up by is in its status.

        `asked` is when the network was asked to stop, if it stops as well: what has ended the processes of both then is
        no fault of the query.
        """
        self._stop()
        if asked is not None and is_of_stop(self._fault, self._failed_at, asked):
            # In this order: at no moment has it ended in peace.
            self._interrupted = True
            self._fault = None

    def _stop(self) -> None:
        assert self._run is not None
        if not self._told.is_set():
            try:
                self._run.stop()
            except AuroraError as fault:
                if self._run.state != "stopped":
                    raise
                self._failed_at = time.monotonic()
                self._fault = self._tell(fault)
            self._waiting.join()

    def status(self) -> QueryStatus:
        assert self._run is not None
        taken = {name: place["row"] for name, place in self._run.statistics().places.items()}
        behind = sum(source.there() - taken.get(name, 0) for name, source in self._sources.items())
        over = self.over
        ended = over and self._ended()
        state = "failed" if self._fault else ("ended" if ended else "stopped") if over else "live"
        if state == "live" and behind:
            state = "catching up"
        return QueryStatus(
            state,
            {name: start["point"] for name, start in self.note.starts.items()},
            sum(taken.values()),
            behind,
            dict(self._run.totals.rows),
            self.note.sinks,
            self.note.since,
            self._fault,
        )


def is_of_stop(fault: str | None, failed: float, asked: float) -> bool:
    """Whether a query failed because its processes were ended when the network was."""
    return fault is not None and failed > asked - BEFORE and any(words in fault for words in KILLED)


def align(home: Home, sources: Mapping[str, PointSource]) -> dict[str, AlignedPoint]:
    """Several points give their tuples in the order in which they arrived in the network."""
    together = Together(tuple(sources.values()), str(home.points))
    return {name: AlignedPoint(together, index) for index, name in enumerate(sources)}


def _open_source(
    home: Home, note: QueryNote, name: str, network: Network, key: tuple[str, ...], number: int
) -> PointSource:
    """The source of an input; where filters name the storage key of its point, only what can match is read."""
    start, schema = note.starts[name], network.inputs[name].schema
    # What breaks a check is told, also where a filter would have left it out.
    known = all(field in schema for field in key) and not network.inputs[name].checks
    wanted = find_wanted(network, name, key, schema) if known else None
    folder = str(home.point(start["point"]))
    chosen = None if wanted is None else tuple(wanted.tolist())
    reader = reader_name(note.name, number)
    return PointSource(folder, start["first"], reader, _find_table(home, note, start), chosen, start["mark"])


def _find_table(home: Home, note: QueryNote, start: Mapping[str, Any]) -> str | None:
    """Return where the table lies with which an input begins: in the home, wherever that was when it was noted."""
    return str(home.query(note.name) / os.path.basename(start["table"])) if "table" in start else None


def _open_table(
    home: Home, note: QueryNote, start: Mapping[str, Any], schema: Schema, key: tuple[str, ...]
) -> PointTable | Memory:
    """What a point kept when the query came; by its storage key where the query has all of it."""
    written = _find_table(home, note, start)
    if written is not None:
        folder, first, stop = written, 0, Published.read(written).rows
    else:
        folder, first, stop = str(home.point(start["point"])), start["first"], start["stop"]
    table = PointTable(folder, key, schema, first, stop, Published.read(folder).mark)
    return table if key and all(field in schema for field in key) else Memory.of(schema, table.read())


def read_query(note: QueryNote, points: Mapping[str, Schema]) -> Network:
    """The network of a query that was attached before."""
    return parse_query(note.text, note.path, points, f"query {note.name}")


def parse_query(
    text: str,
    path: str | None,
    points: Mapping[str, Schema],
    source: str,
    parameters: Mapping[str, Any] | None = None,
) -> Network:
    """The network of a query; the user's functions lie beside its file, and are taken as they are there now."""
    folder = None if path is None else os.path.dirname(os.path.abspath(path))
    if folder is not None:
        forget_modules(folder)
    with modules_beside(folder):
        network = from_text(text, source, points, parameters)
    network.path = path
    return network


def check_keeps_nothing(network: Network) -> None:
    """Raise a fault if a query is to keep tuples: only the points of the running network do."""
    for name in network.points:
        what = f"output {name}: leave keep out" if name in network.outputs else f"point {name}: leave it out"
        raise AuroraError(
            f"{what}, for an attached query keeps no tuples; only points and views of the network do"
        )


def check_query(network: Network, points: Mapping[str, Schema]) -> None:
    """Raises a fault unless every input of the network is a point that there is."""
    for name, entry in network.inputs.items():
        if entry.point is None and entry.stored is None:
            raise AuroraError(
                f"input {name}: the inputs of a query are points of the running network; write {{point: "
                f"{next(iter(points), 'NAME')}}}"
            )
    check_points(network, points)
