"""The log of a point: written straight or put together from parts, cut off anywhere, it holds each row once."""

import errno
import os
import shutil
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora import AuroraError, Settings, from_text
from aurora.engine import durable
from aurora.engine.binding import Bound
from aurora.history import point_sink, segments
from aurora.history.log import Log, Published, log_file
from aurora.history.point_sink import PointSink
from aurora.history.point_source import note_reader
from aurora.history.segments import read_segment
from aurora.network.points import Keep
from tests.engine.test_commit import Fuse, Killed
from tests.engine.without_spark import commit_all
from tests.history.logs import Row, count, make_point, read_all, to_batch, write

sizes = st.lists(st.integers(0, 9), min_size=1, max_size=6)


def cut(sizes: list[int]) -> list[list[Row]]:
    return [count(first, size) for first, size in zip(accumulate([0, *sizes]), sizes, strict=False)]


@given(sizes, st.sampled_from([(), ("g",)]), st.sampled_from([1, 700, 1 << 20]))
def test_rows_lie_once_and_in_order(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], key: tuple[str, ...], file: int
) -> None:
    """Whatever the batches, the length of files and segments, and whether tasks write aside or not."""
    place, batches = tmp_path_factory.mktemp("points"), cut(sizes)
    rows = [row for batch in batches for row in batch]
    notes = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(point_sink, "FILE", file)
        patch.setattr(segments, "ROWS", 4)
        for staged in (False, True):
            sink = PointSink(str(place / str(staged)), make_point(on="t", key=key))
            notes.append(Published(**write(sink, batches, staged=staged)))
            sink.finish()
            assert read_all(sink.folder) == rows
            start, stop = len(rows) // 3, 2 * len(rows) // 3
            assert read_all(sink.folder, start, stop) == rows[start:stop]
    one, other = notes
    assert (one.rows, one.file, one.reached) == (other.rows, other.file, other.reached)
    assert one.rows == len(rows) and one.reached == (rows[-1][1] if rows else None)
    assert one == Log(str(place / "False")).published() and not list(place.rglob("_staged"))


def test_what_is_not_published_is_not_seen(tmp_path: Path) -> None:
    sink = PointSink(str(tmp_path), make_point())
    note = write(sink, [count(0, 3)])
    reader = Log(str(tmp_path))
    assert len(reader.segments(0, 99, reader.published())) == 1
    later = sink.deliver(1, *to_batch(count(3, 3)), note)
    assert len(reader.segments(0, 99, reader.published())) == 1 and read_all(tmp_path) == count(0, 3)
    sink.publish(later)
    assert len(reader.segments(0, 99, reader.published())) == 2 and read_all(tmp_path) == count(0, 6)
    assert len(reader.segments(0, 99, Published(**note))) == 1, "as of an earlier batch"


def test_a_run_that_goes_on_takes_back_what_was_not_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(point_sink, "FILE", 1)
    sink = PointSink(str(tmp_path), make_point(Keep(rows=1)))
    note = write(sink, [count(0, 3), count(3, 3)])
    sink.deliver(2, *to_batch(count(6, 3)), note)
    sink.stage(*to_batch(count(6, 3)))
    assert Log(str(tmp_path)).files() == [0, 3, 6]
    # Killed between the rows of a file and its index, or between the removal of the one and the other.
    os.unlink(log_file(str(tmp_path), 6, ".index"))
    os.unlink(log_file(str(tmp_path), 0, ".index"))
    assert sink.open(note) == note == sink.open(note)
    assert sorted(os.listdir(tmp_path)) == [f"{3:020}.index", f"{3:020}.rows", "published"]
    assert read_all(tmp_path) == count(3, 3)


