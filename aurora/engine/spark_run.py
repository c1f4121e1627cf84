"""A network that runs as one Spark query: started, controlled, and stopped when the input ends."""

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from aurora.engine.advice import Adviser
from aurora.engine.binding import Bound
from aurora.engine.controls import Controls
from aurora.engine.drops import Drop
from aurora.engine.fault_notes import read_fault
from aurora.engine.outages import is_stopped
from aurora.engine.pacing import find_longest
from aurora.engine.plan.plan import Plan
from aurora.engine.plan.rewriting import find_chains, restore_work
from aurora.engine.query import train_query
from aurora.engine.result import Result
from aurora.engine.settings import Settings, cores_of
from aurora.engine.sinks.sink import Interrupted, interrupt
from aurora.engine.sources.source import can_shed, can_skip, notices
from aurora.engine.spark.callbacks import guard_callbacks
from aurora.engine.spark.collecting import collect_rows
from aurora.engine.spark.damage import find_damaged_state
from aurora.engine.spark.faults import SILENT, java_fault, tell_fault
from aurora.engine.spark.local_files import keep_folder
from aurora.engine.spark.master import check_master, count_cores, has_workers, is_one_java
from aurora.engine.spark.scratch import remove_scratch
from aurora.engine.spark.session import (
    INTERPRETED,
    LIGHT_JAVA,
    NETWORK_POOL,
    SHARED_SLOTS,
    is_ours,
    java_ended,
    own_session,
    spark_session,
)
from aurora.engine.spark.stopping import Stopping
from aurora.engine.spark.yielding import worker_priority
from aurora.engine.statistics import BatchReport, Recent, Statistics, sum_up
from aurora.engine.steering import Steering
from aurora.engine.taps import Taps
from aurora.engine.totals import Totals
from aurora.engine.waits import NotesWatch, Waiting, waits
from aurora.errors import AuroraError
from aurora.network.network import Network

__all__ = ["Result", "SparkRun", "Stop", "start_run"]

# Between two looks at a query, in seconds.
LOOK = 0.05
# How long a batch under way may take to end in a session of the user's before it is interrupted, in seconds.
PATIENCE = 5.0
# Seconds for a batch that Spark still plans: none of its tasks runs yet, and it is left as soon as it is planned.
PLANNING = 60.0
# Between two looks for workers of a cluster, in seconds.
LOOK_FOR_WORKERS = 1.0
NO_WORKERS = "the master has given no worker yet"
HOW_TO_GET_WORKERS = (
    "the run waits: check that workers run there, that they have cores and memory to spare, and that they can reach "
    "this machine"
)
# Reports that wait for whoever asks for them; of more, the oldest are forgotten.
REPORTS = 1000
# Whether Spark interrupts the tasks of a job that fails or is stopped. A task that waits for its Python worker takes
# that for the death of the process that forks them all, and starts it anew: the workers of every other run end with it.
INTERRUPTS = "spark.job.interruptOnCancel"


class Stop(Protocol):
    """What says that a run is to stop: an event, or what is like one."""

    def is_set(self) -> bool: ...


