"""The firehose as a server: JSON lines over TCP, by the clock or as fast as they are taken."""

import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field

import numpy as np

from aurora.errors import AuroraError
from aurora.nexmark.firehose.ahead import CHUNK, in_order
from aurora.nexmark.firehose.formats import json_lines
from aurora.nexmark.firehose.making import facts_of
from aurora.nexmark.firehose.settings import Settings
from aurora.nexmark.firehose.streams import members

__all__ = ["ServeReport", "Tap", "serve", "taps_for"]

SECOND = 1_000_000
# Events are sent in bundles of so many seconds; no wait is longer than a nap, so that an interrupt is seen.
TICK, NAP = 0.005, 0.5
# Seconds: what comes later than this is told.
TOO_LATE = 1.0
# How long a client may take to close its side, once all is sent.
FAREWELL = 10.0


class Tap:
    """A port at which one client gets one stream."""

    def __init__(self, host: str, port: int, stream: str = "all") -> None:
        self.stream = stream
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.socket(family, socket.SOCK_STREAM)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._client: socket.socket | None = None
        try:
            self._listener.bind((host, port))
            self._listener.listen(1)
        except (OSError, OverflowError) as fault:
            self._listener.close()
            raise AuroraError(
                f"cannot listen on {host}:{port}: {fault}; give another tcp:HOST:PORT"
            ) from None
        self.port: int = self._listener.getsockname()[1]

    def connect(self) -> None:
        """Waits for the client."""
        self._client, _ = self._listener.accept()
        self._client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, lines: memoryview) -> None:
        assert self._client is not None
        self._client.sendall(lines)

    def abort(self) -> None:
        """A sending that waits for the client ends, in whatever thread."""
        if self._client is not None:
            with suppress(OSError):
                self._client.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.close()
        if self._client is None:
            return
        try:
            # Closing on unread bytes of the client would throw away what it has not read yet.
            self._client.settimeout(FAREWELL)
            self._client.shutdown(socket.SHUT_WR)
            while self._client.recv(4096):
                pass
        except OSError:
            pass
        finally:
            self._client.close()


def taps_for(target: str, settings: Settings) -> list[Tap]:
    """One port, or with several bid streams one for what is no bid and the next ones for a stream each."""
    kind, _, place = target.partition(":")
    host, _, port = place.rpartition(":")
    if kind != "tcp" or not host or not port.isdigit():
        raise AuroraError(f"cannot serve to {target!r}: give tcp:HOST:PORT")
    first = int(port)
    return [
        Tap(host.strip("[]"), first + number if first else 0, stream)
        for number, stream in enumerate(settings.streams)
    ]


@dataclass(frozen=True)
class ServeReport:
    """What was sent, and how late, in seconds: the end of each sending after its first event was due, by event."""

    events: int
    seconds: float
    rate: float
    late_p50: float
    late_p99: float
    late_max: float
    paced: bool

    def summary(self) -> str:
        text = f"{self.events:,} events in {self.seconds:.1f} s ({self.rate:,.0f}/s)"
        if not self.paced:
            return text
        late = " / ".join(f"{1000 * value:.1f}" for value in (self.late_p50, self.late_p99, self.late_max))
        slow = "; the client is too slow for this rate, nothing was lost" if self.late_max > TOO_LATE else ""
        return f"{text}, lateness p50 / p99 / max {late} ms{slow}"


@dataclass
class _Deliveries:
    """Of one stream: the events of each sending, and how late it was."""

    counts: list[int] = field(default_factory=list)
    late: list[float] = field(default_factory=list)


def serve(
    settings: Settings,
    events: int | None,
    taps: list[Tap],
    *,
    paced: bool = True,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    ready: Callable[[], None] = lambda: None,
    progress: Callable[[int], None] = lambda _events: None,
) -> ServeReport:
    """Sends the events, or without a number of them until the client goes.

    The clock starts when all clients are there.
    """
    if events is not None and events < 1:
        raise AuroraError(f"--events must be at least 1, not {events}")
    with ExitStack() as stack:
        for tap in taps:
            stack.callback(tap.close)
        # The kernels are compiled, or read from where they are kept, before the clock starts.
        json_lines(facts_of(settings, 0, settings.pace.number_at(settings.pace.moment(100))))
        ready()
        for tap in taps:
            tap.connect()
        begin = clock()

        def pour(tap: Tap) -> _Deliveries:
            told = progress if tap is taps[0] else lambda _events: None
            return _pour(settings, events, tap, paced, lambda: clock() - begin, sleep, told)

        return _report(_together(pour, taps), clock() - begin, paced)


def _together(pour: Callable[[Tap], _Deliveries], taps: list[Tap]) -> list[_Deliveries]:
    """A thread for each tap, so that a client may read its streams in whatever order; a fault or Ctrl-C ends all."""
    with ThreadPoolExecutor(len(taps)) as pool:
        futures = [pool.submit(pour, tap) for tap in taps]
        try:
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            for future in done:
                future.result()
            return [future.result() for future in futures]
        except BaseException:
            for tap in taps:
                tap.abort()
            raise


def _pour(
    settings: Settings,
    events: int | None,
    tap: Tap,
    paced: bool,
    elapsed: Callable[[], float],
    sleep: Callable[[float], None],
    progress: Callable[[int], None],
) -> _Deliveries:
    def made(span: tuple[int, int]) -> tuple[int, int, int, memoryview]:
        facts = facts_of(settings, *span)
        chosen = members(facts, tap.stream)
        if len(chosen) < facts.shape[1]:
            facts = np.ascontiguousarray(facts[:, chosen])
        return *span, len(chosen), json_lines(facts)

    done = _Deliveries()
    spans = _due(settings, events, elapsed, sleep) if paced else _all(events)
    for first, last, count, lines in map(made, spans) if paced else in_order(made, spans):
        try:
            tap.send(lines)
        except OSError as fault:
            if events is None:
                break
            raise AuroraError(
                f"the client went away at event {first} ({fault.strerror or fault}): "
                "it must read until the connection is closed"
            ) from None
        done.counts.append(count)
        done.late.append(elapsed() - settings.pace.moment(first) / SECOND if paced else 0.0)
        progress(last)
    return done


def _all(events: int | None) -> Iterator[tuple[int, int]]:
    first = 0
    while events is None or first < events:
        last = first + CHUNK if events is None else min(first + CHUNK, events)
        yield first, last
        first = last


def _due(
    settings: Settings,
    events: int | None,
    elapsed: Callable[[], float],
    sleep: Callable[[float], None],
) -> Iterator[tuple[int, int]]:
    """What is due by now, bundle by bundle; never an event before its time."""
    first = 0
    while events is None or first < events:
        due = settings.pace.number_at(int(elapsed() * SECOND) + 1)
        last = min(due, first + CHUNK) if events is None else min(due, first + CHUNK, events)
        if last > first:
            yield first, last
            first = last
        else:
            wait = settings.pace.moment(first) / SECOND - elapsed()
            sleep(min(max(wait, TICK), NAP))


def _report(results: list[_Deliveries], seconds: float, paced: bool) -> ServeReport:
    counts = np.concatenate([[0], *(each.counts for each in results)]).astype(np.int64)
    late = np.concatenate([[0.0], *(each.late for each in results)])
    order = np.argsort(late)
    late, sums = late[order], np.cumsum(counts[order])
    total = int(sums[-1])
    p50, p99 = (float(late[np.searchsorted(sums, share * total)]) for share in (0.5, 0.99))
    return ServeReport(total, seconds, total / max(seconds, 1e-9), p50, p99, float(late[-1]), paced)
