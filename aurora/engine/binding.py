"""A network bound to its sources and sinks: everything is checked here that can be before Spark starts."""

import logging
import math
import os
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aurora.engine.checkpoint import Checkpoint, identity, locate_checkpoint, scratch_folder
from aurora.engine.commit import Commits
from aurora.engine.locks import Locks, check_outside
from aurora.engine.paths import Read, Written, check_local, check_places, survey
from aurora.engine.plan.narrowing import insert_projections
from aurora.engine.plan.plan import Plan, plan_network
from aurora.engine.plan.projection import project_inputs
from aurora.engine.plan.tables import MOST_TABLE_BYTES, Table
from aurora.engine.private import own_folder
from aurora.engine.settings import Settings, cores_of
from aurora.engine.sinks.address import open_rejects, open_sink
from aurora.engine.sinks.rejects import REJECTS_SINK
from aurora.engine.sinks.sink import Sink, StagingSink, is_shared
from aurora.engine.sources.address import check_source, open_source, read_table, source_path, source_paths
from aurora.engine.sources.in_order.inputs import put_in_order
from aurora.engine.sources.keyed_set import KeyedSet
from aurora.engine.sources.live.receivers import Feed
from aurora.engine.sources.paced import Wrapping
from aurora.engine.sources.source import Source, check_reached
from aurora.engine.spark.source import Admission
from aurora.engine.spark.user_modules import ship_functions
from aurora.engine.statistics import BatchReport
from aurora.engine.totals import Totals
from aurora.engine.wagons import Job
from aurora.errors import AuroraError
from aurora.network.asof_races import find_races
from aurora.network.bins import Bins, make_bins
from aurora.network.network import Network
from aurora.network.qos import find_zone

__all__ = [
    "Bound",
    "check_names",
    "check_settings",
    "find_places",
    "find_reads",
    "open_streams",
    "read_tables",
]

# Buckets are numbered in 16 bits.
MOST_PARTITIONS = 65_536
UNFINISHED = (
    "the run before came to the end of its input, but was ended before it had finished: it is finished now; for new "
    "input, give the same command again"
)


@dataclass(frozen=True)
class Bound:
    """A network with its sources and sinks; what it writes is locked until it is left.

    `done` if an earlier run with this checkpoint came to the end of the very same input, or was killed behind the end
    of another one before it had finished: it is not started over, for what it has read may be gone.
    """

    job: Job
    admission: Admission
    sinks: dict[str, Sink]
    receivers: list[Feed]
    checkpoint: Checkpoint
    inputs: dict[str, str]
    done: bool
    locks: Locks
    held: ExitStack
    # The shortest good zone of its outputs, in seconds.
    zone: float = math.inf

    @staticmethod
    def of(
        network: Network,
        sources: Mapping[str, Any],
        sinks: Mapping[str, Any],
        settings: Settings,
        find_cores: Callable[[], int] | None = None,
    ) -> "Bound":
        """Check and open what a run needs; `find_cores` is asked last, for a cluster must be started to know."""
        check_settings(settings)
        check_names(network, sources, sinks)
        if not sinks:
            first, outputs = next(iter(network.outputs), "NAME"), ", ".join(network.outputs)
            raise AuroraError(f"no sink given; add --sink {first}=csv:PATH (outputs: {outputs})")
        opened = {
            name: open_sink(name, address, network.schema(network.outputs[name].port))
            for name, address in sinks.items()
        }
        narrow = insert_projections(project_inputs(network, list(sinks)))
        plan = plan_network(narrow, list(sinks), settings.fuse)
        ship_functions(network, [*sources.values(), *sinks.values()])
        places = find_places(network, sources)
        _warn_of_races(network, plan, sources, places)
        with ExitStack() as held:
            locks = Locks()
            checkpoint = locate_checkpoint(opened, settings)
            held.callback(checkpoint.leave)
            spare: list[Path] = []
            held.callback(_remove_empty, spare)
            held.callback(locks.release)
            reads = _reads(network, sources)
            opened[REJECTS_SINK] = _rejects_sink(opened, settings, reads, locks, spare)
            folder = Written("the checkpoint", os.path.join(checkpoint.folder, ""))
            check_places(reads, [*_writes(opened), folder, *_log(settings)])
            own = None if settings.checkpoint is None else checkpoint.folder
            for what, place in (*_places(opened), ("the checkpoint", str(checkpoint.folder))):
                check_outside(what, place, own)
            for what, place in _places(opened):
                locks.take_place(f"{what} ({place})", place)
            checkpoint.take(locks)
            tables = read_tables(network, plan, sources)
            inputs = {name: survey(place) for name, place in places.items()}
            streams, receivers, noted = open_streams(
                network, plan, tables, sources, opened, checkpoint, settings
            )
            done = noted is not None and noted.end
            if noted is not None and noted.end and not _unchanged(noted, inputs, streams, receivers):
                if noted.finished:
                    checkpoint.discard()
                    streams, receivers, _ = open_streams(
                        network, plan, tables, sources, opened, checkpoint, settings
                    )
                    done = False
                else:
                    logging.getLogger("aurora").warning(UNFINISHED)
            plan = plan.with_tables(tables)
            parts = _staged_in_tasks(opened, plan, settings)
            scratch = scratch_folder(checkpoint.folder, _is_local(settings))
            cores = cores_of(settings.master) if find_cores is None else find_cores()
            buckets = checkpoint.buckets(settings.partitions or cores)
            job = Job(plan, buckets, parts, scratch, _find_values(network, sinks))
            admission = Admission.of(job, streams, settings.batch, max(2, cores))
            zone = find_zone(network.outputs[name].qos for name in sinks)
            return Bound(
                job, admission, opened, receivers, checkpoint, inputs, done, locks, held.pop_all(), zone
            )

    def commits(self, watch: Callable[[BatchReport], None] | None = None) -> Commits:
        """Opens the sinks: what a killed run wrote behind its last note is taken back."""
        return Commits(
            self.job.plan,
            self.sinks,
            self.checkpoint.note,
            watch,
            self.inputs,
            self._lock,
            self.checkpoint.spark,
        )

    def _lock(self, name: str, sink: Sink) -> None:
        """Lock what a sink has made by its device and inode."""
        for what, place in _places({name: sink}):
            self.locks.take_place(f"{what} ({place})", place)

    def already_done(self, waits: bool = False) -> Totals:
        """What the earlier run did; its files are checked against its notes, and its checkpoint removed if it must.

        Others may still go on with what came of it: then it `waits` until they note the end.
        """
        commits = self.commits()
        commits.finish()
        self.checkpoint.close(commits.totals, waits)
        return commits.totals

    def __enter__(self) -> "Bound":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """Lifts the locks; doing it twice does no harm."""
        self.held.close()


