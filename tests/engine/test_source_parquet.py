"""Parquet files that are damaged or do not fit: rejected, told once, and the others are read."""

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from aurora import AuroraError, Schema
from aurora.engine.sinks.parts import PartSink
from aurora.engine.sources.address import open_source, read_table
from aurora.engine.sources.files import parquet_piece
from aurora.engine.sources.files.parquet import ParquetFiles
from aurora.engine.sources.input_checks import check_portion
from aurora.engine.sources.source import Portion
from aurora.network.checks import read_checks
from tests.engine.test_sources import drained, rows_of

SCHEMA = Schema.parse("a int")


def write_parquet(path: Path, values: list[Any], name: str = "a", group: int = 2) -> None:
    pyarrow.parquet.write_table(pa.table({name: values}), path, row_group_size=group)


def read(path: Path, rows: int) -> tuple[list[int], list[tuple[str, int, str]]]:
    portions = drained(ParquetFiles(str(path), SCHEMA), SCHEMA, rows, 2)
    rejects = [(bad.file, bad.line, bad.reason) for portion in portions for bad in portion.rejects]
    return [row["a"] for row in rows_of(portions)], rejects


@pytest.mark.parametrize("rows", [1, 3, 100])
def test_damaged_files_are_rejected_and_the_others_read(tmp_path: Path, rows: int) -> None:
    write_parquet(tmp_path / "a.parquet", [1, 2, 3])
    whole = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "b.parquet").write_bytes(whole[:-20])
    (tmp_path / "c.parquet").write_bytes(b"")
    write_parquet(tmp_path / "d.parquet", [4], name="other")
    write_parquet(tmp_path / "e.parquet", [5, 6])
    (tmp_path / "f.parquet").write_text("not this either")
    found, rejects = read(tmp_path, rows)
    assert found == [1, 2, 3, 5, 6]
    assert [(file, line) for file, line, _ in rejects] == [(f"{name}.parquet", 0) for name in "bcdf"]
    assert rejects[2][2] == "has no field a; its fields are other"
    assert all(reason.startswith("not a Parquet file: ") for _, _, reason in rejects[:2])


@pytest.mark.parametrize("rows", [1, 3, 100])
def test_damaged_row_groups_are_told_once(tmp_path: Path, rows: int) -> None:
    path = tmp_path / "in.parquet"
    write_parquet(path, list(range(1000, 1008)), group=4)
    start = pyarrow.parquet.read_metadata(path).row_group(1).column(0).dictionary_page_offset
    data = bytearray(path.read_bytes())
    data[start : start + 20] = b"\xff" * 20
    path.write_bytes(data)
    found, rejects = read(path, rows)
    assert found == [1000, 1001, 1002, 1003]
    assert [(file, line) for file, line, _ in rejects] == [("in.parquet", 5)]
    assert rejects[0][2].startswith("rows 5 to 8 cannot be read")


@pytest.mark.parametrize("rows", [1, 3, 100])
def test_values_that_do_not_fit_are_rejected_row_by_row(tmp_path: Path, rows: int) -> None:
    path = tmp_path / "in.parquet"
    write_parquet(path, [1, 3_000_000_000, 3, None, 5])
    assert read(path, rows) == ([1, 3, None, 5], [("in.parquet", 2, "field a: '3000000000' is not an int")])
    write_parquet(path, ["1", "x", "3"])
    assert read(path, rows) == ([1, 3], [("in.parquet", 2, "field a: 'x' is not an int")])


def test_a_damaged_table_is_a_fault_that_names_its_file(tmp_path: Path) -> None:
    write_parquet(tmp_path / "t.parquet", [1], name="b")
    with pytest.raises(AuroraError, match=r"table zones: t.parquet: has no field a; its fields are b"):
        read_table("zones", f"parquet:{tmp_path}/t.parquet", SCHEMA)


STRUCT = pa.struct([("x", pa.int64()), ("y", pa.struct([("z", pa.timestamp("ms"))]))])
# Types as files have them, with values that may or may not fit another type.
THERE: dict[pa.DataType, list[Any]] = {
    pa.int64(): [0, 7, 2**62],
    pa.string(): ["1", "x", ""],
    pa.float64(): [1.0, 1.5, float("nan")],
    pa.bool_(): [True, False],
    pa.timestamp("us", "UTC"): [0, 2**62, -(2**62)],
    pa.timestamp("ms"): [0, 2**60, 1_700_000_000_000],
    pa.timestamp("ns"): [0, 2**62],
    pa.date32(): [0, 2**31 - 1],
    pa.list_(pa.int64()): [[], [1, 2**40]],
    pa.list_(STRUCT): [[], [{"x": 1, "y": None}]],
    pa.map_(pa.string(), pa.int64()): [[], [("a", 1)]],
    STRUCT: [{"x": 1, "y": {"z": 5}}, {"x": None, "y": {"z": 2**60}}],
    pa.struct([("x", pa.string())]): [{"x": "a"}],
}
EXPECTED = [
    "int", "string", "double", "boolean", "timestamp", "date", "decimal(9,2)", "array<int>", "map<string, int>",
    "struct<x: int>", "struct<x: int, y: struct<z: timestamp>>", "array<struct<x: int>>", "struct<y: struct<z: int>>",
]  # fmt: skip


