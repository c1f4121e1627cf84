"""A network in the worst order, whose selectivities change in mid-run: throughput over time, rearranged and not.

`python -m benchmarks.optimising` takes some minutes; `python -m benchmarks.optimising 0.05 plot.png` is a quick look,
with the plot where it is told.
"""

import filecmp
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from aurora import BatchReport, Network, Settings, run
from aurora.engine.spark.session import spark_session
from benchmarks.clock import show

__all__ = ["main"]

SCHEMA = "id bigint, page string, agent string"
ROWS = 40_000_000
# Different texts of each field in each half of the rows.
TEXTS = 2000
# What a throughput is the middle of, in batches, and the share of the final one that counts as having followed.
SMOOTH, FOLLOWED = 5, 0.9


def worst_order() -> Network:
    """The costly box first, and of the filters the one that passes nearly all of the first half before the other."""
    network = Network("visits")
    visits = network.input("visits", SCHEMA)
    clean = visits.map(
        {
            "id": "id",
            "page": "page",
            "agent": "agent",
            "host": "regexp_extract(page, '^https?://([^/]+)/', 1)",
            "path": "regexp_replace(regexp_replace(lower(page), '[0-9a-f]{4,}', 'N'), '[^a-z/.:N]+', '-')",
            "browser": "regexp_replace(regexp_replace(lower(agent), '[0-9.]+', '9'), '[^a-z9]+', ' ')",
        },
        name="clean",
    )
    people = clean.filter("regexp_replace(lower(agent), '[^a-z]+', ' ') NOT LIKE '% bot %'", name="people")
    shop = people.filter("regexp_replace(lower(page), '[^a-z/]+', '') LIKE '%/shop/%'", name="shop")
    kept = ("id", "host", "path", "browser")
    network.output("bought", shop.map({name: name for name in kept}, name="bought"))
    return network


def write_visits(path: Path, rows: int) -> Path:
    """In the first half one in twenty visits is in the shop, and nearly all are people's; then it is the other way."""
    chance = np.random.default_rng(7)
    schema = pa.schema({"id": pa.int64(), "page": pa.string(), "agent": pa.string()})
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        for first in range(0, rows, 500_000):
            number = np.arange(first, min(first + 500_000, rows))
            late = first >= rows // 2
            pages = _texts(chance, page, 0.95 if late else 0.05)
            agents = _texts(chance, agent, 0.05 if late else 0.95)
            columns = {
                "id": pa.array(number),
                "page": pages.take(pa.array(chance.integers(0, TEXTS, len(number)))),
                "agent": agents.take(pa.array(chance.integers(0, TEXTS, len(number)))),
            }
            writer.write_batch(pa.record_batch(columns, schema=schema), row_group_size=100_000)
    return path


def _texts(chance: np.random.Generator, make: object, share: float) -> pa.Array:
    assert callable(make)
    good = np.arange(TEXTS) < share * TEXTS
    return pa.array([make(chance.integers(0, 1 << 30, 3), bool(each)) for each in good], pa.string())


def page(numbers: Sequence[int], bought: bool) -> str:
    place = "shop/shoes" if bought else "news/today"
    return (
        f"https://www{numbers[0] % 90}.example.org/{place}/{numbers[1]}/session/{numbers[2]:08x}/start.html"
    )


def agent(numbers: Sequence[int], person: bool) -> str:
    name = "Browser" if person else "some-bot"
    return f"Mozilla/5.0 (X11; Linux x86_64; rv:{numbers[0] % 99}.0) Engine/{numbers[1]} {name}/{numbers[2]}"


