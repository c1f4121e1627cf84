"""The control socket of a home: how commands and programs talk to a network that runs elsewhere on this machine."""

import json
import os
import socket
import socketserver
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from aurora.errors import AuroraError
from aurora.history.home import Home

__all__ = ["ControlServer", "ask", "is_running"]

# The longest path that a socket may have.
LONGEST = 100
# How long the last answers may take to reach whoever asked, in seconds.
PATIENCE = 2.0

Answer = Callable[[dict[str, Any]], Any]


class ControlServer:
    """Answers requests, each a line of JSON with a `command`, by the function of that name."""

    def __init__(self, home: Home, commands: dict[str, Answer]) -> None:
        self._home = home
        self._busy = 0
        self._counting = threading.Condition()
        outer = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                with outer._counted(), suppress(BrokenPipeError, ConnectionResetError):
                    self.wfile.write(
                        json.dumps(outer._answer(self.connection, self.rfile.readline())).encode() + b"\n"
                    )

        class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
            daemon_threads = True
            block_on_close = False
            request_queue_size = 16

        self._commands = commands
        home.socket.unlink(missing_ok=True)
        with _short(home.socket) as path:
            self._server = Server(path, Handler)
        home.socket.chmod(0o600)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, name="control", daemon=True
        )
        self._thread.start()

    def _answer(self, connection: socket.socket, line: bytes) -> dict[str, Any]:
        if not _is_owner(connection):
            return {"error": "this network belongs to another user"}
        try:
            request = json.loads(line)
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


def _is_owner(connection: socket.socket) -> bool:
    """The socket is closed to others by its mode; where the system tells who calls, that is looked at as well."""
    if not sys.platform.startswith("linux"):
        return True
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    user: int = struct.unpack("3i", credentials)[1]
    return user in (os.getuid(), 0)


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
    with _connected(home) as connection, connection.makefile("rwb") as lines:
        lines.write(json.dumps({"command": command, **arguments}).encode() + b"\n")
        lines.flush()
        line = lines.readline()
    if not line:
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
        yield connection