def drawn(random: Random, kind: pa.DataType, rows: int) -> pa.Array:
    values = [random.choice([*THERE[kind], None]) for _ in range(rows)]
    if pa.types.is_temporal(kind):
        return pa.array(values, pa.int32() if pa.types.is_date(kind) else pa.int64()).cast(kind)
    return pa.array(values, kind)


@pytest.mark.parametrize("seed", range(40))
def test_files_with_other_types_are_rejected_row_by_row(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    fields = [f"f{number}" for number in range(random.randint(1, 3))]
    schema = Schema.parse(", ".join(f"{name} {random.choice(EXPECTED)}" for name in fields))
    rows = random.randint(1, 5)
    table = pa.table({name: drawn(random, random.choice(list(THERE)), rows) for name in fields})
    pyarrow.parquet.write_table(table, tmp_path / "in.parquet", row_group_size=2)
    found = []
    for at_once in (1, 3, 100):
        portions = drained(ParquetFiles(str(tmp_path / "in.parquet"), schema), schema, at_once, 1)
        rejects = [(bad.line, bad.reason, bad.text) for portion in portions for bad in portion.rejects]
        found.append((sum(portion.rows.num_rows for portion in portions), sorted(rejects)))
        kept, bad = found[-1]
        whole = len(bad) == 1 and bad[0][0] == 0 and kept == 0
        assert whole or kept + len(bad) == rows
        assert all("\n" not in reason for _, reason, _ in bad)
    assert found[0] == found[1] == found[2]


def test_checks_of_times_outside_of_pythons_years(tmp_path: Path) -> None:
    schema = Schema.parse("t timestamp, i int")
    times = pa.array([2**62, 0], pa.int64()).cast(schema["t"])
    rows = pa.record_batch([times, pa.array([1, 2], pa.int32())], schema=schema.arrow())
    checks = read_checks({"too early": "i > 1 AND t IS NOT NULL"}, schema, "input r")
    portion = check_portion("r", Portion(rows, np.arange(2)), checks)
    assert portion.rows.num_rows == 1
    (reject,) = portion.rejects
    assert (
        reject.line == 1 and "4611686018427387904" in reject.text and "4611686018427387904" in reject.reason
    )


@pytest.mark.parametrize("rows", [1, 100])
def test_a_bit_that_has_changed_in_a_file_of_ours_is_seen(tmp_path: Path, rows: int) -> None:
    """Values that are not compressed are as good with a bit of another kind: only a checksum tells."""
    sink = PartSink(str(tmp_path / "out"), "parquet")
    batch = pa.RecordBatch.from_pydict({"a": pa.array(Random(1).sample(range(10**9), 100), pa.int32())})
    sink.publish(sink.deliver(0, batch, np.zeros(100, np.int64), sink.open(None)))
    (path,) = (tmp_path / "out").glob("*.parquet")
    data = bytearray(path.read_bytes())
    data[data.index(np.int32(batch["a"][50].as_py()).tobytes())] ^= 1
    path.write_bytes(data)
    found, rejects = read(path, rows)
    assert found == []
    assert rejects[0][2].startswith("rows 1 to 100 cannot be read: ") and "CRC" in rejects[0][2]


def write_bomb(path: Path) -> None:
    """100 MB of one value, in some hundred bytes."""
    table = pa.table({"a": pa.array(np.zeros(25_000_000, np.int32))})
    pyarrow.parquet.write_table(
        table,
        path,
        use_dictionary=False,
        compression="zstd",
        row_group_size=25_000_000,
        write_statistics=False,
    )


def test_a_row_group_that_grows_beyond_measure_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bomb.parquet"
    write_bomb(path)
    assert path.stat().st_size < 200_000
    for limit in ("?max_unpacked=99MB", ""):
        monkeypatch.setattr(parquet_piece, "MOST", 99_000_000)
        source, _ = open_source("r", f"parquet:{path}{limit}", SCHEMA, False, tmp_path)
        given = " of 99,000,000" if limit else ""
        with pytest.raises(
            AuroraError,
            match=rf"bomb.parquet has a row group of 25,000,000 rows that is 100,\S+ bytes unpacked, beyond the limit"
            rf"{given}; if that is right, set another limit, as \?max_unpacked=500GB",
        ):
            source.advance(source.begin(), 1)
    source, _ = open_source("r", f"parquet:{path}?max_unpacked=1GB", SCHEMA, False, tmp_path)
    assert source.advance(source.begin(), 5)["row"] == 5


def test_rows_that_cost_nothing_in_the_file_are_counted(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pa.table({"a": pa.nulls(1_000_000, pa.int32())}), tmp_path / "t.parquet")
    source, _ = open_source("r", f"parquet:{tmp_path}/t.parquet?max_unpacked=100KB", SCHEMA, False, tmp_path)
    with pytest.raises(
        AuroraError, match="of 1,000,000 rows that is 250,000 bytes unpacked, beyond the limit"
    ):
        source.advance(source.begin(), 1)