def start_run(
    network: Network,
    sources: Mapping[str, Any],
    sinks: Mapping[str, Any],
    settings: Settings | None = None,
    watch: Callable[[BatchReport], None] | None = None,
    pool: str = NETWORK_POOL,
    shared: bool = False,
    adviser: Callable[[Plan], Adviser] | None = None,
    zone: float = math.inf,
    yields: bool = False,
) -> "SparkRun":
    """Starts a network as a Spark query whose tasks are scheduled in `pool`.

    With `shared`, others will run beside it: a Spark that is started here then has slots for them, too, and whoever
    starts them says with `finish` that all are done. `adviser`
    makes the one that rearranges the network while it runs, unless the settings forbid it. Its batches are as short as
    others need them whose shortest good zone ends at `zone`. If it `yields`, it leaves the cores to whoever runs beside
    it.
    """
    settings = settings or Settings()
    check_master(settings.master)
    with ExitStack() as held:
        java = {**LIGHT_JAVA, **(SHARED_SLOTS if shared and settings.master is None else {})}

        def begin() -> SparkSession:
            return spark_session(f"aurora {network.name}", settings.master, java, settings.log)

        def find_cores() -> int:
            context = SparkContext._active_spark_context
            master = settings.master if context is None else str(context.master)
            if is_one_java(master):
                return cores_of(settings.master)
            return count_cores(begin().sparkContext, is_stopped)

        bound = held.enter_context(Bound.of(network.checked(), sources, sinks, settings, find_cores))
        spark = own_session(begin(), INTERPRETED)
        advises = None if adviser is None or not settings.optimise else adviser(bound.job.plan)
        bound = replace(bound, zone=min(bound.zone, zone))
        run = SparkRun(spark, bound, settings, watch, pool, advises, yields, shared)
        # From here on the run lifts its locks itself.
        held.pop_all()
    return run


