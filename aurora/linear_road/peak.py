"""The data of ratings and comparisons: the heaviest minutes of the three hours, one expressway, with its history."""

import json
from collections.abc import Callable
from pathlib import Path

from aurora.engine.spark.session import LIGHT_JAVA, spark_session
from aurora.linear_road.history_generator import make_history
from aurora.linear_road.simulator import Settings, simulate, spread

__all__ = ["HOURS", "hardware", "peak_data"]

# The benchmark's three hours, in minutes.
HOURS = 180


def peak_data(
    folder: Path,
    minutes: int,
    seed: int = 1,
    tell: Callable[[str], None] = lambda _: None,
    queries: float = Settings.queries,
) -> Path:
    """The last `minutes` of the three hours, made in `folder` unless they are there already."""
    note = folder / "peak.json"
    meant = {"minutes": minutes, "seed": seed, "queries": queries}
    if note.exists() and json.loads(note.read_text()) == meant:
        return folder
    note.unlink(missing_ok=True)
    tell(f"simulating three hours of one expressway, keeping the last {minutes} minutes")
    settings = Settings(1, HOURS, seed, None if minutes == HOURS else minutes, queries)
    # The runs will be in the same Java, and need one that leaves them the cores.
    simulate(settings, folder, spread(spark_session("linear road", settings=LIGHT_JAVA).sparkContext))
    tell("making ten weeks of history")
    make_history(None, folder, 1, seed)
    note.write_text(json.dumps(meant))
    return folder


def hardware() -> dict[str, str | int]:
    """The processor, its cores, and the memory, as far as the machine tells."""
    found: dict[str, str | int] = {}
    for path, key, name in (
        ("/proc/cpuinfo", "model name", "processor"),
        ("/proc/meminfo", "MemTotal", "memory"),
    ):
        try:
            lines = Path(path).read_text().splitlines()
        except OSError:
            continue
        values = [line.partition(":")[2].strip() for line in lines if line.startswith(key)]
        if values:
            found[name] = values[0]
            if name == "processor":
                found["cores"] = len(values)
    return found
