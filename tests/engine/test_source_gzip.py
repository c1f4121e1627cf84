"""Packed files read like others, whatever the cut; what is unpacked goes when it is done with."""

import gzip
import os
import stat
from pathlib import Path

import pytest

from aurora import AuroraError, Schema
from aurora.engine.sources.address import open_source, read_table
from aurora.engine.sources.source import forget_before
from tests.engine.test_sources import drained, rows_of

SCHEMA = Schema.parse("a int, b string")


@pytest.mark.parametrize("rows", [1, 3, 100])
def test_a_folder_of_packed_and_plain_files(tmp_path: Path, rows: int) -> None:
    folder, notes = tmp_path / "in", tmp_path / "notes"
    folder.mkdir()
    notes.mkdir()
    (folder / "1.csv.gz").write_bytes(gzip.compress(b'a,b\n1,"x\ny"\n2,y\nbad\n'))
    (folder / "2.csv").write_bytes(b"3,z\n")
    (folder / "3.csv.gz").write_bytes(gzip.compress(b"4,w"))
    source, _ = open_source("r", f"csv:{folder}", SCHEMA, False, notes)
    portions = drained(source, SCHEMA, rows)
    assert [row["a"] for row in rows_of(portions)] == [1, 2, 3, 4]
    assert [(bad.file, bad.line) for portion in portions for bad in portion.rejects] == [("1.csv.gz", 5)]
    third = source.advance(source.advance(source.begin(), 4), 1)
    forget_before(source, third)
    left = sorted(name.split("-", 1)[1] for name in os.listdir(notes / "r.unpacked"))
    assert left == ["3.csv", "3.csv.size", "3.csv.sum"]


def test_what_batches_rely_on_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which files were read, in which order, and the copies that are read in their place: whole, with their names."""
    synced: dict[int, int] = {}

    def record(handle: int) -> None:
        found = os.fstat(handle)
        size = len(os.listdir(handle)) if stat.S_ISDIR(found.st_mode) else found.st_size
        synced[found.st_ino] = size

    def check() -> None:
        for place in (notes, *notes.rglob("*")):
            size = len(os.listdir(place)) if place.is_dir() else place.stat().st_size
            assert synced.get(place.stat().st_ino) == size, place

    monkeypatch.setattr(os, "fsync", record)
    folder, notes = tmp_path / "in", tmp_path / "notes"
    folder.mkdir()
    notes.mkdir()
    (folder / "1.csv.gz").write_bytes(gzip.compress(b"1,x\n2,y\n"))
    source, _ = open_source("r", f"csv:{folder}", SCHEMA, True, notes)
    cursor = source.advance(source.begin(), 10)
    assert cursor["row"] == 2 and len(list(notes.rglob("*"))) == 5
    check()
    (folder / "2.csv.gz").write_bytes(gzip.compress(b"3,z\n"))
    assert source.advance(cursor, 10)["row"] == 3
    check()
    # A run that was killed has written what it had no time to sync.
    synced.clear()
    again, _ = open_source("r", f"csv:{folder}", SCHEMA, True, notes)
    assert again.advance(cursor, 10)["row"] == 3
    order = notes / "r.files"
    assert synced[order.stat().st_ino] == order.stat().st_size


def test_a_packed_file_that_is_cut_off_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"1,x\n" * 1000)[:-20])
    with pytest.raises(AuroraError, match=r"t.csv.gz cannot be unpacked: Compressed file ended"):
        read_table("t", f"csv:{tmp_path}/t.csv.gz", SCHEMA)


def test_a_packed_table(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl.gz").write_bytes(gzip.compress(b'{"a": 1, "b": "x"}\n'))
    assert read_table("t", f"json:{tmp_path}/t.jsonl.gz", SCHEMA).to_pylist() == [{"a": 1, "b": "x"}]


def test_a_packed_file_whose_name_is_not_utf_8(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    Path(os.fsdecode(os.fsencode(folder) + b"/\xe9.csv.gz")).write_bytes(gzip.compress(b"1,x\nbad\n"))
    source, _ = open_source("r", f"csv:{folder}", SCHEMA, False, tmp_path)
    portions = drained(source, SCHEMA, 1)
    assert [row["a"] for row in rows_of(portions)] == [1]
    assert [bad.line for portion in portions for bad in portion.rejects] == [2]