def test_a_log_that_is_begun_anew_holds_nothing_of_the_old_one(tmp_path: Path) -> None:
    sink = PointSink(str(tmp_path), make_point())
    old = write(sink, [count(0, 3)])
    note_reader(str(tmp_path), "near/0", 2)
    (tmp_path / "latest-00000000000000000003").mkdir()
    new = write(sink, [count(7, 2)])
    assert read_all(tmp_path) == count(7, 2) and old["mark"] != new["mark"]
    assert sorted(os.listdir(tmp_path)) == [f"{0:020}.index", f"{0:020}.rows", "published"]


def test_the_end_of_a_stream_is_remembered_by_a_run_that_goes_on(tmp_path: Path) -> None:
    sink = PointSink(str(tmp_path), make_point())
    note = write(sink, [count(0, 3)])
    replace(Log(str(tmp_path)).published(), ended=True).write(str(tmp_path))
    assert sink.open(note) == note and Log(str(tmp_path)).published().ended
    sink.publish(sink.deliver(1, *to_batch(count(3, 1)), note))
    assert not Log(str(tmp_path)).published().ended
    assert sink.open(None) and not Log(str(tmp_path)).published().ended


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (
            {"on": "t"},
            {},
            "point recent was kept by t before, and is kept by arrival now: use the old one again, or start over",
        ),
        (
            {"key": ("g",)},
            {"key": ("n",)},
            "was kept by arrival, key g before, and is kept by arrival, key n now",
        ),
        ({"key": ("g",), "keep": Keep(latest=True)}, {"key": ("g",)}, "was kept by arrival, key g, latest"),
    ],
)
def test_a_log_is_kept_by_one_thing(tmp_path: Path, before: Any, after: Any, told: str) -> None:
    note = write(PointSink(str(tmp_path), make_point(**before)), [count(0, 3)])
    with pytest.raises(AuroraError, match=told):
        PointSink(str(tmp_path), make_point(**after)).open(note)
    assert read_all(tmp_path) == count(0, 3)
    changed = make_point(**{**before, "keep": Keep(latest=True) if "keep" in before else Keep(rows=1)})
    assert PointSink(str(tmp_path), changed).open(note) == note, "how much is kept may change"


def test_a_log_that_was_shortened_is_told(tmp_path: Path) -> None:
    sink = PointSink(str(tmp_path), make_point())
    note = write(sink, [count(0, 3)])
    os.truncate(log_file(str(tmp_path), 0), 10)
    with pytest.raises(
        AuroraError, match=r"\.rows has 10 bytes, the checkpoint says that [\d,]+ were written"
    ):
        sink.open(note)


NETWORK = from_text("""
network: base
inputs:
  r: {schema: "Sid int, Time int, Pos int"}
boxes:
  over: {filter: ["Pos >= 30"], from: r}
outputs:
  far: {from: over}
  near: {from: over.rest}
""")
ROWS = "".join(f"{i},{i},{i * 17 % 60}\n" for i in range(12))
FAR = [i for i in range(12) if i * 17 % 60 >= 30]
STEPS = [
    (PointSink, "stage"),
    (PointSink, "take"),
    (PointSink, "deliver"),
    (PointSink, "sync"),
    (PointSink, "publish"),
    (PointSink, "_noted"),
    (point_sink, "_write"),
    (shutil, "copyfileobj"),
    (Published, "write"),
    (os, "replace"),
    (os, "truncate"),
]


class Straight(PointSink):
    """One whose rows come to the sink as they are."""

    def stages(self, in_order: bool, local: bool) -> bool:
        return False


def bind(folder: Path, source: Path, kind: type[PointSink]) -> Bound:
    sinks = {
        "far": kind(str(folder / "far"), make_point(Keep(rows=2))),
        "near": kind(str(folder / "near"), make_point(Keep(), on="Time", key=("Sid",))),
    }
    return Bound.of(
        NETWORK, {"r": f"csv:{source}"}, sinks,
        Settings(batch=7, partitions=1, checkpoint=f"{folder}.checkpoint"),
    )  # fmt: skip


