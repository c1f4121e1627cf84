"""Segments: what is written is read, with its arrivals, and rows are found by their keys."""

import json
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.algebra.tuples.hashing import hash_rows
from aurora.engine.durable import unseal_line
from aurora.history import segments as module
from aurora.history.segments import Segment, encode_segments, find_keys, on_values, read_segment

texts = st.one_of(st.none(), st.sampled_from(["", "a", "b", "über"]))
doubles = st.one_of(
    st.none(), st.just(math.nan), st.sampled_from([-0.0, 0.0, 1.5, math.inf, -math.inf, -7.0])
)
rows = st.lists(st.tuples(texts, doubles, st.integers(0, 3)), min_size=1, max_size=12)


def store(
    path: Path, batch: pa.RecordBatch, arrived: list[int], on: str | None, key: tuple[str, ...]
) -> list[Segment]:
    """The segments of one file, each written where it says that it is."""
    found = []
    with path.open("wb") as file:
        for segment, data in encode_segments(batch, np.array(arrived, np.int64), on, key):
            assert file.tell() == segment.at - segment.head and segment.at % 64 == 0
            assert len(data) == segment.head + segment.length
            file.write(data)
            found.append(Segment.from_json(json.loads(unseal_line(segment.to_line().rstrip(b"\n")))))
            assert found[-1] == segment
    return found


@given(rows, st.booleans(), st.integers(1, 5))
def test_what_is_written_is_read_and_found(
    tmp_path_factory: pytest.TempPathFactory,
    given: list[tuple[str | None, float | None, int]],
    keyed: bool,
    most: int,
) -> None:
    path = tmp_path_factory.mktemp("log") / "rows"
    g, t, came = (list(column) for column in zip(*given, strict=True))
    batch = pa.record_batch({"g": pa.array(g, pa.string()), "t": pa.array(t, pa.float64())})
    key = ("g", "t") if keyed else ()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ROWS", most)
        found = store(path, batch, came, "t", key)
    assert [segment.row for segment in found] == list(range(0, len(g), most))
    hashes = hash_rows([batch["g"], batch["t"]], len(g))
    for segment in found:
        here = slice(segment.row, segment.row + segment.rows)
        content, arrived = read_segment(str(path), segment)
        assert content.schema == batch.schema and arrived.tolist() == came[here]
        assert repr(content.to_pylist()) == repr(batch.slice(segment.row, segment.rows).to_pylist())
        assert segment.arrived == (min(came[here]), max(came[here]))
        there = [value for value in t[here] if value is not None and not math.isnan(value)]
        assert segment.on == ((min(there), max(there)) if there else None)
        if keyed:
            for wanted in (hashes[:1], np.unique(hashes), np.unique(hashes)[1::2], np.array([1], np.uint64)):
                places = [i for i, mark in enumerate(hashes[here]) if mark in set(wanted.tolist())]
                assert find_keys(str(path), segment, np.sort(wanted)).tolist() == places


@pytest.mark.parametrize(
    ("kind", "values", "numbers"),
    [
        ("int32", [3, None, -1], [3, -1]),
        ("int64", [2**62, None, -(2**62)], [2**62, -(2**62)]),
        ("date32", [5, None, 2], [5, 2]),
        ("timestamp[us]", [5_000_000, None, 2], [5_000_000, 2]),
        ("float", [1.5, None, math.nan], [1.5]),
        ("double", [None, math.nan, None], []),
    ],
)
def test_values_to_keep_by_are_those_that_are_there(
    kind: str, values: list[float | None], numbers: list[float]
) -> None:
    types = {"timestamp[us]": pa.timestamp("us"), "float": pa.float32(), "double": pa.float64()}
    column = pa.array(values, types.get(kind) or pa.type_for_alias(kind))
    found, there = on_values(pa.record_batch({"t": column}), "t")
    assert found[there].tolist() == numbers
