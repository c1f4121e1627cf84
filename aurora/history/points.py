"""The connection points of a network that runs: their logs in its home, and what is removed from them."""

import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

from aurora.adapt.deferral import ARC
from aurora.algebra.tuples.schema import Schema
from aurora.engine.statistics import BatchReport
from aurora.errors import AuroraError
from aurora.history.ageing import Ageing, does_age
from aurora.history.aligned import note_passed
from aurora.history.home import Home, QueryNote
from aurora.history.keeping import find_first, find_readers, remove_old
from aurora.history.latest import KeyCount, copied_upto, is_due, read_latest, write_copy, write_log
from aurora.history.log import Log, Published
from aurora.history.peek import describe_point
from aurora.history.point_sink import PointSink
from aurora.history.point_source import READERS, note_reader, reader_name
from aurora.network.network import Network, Output
from aurora.network.points import Keep, Point, read_keep

__all__ = ["Points", "find_start"]


class Points:
    """Without a home there are none: nothing is kept."""

    def __init__(
        self,
        network: Network,
        home: Home | None,
        sinks: Collection[str] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._clock = clock
        self._network = network
        self._home = home
        self.points: dict[str, Point] = dict(network.points) if home is not None else {}
        self._folders = {name: str(home.point(name)) for name in self.points} if home is not None else {}
        self._logs = {name: Log(folder) for name, folder in self._folders.items()}
        # A view whose output has a sink as well comes out twice.
        self._outputs = {name: f"#{name}" if name in sinks else name for name in self.points}
        self._counts = {
            name: KeyCount(log) for name, log in self._logs.items() if self.points[name].keep.latest
        }
        self._copying: threading.Thread | None = None
        self._ageing: Ageing | None = None
        self._passing, self._passed = threading.Lock(), 0
        self._locks = {name: threading.Lock() for name in self.points}
        self.schemas: dict[str, Schema] = {
            name: network.schema(point.port) for name, point in self.points.items()
        }

    def with_outputs(self) -> Network:
        """The network with an output for each point; a view is an output already."""
        network = copy(self._network)
        extra = {
            self._outputs[name]: Output(self._outputs[name], point.port)
            for name, point in self.points.items()
        }
        network.outputs = {**self._network.outputs, **extra}
        return network

    def describe(self) -> None:
        """Notes beside each log what its tuples are."""
        for name, point in self.points.items():
            told = {**point.spec, "view": name in self._network.outputs}
            describe_point(Path(self._folders[name]), self.schemas[name], told)

    def sinks(self) -> dict[str, PointSink]:
        return {
            self._outputs[name]: PointSink(self._folders[name], point, self._remove)
            for name, point in self.points.items()
        }

    def published(self) -> dict[str, Published]:
        """What can be read of each by now."""
        return {name: log.published() for name, log in self._logs.items()}

    def log(self, name: str) -> Log:
        return self._logs[name]

    @contextmanager
    def held(self) -> Iterator[None]:
        """While this is held, nothing is removed."""
        with ExitStack() as held:
            for lock in self._locks.values():
                held.enter_context(lock)
            yield

    def _remove(self, folder: str) -> None:
        name = os.path.basename(folder)
        # Whoever holds it will be followed by another batch.
        if self._locks[name].acquire(blocking=False):
            try:
                remove_old(self._logs[name], self.points[name], self._clock())
                due = self.points[name].keep.latest and is_due(self._logs[name])
            finally:
                self._locks[name].release()
            if due and not (self._copying and self._copying.is_alive()):
                self._copying = threading.Thread(target=self._copy, args=(name,), name="copy", daemon=True)
                self._copying.start()

    def begin_ageing(self) -> None:
        """From now on what is too old by the clock is removed while nothing comes, too."""
        self._ageing = Ageing(self.points.values(), self.remove_aged)

    def remove_aged(self) -> None:
        """Removes what has become too old since the last batch came."""
        for name, point in self.points.items():
            # Whoever holds it begins with what is there, and it is looked at again.
            if does_age(point) and self._locks[name].acquire(blocking=False):
                try:
                    remove_old(self._logs[name], point, self._clock())
                finally:
                    self._locks[name].release()

    def _copy(self, name: str) -> None:
        """A copy of a view that keeps the latest rows, so that its log can be cut; the network goes on meanwhile."""
        try:
            with self._locks[name]:
                write_copy(self._logs[name], self.points[name], self.schemas[name])
        except OSError as fault:
            # The log stays as long as it must.
            logging.getLogger("aurora").warning(f"view {name} cannot be copied: {fault}")

    def settle(self) -> None:
        """Ends what is under way in the home."""
        if self._ageing is not None:
            self._ageing.stop()
        if self._copying is not None:
            self._copying.join()

    def watched(self, watch: Callable[[BatchReport], None] | None) -> Callable[[BatchReport], None]:
        """A watch that also notes how far all points have come."""

        def told(report: BatchReport) -> None:
            self.note_passed(report.behind)
            if watch is not None:
                watch(replace(report, rows=_without_logs(report.rows)))

        return told

    def note_passed(self, number: int) -> None:
        """A batch counts: rows with a smaller arrival number are all there."""
        with self._passing:
            self._passed = max(self._passed, number)
            if self.points and self._home is not None:
                note_passed(self._home.points, self._passed)

    def end(self) -> None:
        """Nothing more will come."""
        for folder in self._folders.values():
            replace(Published.read(folder), ended=True).write(folder)

    def register(self, name: str, reader: str, row: int) -> None:
        note_reader(self._folders[name], reader, row)

    def register_part(self, reader: str, names: Iterable[str], fresh: bool) -> None:
        """The part of the network that takes these points needs all that it has not noted to have taken."""
        for number, name in enumerate(names):
            own = reader_name(reader, number)
            if fresh or not os.path.exists(os.path.join(self._folders[name], READERS, own)):
                note_reader(self._folders[name], own, 0)

    def register_missing(self, notes: Iterable[QueryNote]) -> None:
        """A query whose note of what it needs was lost, in a power cut say, needs all from where it began."""
        for note in notes:
            for number, start in enumerate(note.starts.values()):
                folder = self._folders.get(start["point"])
                reader = reader_name(note.name, number)
                if folder is not None and not os.path.exists(os.path.join(folder, READERS, reader)):
                    note_reader(folder, reader, start["first"])

    def remove_reader(self, query: str) -> None:
        for folder in self._folders.values():
            shutil.rmtree(os.path.join(folder, READERS, query), ignore_errors=True)

    def remove_readers(self, but: Collection[str]) -> None:
        """Those of queries that are not attached any more."""
        for folder in self._folders.values():
            place = os.path.join(folder, READERS)
            for name in os.listdir(place) if os.path.isdir(place) else []:
                # No query has a name that begins like this: it is a part of the network itself.
                if name not in but and not name.startswith("#"):
                    self.remove_reader(name)

    def status(self) -> dict[str, dict[str, Any]]:
        found = {}
        for name, log in self._logs.items():
            if name.startswith(ARC):
                continue
            published, first = log.published(), log.first()
            counted = self._counts.get(name)
            found[name] = {
                "rows": published.rows - first if counted is None else counted.count(),
                "passed": published.rows,
                "bytes": log.size(),
                "keep": self.points[name].spec.get("keep"),
                "view": name in self._network.outputs,
                "held": self._held(name, published),
            }
        return found

    def _held(self, name: str, published: Published) -> dict[str, int]:
        """The rows that are kept for a query alone: older than the point keeps them, and not taken by it yet."""
        log, point = self._logs[name], self.points[name]
        try:
            kept = (
                copied_upto(log.folder)
                if point.keep.latest
                else find_first(log, point, point.keep, published)
            )
        except FileNotFoundError:
            # Removed meanwhile: nobody needs it.
            return {}
        needed = find_readers(log.folder)
        return {
            query: kept - row for query, row in needed.items() if row < kept and not query.startswith("#")
        }


def _without_logs(rows: dict[str, int]) -> dict[str, int]:
    """Rows that leave the network: not those that go into a log only, or also."""
    return {name: number for name, number in rows.items() if not name.startswith("#")}


def find_start(
    points: Points, name: str, reader: str, since: str | int | None, table: Path, there: Published
) -> dict[str, Any]:
    """The row of a point's log with which a query begins; what it needs is not removed from here on.

    `there` is what could be read when the query came. A view of the latest rows is written out to `table`, with which
    the query begins.
    """
    point, log = points.points[name], points.log(name)
    if point.keep.latest:
        return _start_with_table(points, name, reader, since, table, there)
    kept = find_first(log, point, point.keep, there)
    if since is not None:
        kept = max(kept, find_first(log, point, _read_since(points, name, since), there))
    points.register(name, reader, kept)
    return {"point": name, "first": kept, "stop": there.rows, "mark": there.mark}


def _start_with_table(
    points: Points, name: str, reader: str, since: str | int | None, table: Path, there: Published
) -> dict[str, Any]:
    if since not in (None, "all", "now"):
        raise AuroraError(
            f"since {since}: {name} keeps the latest row of each key; write all for those, or now"
        )
    found = read_latest(points.log(name), points.points[name].key, points.schemas[name], there)
    points.register(name, reader, found.upto)
    start = {"point": name, "first": found.upto, "stop": found.upto, "mark": there.mark}
    if since == "now":
        return start
    write_log(str(table), found, points.points[name])
    return {**start, "table": str(table)}


def _read_since(points: Points, name: str, since: str | int) -> Keep:
    if since == "now":
        return Keep(rows=0)
    point = points.points[name]
    amount = int(since) if isinstance(since, str) and since.isdigit() else since
    where = f"since {since}"
    asked = read_keep(amount, point.on, points.schemas[name], where)
    for one, other in ((asked.rows, point.keep.rows), (asked.span, point.keep.span)):
        if one is not None and other is not None and one > other:
            raise AuroraError(
                f"{where}: point {name} keeps {point.spec.get('keep')}; ask for no more than that"
            )
    return asked
