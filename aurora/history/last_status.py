"""What a network that does not run has to tell: its last word, or, where it was killed, what lies in its home."""

from typing import Any

from aurora.engine.durable import read_json
from aurora.engine.settings import cores_of
from aurora.errors import AuroraError
from aurora.history.catalog import read_averages
from aurora.history.control import ask, is_running
from aurora.history.home import Home
from aurora.history.latest import KeyCount
from aurora.history.log import REMEDY, Log
from aurora.history.peek import DESCRIPTION
from aurora.history.status import add_figures

__all__ = ["find_status", "last_status"]

# Long ago, in seconds: nothing comes in any more, and what a tuple costs is as it was.
LONG_AGO = 1e9


def find_status(home: Home) -> dict[str, Any]:
    """What a network that runs answers, or what one that does not has left behind."""
    try:
        return dict(ask(home, "status"))
    except AuroraError:
        # It may have ended while it was asked.
        if is_running(home):
            raise
        return last_status(home)


def last_status(home: Home) -> dict[str, Any]:
    """The figures of `aurora status`; of a run that was killed or starts, those of its checkpoint and its home."""
    found = home.last_status()
    if found.get("points") or found.get("queries"):
        return found
    points = _points(home)
    hidden = {name for name, point in points.items() if not point["view"]}
    outputs = {name: output for name, output in found.get("outputs", {}).items() if name not in hidden}
    found = {**found, "outputs": outputs, "points": points, "queries": _queries(home)}
    averages = read_averages(home)
    if averages.boxes and "arcs" in found and not found["arcs"]:
        return add_figures(found, averages.figures(cores_of(None), LONG_AGO), [])
    return found


def _points(home: Home) -> dict[str, Any]:
    found = {}
    for path in sorted(home.points.glob(f"[!#]*/{DESCRIPTION}")):
        log, told = Log(str(path.parent)), read_json(path, REMEDY)
        try:
            published, first = log.published(), log.first()
        except (OSError, AuroraError):
            # It has been begun, and nothing is in it yet.
            continue
        found[path.parent.name] = {
            "rows": KeyCount(log).count() if told["keep"] == "latest" else published.rows - first,
            "passed": published.rows,
            "bytes": log.size(),
            "keep": told["keep"],
            "view": told.get("view", False),
            "held": {},
        }
    return found


def _queries(home: Home) -> dict[str, Any]:
    found = {}
    for path in sorted((home.folder / "queries").glob("*/query.json")):
        note = read_json(path, f"remove {path.parent}, and attach the query again")
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
