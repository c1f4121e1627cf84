"""The Spark session that everything runs in; one that the user has started is never changed."""

import atexit
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pyspark import SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from aurora.engine.private import is_private, open_own, own_folder
from aurora.engine.spark.java import class_archive, not_started, spark_home
from aurora.engine.spark.local_files import local_files
from aurora.engine.spark.master import check_master, check_reachable, is_one_java, same_master
from aurora.engine.spark.warm import warm_python
from aurora.engine.spark.yielding import DAEMON
from aurora.errors import AuroraError

__all__ = [
    "INTERPRETED",
    "LIGHT_JAVA",
    "NETWORK_POOL",
    "QUERY_POOL",
    "SHARED_SLOTS",
    "clone_session",
    "is_ours",
    "java_ended",
    "keep_log",
    "log_path",
    "own_session",
    "spark_session",
    "temporary_folder",
]

# What each session has for itself.
SESSION = {
    "spark.sql.session.timeZone": "UTC",
    # A stream goes on when a row divides by zero: the result is null, as in the Arrow evaluator.
    "spark.sql.ansi.enabled": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # What is stored is compressed already: to try it again, with every compaction, took a quarter of a core.
    "spark.sql.streaming.stateStore.rocksdb.compression": "none",
    # Files of state belong to the attempt that wrote them: a batch that is run again after a kill does not write the
    # same pieces, and must not find a snapshot of what the killed attempt had written.
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.sql.streaming.numRecentProgressUpdates": "10",
    # With it the workers that read and those of the stages come from two processes, each loading everything.
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
    "spark.sql.streaming.minBatchesToRetain": "2",
}
# For networks alone: a batch is a few long rows in Spark's eyes, and to write and compile code for them takes longer
# than to go through them.
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
# What a query with state cannot do without.
STATE = (
    "spark.sql.streaming.stateStore.providerClass",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled",
    "spark.sql.streaming.stateStore.checkpointFormatVersion",
)
# What all sessions of a process share: it can be set only when Spark starts, and all works without it.
SHARED = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.python.worker.reuse": "true",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.python.daemon.module": DAEMON,
    "spark.driver.memory": "4g",
    "spark.scheduler.mode": "FAIR",
    "spark.scheduler.allocation.file": f"file://{os.path.join(os.path.dirname(__file__), 'pools.xml')}",
}
# Where Spark is one Java alone it makes a secret of its own, without which nobody is heard on its ports. On a cluster
# all must have the same one, so it is the user's who gives it.
ALONE = {"spark.authenticate": "true"}
# Tasks of a network go first; those of queries that are attached to it take what it leaves.
NETWORK_POOL, QUERY_POOL = "network", "queries"
# A task cannot be interrupted, so the network would wait for those of a query: there are slots for both.
SHARED_SLOTS = {"spark.master": f"local[{2 * (os.cpu_count() or 1)}]"}

