"""The comparison: the same input, driver and validator for each system; the paper's Tables 7 and 8."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from aurora.errors import AuroraError
from aurora.linear_road.edition import EDITION_2004
from aurora.linear_road.peak import hardware, peak_data
from aurora.linear_road.records import OUTPUT_NAMES
from aurora.linear_road.rivals.server import ensure_server
from aurora.linear_road.rivals.slice import input_for
from aurora.linear_road.rivals.systems import SYSTEMS, Input, System, Telling, open_system
from aurora.linear_road.run import RunReport
from aurora.linear_road.validate import Verdict, validate

__all__ = ["Comparison", "Outcome", "compare", "plot_comparison"]

_NAMES = dict(
    zip(("tolls", "alerts", "balances", "expenditures", "journeys"), OUTPUT_NAMES.values(), strict=True)
)


@dataclass(frozen=True)
class Outcome:
    """One system on so many expressways. `spent` has the seconds by statement, where a system tells."""

    system: str
    expressways: float
    passed: bool
    tuples_per_s: float
    largest_lag: float
    faults: dict[str, int]
    # The response times by output type: answers, p50, p99, max.
    responses: dict[str, dict[str, float]]
    notes: list[str]
    spent: dict[str, float]

    def slowest(self, kind: str) -> float | None:
        return self.responses.get(kind, {}).get("max")


@dataclass(frozen=True)
class Comparison:
    systems: list[str]
    outcomes: list[Outcome]
    minutes: int

    def outcome(self, system: str, expressways: float) -> Outcome | None:
        found = (each for each in self.outcomes if (each.system, each.expressways) == (system, expressways))
        return next(found, None)

    def best(self, system: str) -> Outcome | None:
        """The largest L that passed."""
        passed = [each for each in self.outcomes if each.system == system and each.passed]
        return max(passed, key=lambda each: each.expressways, default=None)

    def sizes(self) -> list[float]:
        return sorted({each.expressways for each in self.outcomes})

    def protocol(self) -> str:
        return (
            f"real time; the last {self.minutes} minutes of the data at most, copied to L expressways, or 1/n of the "
            "cars where L is less than the data have; each system in turn, alone, with the same driver process on the "
            "same cores; relational systems poll once a second and take all that has arrived; histories are loaded "
            "before the clock starts; every answer checked by the same validator, every deadline in wall-clock time"
        )

    def write(self, path: Path) -> None:
        ratings = {}
        for system in self.systems:
            best = self.best(system)
            ratings[system] = {
                "l_rating": best.expressways if best else 0,
                "tuples_per_s": best.tuples_per_s if best else 0,
            }
        content: dict[str, Any] = {
            "ratings": ratings,
            "hardware": hardware(),
            "protocol": self.protocol(),
            "minutes": self.minutes,
            "deadlines": {OUTPUT_NAMES[kind]: limit for kind, limit in EDITION_2004.deadlines.items()},
            "outcomes": [asdict(outcome) for outcome in self.outcomes],
        }
        partial = path.with_name(f".{path.name}.writing")
        partial.write_text(json.dumps(content, indent=2) + "\n")
        partial.replace(path)


def compare(
    out: Path,
    expressways: Sequence[Fraction],
    systems: Sequence[str],
    *,
    minutes: int = 5,
    data: Path | None = None,
    seed: int = 1,
    telling: Telling | None = None,
    tried: Callable[[Outcome], None] = lambda _: None,
    open_system: Callable[..., Any] = open_system,
    ensure: Callable[..., Any] = ensure_server,
    spark: SparkSession | None = None,
) -> Comparison:
    """Runs each system on each L, the smaller first; one that failed is not tried on more.

    A session that is there already is left running; else each validation has its own, which is in no system's way.
    """
    telling = telling or Telling()
    spark = spark or SparkSession.getActiveSession()
    _check(expressways, systems, minutes)
    if "postgres" in systems:
        ensure(telling.tell)
    out.mkdir(parents=True, exist_ok=True)
    source = data or peak_data(out / "data", minutes, seed, telling.tell)
    inputs = {size: input_for(size, source, out, minutes) for size in sorted(set(expressways))}
    comparison = Comparison(list(dict.fromkeys(systems)), [], minutes)
    for name in comparison.systems:
        _rest(spark)
        with open_system(name, telling.tell) as system:
            for size, given in inputs.items():
                telling.tell(f"{name}, L = {float(size):g}: running")
                outcome = _outcome(
                    system, float(size), given, out / f"{name}-L{float(size):g}", telling, spark
                )
                comparison.outcomes.append(outcome)
                comparison.write(out / "comparison.json")
                tried(outcome)
                if not outcome.passed:
                    break
    return comparison


def _check(expressways: Sequence[Fraction], systems: Sequence[str], minutes: int) -> None:
    unknown = [name for name in systems if name not in SYSTEMS]
    if unknown or not systems:
        raise AuroraError(
            f"unknown systems in --systems ({', '.join(unknown) or 'none'}): give some of {', '.join(SYSTEMS)}"
        )
    if not expressways or min(expressways) <= 0:
        raise AuroraError("--expressways must be numbers above 0, with commas between them (0.5,1,2)")
    if minutes < 1:
        raise AuroraError(f"--minutes is {minutes}: give 1 or more")


def _rest(spark: SparkSession | None) -> None:
    """Ends a session that was started on the way."""
    active = SparkSession.getActiveSession()
    if spark is None and active is not None:
        active.stop()


def _outcome(
    system: System, size: float, given: Input, out: Path, telling: Telling, spark: SparkSession | None
) -> Outcome:
    report = system.run(given, out, telling)
    _rest(spark)
    verdict = None
    if report.ended:
        telling.tell(f"{system.name}, L = {size:g}: validating")
        verdict = validate(
            spark,
            given.data,
            out / "output.csv",
            history=given.history,
            replicate=given.replicate,
            today=given.today,
        )
        verdict.write(out / "output.validation.json")
        _rest(spark)
    # The verdict stays; the answers are gigabytes.
    (out / "output.csv").unlink()
    return _judged(system.name, size, report, verdict, out)


def _judged(system: str, size: float, report: RunReport, verdict: Verdict | None, out: Path) -> Outcome:
    if verdict is None:
        faults = {"given up": 1}
    else:
        faults = {name: output.faults() for name, output in verdict.outputs.items() if output.faults()}
        if verdict.unreadable:
            faults["unreadable"] = verdict.unreadable
    spent = out / "spent.json"
    return Outcome(
        system,
        size,
        not faults,
        report.tuples_per_s,
        report.largest_lag,
        faults,
        {_NAMES[name]: times for name, times in report.responses.items()},
        report.notes,
        json.loads(spent.read_text()) if spent.exists() else {},
    )


def plot_comparison(comparison: Comparison, path: Path) -> None:
    """The largest response time of toll notifications against L, each system a line."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    deadline = EDITION_2004.deadlines[0]
    figure, panel = pyplot.subplots(figsize=(7, 4.2))
    for system in comparison.systems:
        tried = sorted(
            (each for each in comparison.outcomes if each.system == system), key=lambda each: each.expressways
        )
        points = [(each.expressways, value) for each in tried if (value := each.slowest(OUTPUT_NAMES[0]))]
        best = comparison.best(system)
        if points:
            label = f"{system}: L = {best.expressways if best else 0:g}"
            panel.plot(*zip(*points, strict=True), marker="o", label=label)
    panel.axhline(deadline, color="grey", linestyle="--", linewidth=1)
    panel.text(0.01, deadline, "deadline", va="bottom", transform=panel.get_yaxis_transform())
    panel.set(
        xscale="log", yscale="log", xlabel="expressways (L)", ylabel="largest response time of tolls, s"
    )
    panel.set_title("Linear Road: response times")
    panel.set_xticks(comparison.sizes(), [f"{size:g}" for size in comparison.sizes()])
    panel.minorticks_off()
    if panel.lines[1:]:
        panel.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
