"""The paper's Figure 7 for this engine: tuples/s by the length of trains, boxes fused and not; state over time."""

import tempfile
from pathlib import Path

from aurora import Network, Settings, run
from aurora.engine.spark.session import spark_session
from aurora.engine.statistics import BatchReport
from benchmarks.clock import best_of, show
from benchmarks.data import readings

__all__ = ["main"]

SCHEMA = "k int, t int, v int"


def network_of_boxes() -> Network:
    """Eight boxes in a row, four of them with state and one key: fused these are one stage, unfused four."""
    network = Network("figure 7")
    stream = network.input("r", SCHEMA)
    order = {"on": "t", "slack": 2, "group_by": ["k"]}
    part = stream.filter("v >= 0", name="filter").map({"k": "k", "t": "t", "v": "v + 1"}, name="map")
    part = part.bsort(order, name="sort")
    part = part.aggregate({"v": "max(v)"}, order=order, size=10, name="ten")
    part = part.map({"k": "k", "t": "t", "v": "v"}, name="map2")
    part = part.aggregate({"v": "sum(v)"}, order=order, size=60, name="minute")
    part = part.filter("v is not null", name="filter2")
    part = part.aggregate(
        {"v": "last(v)"}, order={"on": "#", "group_by": ["k"]}, size=2, advance=1, name="two"
    )
    network.output("out", part)
    return network


def seconds_for(path: Path, batch: int, fuse: bool, folder: Path) -> float:
    settings = Settings(batch=batch, fuse=fuse)
    return best_of(
        1, lambda: run(network_of_boxes(), {"r": f"csv:{path}"}, {"out": f"csv:{folder}/out"}, settings)
    )


def figure_seven(folder: Path, scale: float) -> None:
    rows = []
    slowest = 0.0
    for batch, batches in ((1, 20), (100, 20), (10_000, 20), (200_000, 5)):
        tuples = max(1, int(batch * batches * min(scale, 1.0)))
        path = readings(folder / f"trains-{tuples}.csv", tuples, 1000)
        fused = seconds_for(path, batch, True, folder)
        apart = seconds_for(path, batch, False, folder)
        slowest = slowest or apart / tuples
        each = [f"{apart / tuples / slowest:.2g}", f"{fused / tuples / slowest:.2g}"]
        rows.append([f"{batch:,}", f"{tuples:,}", f"{tuples / apart:,.0f}", f"{tuples / fused:,.0f}", *each])
    show(
        "Trains and superboxes: tuples/s, and time a tuple as a share of one tuple at a time, unfused",
        ["train", "tuples", "unfused tuples/s", "fused tuples/s", "unfused", "fused"],
        rows,
    )


def state_over_time(folder: Path, scale: float) -> None:
    """The bytes of Spark's state after each batch of a long stream: they follow the open windows, not its length."""
    per_batch = max(1000, int(50_000 * scale))
    path = readings(folder / "state.csv", per_batch * 100, 10_000)
    beats = folder / "state-beats.csv"
    beats.write_text("".join(f"{t}\n" for t in range(0, per_batch * 100 // 1000, 15)))
    order = {"on": "t", "slack": 2, "group_by": ["k"]}
    rows = []
    for kind in ("bsort", "join", "resample"):
        network = Network(kind)
        stream = network.input("r", SCHEMA)
        sources = {"r": f"csv:{path}"}
        if kind == "bsort":
            out = stream.bsort(order, name="box")
        elif kind == "join":
            out = stream.filter("v < 50", name="low").join(
                stream,
                "left.k = right.k and left.v = right.v",
                size=5,
                left_order=order,
                right_order=order,
                name="box",
            )
        else:
            out = network.input("b", "t int").resample(
                stream, {"m": "avg(v)"}, size=10, left_order={"on": "t"}, right_order=order, name="box"
            )
            sources["b"] = f"csv:{beats}"
        network.output("out", out)
        sizes: dict[int, int] = {}

        def watch(report: BatchReport, sizes: dict[int, int] = sizes) -> None:
            sizes[report.batch] = report.state_bytes

        run(network, sources, {"out": f"csv:{folder}/state-{kind}"}, Settings(batch=per_batch), watch)
        rows.append([kind, *(f"{sizes.get(at, 0) / 1e6:.2f}" for at in (5, 25, 50, 75, 98))])
    show("State in MB after n batches", ["box", "5", "25", "50", "75", "98"], rows)


def main(scale: float = 1.0) -> None:
    spark_session("benchmarks", "local[2]")
    with tempfile.TemporaryDirectory(prefix="aurora-bench-") as name:
        figure_seven(Path(name), scale)
        state_over_time(Path(name), scale)
