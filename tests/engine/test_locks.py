"""A run holds what it writes; one that is killed holds nothing."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from aurora import AuroraError, Settings
from aurora.engine.binding import Bound
from aurora.engine.controls import replace_text
from aurora.engine.durable import read_whole, replace_note, write_whole
from aurora.engine.locks import Locks, is_held, lock_beside
from aurora.engine.paths import Written, check_places
from aurora.history.home import Home
from tests.engine.strangers import NUMBER, open_folder, start_a_stranger
from tests.engine.without_spark import base, commit_all

__all__ = ["open_folder"]

HOLD = """
import sys
from pathlib import Path
from aurora.engine.locks import Locks
Locks().take("it", Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def bind(folder: Path, checkpoint: str, far: str = "far.csv") -> Bound:
    return Bound.of(
        base(),
        {"r": f"csv:{folder}/r.csv"},
        {"far": f"csv:{folder}/{far}"},
        Settings(checkpoint=f"{folder}/{checkpoint}"),
    )


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    (tmp_path / "r.csv").write_text("1,1,34\n")
    return tmp_path


@pytest.mark.parametrize("far", ["far.csv", "far"])
def test_a_sink_is_one_run_s_whatever_the_checkpoint(desk: Path, far: str) -> None:
    with bind(desk, "one", far):
        told = rf"^sink far \(\S+\) is in use by another run, process {os.getpid()}: wait for it, stop it, or write"
        with pytest.raises(AuroraError, match=told):
            bind(desk, "two", far)
    with bind(desk, "two", far):
        pass


def test_a_link_to_the_sink_of_another_run_is_refused(desk: Path) -> None:
    (desk / "one").mkdir()
    told = rf"^sink far \(\S+two.csv\) is in use by another run, process {os.getpid()} by another path: wait for it"
    with bind(desk, "first", "one/far.csv") as bound:
        bound.commits()
        os.link(desk / "one" / "far.csv", desk / "two.csv")
        before = (desk / "two.csv").read_bytes()
        with pytest.raises(AuroraError, match=told):
            bind(desk, "second", "two.csv")
        with Locks() as locks, pytest.raises(AuroraError, match="in use by another run"):
            locks.take_place("--out", str(desk / "two.csv"))
        assert (desk / "two.csv").read_bytes() == before
    with bind(desk, "second", "two.csv"), pytest.raises(AuroraError, match=r"far.csv\) is in use"):
        bind(desk, "first", "one/far.csv")
    with bind(desk, "first", "one/far.csv"):
        pass


def test_two_sinks_of_one_run_may_not_be_links_to_one_file(desk: Path) -> None:
    (desk / "a.csv").write_text("")
    os.link(desk / "a.csv", desk / "b.csv")
    written = [Written(f"sink {name}", f"{desk}/{name}.csv") for name in "ab"]
    with pytest.raises(AuroraError, match=r"sink a and sink b both write \S+a.csv"):
        check_places([], written)


def test_the_rejects_of_a_run_are_locked_once_they_are_there(desk: Path) -> None:
    (desk / "r.csv").write_text("1,1,34\nbad\n")
    (desk / "one").mkdir()
    with bind(desk, "first", "one/far.csv") as bound:
        commit_all(bound, bound.commits())
        os.link(desk / "one" / "rejects.csv", desk / "two.csv")
        with pytest.raises(AuroraError, match=r"^sink far \(\S+two.csv\) is in use by another run"):
            bind(desk, "second", "two.csv")


@pytest.mark.parametrize(
    ("place", "around"), [("kept/x.csv", "kept"), ("out/x.csv", "out"), ("home/x/y.csv", "home")]
)
def test_nobody_writes_into_what_another_run_writes(desk: Path, place: str, around: str) -> None:
    home = Home.of(desk / "home")
    home.open()
    told = rf"^sink far writes \S+{place}, and \S+{around} is in use by another run, process {os.getpid()}, for what"
    try:
        with bind(desk, "kept", "out") as bound:
            bound.commits()
            with pytest.raises(AuroraError, match=told):
                bind(desk, "second", place)
            with pytest.raises(AuroraError, match=rf"^the home writes \S+, and \S+{around} is in use"):
                Home.of(desk / place).open()
            assert not (desk / place).exists() and not (desk / "second").exists()
    finally:
        home.release()
    with bind(desk, "second", "home/x/y.csv"):
        pass


def test_a_run_writes_into_its_own_home(desk: Path) -> None:
    home = Home.of(desk / "home")
    home.open()
    try:
        with Bound.of(
            base(),
            {"r": f"csv:{desk}/r.csv"},
            {"far": f"csv:{desk}/far.csv"},
            Settings(checkpoint=str(home.checkpoint), rejects=f"csv:{home.rejects}"),
        ):
            pass
    finally:
        home.release()


def test_a_checkpoint_is_one_run_s_whatever_the_sink(desk: Path) -> None:
    (desk / "elsewhere").mkdir()
    with (
        bind(desk, "kept"),
        pytest.raises(
            AuroraError, match=rf"the checkpoint \S+kept is in use by another run, process {os.getpid()}"
        ),
    ):
        bind(desk, "kept", "elsewhere/far.csv")
    assert not list(desk.rglob("*.lock")) and not (desk / "kept" / "lock").exists()


def test_a_run_that_is_refused_changes_nothing(desk: Path) -> None:
    with bind(desk, "kept") as bound:
        bound.commits()
        before = sorted(os.listdir(desk / "kept"))
        with pytest.raises(AuroraError, match="is in use by another run"):
            Bound.of(
                base(),
                {"r": f"csv:{desk}/r.csv"},
                {"far": f"csv:{desk}/far.csv"},
                Settings(checkpoint=f"{desk}/kept", fresh=True),
            )
        assert sorted(os.listdir(desk / "kept")) == before


def test_a_kill_lifts_the_locks(tmp_path: Path) -> None:
    lock = lock_beside(str(tmp_path / "far.csv"))
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None and holder.stdout.readline() == "held\n"
    with (
        Locks() as locks,
        pytest.raises(AuroraError, match=f"it is in use by another run, process {holder.pid}:"),
    ):
        locks.take("it", lock)
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    assert lock.exists(), "the file stays behind, and binds nobody"
    with Locks() as locks:
        locks.take("it", lock)
        locks.take("it", lock)
        assert lock.read_text() == f"{os.getpid()}\n"
    assert not lock.exists()


def test_a_lock_file_that_was_removed_in_between_is_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The holder of before removes its file after this run has opened it: another run may make a new one."""
    import fcntl

    lock, flock = tmp_path / ".far.csv.lock", fcntl.flock
    removed = []

    def late(handle: int, how: int) -> None:
        if not removed:
            removed.append(lock.unlink())
        flock(handle, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with Locks() as locks:
        locks.take("it", lock)
        with pytest.raises(AuroraError, match="in use"):
            Locks().take("it", lock)


@pytest.mark.parametrize("kind", ["symlink_to", "hardlink_to"])
def test_a_link_in_place_of_a_lock_file_harms_nothing(tmp_path: Path, kind: str) -> None:
    mine, lock = tmp_path / "mine", tmp_path / ".far.csv.lock"
    mine.write_text("mine")
    getattr(lock, kind)(mine)
    assert not is_held(lock)
    told = r"^it cannot be locked: \S+\.far\.csv\.lock: it is a link or no regular file, [^\n]+; choose another path$"
    with pytest.raises(AuroraError, match=told):
        Locks().take("it", lock)
    assert mine.read_text() == "mine"


def test_a_pipe_in_place_of_a_lock_file_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "lock")
    assert not is_held(tmp_path / "lock")
    with pytest.raises(AuroraError, match="it is a link or no regular file"):
        Locks().take("it", tmp_path / "lock")


TAKE = "import fcntl, os, sys; own = os.open(sys.argv[1], int(sys.argv[2])); fcntl.flock(own, fcntl.LOCK_EX);"


def test_another_user_can_neither_take_nor_give_a_lock(open_folder: Path) -> None:
    lock = open_folder / ".far.csv.lock"
    lock.write_text(f"{os.getpid()}\n")
    lock.chmod(0o644)
    with Locks() as locks:
        locks.take("it", lock)
        assert lock.stat().st_mode & 0o777 == 0o600, "whoever can read it could lock it"
    took = f"{TAKE} os.write(own, b'{os.getpid()}'); print('there', flush=True); sys.stdin.read()"
    with start_a_stranger(took, lock, os.O_RDWR | os.O_CREAT) as stranger:
        assert stranger.stdout is not None and stranger.stdout.readline() == "there\n"
        assert not is_held(lock)
        with pytest.raises(AuroraError, match=f"it belongs to another user, number {NUMBER}; choose another"):
            Locks().take("it", lock)
        stranger.communicate()


def test_notes_are_written_to_no_file_that_another_user_has_chosen(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("mine")
    for write in (write_whole, replace_note, replace_text):
        (tmp_path / "note.partial").symlink_to(mine)
        write(tmp_path / "note", "told")
        assert mine.read_text() == "mine" and read_whole(tmp_path / "note") == "told"
        assert not (tmp_path / "note").is_symlink() and (tmp_path / "note").stat().st_mode & 0o777 == 0o600


def test_what_cannot_be_locked_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AuroraError, match=r"^it cannot be locked: \S+file: [^\n]+; choose another path$"):
        Locks().take("it", lock_beside(str(tmp_path / "file" / "far.csv")))


def test_where_the_neighbourhood_is_closed_the_lock_is_inside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    assert lock_beside(f"{folder}/") == tmp_path / ".out.lock"
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)
    assert lock_beside(f"{folder}/") == folder / ".lock"


def test_who_holds_a_lock_is_seen_from_elsewhere(tmp_path: Path) -> None:
    place = tmp_path / "lock"
    assert not is_held(place)
    with Locks() as locks:
        locks.take("home", place)
        assert locks.held and is_held(place)
    assert not locks.held and not is_held(place)
    place.write_text(f"{os.getpid()}\n")
    assert not is_held(place), "the file of a run that was killed, and its number is another's now"
    place.write_text("no number")
    assert not is_held(place)
