"""`nexmark compare`: several systems, the same queries over the same files, one after the other, results compared."""

import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from aurora.errors import AuroraError
from aurora.nexmark.check import Rules, contrast, evaluate
from aurora.nexmark.firehose import Settings
from aurora.nexmark.firehose.folder import SUMMARY, generate
from aurora.nexmark.rivals.measurement import Comparison, Measurement
from aurora.nexmark.rivals.plot import plot_comparison
from aurora.nexmark.rivals.system import Job, System, Timing, event_files

__all__ = ["QUERIES", "SYSTEMS", "compare", "data_folder", "known", "system_of"]

QUERIES = tuple(f"q{number}" for number in range(23))
SYSTEMS = ("aurora", "spark", "flink")
# Some events come late, but none later than the queries allow: what the systems do with those differs.
LATE, LATE_BY, LATENESS = 0.01, 3.0, 4_000


def system_of(name: str) -> System:
    """Loaded when asked for, because each brings much with it."""
    if name == "aurora":
        from aurora.nexmark.rivals.ourselves import Ourselves

        return Ourselves()
    if name == "spark":
        from aurora.nexmark.rivals.spark_by_hand import SparkByHand

        return SparkByHand()
    if name == "flink":
        from aurora.nexmark.rivals.flink import Flink

        return Flink()
    raise AuroraError(f"there is no system {name!r} to compare: there are {', '.join(SYSTEMS)}")


def known(queries: Sequence[str]) -> list[str]:
    """The queries, each once, if they can all be compared."""
    unknown = [query for query in queries if query not in QUERIES]
    if unknown or not queries:
        raise AuroraError(
            f"cannot compare {', '.join(unknown) or 'nothing'}: give some of {', '.join(QUERIES)}"
        )
    return list(dict.fromkeys(queries))


def data_folder(
    events: int, seed: int, out: Path, progress: Callable[[int], None] = lambda _events: None
) -> Path:
    """Makes the events to compare on, unless the folder has just these."""
    settings = Settings("standard", seed, late=LATE, late_by=LATE_BY)
    wanted = settings.described() | {"events": events, "format": "json"}
    there = _summary(out)
    if any(there.get(name) != value for name, value in wanted.items()):
        generate(settings, events, out, progress=progress)
    return out


def compare(
    queries: Sequence[str],
    systems: Sequence[System],
    data: Path,
    out: Path,
    *,
    cores: int | None = None,
    repeat: int = 1,
    step: Callable[[str], None] = lambda _text: None,
) -> Comparison:
    """Runs each query on each system, nothing beside it; leaves comparison.json, comparison.png, and wrong results.

    The first is written after each query, so that one who stops has what was measured.
    """
    queries = known(queries)
    if repeat < 1:
        raise AuroraError(f"--repeat must be at least 1, not {repeat}")
    summary = _described(data)
    cores = cores or os.cpu_count() or 1
    for name in ("comparison.json", "comparison.png"):
        (out / name).unlink(missing_ok=True)
    names = tuple(system.name for system in systems)
    measurements: list[Measurement] = []
    same: dict[str, dict[str, bool]] = {}
    for number, query in enumerate(queries):
        folder = out / "results" / query
        jobs = [Job(query, data, folder / system.name, Rules(lateness=LATENESS), cores) for system in systems]
        taken = [
            _measured(system, job, summary["events"], repeat, step)
            for system, job in zip(systems, jobs, strict=True)
        ]
        found = {measured.system: timing for measured, timing in taken if timing is not None}
        latest = [measured for measured, _ in taken]
        if found:
            step(f"{query}: checking")
            latest = _checked(latest, found, jobs[0])
        measurements += latest
        same[query] = _same(query, found, latest)
        for measured in latest:
            if measured.verdict != "differs":
                shutil.rmtree(folder / measured.system, ignore_errors=True)
        _remove_empty(folder)
        done = tuple(queries[: number + 1])
        comparison = Comparison(done, names, tuple(measurements), same, summary, cores)
        comparison.write(out / "comparison.json")
    _remove_empty(out / "results")
    plot_comparison(comparison, out / "comparison.png")
    return comparison


def _measured(
    system: System, job: Job, events: int, repeat: int, step: Callable[[str], None]
) -> tuple[Measurement, Timing | None]:
    """The run with the median time, not yet checked."""
    query, name = job.query, system.name
    if query in system.impossible:
        step(f"{query} on {name}: impossible")
        return Measurement(query, name, events, "impossible", note=system.impossible[query]), None
    timings: list[Timing] = []
    for number in range(repeat):
        step(f"{query} on {name}" + (f", run {number + 1}" if repeat > 1 else ""))
        shutil.rmtree(job.out, ignore_errors=True)
        try:
            timings.append(system.run(job))
        except AuroraError as fault:
            return Measurement(query, name, events, "failed", note=str(fault)), None
    middle = sorted(timings, key=lambda timing: timing.job)[(repeat - 1) // 2]
    measured = Measurement(
        query,
        name,
        events,
        "unchecked",
        middle.job,
        middle.whole,
        runs=tuple(timing.job for timing in timings),
    )
    return measured, timings[-1]


def _checked(measured: Sequence[Measurement], found: dict[str, Timing], job: Job) -> list[Measurement]:
    """Each with what the check says of its result: the query is evaluated once for all systems."""
    rules = job.rules
    settings = {"dollars_to_euros": rules.dollars_to_euros, "lateness": rules.lateness}
    checked: list[Measurement] = []
    with evaluate(job.query, job.data, rules.profile, settings) as held_against:
        for each in measured:
            if each.system in found:
                agreement = held_against(found[each.system].results, False)
                verdict, note = ("agrees", "") if agreement.agrees else ("differs", str(agreement))
                each = replace(each, verdict=verdict, rows=agreement.found, note=note)
            checked.append(each)
    return checked


def _same(query: str, found: dict[str, Timing], measured: Sequence[Measurement]) -> dict[str, bool]:
    """Whether each result is that of the first system; two that agree with the check are the same."""
    first = measured[0].system
    right = {each.system for each in measured if each.verdict == "agrees"}
    return {
        name: {name, first} <= right or contrast(query, found[first].results, timing.results).agrees
        for name, timing in found.items()
        if name != first and first in found
    }


def _described(data: Path) -> dict[str, Any]:
    """What the data are: as generation.json says, or counted."""
    files = event_files(data)
    told = _summary(data)
    if told.get("profile", "standard") != "standard":
        raise AuroraError(
            f"{data} is of the profile {told['profile']}: nexmark compare takes the standard one"
        )
    events = told.get("events") or sum(_lines(path) for path in files)
    return told | {
        "events": int(events),
        "bytes": sum(path.stat().st_size for path in files),
        "files": len(files),
    }


def _summary(data: Path) -> dict[str, Any]:
    try:
        told: dict[str, Any] = json.loads((data / SUMMARY).read_text())
    except (OSError, ValueError):
        return {}
    return told


def _lines(path: Path) -> int:
    with open(path, "rb") as file:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 24), b""))


def _remove_empty(folder: Path) -> None:
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