JAVA = "spark.driver.extraJavaOptions"
# For networks alone: the work is done in Python, so a Java that compiles little starts sooner and leaves it the cores.
# Such a Java has 48 MB for compiled code unless it is told otherwise, and ends when they are full: Spark makes code for
# each query that is planned, so a process that starts many of them would fill them.
LIGHT_JAVA = {JAVA: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"}

# A path of a Unix socket has 107 bytes at most, of which Spark takes these for the name of the file.
SOCKET_NAME = len("/.01234567-89ab-cdef-0123-456789abcdef.sock")
LONGEST = 107 - SOCKET_NAME
# Where a path is short, for sure.
SHORT = "/tmp"

# The session that was started here, if one was.
_started: SparkSession | None = None
# By their use, the private folders of this process for what Spark writes for itself.
_folders: dict[str, Path] = {}
# The log of Spark, unless the user names one.
_own_log: str | None = None
# Where the user wants Spark's log, if anywhere.
_log: str | None = None


def spark_session(
    name: str = "aurora",
    master: str | None = None,
    settings: dict[str, str] | None = None,
    log: str | None = None,
) -> SparkSession:
    """A session with the settings of this package, on `master` (default: every core of this machine).

    Where Spark runs already in this process, it is used; beside a session of the user's there is a new one.
    """
    global _started, _log
    check_master(master)
    context = SparkContext._active_spark_context
    if context is None:
        check_reachable(master)
        _log = log
        _started = _start(name, master, settings or {})
        return _started
    if master is not None and not same_master(master, context.master):
        raise AuroraError(
            f"Spark runs in this process already, on {context.master}, and cannot run on {master} as well: "
            "leave the master out, or stop that session first"
        )
    if _started is not None and _started._sc is context:
        return _started
    return own_session(SparkSession._instantiatedSession or SparkSession(context))


def own_session(beside: SparkSession, settings: Mapping[str, str] | None = None) -> SparkSession:
    """A new session beside another one of the same Spark: its settings are its own, these among them."""
    session = beside.newSession()
    cores = {"spark.sql.shuffle.partitions": str(os.cpu_count() or 1)}
    for key, value in {**SESSION, **cores, **(settings or {})}.items():
        session.conf.set(key, value)
    return session


def clone_session(of: SparkSession, partitions: int) -> SparkSession:
    """A copy of a session of the user's as it is now, with its settings, views and functions, and what state needs."""
    clone = SparkSession(of.sparkContext, of._jsparkSession.cloneSession())
    for key in STATE:
        clone.conf.set(key, SESSION[key])
    clone.conf.set("spark.sql.shuffle.partitions", str(partitions))
    return clone


def is_ours(session: SparkSession) -> bool:
    """Whether the Spark of a session was started here, with a log of its own."""
    return _started is not None and _started.sparkContext is session.sparkContext


def java_ended(patience: float = 0.0) -> bool:
    """Whether the Java that was started here has ended, or was killed, or does so within `patience` seconds."""
    process = getattr(SparkContext._gateway, "proc", None)
    if process is None:
        return False
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        return False
    return True


def _start(name: str, master: str | None, settings: dict[str, str]) -> SparkSession:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    # Spark writes its host name lookups and its temporary files where it may.
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    cores = str(os.cpu_count() or 1)
    parallel = {"spark.sql.shuffle.partitions": cores}
    if is_one_java(master):
        # A cluster has cores of its own, and knows how many.
        parallel["spark.default.parallelism"] = cores
    alone = ALONE if is_one_java(master) else {}
    here = (master or "local").startswith("local")
    folder = _private_folder("files")
    places = {"spark.sql.warehouse.dir": str(folder / "warehouse"), **(_socket_folder() if here else {})}
    given = {**SHARED, **SESSION, **parallel, **alone, **places, **local_files(master), **settings}
    # Spark's folders for blocks, among others, are open to all who may read the folder that they lie in.
    options = [given.get(JAVA, ""), f'"-Djava.io.tmpdir={folder}"']
    archive = class_archive()
    if archive is not None and "ArchiveClassesAtExit" not in given.get(JAVA, ""):
        options.append(f"-XX:SharedArchiveFile={archive}")
    given[JAVA] = " ".join(options).strip()
    builder = SparkSession.builder.appName(name).master(master or "local[*]")
    for key, value in given.items():
        builder = builder.config(key, value)
    # On a cluster other machines would not have it.
    own = here and os.environ["PYSPARK_PYTHON"] == sys.executable
    with (
        _own_interrupts(),
        _quiet_launch() as before,
        spark_home() as home,
        warm_python(home if own else None),
    ):
        try:
            session = builder.getOrCreate()
        except PySparkRuntimeError as fault:
            if fault.getCondition() != "JAVA_GATEWAY_EXITED":
                raise
            raise not_started(_said(before)) from None
    _say_nothing_of_a_dead_java(session)
    _let_java_remove_folders(session)
    return session


def _private_folder(use: str, inside: str | None = None) -> Path:
    """Return a folder that is closed to other users, for as long as this process and the Java that it starts live."""
    if use not in _folders or not is_private(_folders[use]):
        if not _folders:
            atexit.register(_remove_folders, os.getpid())
        _folders[use] = own_folder("aurora-spark-", inside)
    return _folders[use]


def _socket_folder() -> dict[str, str]:
    """Return the setting for where Spark puts the sockets of its Python workers, if they go by Unix sockets.

    It is a private folder, and its path is short.
    """
    folder = _private_folder("files")
    if len(os.fsencode(folder)) > LONGEST:
        if not os.path.isdir(SHORT):
            return {}
        folder = _private_folder("sockets", SHORT)
    return {"spark.python.unix.domain.socket.dir": str(folder)}


def temporary_folder() -> str:
    """Return where Spark writes what it needs while it runs, as far as that is known here."""
    return os.environ.get("SPARK_LOCAL_DIRS") or str(_folders.get("files") or tempfile.gettempdir())


def _let_java_remove_folders(session: SparkSession) -> None:
    """Java writes there until it ends, which is after this process has, even if that is killed."""
    java: Any = session.sparkContext._jvm
    for folder in _folders.values():
        java.org.apache.spark.util.ShutdownHookManager.registerShutdownDeleteDir(
            java.java.io.File(str(folder))
        )


def _remove_folders(process: int) -> None:
    """Remove the folders of a Java that has ended already, or was never there; a fork of this process has none."""
    if os.getpid() == process and (SparkContext._gateway is None or java_ended()):
        for folder in _folders.values():
            shutil.rmtree(folder, ignore_errors=True)


def _say_nothing_of_a_dead_java(session: SparkSession) -> None:
    """Where Java is gone, each of its clients would print a traceback of its own; the run says it in one line."""
    # The exception itself is raised as well.
    logging.getLogger().addFilter(lambda record: record.getMessage() != "Exception while sending command.")
    server = getattr(session.sparkContext, "_accumulatorServer", None)
    if server is not None:
        server.handle_error = lambda *_: None


@contextmanager
def _own_interrupts() -> Iterator[None]:
    """Spark replaces the handler of Ctrl-C when it starts; who has set one still means it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)


def log_path() -> str:
    """Return where Spark and its Python workers write what they have to say, once Spark is started here."""
    global _own_log
    if _log is not None:
        return _log
    if _own_log is None:
        # Nobody else can have made it before.
        handle, _own_log = tempfile.mkstemp(prefix=f"aurora-spark-{os.getpid()}-", suffix=".log")
        os.close(handle)
    return _own_log


def keep_log() -> str | None:
    """Leaves the log behind when this process ends, for whoever looks for the cause of a fault; gives its path.

    Spark that the user has started logs where the user says.
    """
    if _started is None or not os.path.exists(log_path()):
        return None
    atexit.unregister(_remove_log)
    return log_path()


def _remove_log() -> None:
    if _log is None:
        with suppress(OSError):
            os.remove(log_path())


def _said(before: int) -> str:
    """What stands in the log behind its first bytes."""
    with suppress(OSError), open(log_path(), encoding="utf-8", errors="replace") as file:
        file.seek(before)
        return file.read(1 << 16)
    return ""


@contextmanager
def _quiet_launch() -> Iterator[int]:
    """Spark's own process inherits the output channels of this one: for its start they point to the log.

    Gives the number of bytes that the log has by then.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    atexit.register(_remove_log)
    try:
        if _log is None:
            log = open_own(log_path(), os.O_WRONLY | os.O_CREAT)
            os.ftruncate(log, 0)
        else:
            # A file of the user's is never emptied: it may be another than the one that was meant.
            log = os.open(_log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as fault:
        raise AuroraError(f"the log {log_path()} cannot be written: {fault.strerror}") from None
    saved = [(channel, os.dup(channel)) for channel in (1, 2)]
    try:
        for channel, _ in saved:
            os.dup2(log, channel)
        yield os.fstat(log).st_size
    finally:
        os.close(log)
        for channel, copy in saved:
            os.dup2(copy, channel)
            os.close(copy)
