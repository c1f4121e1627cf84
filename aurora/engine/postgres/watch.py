"""A thread that tells when a database does not answer, and when it does again; whoever reads waits meanwhile."""

import logging
import threading
from typing import Any

from aurora.engine.postgres.address import PostgresAddress
from aurora.engine.postgres.client import Unreachable, connect, psycopg
from aurora.errors import AuroraError

__all__ = ["ServerWatch"]

EVERY = 1.0


class ServerWatch(threading.Thread):
    once = False

    def __init__(self, name: str, address: PostgresAddress) -> None:
        super().__init__(name=f"watch of {address.label}", daemon=True)
        self._input = name
        self._address = address
        self._stopped = threading.Event()

    def connect(self) -> None:
        self.start()

    def run(self) -> None:
        connection: Any = None
        told = False
        server = f"PostgreSQL at {self._address.server}"
        try:
            while not self._stopped.wait(EVERY):
                try:
                    connection = connection or connect(f"source {self._input}", self._address)
                    connection.execute("SELECT 1")
                except psycopg().Error:
                    connection.close()
                    connection = None  # Asked for anew at once: it may be the connection alone that was cut.
                    continue
                except (Unreachable, AuroraError) as fault:
                    if not told:
                        self._tell(f"{server} does not answer ({fault}); the run waits for it")
                    told = True
                    continue
                if told:
                    self._tell(f"{server} answers again; the run continues")
                told = False
        finally:
            if connection is not None:
                connection.close()

    def _tell(self, text: str) -> None:
        logging.getLogger("aurora").warning(f"input {self._input}: {text}")

    def stop(self) -> None:
        self._stopped.set()