@dataclass(frozen=True)
class Trace:
    """A run batch by batch: when each was done, how many rows had been read by then, and the order that held for it."""

    seconds: list[float]
    rows: list[int]
    orders: list[tuple[str, ...]]

    def speeds(self) -> list[tuple[float, float, int]]:
        """At which second, how many rows a second, up to which row: the middle of a few batches."""
        steps = [
            ((late - early, row - before), late, row)
            for (early, late), (before, row) in zip(pairwise(self.seconds), pairwise(self.rows), strict=True)
            if row > before and late > early
        ]
        found = []
        for place, (_, late, row) in enumerate(steps):
            near = [
                own / span
                for (span, own), _, _ in steps[max(place - SMOOTH // 2, 0) : place + SMOOTH // 2 + 1]
            ]
            found.append((late, float(np.median(near)), row))
        return found

    def final(self, first: float, last: float) -> float:
        """Rows a second in the last third of a stretch of the rows."""
        low, high = (share * self.rows[-1] for share in (first + (last - first) * 2 / 3, last))
        points = list(zip(self.seconds, self.rows, strict=True))
        # From the last batch before the stretch to the last one in it.
        start, before = next((point for point in reversed(points) if point[1] <= low), points[0])
        end, row = next(point for point in reversed(points) if point[1] <= high)
        return (row - before) / max(end - start, 1e-9)

    def followed(self) -> float | None:
        """Seconds from the change in the rows until boxes work in another order, and as fast as at the end."""
        place = next(place for place, row in enumerate(self.rows) if row >= self.rows[-1] // 2)
        began, before = self.seconds[place], self.orders[place]
        batches = zip(self.seconds[place:], self.orders[place:], strict=True)
        moved = next((at for at, order in batches if order != before), None)
        goal = FOLLOWED * self.final(0.5, 1.0)
        fast = (at for at, speed, _ in self.speeds() if moved is not None and at >= moved and speed >= goal)
        return next((at - began for at in fast), None)


def traced(source: Path, out: Path, optimise: bool) -> Trace:
    trace = Trace([], [], [])

    def watch(report: BatchReport) -> None:
        trace.seconds.append(report.seconds)
        trace.rows.append(report.places["visits"]["row"])
        trace.orders.append(report.controls.rewrites[0] if report.controls.rewrites else ())

    settings = Settings(batch=400_000, batch_seconds=1.0, optimise=optimise, fresh=True)
    run(worst_order(), {"visits": f"parquet:{source}"}, {"bought": f"csv:{out}"}, settings, watch)
    return trace


def plot(traces: dict[str, Trace], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 3.6), layout="constrained")
    for (name, trace), colour in zip(traces.items(), ("#64748b", "#c2410c"), strict=True):
        speeds = trace.speeds()
        axes.plot(
            [at for at, _, _ in speeds], [speed / 1000 for _, speed, _ in speeds], color=colour, label=name
        )
        half = next(
            at for at, row in zip(trace.seconds, trace.rows, strict=True) if row >= trace.rows[-1] // 2
        )
        axes.axvline(half, color=colour, linestyle=":", linewidth=1)
    axes.set_xlabel("seconds (dotted: from here on the other filter drops most)")
    axes.set_ylabel("thousand tuples/s")
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def main(scale: float = 1.0, picture: Path | None = None) -> None:
    spark_session("benchmarks", "local[2]")
    with tempfile.TemporaryDirectory(prefix="aurora-bench-") as name:
        folder = Path(name)
        source = write_visits(folder / "visits.parquet", max(int(ROWS * scale), 40_000))
        traces = {
            told: traced(source, folder / f"{optimise}.csv", optimise)
            for told, optimise in (("as written", False), ("rearranged while it runs", True))
        }
        same = filecmp.cmp(folder / "False.csv", folder / "True.csv", shallow=False)
    rows = []
    for told, trace in traces.items():
        halves = [trace.final(0.0, 0.5), trace.final(0.5, 1.0)]
        orders = " then ".join(dict.fromkeys(" ".join(order) for order in trace.orders if order)) or "-"
        after = trace.followed() if told != "as written" else None
        rows.append(
            [told, *(f"{speed:,.0f}" for speed in halves), "-" if after is None else f"{after:.1f}", orders]
        )
    before, after_all = traces.values()
    gain = after_all.final(0.5, 1.0) / before.final(0.5, 1.0)
    show(
        f"Optimisation while running: tuples/s at the end of each half; at last {gain:.2f} times as many; the outputs "
        f"are {'equal row for row' if same else 'NOT EQUAL'}",
        ["", "first half", "second half", "followed after s", "orders"],
        rows,
    )
    if picture is not None:
        plot(traces, picture)


if __name__ == "__main__":
    main(
        float(sys.argv[1]) if len(sys.argv) > 1 else 1.0,
        Path(sys.argv[2]) if len(sys.argv) > 2 else Path("optimising.png"),
    )
