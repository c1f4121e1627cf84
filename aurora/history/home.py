"""The home of a running network: the folder of its checkpoint, its points, its attached queries and its socket."""

import json
import os
import re
import shutil
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from aurora.algebra.tuples.schema import Schema
from aurora.engine.checkpoint import has_begun, is_checkpoint
from aurora.engine.durable import (
    Damaged,
    cannot_write,
    read_json,
    remove_tree,
    replace_note,
    write_whole,
)
from aurora.engine.locks import Locks, check_outside, is_held
from aurora.engine.private import is_owner
from aurora.engine.statistics import sum_up
from aurora.engine.totals import SUMS, Totals
from aurora.engine.waits import read_waits
from aurora.errors import AuroraError
from aurora.history.log import PUBLISHED, Published
from aurora.history.status import add_sums, describe_run

__all__ = ["Home", "QueryNote", "check_name"]

NAME_HOSTS = "remove it, and name the servers again with --allow-host"
NETWORK = "network.json"
# All that lies in a home.
OURS = {
    "checkpoint",
    "control",
    "deferred",
    "figures.json",
    "hosts.json",
    "lock",
    NETWORK,
    "points",
    "queries",
    "rejects.csv",
    "starting",
    "status.json",
    "stored",
}
NAME = re.compile(r"[\w.-]{1,100}")


@dataclass(frozen=True)
class QueryNote:
    """An attached query as the home keeps it: its text, where its rows go, and the row at which each input began."""

    name: str
    text: str
    sinks: dict[str, str]
    starts: dict[str, dict[str, Any]]
    since: str | None = None
    # The file that it was read from: the user's own functions lie beside it.
    path: str | None = None
    # Names its checkpoint: Spark may still write to that of a query of the same name which was detached.
    mark: str = ""


