"""A process that has loaded what Spark's Python needs, while Java starts, and forks it on demand.

For its first query Spark starts half a dozen Python processes, for each further one two, one after the other, and each
loads Spark and Arrow before it answers: half of the time that a query takes to start. Spark is told to start
`warm_start` instead, which asks the process here to fork itself. Where that cannot be, it starts Python as Spark would.
"""

import atexit
import gc
import os
import runpy
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from importlib import import_module
from pathlib import Path

from aurora.engine.private import is_private, is_trusted_file, own_folder, replace_own
from aurora.engine.spark import warm_start
from aurora.engine.spark.warm_start import MODULES, PLACE

__all__ = ["serve", "warm_python"]

# What these processes load in the end, beside their own modules.
LOADED = (
    "encodings.idna",
    "pyspark.sql.worker.create_data_source",
    "pyspark.sql.worker.lookup_data_sources",
    "pyspark.worker",
    "pyarrow.compute",
    "pyspark.sql.streaming.proto.StateMessage_pb2",
    "aurora.algebra.state.turn",
    "aurora.engine.plan.buckets",
    "aurora.engine.durable",
    "aurora.engine.sources.files.line_files",
    "aurora.engine.sources.source",
    "aurora.engine.spark.source",
    "aurora.engine.spark.stage",
)
# Ctrl-C is meant for the process that has started it, with which it ends.
DEAF = ("/bin/sh", "-c", 'trap "" INT; exec "$@"', "sh")
# The address of a socket has no more bytes.
LONGEST = 100
# Folders of sockets begin with this; one that is so many seconds old, and where nobody listens, was left behind.
FOLDER, STALE = "aurora-python-", 60
# How long whoever listens may take to answer, in seconds.
ANSWER = 0.5

# The process that was started here, and where it listens.
_started: tuple[subprocess.Popen[bytes], str] | None = None


@contextmanager
def warm_python(folder: Path | None) -> Iterator[str | None]:
    """While Java starts: what it is to start as Python, from a folder that stays; None where it cannot be."""
    python = None if folder is None else _write_starter(folder)
    place = None if python is None else _start()
    if python is None or place is None:
        yield None
        return
    # Whatever Java starts has its environment.
    given = {PLACE: place, "PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": python}
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield python
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _write_starter(folder: Path) -> str | None:
    """Return the script to be started as Python, which is written unless it is there; None where it cannot be."""
    command = shlex.join(
        [sys.executable, "-I", "-S", str(Path(warm_start.__file__).resolve()), sys.executable]
    )
    text = f'#!/bin/sh\nexec {command} "$@"\n'
    path = folder / f"python-{sha256(text.encode()).hexdigest()[:16]}"
    try:
        if not (is_trusted_file(path) and path.read_text() == text):
            partial = folder / f"{path.name}.{os.getpid()}"
            with open(replace_own(partial, 0o700), "w") as file:
                file.write(text)
            partial.replace(path)
    except OSError:
        return None
    # Nothing can be started from some file systems.
    return str(path) if os.access(path, os.X_OK) else None


def _start() -> str | None:
    """Starts the process, once for this one; gives where it listens."""
    global _started
    if _started is not None and _started[0].poll() is None:
        return _started[1]
    _sweep(time.time() - STALE)
    try:
        folder = str(own_folder(FOLDER))
    except OSError:
        return None
    place = os.path.join(folder, "socket")
    if len(os.fsencode(place)) > LONGEST:
        os.rmdir(folder)
        return None
    # Spark's own Python has the same seed for its hashes.
    environment = {**os.environ, "PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "0")}
    # Nothing in the current folder takes the place of an installed package.
    command = [*DEAF, sys.executable, "-P", "-m", __name__, place]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)
    if _started is None:
        atexit.register(_stop)
    _started = process, place
    # It ends when the last copy of its standard input is closed; a fork of this process may outlive it.
    assert process.stdin is not None
    os.register_at_fork(after_in_child=process.stdin.close)
    return place


def _sweep(before: float) -> None:
    """Remove what processes of this user left that were killed, and began before that moment: nobody listens there."""
    for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER}*"):
        with suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
            if is_private(folder) and (folder / "socket").lstat().st_mtime < before:
                # Who does not answer, because too many ask, is there all the same.
                probe.settimeout(ANSWER)
                try:
                    probe.connect(str(folder / "socket"))
                except ConnectionRefusedError:
                    shutil.rmtree(folder, ignore_errors=True)


def _stop() -> None:
    if _started is not None:
        process, _ = _started
        with suppress(OSError, subprocess.TimeoutExpired):
            assert process.stdin is not None
            process.stdin.close()
            process.wait(5)


def serve(place: str) -> None:
    """Forks for each request, until whoever has started this process is gone."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(place)
        listener.listen(64)
        for name in (*MODULES, *LOADED):
            import_module(name)
        for name in MODULES:
            # They are run, not used.
            del sys.modules[name]
        gc.collect()
        gc.freeze()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        while True:
            ready, _, _ = select.select([sys.stdin, listener], [], [])
            if sys.stdin in ready:
                shutil.rmtree(os.path.dirname(place), ignore_errors=True)
                return
            connection, _ = listener.accept()
            with connection:
                if os.fork() == 0:
                    listener.close()
                    _become(connection)


def _become(connection: socket.socket) -> None:
    """Turns a fork into the process that was asked for: with its channels, its folder and its environment."""
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        head, channels, _, _ = socket.recv_fds(connection, 4, 3)
        if not head:
            # Somebody has only looked whether anyone is here.
            return
        size = int.from_bytes(head, "big")
        with connection.makefile("rb") as file:
            folder, number, *rest = file.read(size).split(b"\0")
        arguments, variables = rest[: int(number)], rest[int(number) :]
        for channel, target in zip(channels, (0, 1, 2), strict=True):
            os.dup2(channel, target)
            os.close(channel)
        os.chdir(folder)
        os.environb.clear()
        for variable in variables:
            name, _, value = variable.partition(b"=")
            os.environb[name] = value
        known = set(sys.path)
        sys.path[1:1] = [
            path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and path not in known
        ]
        here = os.fsdecode(folder)
        if here not in sys.path:
            sys.path.append(here)
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
        sys.argv = [os.fsdecode(argument) for argument in arguments]
        with suppress(OSError):
            # For who looks at the processes of the machine: a fork looks like the one that it comes from.
            Path("/proc/self/comm").write_text(sys.argv[-1].rpartition(".")[2])
        connection.sendall(b"\0")
        # Whatever it forks itself is not what was asked for.
        os.register_at_fork(after_in_child=connection.close)
        threading.Thread(target=_end_with, args=(connection,), daemon=True).start()
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        with suppress(OSError, ValueError):
            connection.sendall(bytes([code & 255]))
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code & 255)


def _end_with(connection: socket.socket) -> None:
    """Spark ends the process that it has started, and means this one."""
    with suppress(OSError):
        connection.recv(1)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    serve(sys.argv[1])