def sids(folder: Path) -> list[int]:
    log = Log(str(folder))
    found = log.segments(0, 10**9, log.published())
    return [sid for path, segment in found for sid in read_segment(path, segment)[0]["Sid"].to_pylist()]


@pytest.mark.parametrize("kind", [PointSink, Straight])
def test_a_kill_at_every_step_between_a_train_and_what_is_published(
    tmp_path: Path, kind: type[PointSink]
) -> None:
    source = tmp_path / "r.csv"
    source.write_text(ROWS)
    at, blown = 0, True
    while blown:
        folder, fuse, blown = tmp_path / str(at), Fuse(at), False
        try:
            with pytest.MonkeyPatch.context() as patch, bind(folder, source, kind) as bound:
                for owner, name in STEPS:
                    patch.setattr(owner, name, fuse.around(getattr(owner, name)))
                commit_all(bound, bound.commits(lambda report, fuse=fuse: fuse.pass_by()))
        except Killed:
            blown = True
        with bind(folder, source, kind) as bound:
            commits = bound.commits()
            noted = commits.totals.rows
            for name in ("far", "near"):
                assert len(sids(folder / name)) == noted[name], f"killed at step {at}"
            commit_all(bound, commits)
            commits.finish()
        assert sids(folder / "far") == FAR, f"killed at step {at}"
        assert sids(folder / "near") == [i for i in range(12) if i not in FAR], f"killed at step {at}"
        assert not list(folder.rglob("_staged")) and not list(folder.rglob("*.partial"))
        at += 1
    assert at > 20


@pytest.mark.parametrize(
    "step", [(PointSink, "_noted"), (durable, "write_whole"), (Published, "write"), "write"]
)
def test_a_full_disk_loses_nothing_and_is_told_in_one_line(
    tmp_path: Path, step: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, folder = tmp_path / "r.csv", tmp_path / "home"
    source.write_text(ROWS)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def half(file: Any, rows: Any, *more: Any) -> Any:
        file.write(b"half a segment")
        file.flush()
        full()

    with bind(folder, source, PointSink) as bound:
        commits = bound.commits()
        with monkeypatch.context() as patch:
            if step == "write":
                # In the tasks all is well: the disk is full where the parts are put together.
                patch.setattr("shutil.copyfileobj", lambda lines, file, _: half(file, lines))
            elif step == (durable, "write_whole"):
                patch.setattr("aurora.engine.totals.write_whole", full)
            else:
                patch.setattr(*step, full)
            with pytest.raises(
                AuroraError, match=r"^cannot write \S+: No space left on device; fix the cause [^\n]+$"
            ):
                commit_all(bound, commits)
    with bind(folder, source, PointSink) as bound:
        commit_all(bound, bound.commits())
    assert sids(folder / "far") == FAR


@pytest.mark.parametrize("lost", [0, 3, 6])
@pytest.mark.parametrize("cut", [False, True])
def test_rows_whose_index_is_gone_are_missed(
    lost: int, cut: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody takes the rest for all that was kept, and nothing is removed: the index may be in a backup."""
    monkeypatch.setattr(point_sink, "FILE", 1)
    sink = PointSink(str(tmp_path), make_point())
    note = write(sink, [count(0, 3), count(3, 3), count(6, 3)])
    path = Path(log_file(str(tmp_path), lost, ".index"))
    path.write_bytes(b"") if cut else path.unlink()
    told = rf"{path.name} is damaged or missing, so the rows {lost} to {lost + 2} cannot be found; restore it"
    log = Log(str(tmp_path))
    if cut or lost:
        with pytest.raises(AuroraError, match=told):
            log.segments(0, 99, log.published())
        with pytest.raises(AuroraError, match=told):
            list(log.segments_back(0, log.published()))
    if not cut or lost == 6:
        with pytest.raises(AuroraError, match=rf"{path.name} (is missing|has 0 bytes)"):
            sink.open(note)
    assert Path(log_file(str(tmp_path), lost)).exists()
