"""What a network file asks for besides computing: modules that it imports, files that it reads, hosts it connects to.

Nothing is imported or opened to find that out.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aurora.errors import AuroraError
from aurora.network.modules import file_beside
from aurora.network.stored import host_of, place_of_files

__all__ = ["Wants", "files_below", "find_wants"]

# Says no, by a fault, to a file or folder of a stored set that would be opened; the second argument begins the fault.
Opening = Callable[[str, str], None]


@dataclass(frozen=True)
class Wants:
    """What a network file asks for, each once, in the order of the file.

    `modules` have the file beside the network from which they would be imported, None where it is an installed one.
    `files` are paths, folders or patterns as the file has them, `hosts` are HOST:PORT.
    """

    modules: Mapping[str, str | None]
    files: tuple[str, ...]
    hosts: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.modules or self.files or self.hosts)

    def lines(self) -> Iterator[str]:
        """One line for each thing, as it is said to a person."""
        for name, file in self.modules.items():
            yield f"imports {name} from {file}" if file else f"imports {name}, which must be installed"
        for path in self.files:
            yield f"reads {path}"
        for host in self.hosts:
            yield f"connects to {host}"


def find_wants(content: Any, folder: str | Path | None = None) -> Wants:
    """Return what the content of a network file asks for; what is no network asks for nothing.

    `folder` is that of the file, where its modules may lie.
    """
    places = list(dict.fromkeys(_places(_entries(content, "boxes"))))
    stored = [str(entry["stored"]) for entry in _values(content, "points") if _has(entry, "stored")]
    modules = dict.fromkeys(place.partition(":")[0] for place in places)
    return Wants(
        {name: None if folder is None else file_beside(name, folder) for name in modules},
        tuple(dict.fromkeys(path for address in stored if (path := place_of_files(address)) is not None)),
        tuple(dict.fromkeys(host for address in stored if (host := host_of(address)) is not None)),
    )


def _entries(content: Any, key: str) -> Any:
    return content.get(key) if isinstance(content, Mapping) else None


def _values(content: Any, key: str) -> Iterable[Any]:
    entries = _entries(content, key)
    return entries.values() if isinstance(entries, Mapping) else ()


def _has(entry: Any, key: str) -> bool:
    return isinstance(entry, Mapping) and isinstance(entry.get(key), str)


def _places(boxes: Any) -> Iterator[str]:
    """Return the `module:name` of the boxes and of the groups of boxes."""
    for spec in boxes.values() if isinstance(boxes, Mapping) else ():
        if not isinstance(spec, Mapping):
            continue
        if set(spec) == {"group"}:
            yield from _places(spec["group"])
        for key in ("user", "aggregate"):
            if _has(spec, key):
                yield spec[key]


def files_below(folder: str | Path, allowed: Iterable[str | Path] = ()) -> Opening:
    """Return what refuses to open stored sets outside of a folder and of what is allowed besides."""
    inside = [os.path.realpath(path) for path in (folder, *allowed)]

    def check(path: str, where: str) -> None:
        real = os.path.realpath(path)
        if not any(real == place or real.startswith(os.path.join(place, "")) for place in inside):
            raise AuroraError(
                f"{where}: {path} lies outside of the folder of the network, so it is not opened to look at its "
                f"fields; allow it with --allow-file {path}, or give its schema"
            )

    return check
