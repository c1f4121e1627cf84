"""Connection points: what one costs, how fast its history is worked through, and what the running network notices.

`python -m benchmarks history 0.1` makes every number of rows smaller, for a quick look.
"""

import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from aurora import Network, Running, Settings, Stream, run, start
from benchmarks.clock import show

__all__ = ["main"]

SCHEMA = "k int, t int, v int"
GROUPS = 10_000
# The live part: rows a second, and for how many seconds each state of affairs is watched.
RATE, WATCHED = 20_000, 20


def counted(point: str | None = None, keyed: bool = False) -> Network:
    """A stateful network, with a connection point on its input if it is to have one."""
    network = Network("counted")
    rows = network.input("r", SCHEMA)
    network.output("out", _count(rows))
    if point is not None:
        network.point(point, rows, keep="all", key=("k",) if keyed else ())
    return network


def _count(rows: Stream) -> Stream:
    order = {"on": "t", "group_by": ["k"], "clock": "stream"}
    return rows.aggregate({"n": "count(*)", "mean": "avg(v)"}, order=order, size=60, align=True, name="box")


def query(where: str | None = None) -> Network:
    """The same count as a query on a point; with a condition, of the rows that meet it."""
    network = Network("query")
    rows = network.input("rows", SCHEMA, point="all")
    if where is not None:
        rows = rows.filter(where, name="some")
    network.output("res", _count(rows))
    return network


