"""The control socket of a home: how commands and programs talk to a network that runs elsewhere on this machine."""

import json
import os
import socket
import socketserver
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aurora.errors import AuroraError
from aurora.history.home import Home

__all__ = ["ControlServer", "Limits", "ask", "is_running"]

# The longest path that a socket may have.
LONGEST = 100
# How long the last answers may take to reach whoever asked, in seconds.
PATIENCE = 2.0
# The most bytes of a request.
MOST = 8 << 20
BUSY = "too many ask this network at the same moment; try again in a few seconds"

Answer = Callable[[dict[str, Any]], Any]


@dataclass(frozen=True)
class Limits:
    """What callers may take: a request has so many bytes at most, comes within so many seconds, and its answer is
    fetched within so many; of so many connections at once, each takes a thread."""

    bytes: int = MOST
    ask_seconds: float = 10.0
    fetch_seconds: float = 60.0
    connections: int = 32


class ControlServer:
    """Answers requests, each a line of JSON with a `command`, by the function of that name."""

    def __init__(self, home: Home, commands: dict[str, Answer], limits: Limits | None = None) -> None:
        self._home = home
        self._limits = limits or Limits()
        self._busy = 0
        self._counting = threading.Condition()
        outer = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                with outer._counted(), suppress(ConnectionError, TimeoutError):
                    answer = outer._answer(self.request)
                    self.request.settimeout(outer._limits.fetch_seconds)
                    self.request.sendall(json.dumps(answer).encode() + b"\n")

        class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
            daemon_threads = True
            block_on_close = False
            request_queue_size = 64
            free = threading.BoundedSemaphore(self._limits.connections)

            def server_bind(self) -> None:
                # Linux makes the socket with this mode, and elsewhere it is set behind that.
                with suppress(OSError):
                    os.fchmod(self.socket.fileno(), 0o600)
                super().server_bind()

            def process_request(self, request: Any, client_address: Any) -> None:
                if self.free.acquire(blocking=False):
                    super().process_request(request, client_address)
                else:
                    with suppress(OSError):
                        request.settimeout(0)
                        request.sendall(json.dumps({"error": BUSY}).encode() + b"\n")
                    self.shutdown_request(request)

            def process_request_thread(self, request: Any, client_address: Any) -> None:
                try:
                    super().process_request_thread(request, client_address)
                finally:
                    self.free.release()

        self._commands = commands
        home.socket.unlink(missing_ok=True)
        with _short(home.socket) as path:
            self._server = Server(path, Handler)
        home.socket.chmod(0o600)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, name="control", daemon=True
        )
        self._thread.start()

    def _answer(self, connection: socket.socket) -> dict[str, Any]:
        if _find_user(connection) not in (None, os.getuid(), 0):
            return {"error": "this network belongs to another user"}
        try:
            request = json.loads(_read_line(connection, self._limits), parse_constant=_refuse_constant)
            answer = self._commands[request.pop("command")]
            return {"answer": answer(request)}
        except AuroraError as fault:
            return {"error": str(fault)}
        except (ValueError, KeyError, TypeError) as fault:
            return {"error": f"not a request that this network understands: {fault!r}"}
        except Exception as fault:
            return {"error": f"{type(fault).__name__}: {fault}"}

    @contextmanager
    def _counted(self) -> Iterator[None]:
        with self._counting:
            self._busy += 1
        try:
            yield
        finally:
            with self._counting:
                self._busy -= 1
                self._counting.notify_all()

    def close(self) -> None:
        """Takes no further request, and lets the answers under way leave."""
        self._home.socket.unlink(missing_ok=True)
        self._server.shutdown()
        self._server.server_close()

    def settle(self) -> None:
        """Waits until all answers have left; not to be called from within one."""
        with self._counting:
            self._counting.wait_for(lambda: self._busy == 0, PATIENCE)


def _read_line(connection: socket.socket, limits: Limits) -> bytes:
    """Return what comes before a line end, or before the end; raise a fault if it is too long or takes too long."""
    line, deadline = bytearray(), time.monotonic() + limits.ask_seconds
    while b"\n" not in line[-(1 << 16) :]:
        try:
            connection.settimeout(max(deadline - time.monotonic(), 1e-6))
            part = connection.recv(1 << 16)
        except TimeoutError:
            raise AuroraError(f"a request must come within {limits.ask_seconds:g} s") from None
        if not part:
            break
        line += part
        if len(line) > limits.bytes:
            raise AuroraError(f"a request may have {limits.bytes:,} bytes at most")
    return bytes(line).partition(b"\n")[0]


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number here")


def _find_user(connection: socket.socket) -> int | None:
    """Return the user of the process at the other end, who may have any right to the socket; None where the system
    does not tell: there the modes of the socket and its folder must do."""
    if not sys.platform.startswith("linux"):
        return None
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    user: int = struct.unpack("3i", credentials)[1]
    return user


@contextmanager
def _short(path: Path) -> Iterator[str]:
    """A path for a socket, which must be short, to a file that may be anywhere."""
    if len(os.fsencode(path)) <= LONGEST:
        yield str(path)
        return
    if not os.path.isdir("/proc/self/fd"):
        raise AuroraError(f"home {path.parent} has too long a path for a socket; choose a shorter one")
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def is_running(home: Home) -> bool:
    """Whether somebody answers there."""
    try:
        with _connected(home):
            return True
    except AuroraError:
        return False


def ask(home: Home, command: str, **arguments: Any) -> Any:
    """What a network that runs answers to a request; a fault that it tells is raised here."""
    request = json.dumps({"command": command, **arguments}).encode() + b"\n"
    if len(request) > MOST:
        raise AuroraError(f"{command}: the request has {len(request):,} bytes, and may have {MOST:,}")
    try:
        with _connected(home) as connection, connection.makefile("rb") as lines:
            with suppress(BrokenPipeError):
                # Who does not listen to the end may have said why.
                connection.sendall(request)
            line = lines.readline()
    except ConnectionResetError:
        raise AuroraError(
            f"the network in {home.folder} hung up: it has ended, or too many ask it; try again in a few seconds"
        ) from None
    if not line.endswith(b"\n"):
        raise AuroraError(f"the network in {home.folder} ended before it answered")
    answer = json.loads(line)
    if "error" in answer:
        raise AuroraError(answer["error"])
    return answer["answer"]


@contextmanager
def _connected(home: Home) -> Iterator[socket.socket]:
    home.check_there()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            with _short(home.socket) as path:
                connection.connect(path)
        except (FileNotFoundError, ConnectionRefusedError):
            if home.is_starting:
                raise home.fault_of_start() from None
            raise AuroraError(
                f"no network runs in {home.folder}; start it with aurora run NETWORK --home {home.folder}"
            ) from None
        except PermissionError:
            raise AuroraError(f"{home.folder} belongs to another user") from None
        _check_server(home, _find_user(connection))
        yield connection


def _check_server(home: Home, user: int | None) -> None:
    """Raise a fault unless this user, or root, answers there; root may also ask the owner of a home."""
    trusted = {None, 0, os.getuid()} | ({home.folder.stat().st_uid} if os.getuid() == 0 else set())
    if user not in trusted:
        raise AuroraError(
            f"what answers in {home.folder} belongs to another user, number {user}: it is not asked"
        )
