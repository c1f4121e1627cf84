"""Properties of the simulated traffic, and of the files that it comes in."""

import json
import resource
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv as csv
import pytest
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from aurora.cli.linear_road_simulate import simulate as simulate_command
from aurora.errors import AuroraError
from aurora.linear_road.simulator import Settings, run_jobs, simulate, spread
from aurora.linear_road.simulator.accidents import plan_accidents
from aurora.linear_road.simulator.lanes import new_cars, new_lanes
from aurora.linear_road.simulator.road import SPACE, SQUEEZE
from aurora.linear_road.simulator.traffic import simulate_seconds
from aurora.linear_road.simulator.trips import draw_trips, new_progress

TYPE, TIME, VID, SPD, XWAY, LANE, DIR, SEG, POS, QID, SINIT, SEND, DOW, TOD, DAY = range(15)
SETTINGS = Settings(expressways=2, minutes=34, seed=7)
Rows = NDArray[np.int64]


def read(folder: Path, expressway: int) -> Rows:
    table = csv.read_csv(folder / f"xway-{expressway}.csv", csv.ReadOptions(autogenerate_column_names=True))
    assert all(str(kind) == "int64" for kind in table.schema.types)
    return np.stack([column.to_numpy() for column in table.columns], axis=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("simulator") / "traffic"
    simulate(SETTINGS, out, run_jobs, plots=True)
    return out


@pytest.fixture(scope="module")
def files(folder: Path) -> list[Rows]:
    return [read(folder, expressway) for expressway in range(SETTINGS.expressways)]


@pytest.fixture(scope="module")
def known(folder: Path) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((folder / "simulation.json").read_text())
    return result


@pytest.fixture(scope="module")
def reports(files: list[Rows]) -> Rows:
    """All reports, by car and time."""
    rows = np.concatenate([rows[rows[:, TYPE] == 0] for rows in files])
    return rows[np.lexsort((rows[:, TIME], rows[:, VID]))]


@pytest.fixture(scope="module")
def steps(reports: Rows) -> tuple[Rows, Rows]:
    """Each report that continues a trip, and the one before it."""
    same = (reports[1:, VID] == reports[:-1, VID]) & (reports[1:, TIME] - reports[:-1, TIME] == 30)
    return reports[:-1][same], reports[1:][same]


@pytest.fixture(scope="module")
def ends(reports: Rows) -> tuple[Rows, Rows]:
    """The first and the last report of each trip."""
    breaks = (reports[1:, VID] != reports[:-1, VID]) | (reports[1:, TIME] - reports[:-1, TIME] != 30)
    return reports[np.append(True, breaks)], reports[np.append(breaks, True)]


def test_rows_are_ordered_by_time(files: list[Rows]) -> None:
    for rows in files:
        assert (np.diff(rows[:, TIME]) >= 0).all()
        assert rows[0, TIME] == 0 and rows[-1, TIME] == SETTINGS.seconds - 1


def test_every_car_reports_every_30_seconds_at_all_phases(reports: Rows) -> None:
    gaps = np.diff(reports[:, TIME])[np.diff(reports[:, VID]) == 0]
    # Any other gap is that before a second trip.
    assert (gaps[gaps != 30] >= 300).all()
    phases = np.bincount(reports[:, TIME] % 30, minlength=30) / len(reports)
    assert phases.min() > 0.025 and phases.max() < 0.045


def test_fields_are_in_range(files: list[Rows]) -> None:
    for expressway, rows in enumerate(files):
        rows = rows[rows[:, TYPE] == 0]
        for field, least, most in ((SPD, 0, 100), (LANE, 0, 4), (DIR, 0, 1), (SEG, 0, 99), (POS, 0, 527_999)):
            assert rows[:, field].min() >= least and rows[:, field].max() <= most
        assert (rows[:, XWAY] == expressway).all()
        assert (rows[:, SEG] == rows[:, POS] // 5280).all()
        assert (rows[:, QID:] == -1).all()


def test_cars_move_forward_and_not_too_fast(steps: tuple[Rows, Rows]) -> None:
    before, after = steps
    assert (before[:, [XWAY, DIR]] == after[:, [XWAY, DIR]]).all()
    moved = (after[:, POS] - before[:, POS]) * (1 - 2 * after[:, DIR])
    assert moved.min() >= 0 and moved.max() <= 4400
    # Nobody is past a segment without a report from it.
    assert np.abs(after[:, SEG] - before[:, SEG]).max() <= 1


def test_trips_lead_from_an_entrance_to_an_exit(ends: tuple[Rows, Rows]) -> None:
    first, last = ends
    assert (first[:, LANE] == 0).all()
    over = last[:, TIME] < SETTINGS.seconds - 30
    assert (last[over, LANE] == 4).all() and over.sum() > 10_000
    assert abs(first[:, SEG].mean() - 49.5) < 1.5
    east = first[:, DIR] == 0
    assert first[east, SEG].mean() < 40 < 60 < first[~east, SEG].mean()
    assert abs(last[over, SEG].mean() - 50) < 2 and 17 < last[over, SEG].std() < 24


def test_early_traffic_is_free(reports: Rows, ends: tuple[Rows, Rows]) -> None:
    entry = ends[0][:, SPD]
    assert entry.min() >= 14 and entry.max() <= 34 and 25 < entry.mean() < 27
    early = reports[reports[:, TIME] < 300]
    travel = early[(early[:, LANE] >= 1) & (early[:, LANE] <= 3)]
    assert 52 <= travel[:, SPD].mean() <= 54.5 and travel[:, SPD].max() <= 75
    one, two, three = np.bincount(travel[:, LANE], minlength=4)[1:4]
    assert 1.6 < two / one < 2.5 and 1.6 < two / three < 2.5


def test_dense_traffic_is_slow(reports: Rows) -> None:
    minute, place = reports[:, TIME] // 60, reports[:, SEG] + 100 * reports[:, DIR] + 200 * reports[:, XWAY]
    at = minute * 400 + place
    count = np.bincount(at)
    speed = np.bincount(at, weights=reports[:, SPD]) / np.maximum(count, 1)
    # Two reports a minute from each car.
    assert speed[(count > 20) & (count < 120)].mean() > 45
    assert speed[count > 600].mean() < 20


def test_cars_in_a_lane_never_touch() -> None:
    seconds = 25 * 60
    trips = draw_trips(3, 0, 0, seconds)
    cars, lanes, progress = new_cars(20_000), new_lanes(20_000), new_progress(trips)
    accidents = plan_accidents(3, 0, 0, seconds)
    buffer = np.empty((60_000, 4), np.int32)
    looked_at = 0
    for start in range(0, seconds, 5):
        simulate_seconds(cars, lanes, trips, progress, accidents, range(start, start + 5), 99, buffer)
        for lane in range(4):
            car = lanes.first[lane]
            while car >= 0 and cars.behind[car] >= 0:
                behind = cars.behind[car]
                if not (cars.fate[car] and cars.fate[behind]):
                    assert cars.place[car] - cars.place[behind] >= SPACE - SQUEEZE - 1e-6
                    looked_at += 1
                car = behind
    assert looked_at > 100_000


def test_accidents_are_two_cars_in_one_place(reports: Rows, known: dict[str, Any]) -> None:
    assert len(known["accidents"]) == 2 * SETTINGS.expressways
    cleared = 0
    for accident in known["accidents"]:
        here = reports[
            (reports[:, XWAY] == accident["expressway"])
            & (reports[:, DIR] == accident["direction"])
            & (reports[:, LANE] == accident["lane"])
            & (reports[:, POS] == accident["position"])
            & (reports[:, TIME] >= accident["happened"])
        ]
        standing = [
            here[here[:, VID] == vid] for vid in np.unique(here[:, VID]) if (here[:, VID] == vid).sum() >= 4
        ]
        assert len(standing) == 2
        assert accident["lane"] in (1, 2, 3)
        assert all((rows[:, SPD] == 0).all() for rows in standing)
        assert max(rows[3, TIME] for rows in standing) == accident["detected"]
        if accident["cleared"] is not None:
            cleared += 1
            over = min(rows[-1, TIME] for rows in standing) + 30
            assert 600 <= over - accident["detected"] <= 1200
            assert abs(over - accident["cleared"]) <= 30
    assert cleared >= 2


def test_a_blocked_lane_slows_the_cars_behind_it() -> None:
    """The same traffic with and without its accident: only the accident can make the difference."""
    seconds = 30 * 60
    speeds = []
    for happens in (True, False):
        trips = draw_trips(1, 0, 0, seconds)
        cars, lanes, progress = new_cars(30_000), new_lanes(30_000), new_progress(trips)
        accidents = plan_accidents(1, 0, 0, seconds)
        accidents.due[:] = 1000 if happens else seconds
        accidents.wanted[:] = 40.3 * 5280
        buffer = np.empty((90_000, 4), np.int32)
        rows = np.empty((0, 4), np.int32)
        for start in range(0, seconds, 60):
            count = simulate_seconds(
                cars, lanes, trips, progress, accidents, range(start, start + 60), 99, buffer
            )
            if start >= 1200:
                rows = np.concatenate([rows, buffer[:count]])
        behind = (rows[:, 2] > 39.3 * 5280) & (rows[:, 2] < 40.2 * 5280)
        speeds.append((rows[behind, 3] >> 3).mean())
    assert speeds[0] < speeds[1] - 10


def test_queries_follow_their_reports(files: list[Rows]) -> None:
    for expressway, rows in enumerate(files):
        queries = rows[rows[:, TYPE] != 0]
        before = rows[np.flatnonzero(rows[:, TYPE] != 0) - 1]
        assert (before[:, TYPE] == 0).all()
        assert (before[:, [TIME, VID]] == queries[:, [TIME, VID]]).all()
        assert (queries[:, QID] == np.arange(len(queries)) * SETTINGS.expressways + expressway).all()
        assert 0.009 < len(queries) / (len(rows) - len(queries)) < 0.011
        shares = np.bincount(queries[:, TYPE], minlength=5)[2:] / len(queries)
        assert np.abs(shares - [0.5, 0.1, 0.4]).max() < 0.03


def test_as_many_queries_as_asked_for(tmp_path: Path) -> None:
    settings = Settings(expressways=1, minutes=2, seed=7)
    found = {}
    for each in (settings.queries, 0.3, 2.3):
        simulate(replace(settings, queries=each), tmp_path / str(each), run_jobs)
        rows = read(tmp_path / str(each), 0)
        found[each] = rows[rows[:, TYPE] == 0]
        assert each - 0.02 < len(rows) / len(found[each]) - 1 < each + 0.02
        assert (found[each] == found[settings.queries]).all()
    asked = np.diff(np.append(np.flatnonzero(rows[:, TYPE] == 0), len(rows))) - 1
    assert set(asked.tolist()) == {2, 3}


def test_queries_have_every_field_in_range(files: list[Rows]) -> None:
    ranges = {
        2: {},
        3: {XWAY: (0, SETTINGS.expressways - 1), DAY: (1, 69)},
        4: {
            XWAY: (0, SETTINGS.expressways - 1),
            SINIT: (0, 99),
            SEND: (0, 99),
            DOW: (1, 7),
            TOD: (1, 1440),
        },
    }
    rows = np.concatenate(files)
    for kind, fields in ranges.items():
        queries = rows[rows[:, TYPE] == kind]
        for field in range(SPD, DAY + 1):
            if field in fields:
                least, most = fields[field]
                assert queries[:, field].min() >= least and queries[:, field].max() <= most
                # A field that is filled is not filled with one value.
                assert len(np.unique(queries[:, field])) > (most - least) / 2
            elif field != QID:
                assert (queries[:, field] == -1).all()


def test_some_cars_come_back_some_elsewhere(
    reports: Rows, ends: tuple[Rows, Rows], known: dict[str, Any]
) -> None:
    first, last = ends
    again = np.flatnonzero(first[1:, VID] == first[:-1, VID])
    assert len(again) == known["counts"]["returning_cars"] > 1000
    assert len(np.unique(first[again, VID])) == len(again)
    assert (first[again + 1, DIR] == 1 - last[again, DIR]).all()
    elsewhere = (first[again + 1, XWAY] != last[again, XWAY]).mean()
    assert 0.1 < elsewhere < 0.3
    assert len(np.unique(reports[:, VID])) == known["counts"]["cars"] == reports[:, VID].max() + 1


def test_the_summary_counts_what_is_in_the_files(files: list[Rows], known: dict[str, Any]) -> None:
    kinds = sum(np.bincount(rows[:, TYPE], minlength=5) for rows in files)
    assert known["counts"]["reports"] == kinds[0]
    assert known["counts"]["queries"] == {str(kind): kinds[kind] for kind in (2, 3, 4)}
    assert known["seed"] == SETTINGS.seed
    late = np.concatenate(
        [rows[(rows[:, TYPE] == 0) & (rows[:, TIME] >= SETTINGS.seconds - 1800)] for rows in files]
    )
    assert known["traffic"]["mean_speed_last_half_hour"] == pytest.approx(late[:, SPD].mean(), abs=0.01)


def test_the_last_minutes_are_those_of_the_whole(tmp_path: Path) -> None:
    settings = Settings(expressways=2, minutes=12, seed=7)
    simulate(settings, tmp_path / "whole", run_jobs)
    settings = replace(settings, last=5)
    simulate(settings, tmp_path / "slice", run_jobs, plots=True)
    start = settings.first_kept
    for expressway in range(2):
        whole = read(tmp_path / "whole", expressway)
        rows = read(tmp_path / "slice", expressway)
        rows = rows[rows[:, TYPE] == 0]
        whole = whole[(whole[:, TYPE] == 0) & (whole[:, TIME] >= start)]
        assert (rows[:, TIME] == whole[:, TIME] - start).all()
        assert (rows[:, SPD : POS + 1] == whole[:, SPD : POS + 1]).all()
        assert rows[0, TIME] == 0 and (rows[rows[:, TIME] < 30, LANE] == 2).any()


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path, spark: SparkSession) -> None:
    def backwards(jobs: Sequence[Any]) -> list[Any]:
        return list(reversed([job() for job in reversed(jobs)]))

    settings = Settings(expressways=2, minutes=4, seed=11)
    runners = {"spark": spread(spark.sparkContext), "backwards": backwards, "forwards": run_jobs}
    for name, runner in runners.items():
        simulate(settings, tmp_path / name, runner)
    simulate(Settings(expressways=2, minutes=4, seed=12), tmp_path / "other", run_jobs)
    for file in ("xway-0.csv", "xway-1.csv", "simulation.json"):
        expected = (tmp_path / "forwards" / file).read_bytes()
        assert (tmp_path / "spark" / file).read_bytes() == expected
        assert (tmp_path / "backwards" / file).read_bytes() == expected
        assert (tmp_path / "other" / file).read_bytes() != expected


def test_only_finished_files_stay(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == [
        "simulation.json",
        "traffic-0.png",
        "traffic-1.png",
        "xway-0.csv",
        "xway-1.csv",
    ]
    assert (folder / "traffic-0.png").read_bytes().startswith(b"\x89PNG")


def test_a_new_simulation_replaces_an_old_one(tmp_path: Path) -> None:
    simulate(Settings(expressways=2, minutes=1, seed=1), tmp_path, run_jobs)
    mine = ["notes.txt", "traffic-jam.png", "xway-old.csv"]
    for name in mine:
        (tmp_path / name).write_text("mine")
    shares: list[float] = []
    simulate(Settings(expressways=1, minutes=1, seed=2), tmp_path, run_jobs, progress=shares.append)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [*mine, "simulation.json", "xway-0.csv"]
    )
    assert json.loads((tmp_path / "simulation.json").read_text())["seed"] == 2
    assert shares[-1] == 1.0


@pytest.fixture
def small_files() -> Iterator[None]:
    """No file may grow beyond this: the disk is full."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.usefixtures("small_files")
def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(AuroraError, match=r"^writing to --out .* failed: File too large; make room") as fault:
        simulate(Settings(expressways=1, minutes=3, seed=1), tmp_path / "out", run_jobs)
    assert "\n" not in str(fault.value)
    assert not (tmp_path / "out").exists()


def test_a_fault_in_a_spark_job_is_one_line(tmp_path: Path, spark: SparkSession) -> None:
    class Full:
        def __call__(self) -> None:
            raise OSError(28, "No space left on device")

    def runner(jobs: Sequence[Any]) -> list[Any]:
        return spread(spark.sparkContext)([*jobs, Full()])

    with pytest.raises(AuroraError, match=r"failed: No space left on device; make room") as fault:
        simulate(Settings(expressways=1, minutes=1, seed=1), tmp_path / "out", runner)
    assert "\n" not in str(fault.value)
    assert not (tmp_path / "out").exists()


def test_an_old_simulation_survives_a_failed_one(tmp_path: Path) -> None:
    simulate(Settings(expressways=1, minutes=1, seed=1), tmp_path, run_jobs)
    before = (tmp_path / "xway-0.csv").read_bytes()

    def fails(jobs: Sequence[Any]) -> list[Any]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(Settings(expressways=1, minutes=1, seed=2), tmp_path, fails)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["simulation.json", "xway-0.csv"]
    assert (tmp_path / "xway-0.csv").read_bytes() == before


def test_an_out_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(AuroraError, match=r"^cannot write to --out .*; choose another folder$"):
            simulate(Settings(expressways=1, minutes=1, seed=1), out, run_jobs)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"expressways": 0}, "--expressways must be at least 1, not 0"),
        ({"minutes": 0}, "--minutes must be at least 1, not 0"),
        ({"seed": -1}, "--seed must be 0 or more, not -1"),
        ({"minutes": 10, "last": 11}, r"--last must be between 1 and --minutes \(10\), not 11"),
        ({"queries": 10.5}, "--queries must be between 0 and 10, not 10.5"),
        ({"last": 0}, r"--last must be between 1 and --minutes \(180\), not 0"),
    ],
)
def test_bad_settings_are_one_line(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(AuroraError, match=f"^{message}$"):
        simulate_command(out=tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()
