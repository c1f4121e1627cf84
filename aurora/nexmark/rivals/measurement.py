"""What a comparison found: times, speeds and verdicts, and the machine that they are of."""

import json
import os
import platform
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

__all__ = ["DEFINITIONS", "Comparison", "Measurement"]

DEFINITIONS = {
    "job_s": "seconds from the start of the query, when process, Java and session are up, to the last row written",
    "whole_s": "seconds from the start of the process to the last row written",
    "start_s": "the difference of the two",
    "events_per_s": "events of the input by job_s; every ratio is one of these",
}


@dataclass(frozen=True)
class Measurement:
    """One query on one system; times are those of the run with the median job."""

    query: str
    system: str
    events: int
    # agrees or differs (from the check; unchecked before it), impossible, or failed.
    verdict: str
    job_s: float | None = None
    whole_s: float | None = None
    rows: int | None = None
    # The first rows that differ, or the reason why there is no result.
    note: str = ""
    # The job's seconds in every run.
    runs: tuple[float, ...] = ()

    @property
    def events_per_s(self) -> float | None:
        return None if self.job_s is None else self.events / self.job_s

    @property
    def start_s(self) -> float | None:
        return None if self.job_s is None or self.whole_s is None else self.whole_s - self.job_s

    def described(self) -> dict[str, Any]:
        return asdict(self) | {"start_s": self.start_s, "events_per_s": self.events_per_s}


@dataclass(frozen=True)
class Comparison:
    """All measurements, which results are the same as those of the first system, and what it was done on."""

    queries: tuple[str, ...]
    systems: tuple[str, ...]
    measurements: tuple[Measurement, ...]
    same: dict[str, dict[str, bool]]
    data: dict[str, Any]
    cores: int
    machine: dict[str, Any] = field(default_factory=lambda: _machine())

    @property
    def right(self) -> bool:
        """Every query that is possible ran, and its result agrees."""
        return all(each.verdict in ("agrees", "impossible") for each in self.measurements)

    def of(self, query: str, system: str) -> Measurement:
        return next(each for each in self.measurements if (each.query, each.system) == (query, system))

    def ratio(self, query: str, over: str) -> float | None:
        """How many times as fast the first system is as another."""
        first, second = (self.of(query, name).events_per_s for name in (self.systems[0], over))
        return None if first is None or second is None else first / second

    def write(self, path: Path) -> None:
        ratios = {
            query: {name: self.ratio(query, name) for name in self.systems[1:]} for query in self.queries
        }
        told = {
            "definitions": DEFINITIONS,
            "machine": self.machine | {"cores_used": self.cores},
            "data": self.data,
            "measurements": [each.described() for each in self.measurements],
            f"{self.systems[0]}_times_as_fast_as": ratios,
            f"same_result_as_{self.systems[0]}": self.same,
            "right": self.right,
        }
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(told, indent=2) + "\n")
        partial.replace(path)


def _machine() -> dict[str, Any]:
    return {
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "pyspark": version("pyspark"),
    }
