"""The home of a network: a folder that one run holds, and the notes of its queries."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from aurora import AuroraError, Settings, from_text, start
from aurora.history.home import Home, QueryNote, check_name
from aurora.history.last_status import last_status
from aurora.history.peek import open_point
from tests.engine.strangers import NUMBER, as_a_stranger, open_folder
from tests.engine.without_spark import base, files
from tests.history.attached import wait_until

__all__ = ["open_folder"]

NOTE = QueryNote("near", "network: near", {"out": "csv:/x.csv"}, {"p": {"point": "recent", "first": 3}}, "1h")


def test_a_home_is_closed_to_others_and_held_by_one_run(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "home"
    home = Home.of(folder)
    home.open()
    assert folder.stat().st_mode & 0o777 == 0o700
    told = (
        rf"^home {folder} is in use by another run, process {os.getpid()}: [^\n]+; "
        f"to talk to it: aurora status {folder}$"
    )
    with pytest.raises(AuroraError, match=told):
        Home.of(folder).open()
    home.release()
    again = Home.of(folder)
    again.open()
    again.release()


def test_a_home_left_by_a_kill_is_opened_again(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("123\n")
    (tmp_path / "control").touch()
    home = Home.of(tmp_path)
    home.open()
    assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"
    home.release()


def test_what_is_not_a_home_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(
        AuroraError, match=r"holds thesis\.tex, so it is not the home of a network; name another one"
    ):
        Home.of(tmp_path).open()
    assert os.listdir(tmp_path) == ["thesis.tex"]
    with pytest.raises(AuroraError, match="is not a folder; name another one"):
        Home.of(tmp_path / "thesis.tex").open()
    with pytest.raises(
        AuroraError, match=r"is not the home of a network; start one with aurora run NETWORK --home"
    ):
        Home.of(tmp_path / "nowhere").check_there()
    if os.getuid():
        (tmp_path / "closed").mkdir(mode=0o500)
        with pytest.raises(AuroraError, match=r"cannot write .*Permission denied"):
            Home.of(tmp_path / "closed" / "home").open()


def test_a_folder_with_names_like_those_of_a_home_is_none(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "checkpoint" / "model.pt").touch()
    (tmp_path / "queries").mkdir()
    with pytest.raises(AuroraError, match="holds checkpoint, so it is not the home of a network"):
        Home.of(tmp_path).open()
    assert sorted(os.listdir(tmp_path)) == ["checkpoint", "queries"]


def started(home: Path, source: str, sink: str) -> str:
    with pytest.raises(AuroraError) as fault:
        start(base(), {"r": f"csv:{source}"}, {"far": f"json:{sink}"}, Settings(home=str(home)))
    return str(fault.value)


def test_a_network_neither_reads_nor_writes_in_its_home(tmp_path: Path) -> None:
    (tmp_path / "in" / "checkpoint").mkdir(parents=True)
    rows = tmp_path / "in" / "r.csv"
    rows.write_text("Sid,Time,Pos\n1,1,34\n")
    out = str(tmp_path / "far.jsonl")
    before = files(tmp_path)
    for source in (rows, tmp_path / "in", tmp_path / "in" / "*.csv"):
        told = started(tmp_path / "in", str(source), out)
        assert told.startswith(f"source r reads {source}, ") and "the home" in told
    for sink in ("status.json", "points", "far.jsonl"):
        told = started(tmp_path / "home", str(rows), f"{tmp_path}/home/{sink}")
        assert told.startswith(
            f"sink far writes {tmp_path}/home/{sink}, which lies in the folder of the home"
        )
    assert files(tmp_path) == before and sorted(os.listdir(tmp_path)) == ["in"]


def test_notes_of_queries(tmp_path: Path) -> None:
    home = Home.of(tmp_path)
    assert list(home.notes()) == []
    home.write_note(NOTE)
    (home.query("half") / "checkpoint").mkdir(parents=True)
    assert list(home.notes()) == [NOTE] and not home.query("half").exists()
    home.remove_query("near")
    home.remove_query("never there")
    assert list(home.notes()) == [] and not home.query("near").exists()
    home.write_note(NOTE)
    home.forget_queries()
    assert list(home.notes()) == []


def test_points_that_are_no_more_are_removed(tmp_path: Path) -> None:
    home = Home.of(tmp_path)
    home.forget_points(but=())
    for name in ("old", "new"):
        home.point(name).mkdir(parents=True)
    (tmp_path / "points" / ".new.lock").touch()
    home.forget_points(but=["new"])
    assert sorted(os.listdir(tmp_path / "points")) == [".new.lock", "new"]


def test_the_last_status(tmp_path: Path) -> None:
    home = Home.of(tmp_path)
    assert home.last_status()["state"] == "stopped"
    home.write_status({"state": "paused", "batch": 3})
    assert (home.last_status()["state"], home.last_status()["batch"]) == ("stopped", 3)


@pytest.mark.parametrize("name", ["", ".x", "a/b", "a b", "..", "x" * 101, "a\n"])
def test_a_query_has_a_name_that_can_be_a_folder(name: str) -> None:
    with pytest.raises(AuroraError, match="a name may contain letters, digits"):
        check_name(name)


@pytest.mark.parametrize("name", ["near", "near-1.2_x", "über", "near.partial"])
def test_names_of_queries(tmp_path: Path, name: str) -> None:
    check_name(name)
    home, note = Home.of(tmp_path), replace(NOTE, name=name)
    home.write_note(note)
    assert list(home.notes()) == [note]
    home.remove_query(name)
    assert os.listdir(tmp_path / "queries") == []


@pytest.mark.parametrize("empty", [True, False])
def test_a_home_of_another_user_is_not_taken(open_folder: Path, empty: bool) -> None:
    """Also by root, for its owner could change what the run trusts."""
    make = "import os, sys; os.makedirs(sys.argv[1], 0o700)"
    as_a_stranger(make, open_folder / "home" / ("" if empty else "checkpoint"))
    with pytest.raises(AuroraError, match=f"home belongs to another user, number {NUMBER}; name another one"):
        Home.of(open_folder / "home").open()
    assert (open_folder / "home").stat().st_uid == NUMBER


ROWS = "".join(f"{sid % 4},{sid},{sid * 17 % 60}\n" for sid in range(40))
KEPT = """
network: kept
inputs: {r: {schema: "Sid int, Time int, Pos int"}}
boxes:
  over: {filter: ["Pos >= 30"], from: r}
  sums: {aggregate: {N: "count(*)"}, from: over, order: {on: Time, slack: 1, group_by: [Sid]}, size: 3}
