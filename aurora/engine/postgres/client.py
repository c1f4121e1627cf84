"""The client library of PostgreSQL: loaded when it is needed, its faults in plain words."""

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from aurora.engine.outages import PAUSE, Unreachable, try_patiently
from aurora.engine.postgres.address import PostgresAddress
from aurora.engine.waits import waits
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
    "user_of",
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
# The first libpq that can be told which ways to prove who one is are refused.
REQUIRES = 160000
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
    protection = _protection(what, address)
    try:
        connection = psycopg().connect(
            host=address.host,
            port=address.port,
            dbname=address.database,
            autocommit=True,
            **CONNECTION,
            **protection,
            **service,
        )
        # Values that are kept as text are written alike in all connections.
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("SET DateStyle = 'ISO, YMD'")
        # A backslash in a literal is one.
        connection.execute("SET standard_conforming_strings = on")
        return connection
    except psycopg().Error as fault:
        raise _refused(what, address, " ".join(str(fault).split())) from None


def user_of(address: PostgresAddress) -> str:
    """Return the user as whom a connection is made."""
    return _options(address).get("user") or "the server's default user"


def _protection(what: str, address: PostgresAddress) -> dict[str, str]:
    """Return the options without which a server could have the password in clear text; nothing if the user chose.

    Asked for is it by `require_auth` in the environment or the service, or by an encrypted connection to a server that
    has proved who it is.
    """
    options = _options(address)
    if options.get("require_auth") or options.get("sslmode") in ("verify-ca", "verify-full"):
        return {}
    version = psycopg().pq.version()
    if version < REQUIRES:
        raise Denied(
            f"{what}: psycopg uses libpq {version // 10000}, which would send a password in clear text; install one "
            "with libpq 16 or later (pip install 'psycopg[binary]'), or set PGSSLMODE=verify-full"
        )
    return {"require_auth": "!password"}


def _options(address: PostgresAddress) -> dict[str, str]:
    """Return what the client library takes from the environment, and from the service."""
    found: dict[str, str] = {}
    for option in psycopg().pq.Conninfo.get_defaults():
        if option.val is not None:
            found[option.keyword.decode()] = option.val.decode()
    return found if address.service is None else {**found, **_read_service(address.service)}


def _read_service(name: str) -> dict[str, str]:
    """Return the options of a service, which the client library reads itself and does not tell."""
    own = os.environ.get("PGSERVICEFILE") or os.path.expanduser("~/.pg_service.conf")
    folder = os.environ.get("PGSYSCONFDIR")
    for path in (own, *([os.path.join(folder, "pg_service.conf")] if folder else [])):
        try:
            lines = Path(path).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            continue
        section, found = None, {}
        for line in map(str.strip, lines):
            if line.startswith("[") and line.endswith("]"):
                section = line[1:-1]
            elif section == name and "=" in line and not line.startswith("#"):
                key, _, value = line.partition("=")
                found[key.strip()] = value.strip()
        if found:
            return found
    return {}


def connect_patiently(what: str, address: PostgresAddress) -> Any:
    """When a run starts: waits a while for a server that is about to start."""
    return try_patiently(what, f"PostgreSQL at {address.server}", lambda: connect(what, address))


def _refused(what: str, address: PostgresAddress, text: str) -> Exception:
    # Of several addresses of a host, the last one says what is wrong.
    _, fatal, told = text.rpartition("FATAL: ")
    told = (told if fatal else text.rpartition("failed: ")[2]).removesuffix(HINT).strip()
    if PASSING.search(told) or (not fatal and not LASTING.search(told)):
        return Unreachable(told)
    if "requested a cleartext password" in told:
        return Denied(
            f"{what}: PostgreSQL at {address.server} wants the password in clear text, which is not sent: let it use "
            "scram-sha-256, or connect with PGSSLMODE=verify-full, or allow it with PGREQUIREAUTH=password"
        )
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
            "set_config('standard_conforming_strings', 'on', true), "
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
            with waits.waiting(f"{what}: PostgreSQL at {address.server} has not answered yet", once=True):
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
