"""What a run keeps is its user's alone, whatever another user of the machine has put in its way."""

import json
import os
import time
from pathlib import Path

import pyarrow as pa
import pytest

from aurora import AuroraError, Settings
from aurora.engine.binding import Bound
from aurora.engine.fault_notes import note_fault, read_fault
from aurora.engine.private import is_owner, is_private, make_private, open_own, replace_own
from aurora.engine.spark.local_runs import LocalRuns
from tests.engine.strangers import NUMBER, as_a_stranger, open_folder
from tests.engine.without_spark import base, commit_all, run_here

__all__ = ["open_folder"]

MAKE = "import os, sys; os.umask(0); os.makedirs(sys.argv[1]); os.chmod(sys.argv[1], 0o777)"
WRITE = MAKE + "; open(os.path.join(sys.argv[1], sys.argv[2]), 'w').write(sys.argv[3])"


def bind(folder: Path, fresh: bool = False) -> Bound:
    (folder / "r.csv").write_text("1,1,34\n")
    settings = Settings(checkpoint=f"{folder}/kept", fresh=fresh)
    return Bound.of(base(), {"r": f"csv:{folder}/r.csv"}, {"far": f"csv:{folder}/far.csv"}, settings)


def test_a_private_folder_is_a_folder_of_ours_that_is_closed(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        assert make_private(tmp_path / "new") and make_private(tmp_path / "new")
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    (tmp_path / "link").symlink_to(tmp_path / "new")
    (tmp_path / "file").write_text("")
    (tmp_path / "open").mkdir(0o750)
    assert not any(map(make_private, (tmp_path / name for name in ("link", "file", "open", "a/b"))))


def test_a_file_is_opened_only_if_it_is_ours(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("mine")
    (tmp_path / "link").symlink_to(mine)
    (tmp_path / "twin").hardlink_to(mine)
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "twin", "pipe"):
        with pytest.raises(OSError, match="it is a link or no regular file"):
            open_own(tmp_path / name, os.O_RDWR | os.O_CREAT)
        os.close(replace_own(tmp_path / name))
        assert (tmp_path / name).read_text() == "" and (tmp_path / name).stat().st_mode & 0o777 == 0o600
    assert mine.read_text() == "mine"
    handle = open_own(tmp_path / "new", os.O_RDWR | os.O_CREAT)
    os.close(handle)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o600


def test_the_folder_for_state_is_closed_to_others(open_folder: Path) -> None:
    with bind(open_folder) as bound:
        assert is_private(bound.job.scratch) and Path(bound.job.scratch).parent == open_folder
        usual = bound.job.scratch
    with bind(open_folder) as bound:
        assert bound.job.scratch == usual


def test_what_a_run_keeps_is_closed_to_others(open_folder: Path) -> None:
    """Its checkpoint, unless its user has made the folder; what it writes for its user has the modes of his files."""
    before = os.umask(0o022)
    try:
        with bind(open_folder) as bound:
            commit_all(bound, bound.commits())
            source, sink = {"r": f"csv:{open_folder}/r.csv"}, {"far": f"csv:{open_folder}/o/far.csv"}
            with Bound.of(base(), source, sink, Settings()):
                closed = open_folder / "o" / ".far.csv.checkpoint"
                assert closed.stat().st_mode & 0o777 == 0o700
                assert closed.parent.stat().st_mode & 0o777 == 0o755
        assert (open_folder / "kept").stat().st_mode & 0o777 == 0o700
        assert (open_folder / "far.csv").stat().st_mode & 0o777 == 0o644
    finally:
        os.umask(before)
    look = "import os, sys\ntry: os.listdir(sys.argv[1])\nexcept PermissionError: print('closed')"
    assert as_a_stranger(look, open_folder / "kept") == "closed\n"


def test_a_folder_that_the_user_has_made_for_a_checkpoint_keeps_its_mode(open_folder: Path) -> None:
    (open_folder / "kept").mkdir()
    (open_folder / "kept").chmod(0o750)
    with bind(open_folder):
        assert (open_folder / "kept").stat().st_mode & 0o777 == 0o750


@pytest.mark.parametrize("make", [MAKE, "import os, sys; os.symlink('/srv', sys.argv[1])"])
def test_a_checkpoint_that_another_user_has_put_beside_a_sink_is_not_taken(
    open_folder: Path, make: str
) -> None:
    (open_folder / "r.csv").write_text("1,1,34\n")
    as_a_stranger(make, open_folder / ".far.csv.checkpoint")
    with pytest.raises(
        AuroraError, match=f"far.csv.checkpoint belongs to another user, number {NUMBER}; remove it"
    ):
        Bound.of(base(), {"r": f"csv:{open_folder}/r.csv"}, {"far": f"csv:{open_folder}/far.csv"}, Settings())


def test_where_all_files_have_one_owner_nobody_is_a_stranger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on some file systems of other machines."""
    (tmp_path / "lock").write_text("")
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    os.close(open_own(tmp_path / "lock", os.O_RDWR))
    assert is_owner(os.getuid(), tmp_path) and not is_owner(os.getuid() + 1, tmp_path)
    assert os.listdir(tmp_path) == ["lock"]


@pytest.mark.parametrize("name", ["../precious", "/etc", "spark-0000000g", ""])
def test_a_note_leads_to_no_other_folder_than_sparks(open_folder: Path, name: str) -> None:
    """What lies there might be removed."""
    (open_folder / "precious").mkdir()
    with bind(open_folder):
        pass
    (open_folder / "kept" / "spark.at").write_text(name)
    with pytest.raises(AuroraError, match=f"spark.at names '{name}', which no run has made; .* --fresh"):
        bind(open_folder)
    with bind(open_folder, fresh=True):
        pass
    assert (open_folder / "precious").exists()


@pytest.mark.parametrize("rows", ["1,1,34\n", "1,1,34\n1,x,34\n"])
def test_rejects_without_a_place_go_where_others_cannot_see_them(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch, rows: str
) -> None:
    """The working folder holds something else of that name; where there are none, nothing stays behind."""
    desk = open_folder / "desk"
    desk.mkdir()
    monkeypatch.chdir(desk)
    (desk / "rejects.csv").write_text("mine\n")
    (desk / "r.csv").write_text(rows)
    totals = run_here(base(), {"r": "csv:r.csv"}, {"far": "console"})
    (left,) = [*open_folder.glob("aurora-rejects-*"), *[None] * (totals.rejected == 0)]
    assert (left is None) == (totals.rejected == 0)
    assert left is None or (is_private(left) and totals.rejects == str(left / "rejects.csv"))


def test_a_folder_for_state_that_another_user_has_made_is_left_to_him(open_folder: Path) -> None:
    with bind(open_folder) as bound:
        usual = bound.job.scratch
    os.rmdir(usual)
    as_a_stranger(MAKE, usual)
    with bind(open_folder) as bound:
        other = bound.job.scratch
        assert other != usual and is_private(other) and os.stat(usual).st_uid == NUMBER
    with bind(open_folder) as bound:
        assert bound.job.scratch == other, "the run goes on with the same one"
    (open_folder / "kept" / "scratch").write_text("../../etc")
    with bind(open_folder) as bound:
        another = bound.job.scratch
        assert Path(another).parent == open_folder and is_private(another)
    with bind(open_folder, fresh=True) as bound:
        assert bound.job.scratch != another and not os.path.exists(another), "nothing of it stays behind"


def test_copies_of_state_in_a_strange_folder_are_neither_read_nor_written(open_folder: Path) -> None:
    rows = pa.record_batch({"n": [1, 2]})
    as_a_stranger(MAKE, open_folder / "state" / "0-1")
    local = LocalRuns(str(open_folder / "state" / "0-1"))
    local.keep("last", "0" * 32, rows)
    local.add("g", "1" * 32, rows)
    local.note()
    assert local.read("last", "0" * 32) is None
    assert local.runs("g", ["1" * 32], pytest.fail, None) == [rows], "within its turn it is there"
    assert os.listdir(open_folder / "state" / "0-1") == []


@pytest.mark.parametrize("name", ["{precious}", "../../../precious.txt", f"{'0' * 16}-{'1' * 32}.arrow/.."])
def test_a_note_removes_nothing_but_files_of_its_own_form(tmp_path: Path, name: str) -> None:
    precious = tmp_path / "precious.txt"
    precious.write_text("precious")
    make_private(tmp_path / "state")
    folder = str(tmp_path / "state" / "0-1")
    local = LocalRuns(folder)
    local.add("g", "1" * 32, pa.record_batch({"n": [1]}))
    local.note()
    note = next(Path(folder).glob("*/runs.json"))
    told = json.loads(note.read_text())
    told["runs"]["g"][0].update(marks=["2" * 32], files=[name.format(precious=precious)])
    note.write_text(json.dumps(told))
    local = LocalRuns(folder)
    local.runs("g", [], pytest.fail, None)
    local.note()
    assert precious.exists()


def test_a_fault_that_another_user_has_noted_is_not_told(open_folder: Path) -> None:
    as_a_stranger(WRITE, open_folder / "state", "fault-0", "send me your password")
    assert read_fault(str(open_folder / "state"), time.time() - 60) is None
    note_fault(str(open_folder / "state"), AuroraError("box b: it broke"))
    assert os.listdir(open_folder / "state") == ["fault-0"]
