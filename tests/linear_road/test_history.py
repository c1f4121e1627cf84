"""The history generator: complete, the same for the same seed, true to the toll rule, and like traffic."""

import dataclasses

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from aurora.errors import AuroraError
from aurora.linear_road import history_generator as history
from aurora.linear_road import stored_histories
from aurora.linear_road.edition import EDITION_2004
from aurora.linear_road.history_generator import make_history, segment_day
from aurora.linear_road.stored_histories import Histories, find_histories

# Four days of ten segments are enough for the machinery; the real ten weeks are measured in benchmarks/.
SHORT = dataclasses.replace(EDITION_2004, history_days=4, segments=10)
CARS = (5, 107, 2**40)


def write_data(folder, xways=1):
    folder.mkdir(parents=True, exist_ok=True)
    for xway in range(xways):
        lines = [f"0,1,{vid},30,{xway},1,0,10,53000" + ",-1" * 6 for vid in CARS]
        (folder / f"xway-{xway}.csv").write_text("\n".join(lines) + "\n")
    return folder


def grid(column):
    return column.reshape(1440, 2, 100)


def test_a_day_agrees_with_the_toll_rule_and_looks_like_traffic():
    monday, sunday = (segment_day(3, 0, day, today=2) for day in (7, 1))
    for day in (monday, sunday):
        tolled = (day["Lav"] < 40) & (day["Cnt"] > 50)
        assert (day["Toll"] == np.where(tolled, 2 * (day["Cnt"] - 50) ** 2, 0)).all()
        assert day["Lav"].max() <= 100
        assert ((day["Lav"] == -1) == (day["Cnt"] == 0)).all()
        assert (np.diff((day["Min"] * 2 + day["Dir"]) * 100 + day["Seg"]) > 0).all()
    cars, speed = grid(monday["Cnt"]), grid(monday["Lav"])
    rush, noon, night = cars[450:510].mean(), cars[690:750].mean(), cars[120:240].mean()
    assert rush > 1.5 * noon > 4 * night > 0
    downtown = speed[:, :, 40:60]
    assert downtown[450:510].mean() < downtown[690:750].mean() < downtown[120:240].mean()
    assert rush > 2 * grid(sunday["Cnt"])[450:510].mean()
    assert speed[450:510, :, 45:55].mean() < speed[450:510, :, :10].mean() - 15
    # Into town in the morning, out of it in the evening.
    assert cars[450:510, 0, 20:45].mean() > cars[450:510, 1, 20:45].mean()
    assert cars[1020:1080, 0, 20:45].mean() < cars[1020:1080, 1, 20:45].mean()
    assert 0.02 < (monday["Toll"] > 0).mean() < 0.3


def test_days_expressways_and_seeds_differ_and_repeat():
    first = segment_day(3, 0, 7)
    assert all((first[name] == segment_day(3, 0, 7)[name]).all() for name in first)
    for other in (segment_day(4, 0, 7), segment_day(3, 1, 7), segment_day(3, 0, 14)):
        assert (first["Cnt"] != other["Cnt"]).mean() > 0.3


def _keys(table):
    """XWay, Day, Min, Dir and Seg as one number."""
    key = np.zeros(table.num_rows, np.int64)
    for name, size in (("XWay", 10), ("Day", 100), ("Min", 1441), ("Dir", 2), ("Seg", 100)):
        key = key * size + table[name].to_numpy()
    return key


def test_both_histories_are_whole_and_the_same_on_any_number_of_tasks(spark, tmp_path, monkeypatch):
    data = write_data(tmp_path / "data", xways=2)
    made = make_history(spark, data, 2, 3, edition=SHORT)
    assert (made.toll_rows, made.segment_rows) == (3 * 3, 2 * 4 * 28_800)
    assert sorted(path.name for path in data.iterdir()) == [
        "segment_history",
        "toll_history",
        "xway-0.csv",
        "xway-1.csv",
    ]
    segments = ds.dataset(data / "segment_history").to_table()
    assert segments.column_names == ["Day", "Min", "XWay", "Dir", "Seg", "Lav", "Cnt", "Toll"]
    assert segments.num_rows == made.segment_rows
    order = np.argsort(_keys(segments))
    assert (np.diff(_keys(segments)[order]) > 0).all()
    tolls = ds.dataset(data / "toll_history").to_table().sort_by([("VID", "ascending"), ("Day", "ascending")])
    assert tolls["VID"].to_pylist() == [vid for vid in sorted(CARS) for _ in range(3)]
    assert tolls["Day"].to_pylist() == [1, 2, 3] * 3
    assert set(tolls["XWay"].to_pylist()) <= {0, 1}
    assert all(0 <= toll <= 98 for toll in tolls["Tolls"].to_pylist())

    monkeypatch.setattr(history, "_DAYS_A_TASK", 1)
    make_history(spark, data, 2, 3, edition=SHORT)
    again = ds.dataset(data / "segment_history").to_table()
    at = np.argsort(_keys(again))
    for name in segments.column_names:
        assert (segments[name].to_numpy()[order] == again[name].to_numpy()[at]).all()


