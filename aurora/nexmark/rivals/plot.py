"""The comparison as a picture: events a second of each query, a bar for each system."""

from pathlib import Path

import matplotlib

from aurora.nexmark.rivals.measurement import Comparison

__all__ = ["plot_comparison"]

COLOURS = {"aurora": "#c2410c", "spark": "#64748b", "flink": "#0f766e"}
WIDTH = 0.8
MANY = 10


def plot_comparison(comparison: Comparison, path: Path) -> None:
    """Writes a PNG; a bar that is missing says why there is none."""
    matplotlib.use("Agg")
    from matplotlib import pyplot

    # Of many queries the figures stand upright, so that the picture fits on a page.
    many = len(comparison.queries) > MANY
    wide = 1.5 + (0.55 if many else 1.1) * len(comparison.queries)
    figure, axes = pyplot.subplots(figsize=(wide, 4.2), layout="constrained")
    width = WIDTH / len(comparison.systems)
    for place, system in enumerate(comparison.systems):
        for number, query in enumerate(comparison.queries):
            measured = comparison.of(query, system)
            left = number - WIDTH / 2 + (place + 0.5) * width
            speed = (measured.events_per_s or 0) / 1000
            axes.bar(left, speed, width * 0.92, color=COLOURS[system], label=system if number == 0 else None)
            told = f"{speed:,.0f}" if speed else measured.verdict
            told += "" if measured.verdict in ("agrees", "impossible", "failed") else "\nwrong"
            axes.annotate(
                told, (left, speed), (0, 2), textcoords="offset points", ha="center", va="bottom", fontsize=7,
                rotation=90 if many or not speed else 0,
            )  # fmt: skip
    axes.set_xticks(range(len(comparison.queries)), comparison.queries)
    axes.set_ylabel("thousand events/s")
    events = comparison.data["events"]
    axes.set_title(
        f"NEXMark, {events:,} events of JSON on {comparison.cores} cores (more is better)", fontsize=10
    )
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(frameon=False, ncols=len(comparison.systems), loc="outside lower center", fontsize=8)
    axes.margins(y=0.15)
    partial = path.with_suffix(".partial")
    figure.savefig(partial, format="png", dpi=150)
    pyplot.close(figure)
    partial.replace(path)
