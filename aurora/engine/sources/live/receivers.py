"""Threads that write what comes from a socket or a pipe into a spool."""

import contextlib
import os
import select
import socket
import threading
import time
from typing import ClassVar

from aurora.engine.sources.live.spool import SpoolWriter
from aurora.engine.sources.source import Feed
from aurora.engine.waits import HOW, waits
from aurora.errors import AuroraError

__all__ = ["Feed", "PipeReceiver", "Receiver", "TcpReceiver"]

CHUNK = 1 << 20
FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0
# A pipe is asked so often whether something came, so that a stop is not missed.
POLL = 0.2
# A connection is broken if it was silent for 30 s, and then three questions, 10 s apart, had no answer.
SIGNS_OF_LIFE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}


class Receiver(threading.Thread):
    """`fault` says why no more will come, unless the other side has closed as it should."""

    once = True

    def __init__(self, label: str, spool: SpoolWriter) -> None:
        super().__init__(name=f"receiver {label}", daemon=True)
        self.label = label
        self.spool = spool
        self.fault: str | None = None
        self._stopped = threading.Event()

    def connect(self) -> None:
        """Begins to receive; a stream that ended before is not asked for again."""
        if self.spool.open():
            self._open()
            self.start()

    def _open(self) -> None:
        """Raises a fault if there is nothing to receive from."""

    def _receive(self) -> bytes:
        """The bytes that come next; none at the end. A fault of the system is a break."""
        raise NotImplementedError

    def _open_again(self) -> bool:
        return False

    def run(self) -> None:
        while not self._stopped.is_set():
            try:
                data = self._receive()
            except OSError as fault:
                if self._stopped.is_set():
                    return
                self.spool.mark_break()
                if not self._open_again():
                    self._give_up(f"{self.label}: the connection broke: {fault.strerror or fault}")
                    return
                continue
            if self._stopped.is_set():
                return
            try:
                if not data:
                    self.spool.end()
                    return
                self.spool.append(data)
            except OSError as fault:
                self._give_up(
                    f"{self.label}: what arrives cannot be stored in {self.spool.folder}: {fault.strerror}"
                )
                return

    def _give_up(self, reason: str) -> None:
        if not self._stopped.is_set():
            self.fault = (
                f"{reason}; everything before that has been read; the same command continues from there"
            )
            with contextlib.suppress(OSError):
                self.spool.give_up(self.fault)

    def stop(self) -> None:
        self._stopped.set()


class TcpReceiver(Receiver):
    """Connects as a client. A connection that breaks is tried again for `reconnect` seconds."""

    def __init__(
        self, host: str, port: int, spool: SpoolWriter, patience: float = 30.0, reconnect: float = 0.0
    ) -> None:
        super().__init__(f"tcp:{host}:{port}", spool)
        self._address = (host, port)
        self._patience = patience
        self._reconnect = reconnect
        self._socket: socket.socket | None = None

    def _open(self) -> None:
        fault = self._connected(self._patience)
        if fault is not None:
            raise AuroraError(
                f"cannot connect to {self.label}: {fault.strerror or fault}; start the sender first"
            )

    def _connected(self, patience: float) -> OSError | None:
        """Tries until it succeeds or patience ends, at first often."""
        deadline = time.monotonic() + patience
        wait = FIRST_WAIT
        away = f"{self.label} does not answer"
        with waits.waiting(away, f"{HOW}, up to {patience:.0f} s") as waiting:
            while True:
                try:
                    self._socket = socket.create_connection(self._address, timeout=5)
                    self._socket.settimeout(None)
                    _keep_alive(self._socket)
                    return None
                except OSError as fault:
                    waits.change(waiting, f"{away} ({fault.strerror or fault})")
                    left = deadline - time.monotonic()
                    if left <= 0 or self._stopped.wait(min(wait, left)):
                        return fault
                    wait = min(2 * wait, LONGEST_WAIT)

    def _open_again(self) -> bool:
        if self._socket is not None:
            self._socket.close()
        return self._reconnect > 0 and self._connected(self._reconnect) is None

    def _receive(self) -> bytes:
        assert self._socket is not None
        return self._socket.recv(CHUNK)

    def run(self) -> None:
        try:
            super().run()
        finally:
            if self._socket is not None:
                self._socket.close()

    def stop(self) -> None:
        super().stop()
        if self._socket is not None:
            with contextlib.suppress(OSError):  # The other side may have closed already.
                self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()


def _keep_alive(connection: socket.socket) -> None:
    """Asks for a sign of life, for a machine that disappears says nothing; the system alone would ask after hours."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in SIGNS_OF_LIFE.items():
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


class PipeReceiver(Receiver):
    """Reads a named pipe or a device, or standard input where the path is `-`."""

    _standard_input: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, path: str, spool: SpoolWriter) -> None:
        super().__init__("standard input" if path == "-" else path, spool)
        self._path = path
        self._file = -1
        self._owns_input = False

    def _open(self) -> None:
        if self._path == "-":
            self._owns_input = self._standard_input.acquire(blocking=False)
            if not self._owns_input:
                raise AuroraError("standard input can be the source of one input only; give the others files")
            self._file = 0
            return
        try:
            # Without waiting for a writer: that can be stopped only from here.
            self._file = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError as fault:
            raise AuroraError(f"cannot read {self._path}: {fault.strerror}") from None

    def _receive(self) -> bytes:
        poll = select.poll()
        poll.register(self._file, select.POLLIN | select.POLLHUP | select.POLLERR)
        while not self._stopped.is_set():
            if poll.poll(int(POLL * 1000)):
                with contextlib.suppress(BlockingIOError):
                    return os.read(self._file, CHUNK)
        return b""

    def run(self) -> None:
        try:
            super().run()
        finally:
            if self._file > 0:
                os.close(self._file)
            if self._owns_input:
                self._standard_input.release()
