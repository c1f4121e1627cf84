"""Between a train and its note: wherever a run ends, the next one brings every row exactly once."""

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from aurora import AuroraError, Settings, from_text
from aurora.engine import durable
from aurora.engine.binding import Bound
from aurora.engine.private import is_private
from aurora.engine.sinks.parts import PartSink
from aurora.engine.sinks.rejects import RejectsSink
from aurora.engine.sinks.text import TextSink
from aurora.engine.statistics import BatchReport
from aurora.engine.totals import Totals
from tests.engine.without_spark import base, commit_all, files, run_here

ROWS = "".join(f"{i},{i},{i * 17 % 60}\n" for i in range(12)) + "x,1,1\n13,13,y\n"


class Killed(BaseException):
    """As a kill: nobody catches it."""


class Fuse:
    """Blows behind the given one of all the steps that it was put into: before the next."""

    def __init__(self, at: int) -> None:
        self.left = at

    def pass_by(self) -> None:
        self.left -= 1
        if self.left == -1:
            raise Killed

    def around(self, step: Callable[..., Any]) -> Callable[..., Any]:
        def fused(*given: Any, **named: Any) -> Any:
            result = step(*given, **named)
            self.pass_by()
            return result

        return fused


class Ledger:
    """A sink of a user's own, one line of JSON a batch; its note is the number of lines."""

    def __init__(self, path: Path) -> None:
        self.place = str(path)

    def open(self, note: Any) -> int:
        lines = Path(self.place).read_text().splitlines(keepends=True) if note else []
        Path(self.place).write_text("".join(lines[: note or 0]))
        return note or 0

    def deliver(self, batch: int, rows: pa.RecordBatch, arrived: Any, note: int) -> int:
        with open(self.place, "a") as file:
            file.write(json.dumps([batch, rows["Sid"].to_pylist()]) + "\n")
        return note + 1

    def sync(self) -> None:
        durable.sync_file(self.place)

    def finish(self) -> None:
        pass


def bind(source: Path, out: Path, far: str, near: Any) -> Bound:
    sinks = {"far": f"csv:{out}/{far}", "near": near}
    return Bound.of(
        base(), {"r": f"csv:{source}"}, sinks, Settings(batch=7, partitions=1, checkpoint=f"{out}.checkpoint")
    )


STEPS = [
    (TextSink, "stage"),
    (TextSink, "deliver"),
    (TextSink, "take"),
    (TextSink, "sync"),
    (PartSink, "stage"),
    (PartSink, "take"),
    (PartSink, "sync"),
    (PartSink, "publish"),
    (RejectsSink, "deliver"),
    (Ledger, "deliver"),
    (os, "replace"),
    (os, "fsync"),
]


def killed_and_replayed(source: Path, out: Path, far: str, near: Any, at: int) -> bool:
    """Runs until the fuse blows, then again; whether it did blow."""
    fuse = Fuse(at)
    blown = False
    try:
        with pytest.MonkeyPatch.context() as patch, bind(source, out, far, near) as bound:
            for owner, name in STEPS:
                patch.setattr(owner, name, fuse.around(getattr(owner, name)))
            commit_all(bound, bound.commits(lambda report: fuse.pass_by()))
    except Killed:
        blown = True
    with bind(source, out, far, near) as bound:
        commits = bound.commits()
        commit_all(bound, commits)
        commits.finish()
        assert commits.totals.rows.total() == 12 and commits.totals.rejected == 2
    return blown


@pytest.mark.parametrize(("far", "ledger"), [("far.csv", False), ("far", True)])
def test_a_kill_at_every_step_between_a_train_and_its_note(tmp_path: Path, far: str, ledger: bool) -> None:
    source = tmp_path / "r.csv"
    source.write_text(ROWS)

    def near(out: Path) -> Any:
        out.mkdir(exist_ok=True)
        return (
            Ledger(out / "near.txt")
            if ledger
            else TextSink(str(out / "near.txt"), lambda rows, _: lines(rows))
        )

    assert not killed_and_replayed(source, tmp_path / "whole", far, near(tmp_path / "whole"), 10_000)
    whole = files(tmp_path / "whole")
    assert len(whole) == (5 if far == "far" else 3) and whole["rejects.csv"].count(b"\n") == 3
    assert all(b"," in content for content in whole.values())
    at = 0
    while killed_and_replayed(source, out := tmp_path / str(at), far, near(out), at):
        assert files(out) == whole, f"killed at step {at}"
        at += 1
    assert at > 20


def lines(rows: pa.RecordBatch) -> bytes:
    return "".join(f"{row}\n" for row in rows.to_pylist()).encode()


