"""Rows in memory: from what they can be made, where they go when they are many, and who a source is."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark import cloudpickle

from aurora import AuroraError, Memory, Paced, Schema
from aurora.engine.sources.address import open_source
from aurora.engine.sources.in_memory import stored_memory
from aurora.engine.sources.source import source_identity
from tests.engine.test_sources import drained, rows_of

SCHEMA = Schema.parse("a int, b string, c timestamp")
ROWS: list[dict[str, Any]] = [{"a": 1, "b": "x", "c": None}, {"a": 2, "b": None, "c": None}]


@pytest.mark.parametrize(
    "rows",
    [
        pd.DataFrame({"b": ["x", None], "more": [1, 2], "a": [1, 2], "c": [pd.NaT, pd.NaT]}, index=[7, 9]),
        pa.table({"a": [1, 2], "b": ["x", None], "c": pa.nulls(2)}),
        pa.record_batch({"a": [1, 2], "b": ["x", None], "c": pa.nulls(2)}),
        tuple(ROWS),
    ],
    ids=["pandas", "table", "batch", "dicts"],
)
def test_rows_may_be_a_frame_a_table_or_dicts(rows: Any) -> None:
    memory = Memory.of(SCHEMA, rows)
    assert memory.rows.schema == SCHEMA.arrow()
    assert memory.rows.to_pylist() == ROWS


def test_times_of_a_frame_are_utc() -> None:
    frame = pd.DataFrame({"c": pd.to_datetime(["2025-01-01 10:00"])})
    found = Memory.of("c timestamp", frame).rows.to_pylist()
    assert found[0]["c"].isoformat() == "2025-01-01T10:00:00+00:00"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (pd.DataFrame({"a": [1]}), "the rows have no field b, c; their fields are a"),
        (
            [{"a": 1}, {"A": 2}],
            r"the rows have a field A \(did you mean a\?\); the schema is \(a int, b string",
        ),
        (
            pa.table({"a": ["x"], "b": ["x"], "c": pa.nulls(1)}),
            r"the rows do not fit \(a int, b string, c timestamp\)",
        ),
        (
            [(1, "x")],
            "a DataFrame of pandas or Polars, or a Table of pyarrow, found a list of tuple: give",
        ),
        (5, "found a int"),
        ([{"a": "x"}], "the rows do not fit"),
    ],
)
def test_other_rows_are_refused_in_one_line(rows: Any, message: str) -> None:
    with pytest.raises(AuroraError, match=message) as fault:
        Memory.of(SCHEMA, rows)
    assert "\n" not in str(fault.value)


def test_many_rows_go_through_a_file(tmp_path: Path) -> None:
    count = stored_memory.LARGEST // 8 + 10
    memory = Memory.of("n bigint", pa.record_batch({"n": np.arange(count)}))
    schema = Schema.parse("n bigint")
    source, _ = open_source("r", memory, schema, False, tmp_path)
    assert len(cloudpickle.dumps(source)) < 10_000
    assert source_identity(source) == source_identity(memory)
    portions = drained(source, schema, 100_000)
    assert np.array_equal(
        np.concatenate([portion.rows["n"].to_numpy() for portion in portions]), np.arange(count)
    )
    assert np.array_equal(np.concatenate([portion.numbers for portion in portions]), np.arange(count))
    few = Memory.of("n bigint", [{"n": 1}])
    assert open_source("r", few, schema, False, tmp_path)[0] is few


def test_sources_are_told_apart(tmp_path: Path) -> None:
    schema = Schema.parse("n bigint")
    for name in ("a", "b"):
        (tmp_path / name).write_text("1\n")
    addresses: list[Any] = [
        f"csv:{tmp_path}/a",
        f"csv:{tmp_path}/b",
        f"csv:{tmp_path}/a?delimiter=;",
        f"csv:{tmp_path}/a?header=false",
        f"json:{tmp_path}/a",
        f"parquet:{tmp_path}/a",
        "tcp:localhost:9000",
        "tcp:localhost:9001",
        Memory.of(schema, [{"n": 1}]),
        Memory.of(schema, [{"n": 2}]),
        Paced(f"csv:{tmp_path}/a", 5),
        Paced(f"csv:{tmp_path}/a", 6),
    ]
    opened = [open_source("r", address, schema, False, tmp_path)[0] for address in addresses]
    identities = [source_identity(source) for source in opened]
    assert len(set(identities)) == len(addresses)
    again = [open_source("r", address, schema, False, tmp_path)[0] for address in addresses]
    assert [source_identity(source) for source in again] == identities

    class Own:
        pass

    assert source_identity(Own()).endswith("Own")  # type: ignore[arg-type]
    assert rows_of(drained(opened[8], schema, 1)) == [{"n": 1}]
