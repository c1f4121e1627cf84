"""Calls that Java makes of this process, one for each batch: only those of this user's own processes are taken.

Java knows a token of Python's, but Python's side of Py4J has none: whoever connects could call what Java may call. So
the other end of each connection is looked up.
"""

import os
import socket
import struct
import threading
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from pyspark import SparkContext

__all__ = ["guard_callbacks", "is_of_this_user"]

# Where Linux lists the connections of this machine: each end has a line, with the user of the process that has it.
LISTS = ("/proc/self/net/tcp", "/proc/self/net/tcp6")
ESTABLISHED = "01"
# How many times a connection is looked for: a list may miss one while others come and go.
TRIES = 3
# The thread of the server guards it, and so does whoever finds it started.
_guarding = threading.Lock()


def guard_callbacks(context: SparkContext) -> None:
    """Let the server for calls from Java refuse connections of other users; to be called before Spark starts it."""
    gateway: Any = context._gateway
    # Any other attribute of a gateway is a Java package.
    known = vars(gateway)
    if known.get("_callback_server") is not None:
        _guard(gateway._callback_server)
    elif "_create_callback_server" not in known:
        create = gateway._create_callback_server

        def create_guarded(parameters: Any) -> Any:
            server = create(parameters)
            serve = server.run

            def run() -> None:
                _guard(server)
                serve()

            server.run = run
            return server

        gateway._create_callback_server = create_guarded


def _guard(server: Any) -> None:
    with _guarding:
        if not isinstance(server.server_socket, _OwnSocket | None):
            server.server_socket = _OwnSocket(server.server_socket)


class _OwnSocket(socket.socket):
    """A socket that takes connections of this user's alone: in place of another one it gives one that has ended.

    It stands for `other`, a socket for the same port, which the server may be waiting for already.
    """

    def __init__(self, other: socket.socket) -> None:
        super().__init__(fileno=os.dup(other.fileno()))
        self._other = other

    def close(self) -> None:
        super().close()
        self._other.close()

    def accept(self) -> tuple[socket.socket, Any]:
        connection, address = super().accept()
        if is_of_this_user(connection):
            return connection, address
        connection.close()
        ended, other = socket.socketpair()
        other.close()
        return ended, address


def is_of_this_user(connection: socket.socket) -> bool:
    """Whether the process at the other end of a connection within this machine is this user's.

    Whoever sends something and hangs up at once is a stranger: nobody knows any more whose process it was. Where the
    system does not list connections, everybody is taken for this user.
    """
    try:
        here, there = connection.getsockname(), connection.getpeername()
    except OSError:
        return False
    ends = {f"{one} {other}" for one, other in zip(_forms(there), _forms(here), strict=True)}
    for _ in range(TRIES):
        listed = [Path(path).read_text() for path in LISTS if os.path.exists(path)]
        if not listed:
            return True
        for line in "".join(listed).splitlines():
            _, local, remote, state, _, _, _, user, _, inode, *_ = line.split()
            if f"{local} {remote}" in ends:
                # Of a process that has closed its end the system says that it is root's, and has no inode.
                return state == ESTABLISHED and inode != "0" and int(user) == os.geteuid()
    return False


def _forms(address: tuple[Any, ...]) -> list[str]:
    """Return an address as the lists have it; one of IPv4 also as the address of IPv6 that Java connects from."""
    host, port = ip_address(address[0].partition("%")[0]), address[1]
    host = getattr(host, "ipv4_mapped", None) or host
    if host.version == 6:
        return [_form(host.packed, port)]
    return [_form(host.packed, port), _form(bytes(10) + b"\xff\xff" + host.packed, port)]


def _form(packed: bytes, port: int) -> str:
    words = struct.unpack(f"={len(packed) // 4}I", packed)
    return f"{''.join(f'{word:08X}' for word in words)}:{port:04X}"
