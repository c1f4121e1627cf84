"""`linear-road run`: the network on its input, as fast as it can or in real time, and the report."""

import csv
import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from aurora import AuroraError, BatchReport, Network, Settings, prepare_stored, run
from aurora.linear_road.addresses import (
    Second,
    delivered_address,
    delivered_second,
    stored_address,
    stored_second,
    unread_second,
)
from aurora.linear_road.answers import Stamps, answer_sinks, response_times
from aurora.linear_road.delivery import Clock, Delivery
from aurora.linear_road.folder import RunFolder
from aurora.linear_road.fused.queries import fused_linear_road
from aurora.linear_road.network.graphs import GRAPHS
from aurora.linear_road.network.prepared import prepare
from aurora.linear_road.network.queries import linear_road
from aurora.linear_road.reading import Survey, survey
from aurora.linear_road.stored_histories import find_histories

__all__ = ["PACES", "Progress", "RunReport", "run_benchmark"]

PACES = ("fast", "realtime")
# Rows of a batch at most: what waits longer waits on disk.
_BATCH = {"fast": 1_000_000, "realtime": 1_000_000}
# How long a batch of stored files should take, in seconds, so that answers do not wait for a long one.
_BATCH_SECONDS = {"fast": 2.5, "realtime": None}
# Empty batches before the first tuple: Java compiles what it runs often, and in real time nobody waits for it to.
_WARM_UP = {"fast": 1, "realtime": 5}
# From here on a run in real time says that it is behind.
_BEHIND = 3.0


@dataclass(frozen=True)
class Progress:
    """Where a run is: the second it has answered, the tuples so far and per second, and how far it is behind."""

    second: int
    last_second: int
    tuples: int
    rate: float
    behind: float
    responses: dict[str, float]


@dataclass(frozen=True)
class RunReport:
    """What a run did. `ended` is false where it was stopped; `seconds` are those of this run, without start-up."""

    pace: str
    replicate: int
    tuples: int
    tuples_per_s: float
    seconds: float
    start_up: float
    rejected: int
    ended: bool
    cores: int
    largest_lag: float
    responses: dict[str, dict[str, float]]
    fused: bool = False
    notes: list[str] = field(default_factory=list)

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=2) + "\n")


def run_benchmark(
    data: Path,
    out: Path,
    *,
    history: Path | None = None,
    pace: str = "fast",
    replicate: int = 1,
    master: str | None = None,
    batch: int | None = None,
    partitions: int | None = None,
    today: int = 2,
    hopeless: float | None = None,
    fresh: bool = False,
    fused: bool = False,
    home: Path | None = None,
    graphs: bool = False,
    watch: Callable[[Progress], None] = lambda _: None,
    tell: Callable[[str], None] = lambda _: None,
    stop: threading.Event | None = None,
) -> RunReport:
    """Runs until the input ends or `stop` is set; a run that was killed goes on where it stopped.

    The network is one of boxes, or with `fused` the one whose superboxes are compiled by hand. With a `home`, queries
    can be attached to it. With `graphs` its outputs have a quality of service: under overload requests wait, and are
    then left out, so that tolls and alerts come in time.

    `tell` hears what the user should know, such as that the run falls behind; a run that is `hopeless` seconds behind
    is given up.
    """
    began = time.monotonic()
    if pace not in PACES:
        raise AuroraError(f"--pace is {pace!r}: give {' or '.join(PACES)}")
    if fused and home is not None:
        raise AuroraError("--home is for the network of boxes, which has points; leave --fused out")
    if graphs and home is None:
        raise AuroraError("--graphs needs a place where requests can wait; add --home FOLDER")
    folder = RunFolder(out.absolute())
    meant = {
        "data": str(data.absolute()),
        "pace": pace,
        "replicate": replicate,
        "today": today,
        "fused": fused,
    }
    if home is not None:
        meant["home"] = str(home.absolute())
    if graphs:
        meant["graphs"] = True
    found = survey(data)
    histories = find_histories(data, history)
    folder.check([*(file.path for file in found.files), histories.toll, histories.segment])
    with folder.locked(), folder.claimed(meant, fresh) as anew:
        stop = stop or threading.Event()
        notes = [note] if (note := histories.note()) else []
        for note in notes:
            tell(note)
        copies = found.replication(replicate)
        # In real time the driver makes the copies.
        made = copies if pace == "fast" else None
        steps = (copies.xways, copies.vid_step) if replicate > 1 else (0, 0)
        prepared = prepare(histories, folder.hidden("history"), today, *steps, fused=fused)
        settings = Settings(
            master=master,
            batch=batch or _BATCH[pace],
            partitions=partitions,
            checkpoint=str(folder.hidden("checkpoint")) if home is None else None,
            # A home outlives its run, for whoever looks at its points.
            fresh=home is not None and anew,
            home=None if home is None else str(home.absolute()),
            rejects=f"csv:{folder.rejects}",
            batch_seconds=_BATCH_SECONDS[pace],
            # Before the clock starts, and before anything is asked for.
            warm_up=_WARM_UP[pace],
        )
        network = (
            fused_linear_road(prepared, made)
            if fused
            else linear_road(prepared, GRAPHS if graphs else None, made)
        )
        job = _Job(folder, found, network, settings, watch, tell, stop, hopeless, graphs)
        if pace == "fast":
            done = job.fast(began)
        else:
            done = job.realtime(data, replicate, began)
        report = RunReport(
            **{**done, "pace": pace, "replicate": replicate, "fused": fused, "notes": notes + job.notes}
        )
        report.write(folder.report)
        if report.ended:
            folder.clear()
        return report


