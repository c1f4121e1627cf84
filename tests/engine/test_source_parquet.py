"""Parquet files that are damaged or do not fit: rejected, told once, and the others are read."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from aurora import AuroraError, Schema
from aurora.engine.sources.address import read_table
from aurora.engine.sources.files.parquet import ParquetFiles
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
