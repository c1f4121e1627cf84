"""Folders are removed although somebody still writes into them; a file that cannot be written is named."""

import errno
import re
import resource
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aurora import AuroraError
from aurora.engine.durable import cannot_write, remove_tree, replace_note, write_whole
from aurora.engine.sinks.parts import PartSink
from aurora.history.point_sink import PointSink
from tests.history.logs import make_point


@pytest.fixture
def state(tmp_path: Path) -> Path:
    (tmp_path / "state" / "0").mkdir(parents=True)
    (tmp_path / "state" / "0" / "1.delta").write_text("old")
    return tmp_path / "state"


def test_a_folder_goes_although_files_come_and_go_while_it_is_removed(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove, writes = shutil.rmtree, iter(["2.zip", "3.zip"])

    def write_and_remove(folder: Path, **more: Any) -> None:
        if (name := next(writes, None)) is None:
            return remove(folder, **more)
        # As Spark's maintenance does: written between the removal of the files and that of their folder.
        (state / "0" / name).write_text("new")
        raise OSError(
            *((errno.ENOTEMPTY, "Directory not empty") if name == "2.zip" else (errno.ENOENT, name))
        )

    monkeypatch.setattr(shutil, "rmtree", write_and_remove)
    remove_tree(state)
    assert not state.exists()


def test_a_folder_that_cannot_be_removed_is_named(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(folder: Path, **_: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(folder / "0"))

    monkeypatch.setattr(shutil, "rmtree", refuse)
    with pytest.raises(
        AuroraError, match=r"^cannot write \S+/state/0: Permission denied; fix the cause and give"
    ):
        remove_tree(state)
    remove_tree(state / "none")


@pytest.fixture
def small_files() -> Iterator[None]:
    """No file may have more than 20,000 bytes."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def write_part(path: Path, kind: str) -> None:
    rows = pa.RecordBatch.from_pydict({"a": pa.array(Random(1).sample(range(10**9), 20_000), pa.int32())})
    PartSink(str(path.parents[1]), kind).stage(rows, np.zeros(rows.num_rows, np.int64))


def write_log(path: Path) -> None:
    rows = pa.RecordBatch.from_pydict({"a": pa.array(Random(1).sample(range(10**9), 20_000), pa.int32())})
    sink = PointSink(str(path.parent), make_point())
    sink.deliver(0, rows, np.zeros(rows.num_rows, np.int64), sink.open(None))


@pytest.mark.usefixtures("small_files")
@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("note", lambda path: write_whole(path, "x" * 30_000)),
        ("note", lambda path: replace_note(path, "x" * 30_000)),
        ("_staged/.*[.]csv", lambda path: write_part(path, "csv")),
        ("_staged/.*[.]json", lambda path: write_part(path, "json")),
        ("_staged/.*[.]parquet", lambda path: write_part(path, "parquet")),
        (f"{0:020}.rows", write_log),
    ],
)
def test_a_file_that_may_not_grow_is_named(tmp_path: Path, name: str, write: Callable[[Path], None]) -> None:
    with pytest.raises(OSError, match="File too large") as fault:
        write(tmp_path / name)
    told = str(cannot_write("the checkpoint", fault.value))
    assert re.fullmatch(
        rf"cannot write {tmp_path}/{name}: [^\n]*File too large[^\n]*; fix the cause and give the same command again: "
        "the run continues where it stopped",
        told,
    ), told