class SparkRun:
    """A network that runs. Leaving its `with` block stops it."""

    def __init__(
        self,
        spark: SparkSession,
        bound: Bound,
        settings: Settings,
        watch: Callable[[BatchReport], None] | None = None,
        pool: str = NETWORK_POOL,
        adviser: Adviser | None = None,
        yields: bool = False,
        shared: bool = False,
    ) -> None:
        self._spark = spark
        self._shared = shared
        self._yields = yields
        self._adviser = adviser
        self._chains = find_chains(bound.job.plan)
        self._pool = pool
        self._bound = bound
        self._settings = settings
        self._watch = watch
        self._began, self._since = time.monotonic(), time.time()
        self._ended, self._stopped = threading.Event(), threading.Event()
        self._reports: deque[BatchReport] = deque(maxlen=REPORTS)
        self._seen = Statistics("running")
        self._recent = Recent()
        self._taps = Taps()
        # What went wrong while a batch was taken, and what the run as a whole ended with.
        self._cause: BaseException | None = None
        self._fault: BaseException | None = None
        self._raised = False
        self._result: Result | None = None
        # One thread of Spark's takes the batches, and whoever holds the run may call it from any other.
        self._taking, self._closing = threading.Lock(), threading.RLock()
        self._taker = 0
        # Whether a batch came that was left to the next run.
        self._left = False
        self._stopping = Stopping()
        self._steering = Steering(str(bound.checkpoint.folder), lambda: self.state != "stopped")
        self._query: StreamingQuery | None = None
        self._task_waits = NotesWatch(bound.job.scratch, waits)
        if bound.done:
            self._ended.set()
            self._result = Result(bound.already_done(shared), 0.0, True, already=True)
            self._seen = sum_up(self._result.totals)
            bound.release()
            return
        self._commits = bound.commits(self._committed)
        self._seen = sum_up(self._commits.totals)
        try:
            self._steering.begin()
            for receiver in bound.receivers:
                receiver.connect()
            self._task_waits.start()
            self._query = self._start()
        except BaseException:
            self._release()
            raise

    @property
    def state(self) -> str:
        """running, paused or stopped."""
        if self._result is not None or not self._active():
            return "stopped"
        return "paused" if self.controls.paused else "running"

    @property
    def controls(self) -> Controls:
        """Those that were set last."""
        return self._steering.controls

    @property
    def totals(self) -> Totals:
        """What all batches have done so far, including earlier runs."""
        return self._result.totals if self._result is not None else self._commits.totals

    @property
    def live(self) -> frozenset[str]:
        """The inputs whose rows come while the network runs."""
        sources = self._bound.admission.sources
        return frozenset(name for name, source in sources.items() if source.live)

    @property
    def sheddable(self) -> frozenset[str]:
        """Those of them from which load can be shed."""
        sources = self._bound.admission.sources
        return frozenset(name for name, source in sources.items() if can_shed(source))

    @property
    def skipping(self) -> frozenset[str]:
        """Those whose rows can be passed over before they are read."""
        sources = self._bound.admission.sources
        return frozenset(name for name, source in sources.items() if can_skip(source))

    @property
    def cores(self) -> int:
        """Those that run the tasks; there may be more tasks than cores on this machine."""
        context = self._spark.sparkContext
        if is_one_java(str(context.master)):
            return min(cores_of(str(context.master)), cores_of(None))
        return max(int(context.defaultParallelism), 1)

    def wait(self, stop: Stop | None = None) -> Result:
        """Waits until the input ends or the run is stopped; `stop` stops it, too."""
        waiting: Waiting | None = None
        # Workers that have come once are not looked for again.
        look = self._began + waits.quiet
        while self._active() and not (stop is not None and stop.is_set()):
            self._ended.wait(LOOK)
            if time.monotonic() > look:
                there = has_workers(self._spark.sparkContext)
                look = math.inf if there else time.monotonic() + LOOK_FOR_WORKERS
                if not there and waiting is None:
                    waiting = waits.begin(NO_WORKERS, HOW_TO_GET_WORKERS, self._since)
                elif there and waiting is not None:
                    waits.end(waiting)
                    waiting = None
        if waiting is not None:
            waits.end(waiting)
        return self.stop()

    def stop(self) -> Result:
        """Ends the run, with the batch that is under way left to the next run; gives what it did."""
        if self.is_within:
            raise AuroraError(
                "a run cannot be stopped from its own watch or sink: set the event that you passed to `run` or `wait`"
            )
        self._stopped.set()
        for sink in self._bound.sinks.values():
            interrupt(sink)
        with self._closing:
            if self._result is None and self._fault is None:
                self._close()
            if self._result is None:
                assert self._fault is not None
                self._raised = True
                raise self._fault
            return self._result

    def finish(self) -> None:
        """Notes, behind a run whose input has ended, that those beside it are done, too: only now does the same command
        start over if the input has changed."""
        if self._result is not None and self._result.ended:
            self._result.totals.finish(self._bound.checkpoint.note)

    def pause(self, wait: bool = True) -> None:
        """Lets the batch under way end, and makes no other: the input waits. Returns when it stands still, or at once
        without `wait`."""
        self._steering.change(paused=True, until=0)
        if wait:
            self.settle()

    def settle(self) -> None:
        """Waits until what was asked for last is so, and the batches before are done; not from within one of them."""
        self._answer()

    @property
    def is_within(self) -> bool:
        """Whether who asks is called by a batch that is under way: a sink, or the watch."""
        return self._taker == threading.get_ident()

    def resume(self) -> None:
        self._steering.change(paused=False, until=0)

    def step(self, batches: int = 1) -> None:
        """Lets a run that is paused, or pauses for it, make so many more batches, as soon as there is input."""
        if batches < 1:
            raise AuroraError(f"a step is 1 batch or more, found {batches}")
        if not self.controls.paused:
            self.pause()
        # Not while others may not order: a batch that orders something would never end.
        made = self._answer()
        with self._steering:
            self._steering.change(paused=True, until=max(made, self.controls.until) + batches)

    def step_if_still(self) -> None:
        """Lets a run that is paused make one more batch, unless it makes one already. Does not wait for it."""
        with self._steering:
            made = self.totals.batch + 1
            if self.controls.paused and self.controls.until <= made:
                self._steering.change_while_going(until=made + 1)

    def hold(self, held: bool) -> None:
        """Makes no batch behind the one under way, for others go first; or goes on. Does not wait for it."""
        self._steering.change_while_going(held=held)

    def hold_if_free(self, held: bool) -> bool:
        """The same from within a batch, before the next one is made. Gives whether it is so now."""
        return self._steering.change_if_free(held=held)

    @property
    def at_work(self) -> bool:
        """Whether a batch is under way."""
        try:
            return self._active() and bool(self._query is not None and self._query.status["isDataAvailable"])
        except (Py4JError, OSError):
            return False

    def set_drops(self, drops: tuple[Drop, ...], patient: bool = False) -> bool:
        """From the next batch on these drop boxes shed load, and batches may take longer, or not. Gives whether that is
        so now."""
        return self._steering.change_if_free(drops=drops, patient=patient)

    def set_train_length(self, rows: int | None) -> None:
        """From the next batch on, `rows` of each input in a batch, at most `Settings.batch`; None: as it sees fit."""
        if rows is not None and rows < 1:
            raise AuroraError(f"a train has 1 row or more, found {rows}")
        self._steering.change(rows=rows)

    def look(self, stream: str, after: int = 0) -> tuple[pa.RecordBatch | None, int]:
        """Tuples of a stream behind number `after` of those shown so far, and the number of the last.

        It begins with the next batch, shows a hundred tuples of each at most, and ends when nobody asks any more.
        """
        plan = self._bound.job.plan
        found = self._taps.ask(plan.find_stream(stream), after)
        self._steering.change_if_free(taps=self._taps.names())
        return found

    def batches(self) -> Iterator[BatchReport]:
        """Each batch when it is done, from the first that nobody was told of, until the run ends."""
        while True:
            if self._reports:
                yield self._reports.popleft()
            elif self._active():
                self._ended.wait(LOOK)
            elif not self._reports:
                self.stop()
                return

    def statistics(self) -> Statistics:
        inputs, outputs = self._recent.rates()
        return replace(
            self._seen,
            state=self.state,
            controls=self.controls,
            input_rates=inputs,
            output_rates=outputs,
            latency=self._recent.latency(),
            delays=self._recent.delays(),
            changes=() if self._adviser is None else self._adviser.changes,
        )

    def __enter__(self) -> "SparkRun":
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._raised:
            return
        # A fault that is under way says more than what stopping brings to light.
        with suppress(*([Exception] if kind is not None else [])):
            self.stop()

    @contextmanager
    def between_batches(self) -> Iterator[None]:
        """While this is held, no batch is taken in: what there is stays as it is."""
        if self.is_within:
            raise AuroraError(
                "this cannot be done from the watch or a sink of the run itself: use another thread"
            )
        with self._taking:
            yield

    def _start(self) -> StreamingQuery:
        seconds, zone = self._settings.batch_seconds, self._bound.zone
        admission = replace(
            self._bound.admission,
            target=None if seconds is None else max(1, round(seconds * 1000)),
            longest=None if zone == math.inf else round(1000 * find_longest(zone)),
            notes=str(self._bound.checkpoint.folder),
            warm_up=self._settings.warm_up,
            waits=self._bound.job.scratch,
        )
        with worker_priority(self._spark, self._yields):
            trains = train_query(self._spark, self._bound.job, admission)
        checkpoint = self._bound.checkpoint
        if not checkpoint.temporary:
            keep_folder(self._spark, checkpoint.spark)
        guard_callbacks(self._spark.sparkContext)
        writer = trains.writeStream.foreachBatch(self._take).option(
            "checkpointLocation", str(checkpoint.spark)
        )
        # The query takes the pool over from the thread that starts it, which may be the user's.
        context, pool = self._spark.sparkContext, "spark.scheduler.pool"
        before = context.getLocalProperty(pool)
        context.setLocalProperty(pool, self._pool)
        try:
            return writer.start()
        finally:
            context.setLocalProperty(pool, before)

    def _take(self, batch: DataFrame, number: int) -> None:
        with self._taking:
            if self._result is not None or self._stopped.is_set():
                # If this came back in peace, Spark would count the batch as done, and its rows were lost.
                self._left = True
                raise self._stopping.leave(self._query)
            self._taker = threading.get_ident()
            try:
                self._spark.sparkContext.setLocalProperty(INTERRUPTS, "false")
                self._commits.take(number, collect_rows(batch))
            except Interrupted:
                self._left = True
                raise self._stopping.leave(self._query) from None
            except BaseException as fault:
                # Through Java it would come back as text, without its kind. What stopping brings about is no cause.
                if self._stopped.is_set():
                    raise self._stopping.leave(self._query) from None
                self._cause = self._cause or fault
                raise
            finally:
                self._taker = 0

    def _committed(self, report: BatchReport) -> None:
        totals = self._commits.totals
        if self._adviser is not None:
            # Before anybody else hears of it: the others reckon with the network as it is written.
            self._steering.change_if_free(rewrites=self._adviser.advise(report))
            report = replace(report, work=restore_work(report.work, self._chains, report.controls))
        self._seen = Statistics(
            "running",
            report.batch + 1,
            report.seconds,
            dict(totals.rows),
            report.taken,
            dict(totals.given),
            totals.rejected,
            report,
            nanoseconds=dict(totals.nanoseconds),
            states=report.states,
            places=report.places,
        )
        self._recent.add(report)
        self._taps.take(report.shown)
        self._reports.append(report)
        self._steering.change_if_free(taps=self._taps.names())
        for text in notices(report.places):
            logging.getLogger("aurora").warning(text)
        if self._watch is not None:
            self._watch(report)
        if report.end:
            self._ended.set()

    def _active(self) -> bool:
        """Whether batches may still come."""
        if self._query is None or self._ended.is_set() or self._stopped.is_set() or self._cause is not None:
            return False
        try:
            return not java_ended() and bool(self._query.isActive)
        except (Py4JError, OSError):
            return False

    def _answer(self) -> int:
        """How many batches had been made when the source saw what was asked for last; waits until it has."""
        # From within a batch there is no answer to wait for: it is the last one that was made.
        made = None if self.is_within else self._steering.wait_for_answer(self._ended)
        return self._commits.totals.batch + 1 if made is None else made

    def _close(self) -> None:
        fault: BaseException | None = None
        try:
            fault = self._told_by_task(self._stop_query())
        finally:
            with self._taking, self._bound:
                self._release()
                if fault is not None and not self._ended.is_set():
                    self._fault = fault
                else:
                    self._commits.finish()
                    self._bound.checkpoint.close(self._commits.totals, self._shared)
                    self._result = self._summary()

    def _told_by_task(self, fault: BaseException | None) -> BaseException | None:
        """The fault that a task has noted, if Spark knows only that its worker has ended."""
        if fault is None or SILENT not in str(fault):
            return fault
        noted = read_fault(self._bound.job.scratch, self._since)
        return fault if noted is None else AuroraError(noted)

    def _stop_query(self) -> BaseException | None:
        """Stops the query; gives the fault that had ended it before, if one had."""
        assert self._query is not None
        fault: BaseException | None = None
        try:
            if self._ended.is_set() and self._query.isActive:
                self._query.processAllAvailable()
            found = self._query.exception()
            fault = AuroraError(tell_fault(found, self._find_damaged)) if found is not None else None
        except StreamingQueryException as error:
            fault = AuroraError(tell_fault(error, self._find_damaged))
        except (Py4JError, OSError) as error:
            fault = java_fault(error)
        finally:
            with suppress(Py4JError, OSError):
                # In a session of the user's, what Spark says of a batch that is interrupted would go to the screen.
                if is_ours(self._spark):
                    self._stopping.stop(self._query)
                else:
                    self._stopping.stop(self._query, PATIENCE, 0.0 if self._taker else PLANNING)
        own = self._cause
        if isinstance(own, AuroraError | BrokenPipeError):
            return own
        if own is not None:
            fault = AuroraError(tell_fault(own, self._find_damaged))
            fault.__cause__ = own
        return None if own is None and self._left else fault

    def _find_damaged(self) -> Path | None:
        return find_damaged_state(self._spark, self._bound.checkpoint.spark)

    def _release(self) -> None:
        for receiver in self._bound.receivers:
            receiver.stop()
        self._task_waits.stop()
        remove_scratch(self._spark, self._bound.job.scratch)

    def _summary(self) -> Result:
        totals = self._commits.totals
        goes_on = not totals.end and not self._bound.checkpoint.temporary
        return Result(totals, time.monotonic() - self._began, totals.end, goes_on=goes_on)