def write_rows(path: Path, first: int, count: int) -> Path:
    """k,t,v: keys at random, t a second every ten thousand rows, behind what is there."""
    chance = np.random.default_rng(first)
    options = pyarrow.csv.WriteOptions(include_header=False)
    with path.open("ab") as file:
        for start_at in range(first, first + count, 1_000_000):
            number = np.arange(start_at, min(start_at + 1_000_000, first + count))
            columns = {
                "k": chance.integers(0, GROUPS, len(number)).astype(np.int32),
                "t": (number // 10_000).astype(np.int32),
                "v": chance.integers(0, 100, len(number)).astype(np.int32),
            }
            pyarrow.csv.write_csv(pa.record_batch(columns), file, options)
    return path


def cost_of_a_home(folder: Path, count: int) -> None:
    """Throughput without a home, with one, which keeps statistics, and with points; the best of three, in turns."""
    source = {"r": f"csv:{write_rows(folder / 'cost.csv', 0, count)}"}
    plain = "no home"
    networks = {
        plain: counted(),
        "a home: statistics": counted(),
        "and a point": counted("all"),
        "and a point by key": counted("all", keyed=True),
    }
    best = dict.fromkeys(networks, float("inf"))
    for _ in range(3):
        for name, network in networks.items():
            shutil.rmtree(folder / "home", ignore_errors=True)
            home = None if name == plain else str(folder / "home")
            result = run(network, source, {"out": f"csv:{folder / 'out.csv'}"}, Settings(home=home))
            best[name] = min(best[name], result.seconds)
    rows = [
        [name, f"{seconds:.1f}", f"{count / seconds:,.0f}", f"{best[plain] / seconds:.2f}"]
        for name, seconds in best.items()
    ]
    show(f"A count by key of {count:,} rows", ["", "seconds", "rows/s", "of no home"], rows)


def wait_until_caught_up(running: Running, name: str) -> float:
    began = time.perf_counter()
    while running.queries()[name].state == "catching up":
        time.sleep(0.02)
    if running.queries()[name].fault:
        raise RuntimeError(running.queries()[name].fault)
    return time.perf_counter() - began


def speed_of_history(folder: Path, count: int) -> None:
    """All of the history, a thousandth of it by key, and what the running output notices."""
    path = write_rows(folder / "live.csv", 0, count)
    settings = Settings(home=str(folder / "home"), follow=True)
    shutil.rmtree(folder / "home", ignore_errors=True)
    sinks = {"out": f"csv:{folder / 'out.csv'}"}
    with start(counted("all", keyed=True), {"r": f"csv:{path}"}, sinks, settings) as running:
        while running.status()["points"]["all"]["passed"] < count:
            time.sleep(0.1)
        attempts, looks = {}, {}
        some = f"k IN ({', '.join(map(str, range(GROUPS // 1000)))})"
        for label, where in (("all", None), ("a thousandth", some), ("all again", None), ("once more", some)):
            began = time.perf_counter()
            name = running.attach(query(where), {"res": f"csv:{folder / 'res.csv'}"})
            wait_until_caught_up(running, name)
            attempts[label] = time.perf_counter() - began
            running.detach(name)
        for label, where in (("all", some.replace("k IN", "k + 0 IN")), ("a thousandth", some)):
            began = time.perf_counter()
            running.peek("all", count, where)
            looks[label] = time.perf_counter() - began
        delays = watch_delays(running, path, count, folder)
    shutil.rmtree(folder / "home", ignore_errors=True)
    plain = Network("file")
    plain.output("res", _count(plain.input("rows", SCHEMA)))
    seconds = run(
        plain, {"rows": f"csv:{folder / 'cost10.csv'}"}, {"res": f"csv:{folder / 'res.csv'}"}
    ).seconds
    rows = [["run on a CSV file", f"{seconds:.1f}", f"{count / seconds:,.0f}", "1.00"]]
    rows += [
        [f"attached: {label}", f"{took:.1f}", f"{count / took:,.0f}", f"{seconds / took:.2f}"]
        for label, took in attempts.items()
    ]
    rows += [
        [
            f"peek at a thousandth, read: {label}",
            f"{took:.2f}",
            f"{count / took:,.0f}",
            f"{seconds / took:.2f}",
        ]
        for label, took in looks.items()
    ]
    show(f"A history of {count:,} rows", ["what", "seconds", "rows/s", "of the file"], rows)
    show(
        f"Latency of the running output at {RATE:,} rows/s, in seconds",
        ["", "p50", "p99"],
        [[label, f"{median:.2f}", f"{most:.2f}"] for label, (median, most) in delays.items()],
    )
    alone, busy = delays["nobody attached"][1], delays["a query catches up"][1]
    whole, some = [
        [attempts[label] for label in labels]
        for labels in (("all", "all again"), ("a thousandth", "once more"))
    ]
    show(
        "What was asked for; attached twice each",
        ["", "asked", "first", "second"],
        [
            ["p99 while a query catches up, of p99 alone", "2.00 or less", f"{busy / alone:.2f}", ""],
            ["time for a thousandth by key, of that for all", "0.10 or less"]
            + [f"{part / full:.2f}" for part, full in zip(some, whole, strict=True)],
            ["speed through the history, of that through the file", "about 1.00"]
            + [f"{seconds / full:.2f}" for full in whole],
        ],
    )


def watch_delays(running: Running, path: Path, count: int, folder: Path) -> dict[str, tuple[float, float]]:
    """The latency of the point's rows while the input goes on: with nobody attached, and while a query catches up."""
    over = threading.Event()

    def feed() -> None:
        first, began = count, time.perf_counter()
        while not over.is_set():
            due = count + int((time.perf_counter() - began) * RATE)
            if due > first:
                write_rows(path, first, due - first)
                first = due
            over.wait(0.1)

    feeder = threading.Thread(target=feed)
    feeder.start()
    found = {}
    try:
        time.sleep(5)
        found["nobody attached"] = most_of(running, lambda: False)
        name = running.attach(query(), {"res": f"csv:{folder / 'res.csv'}"})
        found["a query catches up"] = most_of(running, lambda: running.queries()[name].behind < 10 * RATE)
    finally:
        over.set()
        feeder.join()
    return found


def most_of(running: Running, over: Callable[[], bool]) -> tuple[float, float]:
    """The median and the 99th percentile of the point's delays over some seconds, or until it is over."""
    delays: list[tuple[int, float]] = []
    seen, until = -1, time.perf_counter() + WATCHED
    while time.perf_counter() < until and not over():
        last = running.statistics().last
        if last is not None and last.batch != seen and "all" in last.delays:
            seen, found = last.batch, last.delays["all"]
            delays += [(delay, found.rows / len(found.samples)) for delay in found.samples]
        time.sleep(0.02)
    ordered = np.array(sorted(delays))
    reached = np.cumsum(ordered[:, 1])
    middle, most = (
        float(ordered[np.searchsorted(reached, share * reached[-1]), 0]) / 1000 for share in (0.5, 0.99)
    )
    return middle, most


def main(scale: float = 1.0) -> None:
    # Spark is started by the first run, which has a home: slots for queries are part of what is measured.
    with tempfile.TemporaryDirectory(prefix="aurora-bench-") as name:
        folder = Path(name)
        write_rows(folder / "cost10.csv", 0, int(10_000_000 * scale))
        speed_of_history(folder, int(10_000_000 * scale))
        cost_of_a_home(folder, int(5_000_000 * scale))