def test_a_batch_is_taken_once_and_told(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(ROWS)
    told: list[BatchReport] = []
    with bind(tmp_path / "r.csv", tmp_path / "out", "far.csv", lambda rows: None) as bound:
        commits = bound.commits(told.append)
        commit_all(bound, commits)
        commit_all(bound, commits)
    assert [report.batch for report in told] == [0, 1]
    assert [report.rows for report in told] == [{"far": 3, "near": 4}, {"far": 3, "near": 2}]
    assert [report.rejected for report in told] == [0, 2] and told[-1].end
    assert told[-1].places == commits.totals.places and commits.totals.read == 14


def test_the_note_is_what_is_read_back(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(ROWS)
    with bind(tmp_path / "r.csv", tmp_path / "out", "far", lambda rows: None) as bound:
        commits = bound.commits()
        assert Totals.load(bound.checkpoint.note) == commits.totals and commits.totals.batch == -1
        commit_all(bound, commits)
        assert Totals.load(bound.checkpoint.note) == commits.totals
    bound.checkpoint.note.write_text("{")
    with pytest.raises(AuroraError, match=r"committed.json is damaged: it is not JSON; restore it"):
        Totals.load(bound.checkpoint.note)


def test_a_batch_that_failed_leaves_the_totals_as_they_were(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(ROWS)

    def refuse(rows: pa.RecordBatch) -> None:
        raise OSError(errno.EPIPE, "Broken pipe")

    with bind(tmp_path / "r.csv", tmp_path / "out", "far.csv", refuse) as bound:
        commits = bound.commits()
        with pytest.raises(BrokenPipeError):
            commit_all(bound, commits)
        assert commits.totals == Totals.load(bound.checkpoint.note)
        assert commits.totals.rows == {}


@pytest.mark.parametrize("broken", [(TextSink, "sync"), (TextSink, "take"), (TextSink, "stage")])
def test_a_full_disk_is_told_in_one_line(tmp_path: Path, broken: tuple[type, str], monkeypatch: Any) -> None:
    (tmp_path / "r.csv").write_text(ROWS)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with bind(tmp_path / "r.csv", tmp_path / "out", "far.csv", lambda rows: None) as bound:
        commits = bound.commits()
        monkeypatch.setattr(*broken, full)
        with pytest.raises(
            AuroraError, match=r"^cannot write \S+far.csv: No space left on device; fix the cause [^\n]+$"
        ):
            commit_all(bound, commits)


def test_what_is_noted_is_on_the_disk_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One fsync for each file and batch, then the note, then the folder that names it."""
    (tmp_path / "r.csv").write_text("1,1,34\n2,2,20\n")
    synced: list[str] = []
    fsync = os.fsync

    def noticed(handle: int) -> None:
        synced.append(os.path.basename(os.readlink(f"/proc/self/fd/{handle}")))
        fsync(handle)

    near = TextSink(str(tmp_path / "out" / "near.txt"), lambda rows, _: lines(rows))
    with bind(tmp_path / "r.csv", tmp_path / "out", "far.csv", near) as bound:
        commits = bound.commits()
        monkeypatch.setattr(os, "fsync", noticed)
        commit_all(bound, commits)
    assert sorted(synced[:2]) == ["far.csv", "near.txt"]
    assert synced[2:] == ["committed.json.partial", "out.checkpoint"]


def test_every_row_rejected_can_be_told(tmp_path: Path) -> None:
    """Those at the beginning are told before anything runs."""
    with pytest.raises(
        AuroraError, match="none of the first 2 lines can be read; line 1: field Sid: 'a' is not an"
    ):
        (tmp_path / "r.csv").write_text("a,1,1\nb,2,2\n")
        run_here(base(), {"r": f"csv:{tmp_path}/r.csv"}, {"far": f"csv:{tmp_path}/far.csv"})
    (tmp_path / "r.csv").write_text("1,1,1\na,1,1\nb,2,2\n")
    totals = run_here(base(), {"r": f"csv:{tmp_path}/r.csv"}, {"far": f"csv:{tmp_path}/far.csv"})
    assert (totals.read, totals.rejected, totals.rejects) == (3, 2, str(tmp_path / "rejects.csv"))


TWO = """
network: two
inputs:
  r: {schema: "Sid int, Time int, Pos int"}
  s: {schema: "Sid int, Time int, Pos int"}
  t: {schema: "Sid int, Time int, Pos int"}
boxes:
  all: {union: [r, s, t]}
outputs:
  far: {from: all}
"""


def test_an_input_that_was_rejected_as_a_whole_is_told_beside_good_ones(tmp_path: Path) -> None:
    """Not one without rows, and not one of which some were good, in whatever batch."""
    rows = {"r": "1,1,1\na,1,1\nb,2,2\n", "s": "a,1,1\nb,2,2\nc,3,3\n", "t": ""}
    for name, text in rows.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "rows.csv").write_text(text)
    sources = {name: f"csv:{tmp_path}/{name}/*.csv?header=no" for name in rows}
    settings = Settings(partitions=1, batch=1)
    totals = run_here(from_text(TWO), sources, {"far": f"csv:{tmp_path}/far.csv"}, settings)
    assert totals.unread == ["s"] and totals.rejected == 5
    assert +totals.accepted == {"r": 1} and totals.unreadable == {"r": 2, "s": 3}


def test_rejects_of_the_console_go_to_the_working_folder(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.csv").write_text("a,1,1\n2,2,40\n")
    totals = run_here(base(), {"r": "csv:r.csv"}, {"far": "console"})
    assert totals.rejects == str(tmp_path / "rejects.csv") and os.path.exists(totals.rejects)
    (tmp_path / "r.csv").write_text("2,2,40\n")
    run_here(base(), {"r": "csv:r.csv"}, {"far": "console"})
    assert os.listdir(tmp_path) == ["r.csv"], "a clean run leaves no rejects of an earlier one"


@pytest.mark.parametrize("source", ["csv:r.csv", "csv:r*.csv", "csv:."])
def test_rejects_go_elsewhere_if_the_working_folder_will_not_do(
    tmp_path: Path, monkeypatch: Any, source: str
) -> None:
    """It holds a file of that name that is something else, or it is what is read."""
    desk = tmp_path / "desk"
    desk.mkdir()
    monkeypatch.chdir(desk)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (desk / "r.csv").write_text("a,1,1\n1,1,1\n")
    if source == "csv:r.csv":
        (desk / "rejects.csv").write_text("mine\n")
    before = files(desk)
    totals = run_here(base(), {"r": source}, {"far": "console"})
    assert totals.rejected == 1 and totals.rejects is not None
    folder = Path(totals.rejects).parent
    assert folder.parent == tmp_path and folder.name.startswith("aurora-rejects-") and is_private(folder)
    assert Path(totals.rejects).read_text().count("\n") == 2 and files(desk) == before
