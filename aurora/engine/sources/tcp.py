"""Lines from a socket: kept in a file of the checkpoint first, so that a restart reads them again."""

import contextlib
import os
import socket
import threading
import time
from pathlib import Path

from aurora.errors import AuroraError

__all__ = ["Receiver"]


class Receiver(threading.Thread):
    """Connects as a client and writes what comes to `spool`; when the other side ends, creates `ended`."""

    def __init__(self, host: str, port: int, spool: Path, ended: Path, patience: float = 30.0) -> None:
        super().__init__(name=f"receiver {host}:{port}", daemon=True)
        self._address = (host, port)
        self._spool = spool
        self._ended = ended
        self._patience = patience
        self._stopped = threading.Event()
        self._socket: socket.socket | None = None
        self.fault: str | None = None

    def connect(self) -> None:
        """Waits for the other side to listen; a stream that ended before is not asked for again."""
        self._spool.parent.mkdir(parents=True, exist_ok=True)
        if self._ended.exists():
            return
        with open(self._spool, "ab") as file:
            # A line that a killed run cut off must not run into the next one.
            if file.tell() and not self._ends_with_break():
                file.write(b"\n")
        deadline = time.monotonic() + self._patience
        while True:
            try:
                self._socket = socket.create_connection(self._address, timeout=5)
                self._socket.settimeout(None)
                break
            except OSError as fault:
                if time.monotonic() > deadline:
                    host, port = self._address
                    raise AuroraError(
                        f"cannot connect to tcp:{host}:{port}: {fault.strerror or fault}; start the sender first"
                    ) from None
                self._stopped.wait(0.2)
        self.start()

    def _ends_with_break(self) -> bool:
        with open(self._spool, "rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"

    def run(self) -> None:
        assert self._socket is not None
        try:
            with open(self._spool, "ab", buffering=0) as file:
                while data := self._socket.recv(1 << 20):
                    file.write(data)
        except OSError as fault:
            if not self._stopped.is_set():
                self.fault = f"the connection broke: {fault.strerror or fault}"
        if not self._stopped.is_set():
            self._ended.touch()

    def stop(self) -> None:
        self._stopped.set()
        if self._socket is not None:
            with contextlib.suppress(OSError):  # The other side may have closed already.
                self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()
