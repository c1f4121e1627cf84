"""Groups and runs: what is put is what the next turn finds, whatever lies in between."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.algebra.state import runs as runs_module
from aurora.algebra.state.runs import merge_runs, take_lists
from aurora.algebra.state.state import State, Stored
from aurora.algebra.tuples.hashing import Hashes, hash_rows

KEYS = pa.schema([("a", pa.int32()), ("b", pa.string()), ("c", pa.float64())])
Key = tuple[int | None, str | None, float | None]

keys = st.tuples(
    st.sampled_from([None, 0, 1, -1]),
    st.sampled_from([None, "", "x"]),
    st.sampled_from([None, 0.0, float("nan"), 1.5]),
)


def batch(found: list[Key]) -> pa.RecordBatch:
    columns = zip(*found, strict=True) if found else ([], [], [])
    return pa.RecordBatch.from_arrays(
        [pa.array(column, kind) for column, kind in zip(columns, KEYS.types, strict=True)], schema=KEYS
    )


def numbers(values: list[int]) -> pa.RecordBatch:
    return pa.record_batch({"n": pa.array(values, pa.int64())})


def add_one(state: State, found: list[Key], number: int) -> dict[Key, list[int]]:
    """A box that keeps, for each group, the numbers of the turns that touched it; gives what it found before."""
    groups = state.groups("seen", KEYS.names, batch(found))
    kept = groups.rows("turns")
    owner, values = (np.empty(0, np.int64), []) if kept is None else (kept[0], kept[1]["n"].to_pylist())
    before: dict[Key, list[int]] = {}
    for place, group in zip(range(len(groups.numbers[0])), groups.numbers[0].tolist(), strict=True):
        before[plain(found[place])] = [
            v for v, own in zip(values, owner.tolist(), strict=True) if own == group
        ]
    group = np.concatenate([owner, np.arange(len(groups))])
    groups.put("turns", group, numbers([*values, *[number] * len(groups)]))
    return before


def plain(key: Key) -> Key:
    return tuple("NaN" if part != part else part for part in key)  # type: ignore[return-value]


@given(st.lists(st.lists(keys, max_size=6), max_size=12))
def test_groups_are_kept_from_turn_to_turn(turns: list[list[Key]]) -> None:
    store, model = Stored(), {}
    for number, found in enumerate(turns):
        state = State(store)
        before = add_one(state, found, number)
        for key in {plain(key) for key in found}:
            assert before[key] == model.get(key, [])
            model.setdefault(key, []).append(number)
        store.write(state.changes())
    everything = State(store).groups("seen", KEYS.names, batch([]), everything=True)
    assert len(everything) == len(model)


@pytest.mark.parametrize("hashes", [1, 2])
@given(turns=st.lists(st.lists(keys, min_size=1, max_size=6), min_size=1, max_size=8))
def test_keys_with_one_hash_are_told_apart(hashes: int, turns: list[list[Key]]) -> None:
    def hash_alike(columns: list[pa.Array], rows: int) -> Hashes:
        return hash_rows(columns, rows) % np.uint64(hashes)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs_module, "hash_rows", hash_alike)
        patch.setattr("aurora.algebra.state.groups.hash_rows", hash_alike)
        test_groups_are_kept_from_turn_to_turn.hypothesis.inner_test(turns)  # type: ignore[attr-defined]


lists = st.lists(st.none() | st.lists(st.integers(0, 9), max_size=3), min_size=1, max_size=9)


@given(lists, st.integers(0, 8), st.lists(st.integers(-1, 8)))
def test_lists_are_taken_by_their_places(
    values: list[list[int] | None], first: int, places: list[int]
) -> None:
    column = pa.array(values, pa.list_(pa.int8())).slice(min(first, len(values) - 1))
    wanted = [place for place in places if place < len(column)]
    taken = take_lists(column, np.array(wanted, np.int64))
    assert taken.to_pylist() == [(column[place].as_py() or []) if place >= 0 else [] for place in wanted]


def test_a_turn_reads_and_writes_what_it_touches() -> None:
    store = Stored()
    state = State(store)
    groups = state.groups("g", ["k"], pa.record_batch({"k": np.arange(10_000)}))
    groups.put("n", np.arange(10_000), numbers([7] * 10_000))
    store.write(state.changes())
    state = State(store)
    groups = state.groups("g", ["k"], pa.record_batch({"k": [3, 5, 3]}))
    assert groups.numbers[0].tolist() == [0, 1, 0]
    assert len(groups) == 2
    groups.put("n", np.array([0]), numbers([8]))
    (delta,) = state.changes().deltas.values()
    assert delta.run.num_rows == 2


def test_a_group_that_holds_nothing_is_gone_after_a_merge() -> None:
    store = Stored()
    for value in ([1], []):
        state = State(store)
        groups = state.groups("g", ["k"], pa.record_batch({"k": [3]}))
        groups.put("n", np.zeros(len(value), np.int64), numbers(value))
        store.write(state.changes())
    assert [run.num_rows for run in store.tables["g"]] == [1, 1]
    assert merge_runs(store.tables["g"], drop_empty=True).num_rows == 0


def test_whoever_asks_next_in_a_turn_sees_what_was_put() -> None:
    state = State()
    rows = pa.record_batch({"k": [1, 2]})
    state.groups("g", ["k"], rows).put("n", np.array([0, 1]), numbers([10, 20]))
    found = state.groups("g", ["k"], pa.record_batch({"k": [2]})).rows("n")
    assert found is not None
    assert found[1]["n"].to_pylist() == [20]


def test_parts_that_came_later_are_empty_in_older_entries() -> None:
    store = Stored()
    for part, key in (("one", 1), ("two", 2)):
        state = State(store)
        groups = state.groups("g", ["k"], pa.record_batch({"k": [key]}))
        groups.put(part, np.array([0]), numbers([key]))
        store.write(state.changes())
    both = State(store).groups("g", ["k"], pa.record_batch({"k": [1, 2]}))
    for part, key in (("one", 1), ("two", 2)):
        found = both.rows(part)
        assert found is not None
        assert found[1]["n"].to_pylist() == [key]


def test_numbers_of_any_width_hash_alike_and_null_like_none_of_them() -> None:
    wide, narrow = pa.array([0, 5, None], pa.int64()), pa.array([0, 5, None], pa.int8())
    assert hash_rows([wide], 3).tolist() == hash_rows([narrow], 3).tolist()
    assert len(set(hash_rows([wide], 3).tolist())) == 3