def read_tables(network: Network, plan: Plan, sources: Mapping[str, Any]) -> dict[str, Table]:
    """The rows of the tables that boxes take, which every task gets with them; stored sets stay where they are."""
    taken = {port.box for stage in plan.stages for box in stage.boxes for port in box.inputs}
    return {
        name: sources[name]
        if isinstance(sources[name], KeyedSet)
        else read_table(name, sources[name], entry.schema, MOST_TABLE_BYTES)
        for name, entry in network.inputs.items()
        if entry.static and name in taken
    }


def check_settings(settings: Settings) -> None:
    partitions = 1 if settings.partitions is None else settings.partitions
    if partitions > MOST_PARTITIONS:
        raise AuroraError(f"there are {MOST_PARTITIONS:,} partitions at most; found {partitions:,}")
    if settings.checkpoint is not None:
        check_local("checkpoint", settings.checkpoint)


def check_names(network: Network, sources: Mapping[str, Any], sinks: Mapping[str, Any]) -> None:
    """Raises a fault unless every source is that of an input, and every sink that of an output."""
    _check_names("source", sources, list(network.inputs), "input")
    _check_names("sink", sinks, list(network.outputs), "output")


def _check_names(what: str, given: Mapping[str, Any], known: list[str], of: str) -> None:
    if not isinstance(given, Mapping):
        name = known[0] if known else "name"
        raise AuroraError(
            f"the {what}s are a mapping of names, such as {{'{name}': 'csv:PATH'}}, found a {type(given).__name__}"
        )
    for name in given:
        if name not in known:
            raise AuroraError(
                f"{what} {name}: the network has no {of} of that name; it has {', '.join(known)}"
            )


def find_places(network: Network, sources: Mapping[str, Any]) -> dict[str, str]:
    """Every input has a source that can be read; gives the paths of those that are files."""
    places = {}
    for name in network.inputs:
        if name not in sources:
            raise AuroraError(f"input {name} has no source; add --source {name}=csv:PATH")
        path = source_path(name, sources[name])
        if path is not None:
            check_local(f"source {name}", path)
            places[name] = os.path.abspath(path)
        check_source(name, sources[name])
    return places


def find_reads(network: Network, sources: Mapping[str, Any]) -> list[Read]:
    """All files that a network with these sources reads: nobody may write there while it runs."""
    find_places(network, sources)
    return _reads(network, sources)


def _warn_of_races(network: Network, plan: Plan, sources: Mapping[str, Any], places: Collection[str]) -> None:
    """Say where which of two files is ahead decides what comes out."""
    # What stands around an address says itself when its rows come.
    files = [name for name in places if not isinstance(sources[name], Wrapping)]
    used = {box.name for stage in plan.stages for box in stage.boxes}
    for race in find_races(network, files):
        if race.box in used:
            logging.getLogger("aurora").warning(race.describe(known=True))


def _reads(network: Network, sources: Mapping[str, Any]) -> list[Read]:
    reads = [
        Read(f"{'table' if entry.static else 'source'} {name}", os.path.abspath(path))
        for name, entry in network.inputs.items()
        for path in source_paths(name, sources[name])
    ]
    return reads if network.path is None else [*reads, Read("the network", network.path)]


def _log(settings: Settings) -> list[Written]:
    return (
        [] if settings.log is None else [Written("Spark's log (--spark-log)", os.path.abspath(settings.log))]
    )