@dataclass
class Home:
    folder: Path
    _locks: Locks = field(default_factory=Locks, repr=False)

    @staticmethod
    def of(folder: str | Path) -> "Home":
        return Home(Path(os.path.abspath(folder)))

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    @property
    def stored(self) -> Path:
        return self.folder / "stored"

    @property
    def socket(self) -> Path:
        return self.folder / "control"

    @property
    def rejects(self) -> Path:
        return self.folder / "rejects.csv"

    @property
    def waits(self) -> Path:
        """Notes on what a run that starts waits for."""
        return self.folder / "waits"

    @property
    def deferred(self) -> Path:
        """Of the part of the network that may wait."""
        return self.folder / "deferred"

    @property
    def points(self) -> Path:
        return self.folder / "points"

    def point(self, name: str) -> Path:
        return self.points / name

    def query(self, name: str) -> Path:
        return self.folder / "queries" / name

    @property
    def catalog(self) -> Path:
        """The moving averages of what boxes cost and give."""
        return self.folder / "figures.json"

    @property
    def is_starting(self) -> bool:
        """Whether a run has the home and does not answer yet."""
        return self._starting.exists() and is_held(self._lock)

    def check_ours(self) -> None:
        """Raises a fault if the folder is something else than a home."""
        if self.folder.exists() and not self.folder.is_dir():
            raise AuroraError(f"home {self.folder} is not a folder; name another one")
        inside = set(os.listdir(self.folder)) if self.folder.is_dir() else set()
        ours = inside & {"checkpoint", "lock"} or self._is_without_checkpoint(inside)
        if inside and not (ours and is_checkpoint(self.checkpoint)):
            raise AuroraError(
                f"home {self.folder} holds {min(inside)}, so it is not the home of a network; name another one"
            )

    def _is_without_checkpoint(self, inside: Collection[str]) -> bool:
        """Whether somebody has removed the checkpoint of a home: the rest is there still."""
        return NETWORK in inside and set(inside) <= OURS and self.read_network() is not None

    def check_begun(self) -> None:
        """Raise a fault if there is history that no checkpoint goes on with: it would be removed."""
        if has_begun(self.checkpoint):
            return
        for note in sorted(self.points.glob(f"*/{PUBLISHED}")):
            if Published.read(str(note.parent)).rows:
                raise AuroraError(
                    f"home {self.folder} has no checkpoint any more, so no run can go on with the history of "
                    f"{note.parent.name}; restore {self.checkpoint}, read the history with aurora peek {self.folder} "
                    f"{note.parent.name}, or start over with --fresh, which removes it"
                )

    def open(self) -> None:
        """Makes the folder, closed to all but its owner, and takes it for this run."""
        self.check_ours()
        check_outside("the home", str(self.folder))
        try:
            self.folder.mkdir(0o700, parents=True, exist_ok=True)
            owner = self.folder.stat().st_uid
            if not is_owner(owner, self.folder):
                # Also as root: he could change what this run trusts.
                raise AuroraError(
                    f"home {self.folder} belongs to another user, number {owner}; name another one"
                )
            self.folder.chmod(0o700)
        except OSError as fault:
            raise cannot_write(self.folder, fault) from None
        try:
            self._locks.take(f"home {self.folder}", self._lock)
        except AuroraError as fault:
            raise AuroraError(f"{fault}; to talk to it: aurora status {self.folder}") from None
        self._status.unlink(missing_ok=True)
        self._starting.touch()

    def note_started(self) -> None:
        """From now on the run answers."""
        self._starting.unlink(missing_ok=True)

    def release(self) -> None:
        """Doing it twice, or without having opened it, does no harm."""
        if self._locks.held:
            self.note_started()
        self._locks.release()

    def check_network(self, network: str, remedy: str = "name another one") -> None:
        """Raises a fault if the last run in this home was that of a network with another name."""
        recorded = self.read_network()
        if recorded is not None and recorded["name"] != network:
            raise AuroraError(f"{self.folder} is the home of another network, {recorded['name']}; {remedy}")

    def check_parts(self, split: bool, network: str) -> None:
        """Raises a fault if an earlier run in this home had the network in one part, and this one has two, or the other
        way round: what waits there would be lost."""
        begun = (self.checkpoint / "network").exists()
        if begun and self.deferred.is_dir() != split:
            # Another network may well have another number of parts.
            self.check_network(network, "name another one, or start over with --fresh")
        if begun and self.deferred.is_dir() and not split:
            raise AuroraError(
                f"{self.folder} holds a run in two parts, with tuples that wait between them: leave --no-deferring "
                "out, or start over with --fresh"
            )
        if begun and not self.deferred.is_dir() and split:
            raise AuroraError(
                f"{self.folder} holds a run in one part: give --no-deferring, or start over with --fresh"
            )

    def fault_of_start(self) -> AuroraError:
        """What a command says that needs a run which answers, while the run starts."""
        return AuroraError(f"the network in {self.folder} is still starting; try again in a few seconds")

    def check_there(self) -> None:
        if self.folder.is_file():
            raise AuroraError(f"{self.folder} is a file; give the folder of a home")
        there = set(os.listdir(self.folder)) if self.folder.is_dir() else set()
        if not self.checkpoint.is_dir() and not self._is_without_checkpoint(there):
            raise AuroraError(
                f"{self.folder} is not the home of a network; start one with aurora run NETWORK --home {self.folder}"
            )

    def notes(self) -> Iterator[QueryNote]:
        """The queries that are attached."""
        folder = self.folder / "queries"
        for name in sorted(os.listdir(folder)) if folder.is_dir() else []:
            note = folder / name / "query.json"
            if note.exists():
                yield _read_query(note)
            else:
                # Half attached or half detached when the network was killed.
                remove_tree(folder / name)

    def write_note(self, note: QueryNote) -> None:
        self.query(note.name).mkdir(parents=True, exist_ok=True)
        write_whole(self.query(note.name) / "query.json", json.dumps(asdict(note), indent=1))

    def remove_query(self, name: str) -> None:
        """The note goes first: without it the rest means nothing."""
        (self.query(name) / "query.json").unlink(missing_ok=True)
        remove_tree(self.query(name))

    def forget_queries(self) -> None:
        remove_tree(self.folder / "queries")

    def forget_deferred(self, but: bool) -> None:
        """Removes what an earlier run has left of a part that waits, unless there is one now."""
        if not but:
            remove_tree(self.deferred)

    def forget_points(self, but: Collection[str]) -> None:
        """Removes what was kept at points that the network does not have any more."""
        place = self.folder / "points"
        for path in place.iterdir() if place.is_dir() else []:
            if path.is_dir() and path.name not in but:
                shutil.rmtree(path, ignore_errors=True)

    def write_status(self, status: dict[str, Any]) -> None:
        """The last word of a run, for who asks when it does not run."""
        replace_note(self._status, json.dumps(status))

    def last_status(self) -> dict[str, Any]:
        """The last word; where a run was killed, what its checkpoint says."""
        try:
            found: dict[str, Any] = read_json(self._status)
        except (FileNotFoundError, Damaged):
            found = self._describe_totals()
            parameters = (self.read_network() or {}).get("parameters")
            found |= {"parameters": parameters} if parameters else {}
        if self.is_starting:
            return {**found, "state": "starting", "waits": self._read_waits()}
        return {**found, "state": "stopped", "waits": []}

    def _read_waits(self) -> list[dict[str, Any]]:
        found = sorted(read_waits(str(self.waits)).values(), key=lambda waiting: waiting.since)
        return [{"for": each.what, "since": round(each.since, 3)} for each in found]

    def _describe_totals(self) -> dict[str, Any]:
        """What the checkpoints of the network, in one part or two, say."""
        totals = Totals.load(self.checkpoint / "committed.json") or Totals()
        later = Totals.load(self.deferred / "checkpoint" / "committed.json") or Totals()
        for name in SUMS:
            getattr(totals, name).update(getattr(later, name))
        boxes = [name for name, taken in totals.taken.items() if taken and not name.startswith("#")]
        outputs = [name for name in totals.rows if not name.startswith("#")]
        told = describe_run(sum_up(totals), boxes, dict.fromkeys(outputs), {}, {})
        discarded = totals.discarded | later.discarded
        return add_sums(told, totals.places, totals.rejects, discarded)

    def allow_hosts(self, hosts: Iterable[str], fresh: bool = False) -> None:
        """Keep the servers that the user has named, beside those of earlier runs unless it is a `fresh` one."""
        before = self.read_hosts()
        kept = sorted({*hosts} if fresh else {*before, *hosts})
        if kept != before:
            replace_note(self._hosts, json.dumps(kept))

    def read_hosts(self) -> list[str]:
        """Return the servers, HOST or HOST:PORT, that the user has named for runs of this home."""
        try:
            return [str(host) for host in read_json(self._hosts, NAME_HOSTS)]
        except FileNotFoundError:
            return []

    @property
    def _hosts(self) -> Path:
        return self.folder / "hosts.json"

    def write_network(self, drawn: dict[str, Any]) -> None:
        """The boxes and arcs of the network, for whoever wants to see it with its figures."""
        replace_note(self._network, json.dumps(drawn))

    def read_network(self) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = read_json(self._network)
        except (FileNotFoundError, Damaged):
            # The next run writes it anew.
            return None
        return found

    def read_schemas(self) -> tuple[dict[str, Schema], dict[str, Schema]]:
        """Return the schemas of points, views and stored sets, and those of all streams, of the last run's network."""
        found = self.read_network()
        if found is None or "points" not in found:
            if self.is_starting:
                raise self.fault_of_start()
            raise AuroraError(
                f"{self.folder} holds no schemas, because no run of this version has begun there; start one with "
                f"aurora run NETWORK --home {self.folder}"
            )
        points, streams = (
            {name: Schema.parse(text) for name, text in found[kind].items()} for kind in ("points", "streams")
        )
        return points, streams

    @property
    def _network(self) -> Path:
        return self.folder / NETWORK

    @property
    def _lock(self) -> Path:
        return self.folder / "lock"

    @property
    def _starting(self) -> Path:
        return self.folder / "starting"

    @property
    def _status(self) -> Path:
        return self.folder / "status.json"


def _read_query(path: Path) -> QueryNote:
    remedy = f"remove {path.parent}, and attach the query again"
    try:
        return QueryNote(**read_json(path, remedy))
    except TypeError:
        raise Damaged(f"{path} is damaged: it is no note of a query; {remedy}") from None


def check_name(name: str) -> None:
    if not NAME.fullmatch(name) or name.startswith("."):
        raise AuroraError(
            f"query {name}: a name may contain letters, digits, '-', '_' and '.'; give one with --name"
        )
