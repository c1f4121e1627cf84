"""Folders are removed although somebody still writes into them."""

import errno
import shutil
from pathlib import Path
from typing import Any

import pytest

from aurora import AuroraError
from aurora.engine.durable import remove_tree


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
