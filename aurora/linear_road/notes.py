"""Notes of a run or of what was made: whole, or not there."""

import json
import os
from pathlib import Path
from typing import Any

__all__ = ["read_note", "write_note"]


def read_note(path: Path) -> dict[str, Any] | None:
    """What was noted; None where nothing is, or nothing that can be read."""
    try:
        found = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def write_note(path: Path, content: dict[str, Any]) -> None:
    """Replaces a note in one step: a kill, a full disk or a power cut leaves the old one."""
    partial = path.with_name(f"{path.name}.partial")
    with open(partial, "w", encoding="utf-8") as file:
        file.write(json.dumps(content))
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
