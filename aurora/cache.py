"""The folder for what is made once for a machine and can be made again."""

import os
from pathlib import Path

__all__ = ["cache_folder"]


def cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "aurora-spark"