class _Job:
    """One run under way."""

    def __init__(
        self,
        folder: RunFolder,
        found: Survey,
        network: Network,
        settings: Settings,
        watch: Callable[[Progress], None],
        tell: Callable[[str], None],
        stop: threading.Event,
        hopeless: float | None,
        apart: bool,
    ) -> None:
        self._folder = folder
        # Whether requests are answered in a file of their own.
        self._requests = folder.requests if apart else None
        self._found = found
        self._network = network
        self._settings = settings
        self._watch = watch
        self._tell = tell
        self._stop = stop
        self._hopeless = hopeless
        self._clock = Clock(folder.hidden("clock.json"))
        self._stamps = Stamps()
        self._started: float | None = None
        # The second at which a batch has ended.
        self._second: Second = stored_second(found)
        self._told = 0.0
        self._lag = 0.0
        self.notes: list[str] = []

    def fast(self, began: float) -> dict[str, Any]:
        def watched(report: BatchReport) -> None:
            self._progress(report, 0.0)

        return self._run(stored_address(self._found), None, watched, began)

    def realtime(self, data: Path, replicate: int, began: float) -> dict[str, Any]:
        hidden = self._folder.hidden
        delivered = hidden("delivered")
        delivery = Delivery(
            str(data.absolute()),
            str(delivered),
            str(self._clock.path),
            str(hidden("driver.json")),
            replicate,
            self._found.first_second,
            self._found.last_second,
        )
        driver = delivery.start()
        self._second = delivered_second(self._found)
        unread = unread_second(self._found)
        # The first second that is needed after each batch so far.
        needed: list[int] = []

        def go() -> None:
            assert driver.stdin is not None
            self._started = time.monotonic()
            driver.stdin.write("go\n")
            driver.stdin.flush()

        if self._clock.epoch() is not None:
            # A run that goes on may have answered all that was delivered: its clock has been running all the time.
            go()

        def watched(report: BatchReport) -> None:
            if self._started is None and report.batch + 1 >= self._settings.warm_up:
                go()
            # A second is due when the clock gets there; the next one may take a second to come.
            due = self._second(report.places["traffic"]) + 1
            needed.append(unread(report.places["traffic"]))
            _remove_seconds(delivered, needed[-3] if len(needed) > 2 else 0)
            self._progress(report, max(0.0, self._clock.now() - due) if due > 0 and not report.end else 0.0)

        def ended() -> None:
            if driver.wait() != 0:
                self._stop.set()

        threading.Thread(target=ended, daemon=True).start()
        try:
            done = self._run(delivered_address(delivered), self._clock, watched, began)
        finally:
            if driver.poll() is None:
                driver.kill()
            _, complaint = driver.communicate()
        if driver.returncode not in (0, -9):
            raise AuroraError(
                complaint.strip().splitlines()[-1] if complaint.strip() else "the driver stopped"
            )
        return done

    def _run(
        self, address: str, clock: Clock | None, watched: Callable[[BatchReport], None], began: float
    ) -> dict[str, Any]:
        sinks = answer_sinks(
            self._folder.output, clock.epoch if clock else None, self._stamps, requests=self._requests
        )
        # Beside the checkpoint, so that a run that goes on finds the history stored by key.
        sources = prepare_stored(self._network, {"traffic": address}, self._folder.hidden("stored"))
        result = run(self._network, sources, sinks, self._settings, watched, self._stop)
        taken = result.seconds if self._started is None else time.monotonic() - self._started
        tuples = result.totals.taken.get("kinds", 0)
        if not self._folder.rejects.exists():
            with self._folder.rejects.open("w", newline="") as file:
                csv.writer(file).writerow(["source", "file", "line", "reason", "text"])
        return {
            "tuples": tuples,
            "tuples_per_s": round(tuples / taken) if taken else 0,
            "seconds": round(taken, 3),
            "start_up": round(time.monotonic() - began - taken, 3),
            "rejected": result.totals.rejected,
            "ended": result.ended,
            "cores": os.cpu_count() or 1,
            "largest_lag": round(self._lag, 3),
            "responses": response_times(self._folder.output, *filter(None, [self._requests])),
        }

    def _progress(self, report: BatchReport, behind: float) -> None:
        self._folder.begun.touch()
        second = max(self._second(report.places["traffic"]), 0)
        taken = report.seconds if self._started is None else time.monotonic() - self._started
        taken_in = report.taken.get("kinds", 0)
        self._lag = max(self._lag, behind)
        self._watch(
            Progress(
                second,
                self._found.last_second,
                taken_in,
                taken_in / max(taken, 0.001),
                behind,
                self._stamps.latest(),
            )
        )
        if behind > _BEHIND + 2 and time.monotonic() - self._told > 10:
            self._told = time.monotonic()
            self._tell(
                f"overload: second {second} is answered {behind:.1f} s late; what waits is kept on disk"
            )
        if self._hopeless is not None and behind > self._hopeless:
            self.notes.append(f"given up at second {second}, {behind:.0f} s behind")
            self._stop.set()


def _remove_seconds(folder: Path, before: int) -> None:
    """Deletes delivered seconds that no restart will ask for again."""
    for entry in os.scandir(folder):
        if entry.name.startswith("second-") and int(entry.name[7:-4]) < before:
            os.unlink(entry.path)
