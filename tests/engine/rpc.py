"""What Spark's own ports answer to somebody who has no secret."""

import os
import socket
import struct
from contextlib import suppress
from pathlib import Path

__all__ = ["REFUSED", "ask_spark", "listening"]

# Spark's message in which one process asks another something.
REQUEST = 3
# What it answers, before it looks at the rest, to whoever does not begin with a proof that it knows the secret.
REFUSED = "Expected SaslMessage"


def ask_spark(host: str, port: int, content: bytes = b"\0\0") -> str:
    """Send something to a port of Spark's as its processes do; return what comes back."""
    message = struct.pack(">bqi", REQUEST, 1, len(content)) + content
    with socket.create_connection((host, port), timeout=30) as connection:
        connection.sendall(struct.pack(">q", 8 + len(message)) + message)
        with connection.makefile("rb") as answer:
            (length,) = struct.unpack(">q", answer.read(8))
            # Of another kind of server that is no length.
            return answer.read(min(length - 8, 1 << 16)).decode(errors="replace")


def listening(process: int) -> list[int]:
    """Return the ports on which a process listens."""
    held = set[str]()
    for handle in Path(f"/proc/{process}/fd").iterdir():
        with suppress(OSError):
            held.add(os.readlink(handle))
    lines = [
        line.split()
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{name}").read_text().splitlines()
    ]
    return [
        int(line[1].rpartition(":")[2], 16)
        for line in lines
        if line[3] == "0A" and f"socket:[{line[9]}]" in held
    ]
