"""The plots of a run: Output Matching as in the draft's Figure 4, tuple latency, and the rate."""

from pathlib import Path
from typing import Any

import numpy as np

from aurora.nexmark.metrics import Steps
from aurora.nexmark.run import Measured

__all__ = ["plot_run"]

IDEAL, MEASURED, SHADE = "#1f3b63", "#c8553d", "#c8553d33"
# Points of a curve that are drawn at most.
POINTS = 2_000
LABELS = {
    "numeric": "value of the busiest key",
    "rows": "rows so far",
    "set": "share of the items not in both",
}


def plot_run(measured: Measured, path: Path) -> None:
    """Three plots below each other, over the seconds of the run."""
    # Matplotlib takes a second to load.
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    report = measured.report
    figure, axes = pyplot.subplots(3, 1, figsize=(9, 9), sharex=True, constrained_layout=True)
    begin = _begin(measured)
    _matching(axes[0], measured, begin)
    _latency(axes[1], measured, begin)
    _rate(axes[2], measured, begin)
    axes[2].set_xlabel("seconds")
    figure.suptitle(
        f"{report.query} {report.title}: {report.events:,} events, {report.events_per_s:,.0f} a second"
    )
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _begin(measured: Measured) -> int:
    """The millisecond at which the first event arrived."""
    if measured.pace.began is not None:
        return measured.pace.began
    arrived = measured.record.arrived
    return int(arrived.min()) if len(arrived) else 0


def _matching(axis: Any, measured: Measured, begin: int) -> None:
    curve = measured.curve
    times = np.linspace(begin, max(curve.end, begin + 1), POINTS)
    seconds = (times - begin) / 1000
    if curve.ideal is not None and curve.measured is not None:
        ideal, found = _drawn(curve.ideal, times), _drawn(curve.measured, times)
        axis.plot(seconds, ideal, color=IDEAL, label="ideal system", drawstyle="steps-post")
        axis.plot(seconds, found, color=MEASURED, linestyle=":", label="measured", drawstyle="steps-post")
        axis.fill_between(seconds, ideal, found, step="post", color=SHADE)
        axis.legend(loc="lower right")
    else:
        axis.fill_between(seconds, _drawn(curve.distance, times), step="post", color=SHADE)
    described = curve.described()
    relative = f", {described['relative']:.2%} of the mean result" if "relative" in described else ""
    axis.set_title(f"Output Matching {curve.matching:,.4g}{relative}", fontsize=10)
    axis.set_ylabel(LABELS[curve.kind])


def _drawn(steps: Steps, times: Any) -> Any:
    """Nothing is drawn before the first value."""
    heights = steps.at(times.astype(np.int64))
    heights[times < (steps.time[0] if len(steps.time) else np.inf)] = np.nan
    return heights


def _latency(axis: Any, measured: Measured, begin: int) -> None:
    """The median and the 99th percentile of what came out in each part of the run."""
    emitted, latency = measured.record.emitted, measured.record.latency
    axis.set_ylabel("tuple latency, s")
    if len(emitted) == 0:
        return
    moments, which = np.unique(emitted, return_inverse=True)
    order = np.argsort(which, kind="stable")
    parts = np.split(latency[order] / 1000, np.cumsum(np.bincount(which))[:-1])
    seconds = (moments - begin) / 1000
    for share, style in ((50, "-"), (99, ":")):
        heights = [float(np.percentile(part, share)) for part in parts]
        axis.plot(seconds, heights, style, color=MEASURED, marker=".", label=f"p{share}")
    axis.set_ylim(bottom=0)
    axis.legend(loc="upper right")


def _rate(axis: Any, measured: Measured, begin: int) -> None:
    """Events that had come, and events that were answered."""
    moments = np.array([(begin, 0), *measured.pace.moments], float)
    seconds = (moments[:, 0] - begin) / 1000
    axis.plot(seconds, moments[:, 1], ":", color=MEASURED, marker=".", label="answered")
    if measured.pace.rate is not None:
        due = np.minimum(seconds * measured.pace.rate, moments[-1, 1])
        axis.plot(seconds, due, color=IDEAL, label=f"due at {measured.pace.rate:,.0f}/s")
    axis.set_ylabel("events")
    axis.legend(loc="lower right")
