"""Modules with functions of the user's own that lie beside a network file: found behind everything that is installed.

A folder is looked into only for networks that name a module, and only for modules that nobody else has: `pyspark.py`
beside a network never takes the place of PySpark.
"""

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

from aurora.errors import AuroraError

__all__ = ["file_beside", "forget_modules", "import_from", "modules_beside"]

# The folder of the network that is being read, if it comes from a file.
_folder: ContextVar[str | None] = ContextVar("folder of the network", default=None)


class _Beside(MetaPathFinder):
    """Finds modules in the folders of networks, those of the latest first; asked after all other finders."""

    def __init__(self) -> None:
        self.folders: list[str] = []
        # What was found here, by name: nothing else is ever forgotten.
        self.found: dict[str, tuple[str, ModuleSpec]] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if path is not None:
            return None
        for folder in self.folders:
            spec = PathFinder.find_spec(name, [folder])
            if spec is not None:
                self.found[name] = folder, spec
                return spec
        return None

    def open(self, folder: str) -> None:
        """Looks into a folder from now on, before the others."""
        if self not in sys.meta_path:
            sys.meta_path.append(self)
        self.folders = [folder, *(other for other in self.folders if other != folder)]

    def forget(self, name: str) -> None:
        """Lets a module that was found here be loaded anew, with all that is below it."""
        _, spec = self.found.pop(name)
        if getattr(sys.modules.get(name), "__spec__", None) is spec:
            for loaded in list(sys.modules):
                if loaded == name or loaded.startswith(f"{name}."):
                    del sys.modules[loaded]


_beside = _Beside()


@contextmanager
def modules_beside(folder: str | Path | None) -> Iterator[None]:
    """While a network is read: its modules may lie in this folder."""
    before = _folder.set(None if folder is None else os.path.realpath(folder))
    try:
        yield
    finally:
        _folder.reset(before)


def forget_modules(folder: str | Path) -> None:
    """Lets the modules that networks in a folder have loaded from there be loaded anew."""
    place = os.path.realpath(folder)
    for name in [name for name, (there, _) in _beside.found.items() if there == place]:
        _beside.forget(name)


def file_beside(module: str, folder: str | Path) -> str | None:
    """The file or folder from which a network in a folder takes a module; None if it is taken from elsewhere."""
    name = module.partition(".")[0]
    return None if _is_installed(name) else _file(name, str(folder))


def import_from(module: str) -> ModuleType:
    """Import a module for the network that is being read, from beside it if nothing else has that name."""
    name, folder = module.partition(".")[0], _folder.get()
    if folder is not None and name not in _beside.found:
        file = None if name in sys.modules else file_beside(name, folder)
    else:
        file = None if folder is None else _file(name, folder)
    if folder is not None and file is not None:
        _check_folder(folder, file)
        if name in _beside.found and _beside.found[name][0] != folder:
            _beside.forget(name)
        _beside.open(folder)
    __import__(module)
    return sys.modules[module]


def _is_installed(name: str) -> bool:
    finders = [finder for finder in sys.meta_path if finder is not _beside]
    return any(finder.find_spec(name, None) is not None for finder in finders)


def _file(name: str, folder: str) -> str | None:
    spec = PathFinder.find_spec(name, [folder])
    if spec is None:
        return None
    return spec.origin or os.path.join(folder, name)


def _check_folder(folder: str, file: str) -> None:
    """Raises a fault if others could have put the module there."""
    for place in (folder, os.path.dirname(file), file):
        seen = os.stat(place)
        if seen.st_uid != os.geteuid() and seen.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise AuroraError(
                f"{file} is not imported, because others can write to {place}, which is not yours; move the network "
                "and its modules into a folder of your own"
            )
