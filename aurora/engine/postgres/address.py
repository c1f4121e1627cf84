"""Addresses of tables: postgres:HOST:PORT/DATABASE/TABLE?key=FIELD,FIELD."""

import re
from dataclasses import dataclass
from urllib.parse import unquote

from aurora.engine.address_options import choose, read_options, without_secrets, without_slashes
from aurora.errors import AuroraError
from aurora.network.amounts import duration
from aurora.network.stored import check_no_password

__all__ = ["SINK_OPTIONS", "SOURCE_OPTIONS", "PostgresAddress", "is_postgres", "read_postgres"]

PREFIX = "postgres:"
SHAPE = re.compile(r"([^/?\s]+):(\d{1,5})/([^/?]+)/([^/?]+)(?:\?(.*))?", re.DOTALL)
SOURCE_OPTIONS = ("by", "follow", "poll", "lag", "after", "service")
SINK_OPTIONS = ("key", "create", "service")
YES_OR_NO: dict[str, bool | None] = {"yes": True, "no": False}
# How often a table is asked for new rows, in seconds.
POLL = 0.2


@dataclass(frozen=True)
class PostgresAddress:
    """Whom to connect as is no part of it: the client library finds user and password by itself, where it connects.

    `schema` is that of the table in the database, None for the search path.
    """

    host: str
    port: int
    database: str
    table: str
    schema: str | None = None
    service: str | None = None
    key: tuple[str, ...] = ()
    create: bool = False
    by: str | None = None
    follow: bool | None = None
    poll: float = POLL
    lag: float | None = None
    after: str | None = None

    @property
    def server(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def place(self) -> str:
        """The table as it is told in messages and rejects."""
        return f"{self.database}/{self.schema + '.' if self.schema else ''}{self.table}"

    @property
    def label(self) -> str:
        return f"{PREFIX}{self.server}/{self.place}"

    def identity(self) -> str:
        return f"{self.label}?by={self.by}" if self.by else self.label


def is_postgres(address: object) -> bool:
    return isinstance(address, str) and address.startswith(PREFIX)


def read_postgres(what: str, address: str, options: tuple[str, ...]) -> PostgresAddress:
    """`what` is the source or sink in messages, `options` those that it may have."""
    text = address.removeprefix(PREFIX)
    check_no_password(text, what)
    found = SHAPE.fullmatch(text)
    if found is None or not 0 < int(found[2]) < 65536:
        raise AuroraError(
            f"{what}: '{without_secrets(address)}' needs a host, a port, a database and a table, for example "
            f"postgres:localhost:5432/shop/orders{without_slashes(text)}"
        )
    given = read_options(what, "postgres", found[5], options)
    # A dot that is part of a name is written %2E.
    schema, dot, table = found[4].partition(".")
    return PostgresAddress(
        unquote(found[1]),
        int(found[2]),
        unquote(found[3]),
        unquote(table if dot else schema),
        unquote(schema) if dot else None,
        given.get("service"),
        tuple(filter(None, (name.strip() for name in given.get("key", "").split(",")))),
        bool(choose(what, given, "create", YES_OR_NO, "no")),
        given.get("by"),
        choose(what, given, "follow", {**YES_OR_NO, "": None}, ""),
        _seconds(what, given, "poll") or POLL,
        _seconds(what, given, "lag"),
        given.get("after"),
    )


def _seconds(what: str, given: dict[str, str], name: str) -> float | None:
    return duration(given[name], f"{what}: {name}") / 1000 if name in given else None
