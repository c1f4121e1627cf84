"""A join of a stream with a large stored set, pulled by key: seconds to store it, tuples a second, and memory.

`python -m benchmarks stored 0.01` stores fewer rows, for a quick look.
"""

import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from aurora import Network, Settings, prepare_stored, run
from aurora.engine.spark.session import spark_session
from aurora.network.text import to_text
from benchmarks.clock import show
from benchmarks.limits import run_limited

__all__ = ["main"]

STORED, TUPLES = 20_000_000, 2_000_000
PIECE = 1_000_000
# The memory in which the join must work, in bytes: of all processes, with all files that are mapped or cached.
MOST = 2_000_000_000


def write_set(folder: Path, rows: int) -> Path:
    """Sid, Name, Place, Since: every Sid once, in no order."""
    chance = np.random.default_rng(1)
    numbers = chance.permutation(rows)
    schema = pa.schema(
        [("Sid", pa.int64()), ("Name", pa.string()), ("Place", pa.int32()), ("Since", pa.int64())]
    )
    with pyarrow.parquet.ParquetWriter(folder / "people.parquet", schema) as writer:
        for start in range(0, rows, PIECE):
            sid = numbers[start : start + PIECE]
            names = pa.array([f"soldier {number}" for number in sid.tolist()])
            columns = [sid, names, (sid % 997).astype(np.int32), sid * 3]
            writer.write_table(pa.table([pa.array(column) for column in columns], schema=schema))
    return folder / "people.parquet"


def write_reports(folder: Path, rows: int, known: int) -> Path:
    """Sid,Time: one in ten is of nobody in the set."""
    chance = np.random.default_rng(2)
    sid = chance.integers(0, known + known // 9, rows)
    options = pyarrow.csv.WriteOptions(include_header=False)
    pyarrow.csv.write_csv(
        pa.table({"Sid": sid, "Time": np.arange(rows) // 1000}), folder / "reports.csv", options
    )
    return folder / "reports.csv"


def named(people: Path) -> Network:
    network = Network("named")
    reports = network.input("reports", "Sid bigint, Time int")
    stored = network.stored("people", f"parquet:{people}", key=["Sid"])
    found = reports.join(stored, "left.Sid = right.Sid", outer="left", name="found")
    network.output("found", found)
    return network


class Memory:
    """The most that this process and those that it has started had together: in all, and without the mapped files."""

    def __enter__(self) -> "Memory":
        self.whole = self.own = 0.0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(0.2):
            found = [_memory(process) for process in _family(os.getpid())]
            self.whole = max(self.whole, sum(whole for whole, _ in found))
            self.own = max(self.own, sum(own for _, own in found))


def _family(process: int) -> list[int]:
    """A process with all that descend from it."""
    parents: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                parent = int(Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            parents.setdefault(parent, []).append(int(name))
    found = [process]
    for member in found:
        found += parents.get(member, [])
    return found


def _memory(process: int) -> tuple[float, float]:
    """Gigabytes; what processes share counts in part for each."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()[1:]
    except OSError:
        return 0.0, 0.0
    sizes = {line.split()[0]: int(line.split()[1]) / 1e6 for line in lines}
    return sizes.get("Pss:", 0.0), sizes.get("Pss_Anon:", 0.0)


def measured(job: Callable[[], Any]) -> tuple[Any, float, Memory]:
    began = time.perf_counter()
    with Memory() as memory:
        result = job()
    return result, time.perf_counter() - began, memory


def main(scale: float = 1.0) -> None:
    rows, tuples = int(STORED * scale), int(TUPLES * scale)
    with tempfile.TemporaryDirectory(prefix="aurora-bench-") as name:
        folder = Path(name)
        people, reports = write_set(folder, rows), write_reports(folder, tuples, rows)
        network = named(people)
        show_limited(folder, network, reports, tuples, rows)
        given = {"reports": f"csv:{reports}"}
        sources, storing, stored = measured(lambda: prepare_stored(network, given, folder / "stored"))
        spark = spark_session("benchmarks", "local[2]")
        sinks = {"found": f"csv:{folder}/found.csv"}
        result, _, joined = measured(lambda: run(network, sources, sinks, Settings()))

        def by_hand() -> None:
            stream = spark.read.csv(str(reports), schema="Sid bigint, Time int")
            other = spark.read.parquet(str(people)).withColumnRenamed("Sid", "Sid_right")
            join = stream.join(other, stream.Sid == other.Sid_right, "left")
            join.write.csv(str(folder / "by-hand"), header=True)

        _, seconds, hand = measured(by_hand)
    show(
        f"A join of {tuples:,} tuples with {rows:,} stored rows by key, CSV in, CSV out; memory in GB of all processes",
        ["", "seconds", "a second", "GB", "GB without mapped files"],
        [
            ["store by key, once", *_told(storing, rows, stored)],
            ["join", *_told(result.seconds, tuples, joined)],
            ["the same join as a batch of Spark", *_told(seconds, tuples, hand)],
        ],
    )


def show_limited(folder: Path, network: Network, reports: Path, tuples: int, rows: int) -> None:
    """The command, which stores the set and joins, where the system ends what takes more memory."""
    (folder / "named.yaml").write_text(to_text(network))
    found, began = folder / "limited.csv", time.perf_counter()
    command = [sys.executable, "-c", "from aurora.cli.main import main; main()", "run"]
    given = [str(folder / "named.yaml"), f"--source=reports=csv:{reports}", f"--sink=found=csv:{found}"]
    ended = run_limited([*command, *given], MOST)
    seconds = time.perf_counter() - began
    if ended is None:
        print("This system does not let a process limit its memory: no run under a limit.")
        return
    lines = 0
    if ended.status == 0:
        with found.open("rb") as file:
            lines = sum(1 for _ in file) - 1
    if lines != tuples:
        raise RuntimeError(f"under {MOST:,} bytes the run ended with {ended.status}, and {lines:,} rows")
    show(
        f"`aurora run`, limited to {MOST / 1e9:.2f} GB with all files: {tuples:,} tuples, {rows:,} stored rows",
        ["ended", "seconds", "GB, files included", "GB without files"],
        [["well", f"{seconds:.1f}", f"{ended.whole / 1e9:.2f}", f"{ended.own / 1e9:.2f}"]],
    )


def _told(seconds: float, rows: int, memory: Memory) -> list[str]:
    return [f"{seconds:.1f}", f"{rows / seconds:,.0f}", f"{memory.whole:.2f}", f"{memory.own:.2f}"]