def _writes(sinks: Mapping[str, Sink]) -> list[Written]:
    return [
        Written(_told(name), sink.place, is_shared(sink))
        for name, sink in sinks.items()
        if sink.place is not None
    ]


def _told(sink: str) -> str:
    return "the file of rejects (--rejects)" if sink == REJECTS_SINK else f"sink {sink}"


def _rejects_sink(
    sinks: Mapping[str, Sink], settings: Settings, reads: list[Read], locks: Locks, spare: list[Path]
) -> Sink:
    """Bad rows go where the user says, or beside the first file that is written, or into the working folder."""
    if settings.rejects is not None:
        return open_rejects(settings.rejects)
    first = next((sink.place for sink in sinks.values() if sink.place is not None), None)
    if first is not None:
        return open_rejects(f"csv:{os.path.join(os.path.dirname(first.rstrip(os.sep)), 'rejects.csv')}")
    try:
        sink = open_rejects(f"csv:{os.path.join(os.getcwd(), 'rejects.csv')}")
        check_places(reads, _writes({REJECTS_SINK: sink}))
        for what, place in _places({REJECTS_SINK: sink}):
            check_outside(what, place)
            locks.take_place(f"{what} ({place})", place)
        return sink
    except AuroraError:
        # The working folder may be closed, it may be what is read, and another run may use it in the same way.
        spare.append(own_folder("aurora-rejects-"))
        return open_rejects(f"csv:{spare[-1] / 'rejects.csv'}")


def _remove_empty(folders: list[Path]) -> None:
    """Remove the folders in which there are no rejects."""
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def _places(sinks: Mapping[str, Sink]) -> list[tuple[str, str]]:
    """Return what the sinks are in words, and what they write."""
    return [(_told(name), sink.place) for name, sink in sinks.items() if sink.place is not None]


def open_streams(
    network: Network,
    plan: Plan,
    tables: Mapping[str, Any],
    addresses: Mapping[str, Any],
    sinks: Mapping[str, Sink],
    checkpoint: Checkpoint,
    settings: Settings,
) -> tuple[dict[str, Source], list[Feed], Totals | None]:
    """The sources of the inputs, and what is noted of them in the checkpoint, which is this run's from here on."""
    checkpoint.open(settings.fresh)
    unused = checkpoint.unused
    if unused:
        # Files that have come since belong to it.
        for order in Path(checkpoint.sources).glob("*.files"):
            order.unlink()
    streams, receivers = _open_all(network, plan, addresses, checkpoint, settings)
    owner = identity(plan, tables, streams, sinks, checkpoint.folder, network.parameters)
    if unused and not checkpoint.fits(owner):
        # What a run left that never began binds nobody.
        checkpoint.open(fresh=True)
        streams, receivers = _open_all(network, plan, addresses, checkpoint, settings)
        owner = identity(plan, tables, streams, sinks, checkpoint.folder, network.parameters)
    noted = checkpoint.claim(owner)
    for name, source in streams.items():
        if noted is not None and name in noted.places:
            # Before anything more is received, which would hide what is gone.
            check_reached(source, noted.places[name])
    return streams, receivers, noted


def _open_all(
    network: Network, plan: Plan, addresses: Mapping[str, Any], checkpoint: Checkpoint, settings: Settings
) -> tuple[dict[str, Source], list[Feed]]:
    streams: dict[str, Source] = {}
    receivers: list[Feed] = []
    for name, _ in plan.inputs:
        schema = network.inputs[name].schema
        source, receiver = open_source(name, addresses[name], schema, settings.follow, checkpoint.sources)
        streams[name] = source
        receivers += [receiver] if receiver else []
    return put_in_order(network, streams), receivers


def _unchanged(
    noted: Totals, inputs: Mapping[str, str], streams: Mapping[str, Source], receivers: list[Feed]
) -> bool:
    """Whether the input that a run has finished is what there is now; of what comes through a pipe nobody knows."""
    return (
        noted.inputs == inputs
        and not any(receiver.once for receiver in receivers)
        and all(
            name in noted.places and source.finished(noted.places[name]) for name, source in streams.items()
        )
    )


def _find_values(network: Network, sinks: Mapping[str, Any]) -> dict[str, tuple[str, Bins]]:
    """The outputs whose graphs say what values are worth, with the field and how its values are counted."""
    worth = {name: network.outputs[name].qos for name in sinks}
    graphs = {name: qos.value for name, qos in worth.items() if qos is not None and qos.value is not None}
    return {name: (value.of, make_bins(value.graph)) for name, value in graphs.items()}


def _staged_in_tasks(sinks: Mapping[str, Sink], plan: Plan, settings: Settings) -> dict[str, StagingSink]:
    local = _is_local(settings)
    return {
        name: sink
        for name, sink in sinks.items()
        if name != REJECTS_SINK and isinstance(sink, StagingSink) and sink.stages(plan.in_order(name), local)
    }


def _is_local(settings: Settings) -> bool:
    """Whether all tasks run on this machine, as this user."""
    return settings.master is None or settings.master.startswith("local")
