"""The endpoint from which a Prometheus takes the figures of a network: `/metrics`, and `/health` for who starts it."""

import logging
import re
import socket
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from socketserver import TCPServer
from typing import Any

from aurora.engine.statistics import BatchReport
from aurora.errors import AuroraError
from aurora.history.metrics import BatchTimes, describe_metrics

__all__ = ["MetricsServer", "parse_address"]

LOOPBACK = "127.0.0.1"
TEXT = "text/plain; version=0.0.4; charset=utf-8"
# How long a client may take to ask, in seconds.
PATIENCE = 10.0
# So many are answered at the same moment, each by a thread.
AT_ONCE = 16
MISDIRECTED = "these figures are for programs on this machine alone: ask for localhost or 127.0.0.1\n"
FAILED = "the figures cannot be told; the log of the run says why\n"


def parse_address(text: str) -> tuple[str, int]:
    """The host, unless given this machine alone, and the port.

    >>> parse_address("9464"), parse_address("0.0.0.0:0"), parse_address("[::1]:80")
    (('127.0.0.1', 9464), ('0.0.0.0', 0), ('::1', 80))
    """
    host, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise AuroraError(
            f"metrics {text}: write PORT or HOST:PORT, for example 9464 or 0.0.0.0:9464; 0 is any free port"
        )
    return host.removeprefix("[").removesuffix("]") or LOOPBACK, int(port)


def _is_loopback(name: str) -> bool:
    """Whether it is a name or an address of this machine for itself."""
    try:
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False


class MetricsServer:
    """Answers from the moment it is made, before the network runs; leaving its `with` block ends it."""

    def __init__(self, address: str, labels: Mapping[str, str], at_once: int = AT_ONCE) -> None:
        self._labels = labels
        self._status: Callable[[], Mapping[str, Any]] = lambda: {"state": "starting"}
        self._times = BatchTimes()
        host, port = parse_address(address)
        kind = _Server6 if ":" in host else _Server
        try:
            self._server = kind((host, port), _handler(self))
        except (OSError, UnicodeError) as fault:
            reason = getattr(fault, "strerror", None) or fault
            raise AuroraError(
                f"metrics {address}: {reason}; give another address, or port 0 for any free one"
            ) from None
        self._alone = _is_loopback(str(self._server.server_address[0]))
        self._server.free = threading.BoundedSemaphore(at_once)
        self._logged = ""
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{self._server.server_address[1]}/metrics"
        threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True).start()
        logging.getLogger("aurora").info(
            f"metrics at {self.url}", extra={"event": "metrics", "figures": {"url": self.url}}
        )

    def follow(self, status: Callable[[], Mapping[str, Any]]) -> None:
        """From now on the figures are these."""
        self._status = status

    def take(self, report: BatchReport) -> None:
        """A batch is done; it tells how long the one before it took."""
        if report.work.before is not None:
            self._times = self._times.add(report.work.before)

    def describe(self) -> str:
        return describe_metrics(self._status(), self._times, self._labels)

    def is_asked_for(self, host: str | None) -> bool:
        """Whether a request is meant for this server, by the host that it names, if it names one.

        A page in a browser on this machine can make its own name lead here, and would read the answer. Who serves
        other machines is known by names that it cannot know itself.
        """
        if host is None or not self._alone:
            return True
        name = re.sub(r":\d*$", "", host).removeprefix("[").removesuffix("]").lower()
        return _is_loopback(name)

    def log(self, fault: Exception) -> None:
        """Log why there are no figures, once for each reason: scrapes come every few seconds."""
        told = f"the metrics cannot be told: {type(fault).__name__}: {fault}"
        if told != self._logged:
            self._logged = told
            logging.getLogger("aurora").warning(told)

    @property
    def state(self) -> str:
        return str(self._status()["state"])

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> "MetricsServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    free: threading.BoundedSemaphore

    def process_request(self, request: Any, client_address: Any) -> None:
        """Hangs up on whoever comes while too many ask: a scrape comes again."""
        if self.free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.free.release()

    def server_bind(self) -> None:
        # The one above it looks up a name for the host, which may take long, and nobody asks for it.
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is not worth a word."""


class _Server6(_Server):
    address_family = socket.AF_INET6


def _handler(of: MetricsServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = PATIENCE
        server_version, sys_version = "aurora", ""

        def do_GET(self) -> None:
            try:
                if of.is_asked_for(self.headers.get("Host")):
                    self._tell(self.path.partition("?")[0])
                else:
                    self._answer(HTTPStatus.MISDIRECTED_REQUEST, MISDIRECTED)
            except OSError:
                raise
            except Exception as fault:
                of.log(fault)
                self._answer(HTTPStatus.INTERNAL_SERVER_ERROR, FAILED)

        do_HEAD = do_GET

        def _tell(self, path: str) -> None:
            if path == "/metrics":
                self._answer(HTTPStatus.OK, of.describe(), TEXT)
            elif path == "/health":
                state = of.state
                well = state in ("running", "paused")
                self._answer(HTTPStatus.OK if well else HTTPStatus.SERVICE_UNAVAILABLE, f"{state}\n")
            else:
                self._answer(HTTPStatus.NOT_FOUND, "there are /metrics and /health\n")

        def _answer(self, status: HTTPStatus, text: str, kind: str = "text/plain; charset=utf-8") -> None:
            content = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Scrapes come every few seconds: nothing is logged of them."""

    return Handler
