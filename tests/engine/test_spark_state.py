"""Spark's store and its copies on the local disk: what was committed is found, whatever became of the copies."""

import shutil
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aurora.algebra.state.runs import ByLookup, merge_runs, rows_of_part, sweep_entries
from aurora.algebra.state.state import State
from aurora.algebra.tuples.train import Mask
from aurora.engine.spark import local_runs
from aurora.engine.spark import state as state_module
from aurora.engine.spark.local_runs import SMALL, find_due
from aurora.engine.spark.state import SparkStore


class MapState:
    """Spark's map state of a bucket: what an attempt writes counts once it is committed."""

    def __init__(self) -> None:
        self.committed: dict[tuple[str], tuple[bytes]] = {}
        self.attempt: dict[tuple[str], tuple[bytes]] = {}
        self.read = 0

    def begin(self) -> None:
        self.attempt = dict(self.committed)

    def commit(self) -> None:
        self.committed = self.attempt

    def getValue(self, key: tuple[str]) -> tuple[bytes] | None:
        self.read += 1
        return self.attempt.get(key)

    def updateValue(self, key: tuple[str], value: tuple[bytes]) -> None:
        self.attempt[key] = value

    def removeKey(self, key: tuple[str]) -> None:
        del self.attempt[key]


def turn(values: MapState, folder: Path, keys: list[int], number: int) -> dict[int, list[int]]:
    """Adds the number to each key; gives what the keys had before."""
    values.begin()
    store = SparkStore(values, str(folder))
    state = State(store)
    groups = state.groups("g", ["k"], pa.record_batch({"k": pa.array(keys, pa.int64())}))
    kept = groups.rows("n")
    owner, found = (np.empty(0, np.int64), []) if kept is None else (kept[0], kept[1]["n"].to_pylist())
    before = {
        key: [n for n, own in zip(found, owner.tolist(), strict=True) if own == group]
        for key, group in zip(keys, groups.numbers[0].tolist(), strict=True)
    }
    rows = pa.record_batch({"n": pa.array([*found, *[number] * len(groups)], pa.int64())})
    groups.put("n", np.concatenate([owner, np.arange(len(groups))]), rows)
    state.put("last", pa.record_batch({"number": [number]}))
    store.write(state.changes())
    return before


EVENTS = st.lists(
    st.tuples(
        st.lists(st.integers(0, 40), min_size=1, max_size=20),
        st.sampled_from(["commit", "commit", "commit", "fail", "lose copies", "old copies"]),
    ),
    min_size=1,
    max_size=60,
)


