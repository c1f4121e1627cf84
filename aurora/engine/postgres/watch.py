"""Whether the server of a table answers, asked beside the run."""

from typing import Any

from aurora.engine.outages import ServerWatch, Unreachable
from aurora.engine.postgres.address import PostgresAddress
from aurora.engine.postgres.client import connect, explain, psycopg
from aurora.errors import AuroraError

__all__ = ["watch_server"]


class _Question:
    """With a connection of its own; one that was cut is opened anew by the next question."""

    def __init__(self, what: str, address: PostgresAddress) -> None:
        self._what = what
        self._address = address
        self._connection: Any = None

    def ask(self) -> None:
        try:
            self._connection = self._connection or connect(self._what, self._address)
            self._connection.execute("SELECT 1")
        except psycopg().Error as fault:
            self.close()
            raise Unreachable(explain(fault)) from None
        except AuroraError as fault:
            raise Unreachable(
                str(fault)
            ) from None  # It was let in when the run began: the server may be starting.

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def watch_server(name: str, address: PostgresAddress) -> ServerWatch:
    """For an input."""
    question = _Question(f"source {name}", address)
    return ServerWatch(name, f"PostgreSQL at {address.server}", question.ask, question.close)
