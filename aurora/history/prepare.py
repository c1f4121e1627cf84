"""The sources of a network's stored sets: those that joins pull from are stored by key, the others stay as they are."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from aurora.engine.postgres.hosts import check_hosts, hosts_named, tell_connection
from aurora.engine.sources.keyed_set import KeyedSet
from aurora.engine.sources.source import Opening, Source
from aurora.history.stored import Progress, store_by_key
from aurora.network.network import Input, Network
from aurora.network.points import Stored

__all__ = ["prepare_stored"]


def prepare_stored(
    network: Network,
    sources: Mapping[str, Any],
    folder: str | Path,
    progress: Progress | None = None,
    points: Mapping[str, Stored] | None = None,
    fresh: bool = False,
    hosts: Iterable[str] = (),
) -> dict[str, Any]:
    """The sources, plus one for each stored set of the network, with its files in `folder`, which belongs to this run.

    A source that you give replaces the address in the network. `points` are the stored sets of the running network that
    this one is attached to. `progress` is called with the name of a set and the number of rows stored so far.
    Sets in a database are read again only if `fresh`. `hosts` are the servers that the user allows, HOST or HOST:PORT;
    a fault is raised if a network file names another one.
    """
    check_hosts(network, sources, {*hosts, *hosts_named(sources)})
    found = dict(sources)
    for name, entry in network.inputs.items():
        stored = entry.stored or _point(network, entry, points or {})
        if stored is None:
            continue
        address = found.get(name, stored.address)
        pulled = entry.static and stored.key and _is_taken(network, name)
        if not pulled or isinstance(address, Source | KeyedSet | Opening):
            if name not in found and isinstance(address, str):
                tell_connection(name, address)
            found[name] = address
        else:
            found[name] = store_by_key(name, address, entry.schema, stored.key, Path(folder), progress, fresh)
    return found


def _point(network: Network, entry: Input, points: Mapping[str, Stored]) -> Stored | None:
    own = None if entry.point is None else network.inputs.get(entry.point)
    return own.stored if own is not None else points.get(entry.point or "")


def _is_taken(network: Network, name: str) -> bool:
    return any(port.box == name for box in network.boxes.values() for port in box.inputs)
