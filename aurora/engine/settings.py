"""How to run a network: where, in how long trains, from which checkpoint."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real

from aurora.errors import AuroraError

__all__ = ["Settings", "cores_of"]


@dataclass(frozen=True)
class Settings:
    """How to run a network; the rows depend only on `follow`, and under overload on `shed`.

    A batch takes about `batch_seconds`, and at most `batch` rows of each input. The default is a second for live
    sources; stored files come in the longest batches. `log` is where Spark's log goes if Spark is started here. `home`
    is a folder for everything that belongs to the run; you can then talk to the run. `defer` lets outputs wait that,
    by their graphs, lose little by waiting, while others are late. `shed` drops tuples of live inputs under
    overload, if graphs say what that costs. `optimise` lets boxes change places while the network runs, if that costs
    less. `allow_hosts` are servers, HOST or HOST:PORT, to which stored sets may connect that only a network file names.
    With `metrics`, a port or HOST:PORT, the figures are served there for Prometheus. The first `warm_up` batches of a
    new run are empty: by their end everything is loaded and compiled, and no tuple has waited.
    """

    master: str | None = None
    batch: int = 1_000_000
    partitions: int | None = None
    follow: bool = False
    checkpoint: str | None = None
    fresh: bool = False
    fuse: bool = True
    rejects: str | None = None
    batch_seconds: float | None = None
    log: str | None = None
    home: str | None = None
    defer: bool = True
    shed: bool = True
    optimise: bool = True
    metrics: str | None = None
    warm_up: int = 0
    allow_hosts: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name in ("follow", "fresh", "fuse", "defer", "shed", "optimise"):
            self._check(name, isinstance(getattr(self, name), bool), "True or False")
        for name in ("master", "metrics"):
            self._check(name, isinstance(getattr(self, name), str | None), "a text or None")
        for name in ("checkpoint", "rejects", "log", "home"):
            self._check(name, isinstance(getattr(self, name), str | os.PathLike | None), "a path or None")
        self._check("batch", _is_whole(self.batch, 1), "a whole number of rows, 1 or more")
        self._check("warm_up", _is_whole(self.warm_up, 0), "a whole number of batches, 0 or more")
        partitions = self.partitions is None or _is_whole(self.partitions, 1)
        self._check("partitions", partitions, "a whole number, 1 or more, or None")
        seconds = self.batch_seconds is None or (
            _is_number(self.batch_seconds) and 0 < self.batch_seconds < 1e6
        )
        self._check("batch_seconds", seconds, "a number of seconds above 0 and below 1,000,000, or None")
        hosts = self.allow_hosts
        named = not isinstance(hosts, str) and all(isinstance(host, str) for host in hosts)
        self._check("allow_hosts", named, 'a list of HOST or HOST:PORT, such as ["db:5432"]')
        if self.home is not None and self.checkpoint is not None:
            raise AuroraError("a home contains its own checkpoint: give a home or a checkpoint, not both")

    def _check(self, name: str, fits: bool, what: str) -> None:
        if not fits:
            raise AuroraError(f"{name} is {what}, found {getattr(self, name)!r}")


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_whole(value: object, least: int) -> bool:
    """Whether a value, of Python's or NumPy's, is a whole number that is not too small."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def cores_of(master: str | None) -> int:
    local = re.fullmatch(r"local\[(\d+)\]", master or "")
    return int(local[1]) if local else os.cpu_count() or 1
