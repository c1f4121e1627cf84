"""This engine, run like the others."""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict

from aurora.nexmark.rivals.system import ARRIVALS, Job, Timing, timed

__all__ = ["Ourselves"]


class Ourselves:
    """`aurora nexmark run`, in a process of its own."""

    name = "aurora"
    impossible: Mapping[str, str] = {"q12": ARRIVALS}

    def prepare(self, say: Callable[[str], None]) -> None:
        """Nothing is missing."""

    def run(self, job: Job) -> Timing:
        work = asdict(job.rules) | {"query": job.query, "cores": job.cores}
        work |= {"data": str(job.data), "out": str(job.out)}
        whole, seconds = timed(
            [sys.executable, "-m", "aurora.nexmark.rivals.ourselves.job", json.dumps(work)],
            job.out,
            f"aurora with {job.query}",
        )
        return Timing(whole, seconds, (job.out / "result.jsonl",))