points: {recent: {from: over, keep: all}}
outputs: {sums: {from: sums}, last: {from: over, keep: latest, key: [Sid]}}
"""
ASKED = """
network: asked
inputs: {v: {point: last}, t: {point: recent, static: true}}
boxes: {both: {join: "left.Sid = right.Sid", left: v, right: t}}
outputs: {out: {from: both}}
"""


def test_a_home_may_be_moved_and_is_no_dead_end_without_its_checkpoint(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    network = from_text(KEPT)

    def go(home: str, query: bool = False, fresh: bool = False) -> None:
        settings = Settings(batch=10, partitions=1, home=home, follow=True, fresh=fresh)
        with start(network, {"r": "csv:r.csv"}, {"sums": "csv:sums.csv"}, settings) as running:
            wait_until(
                lambda: running.statistics().taken.get("over", 0) == Path("r.csv").read_text().count("\n") - 1
            )
            if query:
                running.attach(
                    from_text(ASKED, points=network.point_schemas()), {"out": "csv:asked.csv"}, "asked"
                )
            for asked in running.queries():
                wait_until(lambda asked=asked: running.queries()[asked].behind == 0)

    Path("r.csv").write_text("bad\n" + ROWS[: len(ROWS) // 2].rpartition("\n")[0] + "\n")
    go("home", query=True)
    os.rename("home", "moved")
    Path("r.csv").write_text("bad\n" + ROWS)
    go("moved")
    assert not Path("home").exists() and Path("moved/rejects.csv").read_text().count("bad") == 1
    over = [line for line in ROWS.splitlines() if int(line.split(",")[2]) >= 30]
    recent = open_point(Home.of("moved"), "recent").last(99)[0].to_pylist()
    assert [",".join(map(str, row.values())) for row in recent] == over
    asked = Path("asked.csv").read_text().splitlines()[1:]
    assert len(asked) > len(over)
    shutil.rmtree("moved/checkpoint")
    told = (
        rf"^home {tmp_path}/moved has no checkpoint any more, so no run can go on with the history of last; restore "
        r"[^\n]+, or start over with --fresh, which removes it$"
    )
    with pytest.raises(AuroraError, match=told):
        go("moved")
    assert last_status(Home.of("moved"))["points"]["recent"]["rows"] == len(over)
    assert open_point(Home.of("moved"), "recent").last(99)[0].num_rows == len(over)
    go("moved", fresh=True)
    assert open_point(Home.of("moved"), "recent").last(99)[0].num_rows == len(over)
