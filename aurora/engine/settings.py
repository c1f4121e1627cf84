"""How to run a network: where, in how long trains, from which checkpoint."""

import os
import re
from dataclasses import dataclass

from aurora.errors import AuroraError

__all__ = ["Settings", "cores_of"]


@dataclass(frozen=True)
class Settings:
    """How to run; the result depends on none of it.

    A batch takes about `batch_seconds` and at most `batch` rows of each input. Unless given, it is a second for live
    sources, and stored files come in the longest trains. `log` is where Spark's log goes if Spark is started here. A
    `home` is a folder for all that belongs to the run; the run can then be talked to while it lasts. Unless `defer` is
    off, outputs there that lose little by waiting, as their graphs say, wait while others are late. Unless `shed` is
    off, tuples of live inputs are left out under overload where graphs say what that costs.
    Unless `optimise` is off, boxes change places while it runs, where that costs less. With `metrics`, a port or
    HOST:PORT, its figures are served there for Prometheus.
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

    def __post_init__(self) -> None:
        if self.batch_seconds is not None and not 0 < self.batch_seconds < 1e6:
            raise AuroraError(f"a batch takes more than 0 seconds, found {self.batch_seconds:g}")
        if self.home is not None and self.checkpoint is not None:
            raise AuroraError("a home has the checkpoint in it: give a home or a checkpoint, not both")


def cores_of(master: str | None) -> int:
    local = re.fullmatch(r"local\[(\d+)\]", master or "")
    return int(local[1]) if local else os.cpu_count() or 1
