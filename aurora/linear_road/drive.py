"""The data driver: delivers each tuple in the second that its Time says, to a folder or over TCP."""

import os
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from aurora.errors import AuroraError
from aurora.linear_road.reading import FileSurvey, Survey, map_file, survey
from aurora.linear_road.records import Replication, parse_input
from aurora.linear_road.scan import copy_lines

__all__ = ["DriveReport", "FolderReceiver", "Receiver", "TcpReceiver", "drive", "receiver_for"]

Array = np.ndarray[Any, Any]
# No wait is longer, so that an interrupt is seen.
_NAP = 0.5
# How long a client may take to close its side, once all is sent.
_FAREWELL = 10.0


class Receiver(Protocol):
    """Where the tuples go: made ready, then for each second prepared ahead and delivered when it is due."""

    def open(self) -> None: ...
    def prepare(self, second: int, lines: bytes) -> None: ...
    def deliver(self) -> None: ...
    def close(self) -> None: ...


class FolderReceiver:
    """One file a second, written in a folder beside and renamed in when it is due."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._beside = folder.with_name(f".{folder.name}.writing")
        self._ready: Path | None = None

    def open(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if any(self.folder.iterdir()):
                raise AuroraError(f"{self.folder} is not empty: give a new folder, or empty it")
            # What a killed run left beside is no part of this one.
            shutil.rmtree(self._beside, ignore_errors=True)
            self._beside.mkdir()
        except OSError as fault:
            raise AuroraError(f"cannot write to {self.folder}: {fault.strerror}") from None

    def prepare(self, second: int, lines: bytes) -> None:
        self._ready = self._beside / f"second-{second:06d}.csv"
        try:
            self._ready.write_bytes(lines)
        except OSError as fault:
            raise AuroraError(
                f"cannot write second {second} to {self.folder}: {fault.strerror}; "
                "all seconds before it are delivered"
            ) from None

    def deliver(self) -> None:
        if self._ready is not None:
            try:
                os.rename(self._ready, self.folder / self._ready.name)
            except OSError as fault:
                raise AuroraError(
                    f"cannot put {self._ready.name} into {self.folder}: {fault.strerror}"
                ) from None
            self._ready = None

    def close(self) -> None:
        shutil.rmtree(self._beside, ignore_errors=True)


class TcpReceiver:
    """Listens once the data are read, and sends CSV lines to one client; a slow one makes the sending wait."""

    def __init__(self, host: str, port: int, listening: Callable[[int], None] = lambda _port: None) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.socket(family, socket.SOCK_STREAM)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._listener.bind((host, port))
        except (OSError, OverflowError) as fault:
            self._listener.close()
            raise AuroraError(
                f"cannot listen on {host}:{port}: {fault}; give another tcp:HOST:PORT"
            ) from None
        self.port: int = self._listener.getsockname()[1]
        self._listening = listening
        self._client: socket.socket | None = None
        self._lines = b""
        self._second = 0

    def open(self) -> None:
        # Not before the data are read: the client's clock starts when it is connected, as ours does.
        self._listener.listen(1)
        self._listening(self.port)
        self._client, _ = self._listener.accept()
        self._client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def prepare(self, second: int, lines: bytes) -> None:
        self._second, self._lines = second, lines

    def deliver(self) -> None:
        assert self._client is not None
        try:
            self._client.sendall(self._lines)
        except OSError as fault:
            raise AuroraError(
                f"the receiver went away in second {self._second} ({fault.strerror}): "
                "it must read until the driver closes the connection"
            ) from None

    def close(self) -> None:
        self._listener.close()
        if self._client is None:
            return
        try:
            # Closing on unread bytes of the client would throw away what it has not read yet.
            self._client.settimeout(_FAREWELL)
            self._client.shutdown(socket.SHUT_WR)
            while self._client.recv(4096):
                pass
        except OSError:
            pass
        finally:
            self._client.close()


def receiver_for(target: str, listening: Callable[[int], None] = lambda _port: None) -> Receiver:
    """The receiver that dir:PATH or tcp:HOST:PORT names; `listening` hears the port when a client may come."""
    kind, _, place = target.partition(":")
    host, _, port = place.rpartition(":")
    if kind == "dir" and place:
        return FolderReceiver(Path(place))
    if kind == "tcp" and host and port.isdigit():
        return TcpReceiver(host.strip("[]"), int(port), listening)
    raise AuroraError(f"cannot deliver to {target!r}: give dir:PATH or tcp:HOST:PORT")


@dataclass(frozen=True)
class DriveReport:
    """What was delivered, and how late, in seconds: the end of each delivery after its due time, by tuple."""

    tuples: int
    copies: int
    seconds: float
    rate: float
    late_p50: float
    late_p99: float
    late_max: float
    rejects: int

    def summary(self) -> str:
        late = " / ".join(f"{1000 * value:.1f}" for value in (self.late_p50, self.late_p99, self.late_max))
        return (
            f"{self.tuples:,} tuples in {self.seconds:.1f} s ({self.rate:,.0f}/s), "
            f"lateness p50 / p99 / max {late} ms"
        )

    def asdict(self) -> dict[str, float]:
        return asdict(self)


def _second_of(file: FileSurvey, data: Array, second: int, copies: Replication) -> list[bytes]:
    """The lines of one second of one file, copy after copy."""
    at = int(np.searchsorted(file.seconds, second))
    if at == len(file.seconds) or file.seconds[at] != second:
        return []
    lines = data[file.offsets[at] : file.offsets[at + 1]]
    parts = [lines.tobytes()]
    if not parts[0].endswith(b"\n"):
        parts.append(b"\n")
    if copies.copies > 1:
        rows = parse_input(lines)
        steps = copies.steps()
        # A line that is no tuple has no numbers to change: it goes out once, as it is.
        for copy in range(1, copies.copies):
            parts.append(copy_lines(lines, rows.starts, rows.good, rows.values, steps, copy).tobytes())
    return parts


def _deliveries(found: Survey, copies: Replication, first: int, last: int) -> Iterator[tuple[int, bytes]]:
    """The seconds that have tuples, in order, each with the lines of all files."""
    data = [map_file(file.path) for file in found.files]
    seconds = np.unique(np.concatenate([file.seconds for file in found.files]))
    for second in seconds[(seconds >= first) & (seconds <= last)].tolist():
        parts = [
            part
            for file, mapped in zip(found.files, data, strict=True)
            for part in _second_of(file, mapped, second, copies)
        ]
        yield second, b"".join(parts)


def drive(
    data: Path,
    receiver: Receiver,
    *,
    speed: float = 1.0,
    replicate: int = 1,
    start_at: int = 0,
    stop_at: int | None = None,
    begin: float | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    progress: Callable[[int, int], None] = lambda _second, _last: None,
) -> DriveReport:
    """Delivers the data from second `start_at` on, the first due at `begin`, or as soon as the receiver is open."""
    if not speed > 0:
        raise AuroraError(f"--speed is {speed:g}: give a number above 0 (1 is real time)")
    try:
        found = survey(data)
        copies = found.replication(replicate)
        last = found.last_second if stop_at is None else stop_at
        if not 0 <= start_at <= found.last_second:
            raise AuroraError(f"--start-at is {start_at}: the data have seconds 0 to {found.last_second}")
        deliveries = _deliveries(found, copies, start_at, last)
        # The first second is made, and the kernel for copies compiled, before the clock starts.
        ahead = next(deliveries, None)
        if ahead is None:
            raise AuroraError(f"no tuple in the seconds {start_at} to {last}")
        receiver.open()
        begin = clock() if begin is None else begin
        counts: list[int] = []
        lateness: list[float] = []
        while ahead is not None:
            second, lines = ahead
            receiver.prepare(second, lines)
            due = begin + (second - start_at) / speed
            while (now := clock()) < due:
                sleep(min(due - now, _NAP))
            receiver.deliver()
            lateness.append(clock() - due)
            counts.append(lines.count(b"\n"))
            progress(second, last)
            ahead = next(deliveries, None)
        took = clock() - begin
    finally:
        receiver.close()
    return _report(counts, lateness, took, copies.copies, len(found.rejects))


def _report(counts: list[int], lateness: list[float], took: float, copies: int, rejects: int) -> DriveReport:
    order = np.argsort(lateness)
    late, tuples = np.array(lateness)[order], np.cumsum(np.array(counts)[order])
    total = int(tuples[-1])
    p50, p99 = (float(late[np.searchsorted(tuples, share * total)]) for share in (0.5, 0.99))
    rate = total / took if took > 0 else float(total)
    return DriveReport(total, copies, took, rate, p50, p99, float(late[-1]), rejects)
