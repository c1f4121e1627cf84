"""The traffic simulator: how long it takes, and its traffic beside the traffic that was asked for.

python -m benchmarks.simulator            simulates one expressway for three hours, then measures it
python -m benchmarks.simulator FOLDER     measures what is in the folder
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
from rich.console import Console
from rich.table import Table

from aurora.linear_road.edition import EDITION_2004 as RULES

COLUMNS = (
    "Type",
    "Time",
    "VID",
    "Spd",
    "XWay",
    "Lane",
    "Dir",
    "Seg",
    "Pos",
    "QID",
    "Sinit",
    "Send",
    "DOW",
    "TOD",
    "Day",
)
LATE = 30 * 60


def read_reports(path: Path) -> dict[str, Any]:
    """The position reports, by car and time."""
    options = csv.ConvertOptions(
        column_types=dict.fromkeys(COLUMNS, pa.int32()), include_columns=list(COLUMNS[:9])
    )
    table = csv.read_csv(path, csv.ReadOptions(column_names=list(COLUMNS)), convert_options=options)
    columns = {name: table[name].to_numpy() for name in COLUMNS[:9]}
    kept = np.flatnonzero(columns["Type"] == 0)
    kept = kept[np.lexsort((columns["Time"][kept], columns["VID"][kept]))]
    return {name: values[kept] for name, values in columns.items()}


def accident_minutes(reports: dict[str, Any], continues: Any, minutes: int) -> Any:
    """Rule 7: whether there is an accident, by direction, segment and minute (counted from 1)."""
    same = continues.copy()
    for name in ("Lane", "Pos", "Dir"):
        same[1:] &= reports[name][1:] == reports[name][:-1]
    starts = np.flatnonzero(~same)
    lengths = np.diff(np.append(starts, len(same)))
    found = np.zeros((2, RULES.segments, minutes + 2), bool)
    by_place: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for start, length in zip(starts, lengths, strict=True):
        if length >= RULES.stopped_reports and reports["Lane"][start] in RULES.travel_lanes:
            key = tuple(int(reports[name][start]) for name in ("Dir", "Lane", "Pos"))
            first = int(reports["Time"][start + RULES.stopped_reports - 1])
            # Until the first report from elsewhere, or until the next one would have come.
            by_place.setdefault(key, []).append((first, int(reports["Time"][start + length - 1]) + 30))
    for (direction, _, position), spans in by_place.items():
        for one, (first, last) in enumerate(spans):
            for other_first, other_last in spans[:one]:
                both = range(max(first, other_first), min(last, other_last))
                if len(both):
                    minutes_of = slice(both.start // 60 + 1, (both.stop - 1) // 60 + 2)
                    found[direction, position // RULES.segment_length, minutes_of] = True
    return found


def rules(reports: dict[str, Any]) -> dict[str, int]:
    """Rules 2 to 8 on one expressway: the notifications, those with a toll, the late ones, the alerts."""
    seconds, vid, seg, direction = (reports[name] for name in ("Time", "VID", "Seg", "Dir"))
    minute = seconds // 60 + 1
    minutes = int(minute.max())
    continues = np.zeros(len(vid), bool)
    continues[1:] = (vid[1:] == vid[:-1]) & (seconds[1:] - seconds[:-1] == RULES.report_interval)
    enters = ~continues
    enters[1:] |= seg[1:] != seg[:-1]
    enters &= reports["Lane"] != RULES.exit_lane

    # A car has at most two reports a minute, one after the other: they count as one car at their mean speed.
    place = (direction * RULES.segments + seg) * (minutes + 2) + minute
    again = np.zeros(len(vid), bool)
    again[1:] = (vid[1:] == vid[:-1]) & (place[1:] == place[:-1])
    heads = np.flatnonzero(~again)
    speeds = np.add.reduceat(reports["Spd"].astype(float), heads) / np.diff(np.append(heads, len(vid)))
    size = 2 * RULES.segments * (minutes + 2)
    shape = (2, RULES.segments, minutes + 2)
    cars = np.bincount(place[heads], minlength=size).reshape(shape)
    total = np.bincount(place[heads], weights=speeds, minlength=size).reshape(shape)
    average = np.divide(total, cars, out=np.zeros(shape), where=cars > 0)

    tolls = np.zeros(shape)
    accident = accident_minutes(reports, continues, minutes)
    near = np.zeros(shape, bool)
    for segment in range(RULES.segments):
        ahead = np.arange(RULES.accident_reach + 1)
        near[0, segment] = accident[0, np.minimum(segment + ahead, RULES.segments - 1)].any(axis=0)
        near[1, segment] = accident[1, np.maximum(segment - ahead, 0)].any(axis=0)
    for now in range(2, minutes + 1):
        window = slice(max(now - RULES.lav_minutes, 1), now)
        known = (cars[:, :, window] > 0).sum(axis=2)
        mean = average[:, :, window].sum(axis=2) / np.maximum(known, 1)
        lav = np.where(known > 0, np.floor(mean + 1e-9), -1)
        before = cars[:, :, now - 1]
        applies = RULES.tolled(lav, before) & ~near[:, :, now - 1]
        tolls[:, :, now] = np.where(applies, RULES.toll(before), 0)

    at = (direction[enters], seg[enters], minute[enters])
    late = seconds[enters] >= seconds.max() + 1 - LATE
    charged = tolls[at] > 0
    return {
        "notifications": int(enters.sum()),
        "charged": int(charged.sum()),
        "late": int(late.sum()),
        "late_charged": int((late & charged).sum()),
        "alerts": int(near[at[0], at[1], at[2] - 1].sum()),
        "accident_minutes": int(accident.sum()),
    }


def traffic_table(folder: Path) -> Table:
    known = json.loads((folder / "simulation.json").read_text())
    counts, traffic = known["counts"], known["traffic"]
    expressways = known["settings"]["expressways"]
    found = [rules(read_reports(path)) for path in sorted(folder.glob("xway-*.csv"))]
    total = {name: sum(each[name] for each in found) for name in found[0]}
    shares = traffic["lane_shares_first_minutes"]
    queries = counts["queries"]
    asked = sum(queries.values())
    table = Table(title=f"{folder.name}: traffic of {expressways} expressway(s), figures for one")
    for name in ("figure", "asked for", "reached"):
        table.add_column(name)
    rows = [
        ("reports", "12,000,000 ± 20%", f"{counts['reports'] / expressways:,.0f}"),
        ("cars", "140,000-150,000", f"{counts['cars'] / expressways:,.0f}"),
        ("cars on the road, on average", "33,000", f"{traffic['cars_on_the_road'] / expressways:,.0f}"),
        (
            "cars on the road, at the end",
            "grows",
            f"{traffic['cars_on_the_road_at_the_end'] / expressways:,.0f}",
        ),
        ("entrance speed, first 10 minutes", "26", f"{traffic['entrance_speed_first_minutes']}"),
        ("travel lanes' speed, first 10 minutes", "52-54", f"{traffic['travel_speed_first_minutes']}"),
        ("top speed", "75 early, never 100", f"{traffic['top_speed']}"),
        ("lanes 1 : 2 : 3, first 10 minutes", "1 : 2 : 1", " : ".join(str(share) for share in shares[1:4])),
        ("mean speed, last half hour", "20 (15-30)", f"{traffic['mean_speed_last_half_hour']}"),
        ("toll notifications", "2,000,000", f"{total['notifications'] / expressways:,.0f}"),
        ("notifications with a toll", "common", f"{total['charged'] / total['notifications']:.1%}"),
        ("late notifications with a toll", "> 25%", f"{total['late_charged'] / total['late']:.1%}"),
        ("accident alerts", "28,000", f"{total['alerts'] / expressways:,.0f}"),
        ("accidents", "9", f"{len(known['accidents']) / expressways:.1f}"),
        ("cars that come back", "10%", f"{counts['returning_cars'] / counts['cars']:.1%}"),
        ("reports with a query", "1%", f"{asked / counts['reports']:.2%}"),
        (
            "balance / expenditure / travel time",
            "50 / 10 / 40",
            " / ".join(f"{queries[k] / asked:.0%}" for k in "234"),
        ),
    ]
    for row in rows:
        table.add_row(*row)
    return table


def processes(root: int) -> list[int]:
    """The process and all below it."""
    found = [root]
    for children in Path(f"/proc/{root}/task").glob("*/children"):
        try:
            found += [process for child in children.read_text().split() for process in processes(int(child))]
        except OSError:
            continue
    return found


def memory(root: int) -> float:
    """GB of a process and all below it, what they share counted once."""
    total = 0
    for process in processes(root):
        try:
            rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
        except OSError:
            continue
        total += int(rollup.split("Pss:")[1].split()[0])
    return total / 1e6


def timed_run(expressways: int, minutes: int, folder: Path) -> tuple[float, float]:
    """Seconds and GB at the peak of one command."""
    options = ["--expressways", str(expressways), "--minutes", str(minutes), "--out", str(folder)]
    program = [sys.executable, "-c", "from aurora.cli.main import main; main()", "linear-road", "simulate"]
    begun, peak = time.perf_counter(), 0.0
    quiet = subprocess.DEVNULL
    with subprocess.Popen([*program, *options], stdout=quiet, stderr=quiet) as run:
        while run.poll() is None:
            peak = max(peak, memory(run.pid))
            time.sleep(0.5)
    if run.returncode != 0:
        raise SystemExit(f"the simulation of {minutes} minutes failed with status {run.returncode}")
    return time.perf_counter() - begun, peak


def main() -> None:
    console = Console(width=100)
    if len(sys.argv) > 1:
        console.print(traffic_table(Path(sys.argv[1])))
        return
    with tempfile.TemporaryDirectory() as temporary:
        for minutes, expressways in ((60, 1), (60, 2), (180, 1)):
            folder = Path(temporary) / f"{expressways}x{minutes}"
            took, peak = timed_run(expressways, minutes, folder)
            reports = json.loads((folder / "simulation.json").read_text())["counts"]["reports"]
            console.print(
                f"{expressways} expressway(s), {minutes} minutes: {took:.1f} s, {reports:,} reports,"
                f" {reports / took:,.0f} reports/s, {peak:.2f} GB at the peak"
            )
        console.print(traffic_table(folder))


if __name__ == "__main__":
    main()
