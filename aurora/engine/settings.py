"""How to run a network: where, in how long trains, from which checkpoint."""

import os
import re
from dataclasses import dataclass

__all__ = ["Settings", "cores_of"]


@dataclass(frozen=True)
class Settings:
    """How to run; the result depends on none of it."""

    master: str | None = None
    batch: int = 1_000_000
    partitions: int | None = None
    follow: bool = False
    checkpoint: str | None = None
    fresh: bool = False
    fuse: bool = True
    rejects: str | None = None


def cores_of(master: str | None) -> int:
    local = re.fullmatch(r"local\[(\d+)\]", master or "")
    return int(local[1]) if local else os.cpu_count() or 1