@given(EVENTS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_was_committed_is_found(tmp_path_factory: Any, events: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        # Small enough for every way through the code to be taken.
        patch.setattr(state_module, "ROWS", 4)
        patch.setattr(state_module, "ROWS_A_TURN", 8)
        patch.setattr(state_module, "MANY", 5)
        patch.setattr(local_runs, "SMALL", 256)
        patch.setattr(local_runs, "RANGE", 8)
        patch.setattr(local_runs, "A_TURN", 12)
        patch.setattr(local_runs, "PACE", 0)
        folder = tmp_path_factory.mktemp("state")
        values, model = MapState(), {}
        for number, (keys, event) in enumerate(events):
            old = folder.with_name(f"{folder.name} before")
            if event == "old copies":
                folder.mkdir(exist_ok=True)
                shutil.copytree(folder, old)
            before = turn(values, folder, keys, number)
            assert before == {key: model.get(key, []) for key in keys}
            if event == "fail":
                # The attempt has written its copies, but Spark did not commit: it is made again.
                assert turn(values, folder, keys, number) == before
            values.commit()
            for key in set(keys):
                model.setdefault(key, []).append(number)
            if event == "lose copies":
                shutil.rmtree(folder)
            if event == "old copies":
                shutil.rmtree(folder)
                shutil.move(old, folder)
        values.begin()
        everything = State(SparkStore(values, str(folder))).groups(
            "g", ["k"], pa.record_batch({"k": pa.array([], pa.int64())}), everything=True
        )
        found = everything.rows("n")
        assert found is not None
        stored: dict[int, list[int]] = {}
        for group, n in zip(found[0].tolist(), found[1]["n"].to_pylist(), strict=True):
            stored.setdefault(everything.keys[0][group].as_py(), []).append(n)
        assert stored == model


def test_copies_are_read_instead_of_spark(tmp_path: Path) -> None:
    values = MapState()
    for number in range(40):
        turn(values, tmp_path / "copies", list(range(number, number + 30)), number)
        values.commit()
    values.read = 0
    turn(values, tmp_path / "copies", [1, 2, 3], 40)
    assert values.read == 1


def test_files_stay_mapped_from_turn_to_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = MapState()
    for number in range(6):
        turn(values, tmp_path / "copies", [number], number)
        values.commit()
    mapped: list[Path] = []
    monkeypatch.setattr(local_runs, "_map_file", lambda path: mapped.append(path))
    local = local_runs.LocalRuns(str(tmp_path / "copies"))
    marks = [mark for run in local.covered("g") for mark in run]
    assert sum(run.num_rows for run in local.runs("g", marks, pytest.fail, None)) == 6
    assert mapped == []


def test_mapped_files_are_given_up_once_other_folders_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_runs, "FOLDERS", 2)
    for bucket in range(4):
        turn(MapState(), tmp_path / str(bucket), [1], 0)
    assert {folder.parent.name for folder in local_runs._MAPPED} == {"2", "3"}


def test_a_whole_delta_takes_the_place_of_all_others(tmp_path: Path) -> None:
    values = MapState()
    for number in range(3):
        turn(values, tmp_path / "copies", [number, number + 1], number)
        values.commit()
    values.begin()
    store = SparkStore(values, str(tmp_path / "copies"))
    state = State(store)
    groups = state.groups("g", ["k"], pa.record_batch({"k": pa.array([], pa.int64())}), everything=True)
    rows = pa.record_batch({"n": pa.array([9], pa.int64())})
    groups.put("n", np.array([2]), rows)
    store.write(state.changes())
    assert len([key for key in values.attempt if key[0].startswith("g#")]) == 1


def test_the_store_stays_small_when_the_same_groups_change_all_the_time(tmp_path: Path) -> None:
    values = MapState()
    sizes = []
    for number in range(200):
        values.begin()
        store = SparkStore(values, str(tmp_path / "copies"))
        state = State(store)
        groups = state.groups("g", ["k"], pa.record_batch({"k": np.arange(50)}))
        groups.put("n", np.arange(50), pa.record_batch({"n": np.full(50, number)}))
        store.write(state.changes())
        values.commit()
        sizes.append(len(values.committed))
    assert max(sizes) < 60
    assert len(list((tmp_path / "copies").iterdir())) < 10


def test_runs_of_one_size_are_merged_when_there_are_four() -> None:
    assert find_due([10, 10, 10]) is None
    assert find_due([10, 10, 10, 10]) == 0
    large = 3 * SMALL
    assert find_due([100 * SMALL, large, large, large, 10, 10]) is None
    assert find_due([100 * SMALL, large, large, large, large]) == 1
    assert find_due([100 * SMALL, large, large, 10, 10, 10, 10]) == 3


def test_large_runs_are_merged_bit_by_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No turn merges many more entries than it may, and in the end there is one run, in ranges of hashes."""
    monkeypatch.setattr(local_runs, "RANGE", 100)
    monkeypatch.setattr(local_runs, "A_TURN", 500)
    monkeypatch.setattr(local_runs, "PACE", 0)
    merged: list[int] = []

    def count(runs: Any, drop_empty: bool) -> pa.RecordBatch:
        merged[-1] += sum(run.num_rows for run in runs)
        return merge_runs(runs, drop_empty)

    monkeypatch.setattr(local_runs, "merge_runs", count)
    values = MapState()
    for number in range(30):
        merged.append(0)
        keys = np.arange(1000) + 100 * number if number < 4 else np.arange(1)
        turn(values, tmp_path / "copies", keys.tolist(), number)
        values.commit()
    assert max(merged) < 700 and sum(merged) >= 4000
    values.begin()
    entries = SparkStore(values, str(tmp_path / "copies")).runs("g", None)
    large = [run for run in entries if run.num_rows > 10]
    assert sum(run.num_rows for run in large) == 1300 and max(run.num_rows for run in large) < 200
    hashes = np.concatenate([run["#hash"].to_numpy() for run in large])
    assert (hashes[1:] > hashes[:-1]).all()


def test_a_turn_that_changes_nothing_goes_on_with_a_merge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_runs, "RANGE", 100)
    monkeypatch.setattr(local_runs, "A_TURN", 500)
    monkeypatch.setattr(local_runs, "PACE", 0)
    values = MapState()
    for number in range(4):
        turn(values, tmp_path / "copies", list(range(1000)), number)
        values.commit()
    for _ in range(20):
        values.begin()
        store = SparkStore(values, str(tmp_path / "copies"))
        state = State(store)
        assert state.count("g") >= 1000
        store.write(state.changes())
    assert state.count("g") == 1000
    assert len(list(next((tmp_path / "copies").iterdir()).iterdir())) < 50


def test_a_sweep_that_looks_groups_up_is_asked_once_everything_is_merged(tmp_path: Path) -> None:
    """Other sweeps are asked at every merge; either way what a merge of everything drops is gone."""
    asked: dict[str, list[int]] = {"plain": [], "lookup": []}

    def stays(name: str, rows: pa.RecordBatch) -> Mask:
        asked[name].append(rows.num_rows)
        return np.asarray(rows.column("n").to_numpy() >= 0)

    sweep = {"plain": partial(stays, "plain"), "lookup": ByLookup(partial(stays, "lookup"))}
    values = MapState()
    for number in range(12):
        values.begin()
        store = SparkStore(values, str(tmp_path / "copies"))
        state = State(store)
        # The first run is far larger than the others, of which four are merged at a time.
        keys = np.arange(20_000) if number == 0 else np.arange(3) + 3 * number
        groups = state.groups("g", ["k"], pa.record_batch({"k": keys}), sweep=sweep)
        for part in sweep:
            groups.put(part, np.arange(len(keys)), pa.record_batch({"n": keys - 5}))
        store.write(state.changes())
        values.commit()
    assert asked == {"plain": [12, 19, 28], "lookup": []}
    merged = sweep_entries(merge_runs(store.runs("g", sweep), drop_empty=True), sweep)
    found = rows_of_part(merged, "lookup")
    assert found is not None and found[1].num_rows == 20_000 - 5
