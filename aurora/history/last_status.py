"""What a network that does not run has to tell: its last word, or, where it was killed, what lies in its home."""

import json
from typing import Any

from aurora.errors import AuroraError
from aurora.history.home import Home
from aurora.history.log import Log
from aurora.history.peek import DESCRIPTION

__all__ = ["last_status"]


def last_status(home: Home) -> dict[str, Any]:
    """The figures of `aurora status`; of a run that was killed, those of its checkpoint, points and queries."""
    found = home.last_status()
    if found.get("points") or found.get("queries"):
        return found
    points = _points(home)
    hidden = {name for name, point in points.items() if not point["view"]}
    outputs = {name: output for name, output in found.get("outputs", {}).items() if name not in hidden}
    return {**found, "outputs": outputs, "points": points, "queries": _queries(home)}


def _points(home: Home) -> dict[str, Any]:
    found = {}
    for path in sorted(home.points.glob(f"[!#]*/{DESCRIPTION}")):
        log, told = Log(str(path.parent)), json.loads(path.read_text(encoding="utf-8"))
        try:
            published, first = log.published(), log.first()
        except (OSError, AuroraError):
            # It has been begun, and nothing is in it yet.
            continue
        found[path.parent.name] = {
            "rows": published.rows - first,
            "passed": published.rows,
            "bytes": log.size(),
            "keep": told["keep"],
            "view": told.get("view", False),
        }
    return found


def _queries(home: Home) -> dict[str, Any]:
    found = {}
    for path in sorted((home.folder / "queries").glob("*/query.json")):
        note = json.loads(path.read_text(encoding="utf-8"))
        points = {slot: start["point"] for slot, start in note["starts"].items()}
        found[note["name"]] = {
            "state": "stopped",
            "points": points,
            "taken": None,
            "behind": None,
            "rows": {},
            "sinks": note["sinks"],
            "since": note["since"],
            "fault": None,
        }
    return found
