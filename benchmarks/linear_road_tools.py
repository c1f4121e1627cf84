"""Speeds of the Linear Road tools on one expressway of three hours: history, drive, validate.

python -m benchmarks.linear_road_tools [--folder DIR] [--cars N]
"""

import argparse
import socket
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
from pyspark.sql import functions as F

from aurora.engine.spark.session import spark_session
from aurora.linear_road.drive import TcpReceiver, drive
from aurora.linear_road.edition import EDITION_2004
from aurora.linear_road.history_generator import make_history
from aurora.linear_road.reading import survey
from aurora.linear_road.records import FIELDS
from aurora.linear_road.reference import reference_answers
from aurora.linear_road.stored_histories import find_histories
from aurora.linear_road.validate import validate


def make_traffic(path: Path, cars: int, seed: int = 1, seconds: int = 10_800) -> int:
    """An expressway's worth of reports and queries that has the right size, not the right traffic."""
    rng = np.random.default_rng(seed)
    trips = rng.integers(20, 150, cars)
    vid = np.repeat(np.arange(cars), trips)
    number = np.arange(len(vid)) - np.repeat(np.cumsum(trips) - trips, trips)
    when = np.repeat(rng.integers(0, seconds, cars), trips) + 30 * number
    way = np.repeat(rng.integers(0, 2, cars), trips)
    pace = np.repeat(rng.integers(5, 40, cars), trips)
    speed = pace + rng.integers(-4, 5, len(vid))
    place = np.repeat(rng.integers(0, 528_000, cars), trips) + (1 - 2 * way) * number * pace * 44
    kept = (when < seconds) & (place >= 0) & (place < 528_000)
    lane = np.where(number == 0, 0, 1 + vid % 3)
    last = number == np.repeat(trips, trips) - 1
    lane[last] = 4
    columns = {
        "Type": np.zeros(len(vid), int),
        "Time": when,
        "VID": vid,
        "Spd": speed,
        "XWay": np.zeros(len(vid), int),
        "Lane": lane,
        "Dir": way,
        "Seg": place // 5280,
        "Pos": place,
    }
    nothing = np.full(int(kept.sum()), -1)
    reports = {name: columns[name][kept] if name in columns else nothing for name in FIELDS}
    chosen = np.flatnonzero(rng.random(len(nothing)) < 0.01)
    kind = rng.choice([2, 3, 4], len(chosen), p=[0.5, 0.1, 0.4])
    asked = {name: np.full(len(chosen), -1) for name in FIELDS} | {
        "Type": kind,
        "Time": reports["Time"][chosen],
        "VID": reports["VID"][chosen],
        "XWay": np.where(kind > 2, 0, -1),
        "QID": np.arange(len(chosen)),
        "Sinit": np.where(kind == 4, rng.integers(0, 100, len(chosen)), -1),
        "Send": np.where(kind == 4, rng.integers(0, 100, len(chosen)), -1),
        "DOW": np.where(kind == 4, rng.integers(1, 8, len(chosen)), -1),
        "TOD": np.where(kind == 4, rng.integers(1, 1441, len(chosen)), -1),
        "Day": np.where(kind == 3, rng.integers(1, 70, len(chosen)), -1),
    }
    both = {name: np.concatenate([reports[name], asked[name]]) for name in FIELDS}
    order = np.argsort(both["Time"], kind="stable")
    table = pa.table({name: both[name][order] for name in FIELDS})
    pc.write_csv(table, path, pc.WriteOptions(include_header=False))
    return table.num_rows


def write_right_output(spark, data: Path, output: Path) -> int:
    """The reference answers as an output file: what a system without fault would write."""
    found = survey(data)
    with tempfile.TemporaryDirectory() as scratch:
        histories = find_histories(data, None)
        with reference_answers(spark, found, histories, Path(scratch), EDITION_2004) as reference:
            balance = F.expr("aggregate(filter(charges, c -> c.at <= Time), 0L, (s, c) -> s + c.toll)")
            emit = F.format_string("%d.250", "Time")
            line = (
                F.when(F.col("type") == 0, F.concat_ws(",", "type", "VID", "Time", emit, "a", "b"))
                .when(F.col("type") == 1, F.concat_ws(",", "type", "Time", emit, "VID", "a"))
                .when(F.col("type") == 2, F.concat_ws(",", "type", "Time", emit, "Time", "key", balance))
                .when(F.col("type") == 3, F.concat_ws(",", "type", "Time", emit, "key", "a"))
                .otherwise(F.concat_ws(",", "type", "Time", emit, "key", "a", "b"))
            )
            parts = output.with_suffix(".parts")
            reference.expected.select(line).write.mode("overwrite").text(str(parts))
    lines = 0
    with output.open("wb") as file:
        for part in sorted(parts.glob("part-*")):
            text = part.read_bytes()
            lines += text.count(b"\n")
            file.write(text)
    return lines


def receive_all(host: str, port: int, counted: list[int]) -> None:
    with socket.create_connection((host, port)) as connection:
        lines = 0
        buffer = bytearray(1 << 20)
        while size := connection.recv_into(buffer):
            lines += buffer.count(b"\n", 0, size)
        counted.append(lines)


def measure_drive(data: Path, copies: int, start: int, last: int) -> None:
    """The driver to a receiver that only counts, in another thread."""
    counted: list[int] = []
    readers: list[threading.Thread] = []

    def listening(port: int) -> None:
        readers.append(threading.Thread(target=receive_all, args=("127.0.0.1", port, counted)))
        readers[0].start()

    receiver = TcpReceiver("127.0.0.1", 0, listening)
    report = drive(data, receiver, replicate=copies, start_at=start, stop_at=last)
    readers[0].join()
    print(f"drive, {copies} copies: {report.summary()}; received {counted[0]:,}")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--folder", type=Path)
    options.add_argument("--cars", type=int, default=176_000)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        spark = spark_session("linear-road-tools")
        if not (folder / "xway-0.csv").exists():
            print(f"made {make_traffic(folder / 'xway-0.csv', chosen.cars):,} tuples")
        if not (folder / "segment_history").exists():
            begin = time.perf_counter()
            made = make_history(spark, folder, expressways=1, seed=1)
            took = time.perf_counter() - begin
            print(f"history: {made.segment_rows:,} and {made.toll_rows:,} rows in {took:.1f} s")
        output = folder / "right" / "output.csv"
        if not output.exists():
            output.parent.mkdir()
            print(f"made {write_right_output(spark, folder, output):,} output lines")
        begin = time.perf_counter()
        verdict = validate(spark, folder, output, progress=lambda step: print(f"  {step}"))
        took = time.perf_counter() - begin
        tuples = sum(verdict.tuples.values())
        print(f"validate: {tuples:,} tuples in {took:.1f} s ({tuples / took:,.0f}/s), right: {verdict.right}")
        spark.stop()
        found = survey(folder)
        second = found.files[0]
        rate = sum(found.counts.values()) / len(second.seconds)
        measure_drive(folder, copies=max(1, round(100_000 / rate)), start=5000, last=5020)


if __name__ == "__main__":
    main()
