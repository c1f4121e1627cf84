"""The client library of PostgreSQL: loaded when it is needed, its faults in plain words."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from aurora.engine.outages import PAUSE, Unreachable, try_patiently
from aurora.engine.postgres.address import PostgresAddress
from aurora.errors import AuroraError

__all__ = [
    "GRACE",
    "Denied",
    "connect",
    "connect_patiently",
    "explain",
    "in_utc",
    "is_outage",
    "psycopg",
    "quote_names",
    "repeat",
]

Found = TypeVar("Found")
# For so many seconds a server that was away may refuse before that counts.
GRACE = 60.0
# A connection that is gone without a word is noticed within half a minute.
CONNECTION = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
    "client_encoding": "utf8",
    "application_name": "aurora",
}
# What the server says while it starts, stops, or has no room; each is over at some time.
PASSING = re.compile(
    r"starting up|shutting down|recovery mode|not yet accepting|too many|remaining connection slots|"
    r"closed the connection",
    re.IGNORECASE,
)
# What no waiting mends, of faults that the server itself does not tell.
LASTING = re.compile(r"password|service|SSL|certificate|pg_hba|passfile|GSS", re.IGNORECASE)
# Classes and codes of faults that are over at some time: connections, resources, shutdowns, conflicts, a standby.
OUTAGES = ("08", "53", "57P0", "57014", "40", "55P03", "25006")
HINT = "Is the server running on that host and accepting TCP/IP connections?"
PASSWORD = "put user and password into PGUSER and PGPASSWORD, or the password into ~/.pgpass"


class Denied(AuroraError):
    """The server does not let it in, and waiting would not help."""


def psycopg() -> Any:
    try:
        import psycopg
    except ImportError:
        raise AuroraError(
            "postgres: needs the package psycopg; pip install 'aurora-spark[postgres]'"
        ) from None
    return psycopg


def connect(what: str, address: PostgresAddress) -> Any:
    """A connection; `Unreachable` if nobody answers, and a fault where waiting would not help."""
    service = {} if address.service is None else {"service": address.service}
    try:
        connection = psycopg().connect(
            host=address.host,
            port=address.port,
            dbname=address.database,
            autocommit=True,
            **CONNECTION,
            **service,
        )
        # Values that are kept as text are written alike in all connections.
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("SET DateStyle = 'ISO, YMD'")
        return connection
    except psycopg().Error as fault:
        raise _refused(what, address, " ".join(str(fault).split())) from None


def connect_patiently(what: str, address: PostgresAddress) -> Any:
    """When a run starts: waits a while for a server that is about to start."""
    return try_patiently(what, f"PostgreSQL at {address.server}", lambda: connect(what, address))


def _refused(what: str, address: PostgresAddress, text: str) -> Exception:
    # Of several addresses of a host, the last one says what is wrong.
    _, fatal, told = text.rpartition("FATAL: ")
    told = (told if fatal else text.rpartition("failed: ")[2]).removesuffix(HINT).strip()
    if PASSING.search(told) or (not fatal and not LASTING.search(told)):
        return Unreachable(told)
    if "does not exist" in told and told.startswith("database"):
        return Denied(
            f"{what}: PostgreSQL at {address.server} has no database {address.database}; create it, or check the name"
        )
    if "password" in told or "role" in told or "authentication" in told:
        return Denied(f"{what}: PostgreSQL at {address.server} refuses: {told}; {PASSWORD}")
    if told.startswith("failed to resolve host"):
        return Denied(f"{what}: PostgreSQL at {address.server}: there is no such host; check the address")
    return Denied(f"{what}: PostgreSQL at {address.server} refuses: {told}")


def is_outage(fault: Exception) -> bool:
    """Whether a fault of a connection that was open is one that waiting mends."""
    library = psycopg()
    code = getattr(fault, "sqlstate", None)
    if code is None:
        return isinstance(fault, library.OperationalError | library.InterfaceError)
    return str(code).startswith(OUTAGES)


def explain(fault: Exception) -> str:
    """What the server says, in one line."""
    told = getattr(getattr(fault, "diag", None), "message_primary", None)
    return " ".join(str(told or fault).split())


@contextmanager
def in_utc(connection: Any) -> Iterator[Any]:
    """A transaction in which times are in UTC, and one that is told as done stays done."""
    with connection.transaction():
        connection.execute(
            "SELECT set_config('TimeZone', 'UTC', true), set_config('DateStyle', 'ISO, YMD', true), "
            "set_config('extra_float_digits', '1', true), set_config('lock_timeout', '10s', true), "
            "set_config('synchronous_commit', "
            "CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' "
            "ELSE current_setting('synchronous_commit') END, true)"
        )
        yield connection


def quote_names(*names: str | None) -> str:
    """A name as SQL has it, with that of its schema in front if it has one."""
    return ".".join('"' + name.replace('"', '""') + '"' for name in names if name is not None)


_connections: dict[PostgresAddress, Any] = {}
# Since when a server does not let it in.
_denied: dict[PostgresAddress, float] = {}


def repeat(what: str, address: PostgresAddress, step: Callable[[Any], Found], wait: bool = True) -> Found:
    """Does a step of reading with the connection of this process; waits for a server that does not answer.

    Without `wait` that is `Unreachable`.
    """
    again = True
    while True:
        try:
            if address not in _connections:
                _connections[address] = connect(what, address)
            found = step(_connections[address])
            _denied.pop(address, None)
            return found
        except Unreachable:
            if not wait:
                raise
        except Denied as fault:
            # When the run began, it was let in: the server may be about to start.
            if time.monotonic() - _denied.setdefault(address, time.monotonic()) > GRACE:
                raise
            if not wait:
                raise Unreachable(str(fault)) from None
        except psycopg().Error as fault:
            _close(_connections.pop(address, None))
            if not is_outage(fault):
                raise AuroraError(f"{what}: {address.label}: {explain(fault)}") from None
            # A connection may have been cut long ago: a new one may well be had at once.
            if not wait and not again:
                raise Unreachable(explain(fault)) from None
            if again:
                again = False
                continue
        time.sleep(PAUSE)


def _close(connection: Any) -> None:
    if connection is not None:
        connection.close()
