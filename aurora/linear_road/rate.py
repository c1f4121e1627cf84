"""The rating: the largest number of expressways whose run in real time has no fault."""

import json
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from aurora.errors import AuroraError
from aurora.linear_road.edition import EDITION_2004
from aurora.linear_road.peak import HOURS, hardware, peak_data
from aurora.linear_road.records import OUTPUT_NAMES
from aurora.linear_road.run import RunReport, run_benchmark
from aurora.linear_road.validate import Verdict, validate

__all__ = ["Rating", "Trial", "plot_rating", "rate"]

# A trial is given up when its answers are so late that nothing can mend it.
_HOPELESS = 30.0


@dataclass(frozen=True)
class Trial:
    """One run in real time with so many expressways."""

    expressways: int
    passed: bool
    tuples_per_s: float
    largest_lag: float
    faults: dict[str, int]
    # The response times by output type: answers, p50, p99, max.
    responses: dict[str, dict[str, float]]

    def slowest(self, kind: str, figure: str = "max") -> float | None:
        return self.responses.get(kind, {}).get(figure)


@dataclass(frozen=True)
class Rating:
    trials: list[Trial]
    minutes: int
    settings: dict[str, Any]

    @property
    def best(self) -> Trial | None:
        passed = [trial for trial in self.trials if trial.passed]
        return max(passed, key=lambda trial: trial.expressways, default=None)

    def protocol(self) -> str:
        part = (
            "the whole three hours"
            if self.minutes == HOURS
            else f"the last {self.minutes} minutes of three hours"
        )
        return (
            f"real time; {part} of one simulated expressway (the densest), copied to L expressways by --replicate; "
            "a driver process delivers each second when it is due; driver, engine and sink on the same cores; "
            "every answer checked by the validator, every deadline in wall-clock time from the second of delivery"
        )

    def write(self, path: Path) -> None:
        best = self.best
        content = {
            "l_rating": best.expressways if best else 0,
            "tuples_per_s": best.tuples_per_s if best else 0,
            "cores": hardware().get("cores", 0),
            "hardware": hardware(),
            "protocol": self.protocol(),
            "deadlines": {OUTPUT_NAMES[kind]: limit for kind, limit in EDITION_2004.deadlines.items()},
            "settings": self.settings,
            "trials": [asdict(trial) for trial in sorted(self.trials, key=lambda trial: trial.expressways)],
        }
        path.write_text(json.dumps(content, indent=2) + "\n")


def rate(
    out: Path,
    *,
    start: int = 20,
    up_to: int | None = None,
    minutes: int = 5,
    step: int = 10,
    data: Path | None = None,
    seed: int = 1,
    tell: Callable[[str], None] = lambda _: None,
    tried: Callable[[Trial], None] = lambda _: None,
    trial: Callable[..., tuple[RunReport, Verdict | None]] | None = None,
    stop: threading.Event | None = None,
    **options: Any,
) -> Rating:
    """Doubles L from `start` until a trial fails, then halves the gap down to `step`. `options` go to the runs."""
    if start < 1 or step < 1 or (up_to is not None and up_to < start):
        raise AuroraError("the search needs --from and --step of 1 or more, and --up-to not below --from")
    if data is None:
        data = peak_data(out / "data", minutes, seed, tell)
    trial, stop = trial or _tried, stop or threading.Event()
    trials: list[Trial] = []
    rating = Rating(trials, minutes, {})
    low, high, number = 0, None, start
    while True:
        tell(f"L = {number}: running")
        report, verdict = trial(data, out / f"L{number}", number, tell, {**options, "stop": stop})
        if stop.is_set() and verdict is None:
            if not any(note.startswith("given up") for note in report.notes):
                return rating
            # It was not the user who stopped the trial: it was given up.
            stop.clear()
        trials.append(_judged(number, report, verdict))
        rating = Rating(trials, minutes, {"start": start, "step": step, "seed": seed})
        rating.write(out / "rating.json")
        tried(trials[-1])
        if trials[-1].passed:
            low = number
        else:
            high = number
        following = _next(low, high, step, up_to)
        if following is None:
            return rating
        number = following


def _next(low: int, high: int | None, step: int, up_to: int | None) -> int | None:
    """The next L to try; None when the search is over."""
    if high is None:
        if up_to is not None and low >= up_to:
            return None
        return min(2 * low, up_to) if up_to is not None else 2 * low
    if high - low <= step:
        return None
    return low + max(step, (high - low) // 2 // step * step) if low else max(1, high // 2)


def _tried(
    data: Path, out: Path, number: int, tell: Callable[[str], None], options: dict[str, Any]
) -> tuple[RunReport, Verdict | None]:
    """One run in real time, and the verdict on it; none where the run was given up."""
    report = run_benchmark(
        data, out, pace="realtime", replicate=number, hopeless=_HOPELESS, fresh=True, tell=tell, **options
    )
    if not report.ended:
        return report, None
    tell(f"L = {number}: validating")
    verdict = validate(None, data, out / "output.csv", replicate=number, today=options.get("today", 2))
    verdict.write(out / "output.validation.json")
    # The verdict stays; the answers of a trial are gigabytes.
    (out / "output.csv").unlink()
    return report, verdict


def _judged(number: int, report: RunReport, verdict: Verdict | None) -> Trial:
    if verdict is None:
        faults = {"given up": 1}
    else:
        faults = {name: output.faults() for name, output in verdict.outputs.items() if output.faults()}
    named = dict(
        zip(("tolls", "alerts", "balances", "expenditures", "journeys"), OUTPUT_NAMES.values(), strict=True)
    )
    responses = {named[name]: times for name, times in report.responses.items()}
    return Trial(
        number,
        verdict is not None and verdict.right,
        report.tuples_per_s,
        report.largest_lag,
        faults,
        responses,
    )


def plot_rating(rating: Rating, path: Path) -> None:
    """The largest response time of each type of answer against L, with the deadline of most of them."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panel = pyplot.subplots(figsize=(7, 4.2))
    trials = sorted(rating.trials, key=lambda trial: trial.expressways)
    for kind in OUTPUT_NAMES.values():
        points = [
            (trial.expressways, value) for trial in trials if (value := trial.slowest(kind)) is not None
        ]
        if points:
            panel.plot(*zip(*points, strict=True), marker="o", label=kind)
    panel.axhline(EDITION_2004.deadlines[0], color="grey", linestyle="--", linewidth=1)
    panel.text(
        trials[0].expressways, EDITION_2004.deadlines[0], "deadline of tolls, alerts, balances", va="bottom"
    )
    panel.set_xlabel("expressways (L)")
    panel.set_ylabel("largest response time, s")
    panel.set_ylim(bottom=0, top=max(2 * EDITION_2004.deadlines[0], 1))
    best = rating.best
    panel.set_title(f"Linear Road: L = {best.expressways if best else 0}")
    panel.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
