"""A network on a million rows: generates position reports, runs border_run.yaml on them, shows the first alarms."""

import csv
import itertools
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from aurora import AuroraError, Result, Settings, read_network, run

NETWORK = Path(__file__).parent / "border_run.yaml"
SOLDIERS = 1000


def write_reports(path: Path, rows: int, seed: int = 1) -> None:
    """Reports of a thousand soldiers who go to and fro, in the order in which they came: up to two seconds late."""
    random = np.random.default_rng(seed)
    second, soldier = np.divmod(np.arange(rows), SOLDIERS)
    phase, reach = random.uniform(0, 2 * np.pi, SOLDIERS), random.uniform(10, 40, SOLDIERS)
    swing = 0.3 * np.sin(second / 97)
    position = reach[soldier] * (np.sin(second / 61 + phase[soldier]) + swing) + random.normal(0, 1, rows)
    came = np.argsort(second + random.uniform(0, 1.9, rows), kind="stable")
    table = pa.table(
        {
            "Sid": soldier[came].astype(np.int32),
            "Time": second[came].astype(np.int32),
            "Pos": position[came].astype(np.int32),
        }
    )
    pyarrow.csv.write_csv(table, path)


def run_border(reports: Path, folder: Path, settings: Settings | None = None) -> Result:
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("starting Spark", total=None)
        return run(
            read_network(NETWORK),
            {"reports": f"csv:{reports}"},
            {
                "alarms": f"csv:{folder / 'alarms.csv'}",
                "patrols": f"csv:{folder / 'patrols.csv'}",
                "crossings": f"parquet:{folder / 'crossings'}",
            },
            settings,
            lambda report: bar.update(task, description=f"batch {report.batch} done"),
        )


def show(result: Result, folder: Path, rows: int, console: Console) -> None:
    with open(folder / "alarms.csv", newline="") as file:
        header, *first = itertools.islice(csv.reader(file), 9)
    table = Table(*header, title="the first alarms", title_justify="left", box=None, pad_edge=False)
    for row in first:
        table.add_row(*row)
    console.print(table)
    console.print()
    for name, number in sorted(result.totals.rows.items()):
        console.print(f"{name}: {number:,} rows")
    for box, reasons in sorted(result.totals.discarded.items()):
        for reason, number in sorted(reasons.items()):
            console.print(f"box {box} left out {number:,} tuples: {reason}")
    console.print(
        f"{rows:,} reports in {result.seconds:.1f} s: {rows / result.seconds:,.0f} rows/s, start of the query included"
    )
    console.print(f"the output is in {folder}", soft_wrap=True)


def main(rows: int = 1_000_000) -> None:
    folder = Path(tempfile.mkdtemp(prefix="aurora-border-"))
    console = Console()
    started = time.monotonic()
    write_reports(folder / "reports.csv", rows)
    console.print(
        f"{rows:,} reports of {SOLDIERS:,} soldiers generated in {time.monotonic() - started:.1f} s"
    )
    show(run_border(folder / "reports.csv", folder), folder, rows, console)


if __name__ == "__main__":
    try:
        main()
    except AuroraError as fault:
        sys.exit(f"error: {fault}")
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(130)