def test_csv_and_a_row_for_every_expressway(spark, tmp_path):
    data = write_data(tmp_path)
    short = dataclasses.replace(SHORT, history_days=2)
    made = make_history(spark, data, 2, 1, form="csv", every_expressway=True, edition=short)
    assert made.toll_rows == 3 * 1 * 2
    lines = [
        tuple(map(int, line.split(",")))
        for file in (data / "toll_history").glob("*.csv")
        for line in file.read_text().splitlines()
    ]
    assert sorted(line[:3] for line in lines) == [(vid, 1, xway) for vid in sorted(CARS) for xway in (0, 1)]
    found = find_histories(data, None)
    parquet = found.segments_as_parquet(spark, tmp_path)
    assert pq.ParquetDataset(parquet).read().num_rows == made.segment_rows


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"expressways": 1}, "the data have expressway 1, --expressways is 1: give at least 2"),
        ({"expressways": 0}, "expressways must be 1 or more"),
        ({"expressways": 2, "today": 8}, "today a weekday"),
        ({"expressways": 2, "form": "xml"}, "unknown format xml: give one of parquet, csv"),
    ],
)
def test_settings_out_of_range(spark, tmp_path, options, message):
    write_data(tmp_path, xways=2)
    with pytest.raises(AuroraError, match=message):
        make_history(spark, tmp_path, seed=1, **options)
    assert not list(tmp_path.glob("*history"))


def test_a_disk_that_fills_leaves_the_old_history_and_no_half_of_the_new(spark, tmp_path, monkeypatch):
    data = write_data(tmp_path)
    (data / "toll_history").mkdir()
    (data / "toll_history" / "old.csv").write_text("5,1,0,7\n")

    def fill(*_):
        raise OSError("write failed: No space left on device")

    monkeypatch.setattr(history, "segment_day", fill)
    monkeypatch.setattr(
        history, "toll_history", lambda cars, *_: cars.mapInArrow(lambda batches: fill(), "VID long")
    )
    with pytest.raises(AuroraError, match="the disk is full: make room") as fault:
        make_history(spark, data, 1, 1, edition=SHORT)
    assert "\n" not in str(fault.value)
    assert sorted(path.name for path in data.iterdir()) == ["toll_history", "xway-0.csv"]
    assert (data / "toll_history" / "old.csv").read_text() == "5,1,0,7\n"


def test_what_is_missing_is_told(tmp_path):
    assert find_histories(tmp_path, None) == Histories()
    assert "expenditures are 0, travel runs at the free speed" in Histories().note()
    (tmp_path / "toll_history").mkdir()
    with pytest.raises(AuroraError, match="holds neither Parquet nor CSV"):
        find_histories(tmp_path, None)
    (tmp_path / "toll_history" / "part.csv").write_text("5,1,0,7\n")
    assert find_histories(tmp_path, None).note() == "no segment history: travel runs at the free speed"
    with pytest.raises(AuroraError, match="no segment_history in"):
        find_histories(tmp_path, tmp_path)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_rows_of_the_toll_history_that_have_one_key(tmp_path, form, monkeypatch):
    """Also where the numbers that stand for the keys are the same for all of them."""
    rows = {"VID": [5, 5, 2**40, 5], "Day": [1, 2, 1, 1], "XWay": [0, 0, 0, 1], "Tolls": [7, 8, 9, 7]}
    folder = tmp_path / "toll_history"
    folder.mkdir()

    def write(name, start, stop):
        part = pa.table({column: values[start:stop] for column, values in rows.items()})
        if form == "parquet":
            pq.write_table(part, folder / f"{name}.parquet")
        else:
            csv.write_csv(part, folder / f"{name}.csv", csv.WriteOptions(include_header=False))

    write("a", 0, 3)
    write("b", 3, 4)
    for marks in (stored_histories._mark, lambda batch: np.zeros(batch.num_rows, np.uint64)):
        monkeypatch.setattr(stored_histories, "_mark", marks)
        assert Histories(folder).check_toll() is None and Histories().check_toll() is None
    write("c", 2, 3)
    with pytest.raises(AuroraError) as fault:
        Histories(folder).check_toll()
    key = f"car {2**40}, day 1 and expressway 0"
    assert str(fault.value) == f"{folder} has two rows for {key}; keep one of them, or add them up"


def test_the_toll_history_as_a_stored_set(tmp_path):
    def address(name):
        return Histories(tmp_path / name).toll_address()

    assert Histories().toll_address() is None
    (tmp_path / "flat").mkdir()
    (tmp_path / "flat" / "part.csv").write_text("5,1,0,7\n")
    (tmp_path / "flat" / "_SUCCESS").write_text("")
    assert address("flat") == f"csv:{tmp_path}/flat/*.csv"
    assert address("flat/part.csv") == f"csv:{tmp_path}/flat/part.csv"
    (tmp_path / "deep" / "Day=1").mkdir(parents=True)
    (tmp_path / "deep" / "Day=1" / "a.parquet").write_text("")
    assert address("deep") == f"parquet:{tmp_path}/deep/*/*.parquet"
    (tmp_path / "deep" / "b.parquet").write_text("")
    with pytest.raises(AuroraError, match="deep has files at several depths: put them all into one folder"):
        address("deep")
