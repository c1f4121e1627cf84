"""The servers to which a run may connect, because the user named them and not only a network file."""

import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from aurora.engine.postgres.address import SOURCE_OPTIONS, is_postgres, read_postgres
from aurora.engine.postgres.client import user_of
from aurora.engine.sources.paced import Wrapping
from aurora.errors import AuroraError
from aurora.network.network import Network
from aurora.network.stored import host_of

__all__ = ["check_hosts", "hosts_named", "hosts_of", "tell_connection"]


def hosts_named(given: Mapping[str, Any]) -> Iterator[str]:
    """Yield HOST:PORT of each PostgreSQL server in the addresses of sources or sinks."""
    for address in given.values():
        while isinstance(address, Wrapping):
            address = address.address
        if isinstance(address, str) and (host := host_of(address)) is not None:
            yield host


def hosts_of(network: Network) -> set[str]:
    """Return HOST:PORT of the servers of stored sets that a program names, not a file: the user's own word."""
    stored = [entry.stored for entry in network.inputs.values() if entry.stored is not None]
    named = [entry for entry in stored if not entry.by_file]
    return {host for entry in named if (host := host_of(entry.address)) is not None}


def check_hosts(network: Network, given: Mapping[str, Any], allowed: Iterable[str]) -> None:
    """Raise a fault if a network file names a server, and nobody else does: user and password would go there.

    `given` are sources, which may take the place of the addresses in the file; `allowed` are HOST or HOST:PORT.
    """
    known = {host.lower() for host in allowed}
    for name, entry in network.inputs.items():
        stored = entry.stored
        host = None if stored is None or not stored.by_file or name in given else host_of(stored.address)
        if host is not None and not {host.lower(), host.lower().rpartition(":")[0]} & known:
            raise AuroraError(
                f"point {name}: the network file alone names the server {host}, to which your user and password would "
                f"go; if you trust it, add --allow-host {host} (in Python: Settings(allow_hosts=[{host!r}]))"
            )


def tell_connection(name: str, address: str) -> None:
    """Say to which server a stored set connects, and as whom, before it does."""
    if is_postgres(address):
        server = read_postgres(f"stored set {name}", address, SOURCE_OPTIONS)
        logging.getLogger("aurora").info(
            f"stored set {name} connects to {server.server} as {user_of(server)}"
        )
