"""Queries that fail, end, are refused, and are taken up again: each alone, and with its fault."""

import os
import shutil
import signal
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from aurora import AuroraError, BatchReport, Running, Settings, from_text, start
from aurora.engine.sinks.encode import csv_header, to_csv
from aurora.engine.spark import warm
from aurora.history.control import ask
from aurora.history.home import Home
from aurora.history.query import QueryStatus
from tests.engine.processes import KILLS
from tests.history.attached import (
    BORDER,
    PATIENCE,
    QUERIES,
    answers,
    border,
    query,
    read,
    source,
    streams,
    wait_until,
    yielding,
)
from tests.thoroughness import draw_chance

COUNT = 60
KERNEL = """
import numpy as np
from aurora import caused

def checked(inputs, turn):
    rows = inputs["p"]
    if {fault} and len(rows) and 2 in rows.rows["Sid"].to_pylist():
        raise ValueError("no luck with soldier 2")
    return {{"out": caused(rows, rows.rows, np.arange(len(rows)))}}
"""
CHECKED = """
network: checked
inputs: {p: {point: recent}}
boxes:
  checked: {user: "kernel_of_a_query:checked", inputs: {p: p}, outputs: {out: "Sid int, Time int, Pos int"},
            stateless: true}
outputs: {out: {from: checked}}
"""
# As the query one, for the soldier that is set.
CHOSEN = """
network: chosen
parameters: {who: 2}
inputs: {p: {point: recent}}
boxes: {mine: {filter: ["Sid = {{who}}"], from: p}}
outputs: {out: {from: mine}}
"""
FAR = """
network: far
inputs: {p: {point: recent}}
points: {names: {stored: "postgres:db.example:5432/army/names", key: [Sid], schema: "Sid int"}}
boxes: {named: {join: "left.Sid = right.Sid", left: p, right: names}}
outputs: {out: {from: named}}
"""


def begin(folder: Path, count: int = COUNT, text: str = BORDER, sinks: Any = None, **more: Any) -> Running:
    settings = Settings(batch=10, home=str(folder / "home"), partitions=1, **more)
    sinks = {"crowds": f"csv:{folder}/crowds.csv"} if sinks is None else sinks
    return start(from_text(text), source(count), sinks, settings)


def check_border(folder: Path, count: int = COUNT) -> None:
    rows = streams(count)["crowds"].rows
    assert read(folder / "crowds.csv") == csv_header(rows.schema) + to_csv(rows)


def test_a_query_that_fails_stops_alone_and_goes_on_when_it_is_mended(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "kernel_of_a_query.py").write_text(KERNEL.format(fault=True))
    found: list[int] = []
    closed = True

    def door(rows: pa.RecordBatch) -> None:
        if closed:
            raise ValueError("the door is closed")
        found.extend(rows["Time"].to_pylist())

    with begin(tmp_path) as running:
        running.pause()
        home = Home.of(tmp_path / "home")
        request = {"text": CHECKED, "path": str(tmp_path / "checked.yaml"), "name": None, "since": None}
        sinks = {"out": f"csv:{tmp_path}/checked.csv"}
        assert ask(home, "attach", **request, sinks=sinks) == {"name": "checked"}
        chosen = {"text": CHOSEN, "path": None, "name": None, "since": None, "parameters": {"who": "1"}}
        assert ask(home, "attach", **chosen, sinks={"out": f"csv:{tmp_path}/chosen.csv"}) == {
            "name": "chosen"
        }
        assert "parameters: {who: 1}" in next(note.text for note in home.notes() if note.name == "chosen")
        with pytest.raises(AuroraError, match=r"parameter who is a whole number, .* found 1 OR TRUE"):
            ask(home, "attach", **{**chosen, "parameters": {"who": "1 OR TRUE"}}, sinks=sinks)
        # The home of the network has no server that a file alone may name.
        with pytest.raises(AuroraError, match=r"the network file alone names the server db.example:5432"):
            ask(home, "attach", **{**request, "text": FAR}, sinks={"out": f"csv:{tmp_path}/far.csv"})
        assert home.read_hosts() == []
        running.attach(query("one"), {"out": f"csv:{tmp_path}/gone/one"}, "gone")
        running.attach(query("seen"), {"out": door}, "door")
        running.attach(query("one"), {"out": f"csv:{tmp_path}/one.csv"}, "well")
        with pytest.raises(AuroraError, match=r"one.csv\) is in use by another run"):
            running.attach(query("one"), {"out": f"csv:{tmp_path}/one.csv"}, "twice")
        os.link(tmp_path / "one.csv", tmp_path / "linked.csv")
        with pytest.raises(
            AuroraError, match=r"linked.csv\) is in use by another run, process \d+ by another path"
        ):
            running.attach(query("one"), {"out": f"csv:{tmp_path}/linked.csv"}, "twice")
        with pytest.raises(
            AuroraError, match="a query well is attached already; detach it, or give another name"
        ):
            running.attach(query("one"), {"out": f"csv:{tmp_path}/other.csv"}, "well")
        shutil.rmtree(tmp_path / "gone")
        (tmp_path / "gone").write_text("in the way")
        running.step(4)
        faults = {
            "checked": "box checked: ValueError: no luck with soldier 2",
            "gone": "cannot write",
            "door": "sink out: ValueError: the door is closed",
        }
        for name in faults:
            wait_until(lambda name=name: running.queries()[name].state == "failed")
        told = ask(home, "status")["queries"]
        for name, fault in faults.items():
            assert fault in told[name]["fault"] and "\n" not in told[name]["fault"], told[name]
        assert running.state == "paused" and told["well"]["state"] in ("live", "catching up")
        with pytest.raises(AuroraError, match=r"query well has not failed: it is (live|catching up)"):
            running.resume_query("well")
        with pytest.raises(AuroraError, match=r"no query ill is attached; there are .*well"):
            running.resume_query("ill")
        # What was in the way is mended, and each goes on where it stopped.
        (tmp_path / "kernel_of_a_query.py").write_text(KERNEL.format(fault=False) + "# mended\n")
        (tmp_path / "gone").unlink()
        closed = False
        for name in faults:
            running.resume_query(name)
        running.resume()
        assert running.wait().ended
        assert {status.state for status in running.queries().values()} == {"ended"}
    check_border(tmp_path)
    passed = streams(COUNT)
    recent = passed["recent"].rows
    assert read(tmp_path / "checked.csv") == csv_header(recent.schema) + to_csv(recent)
    one = answers(query("one"), {"p": {"point": "recent", "first": 0}}, passed)
    assert read(tmp_path / "one.csv") == one and read(tmp_path / "chosen.csv") == one
    parts = sorted((tmp_path / "gone" / "one").glob("*.csv"))
    lines = [line for part in parts for line in part.read_bytes().splitlines() if line != b"Sid,Time,Pos"]
    assert lines == one.splitlines()[1:]
    assert found == passed["view"].rows["Time"].to_pylist()


def test_a_home_that_has_finished_stays_as_it_is(spark: SparkSession, tmp_path: Path) -> None:
    """Its queries too, though the rows that they took are no longer kept; until the input is another one."""
    text = BORDER.replace("keep: 25", "keep: 1")
    asked = QUERIES["one"].replace("recent", "near")

    def attach(running: Running, name: str) -> None:
        plain = from_text(asked, name, running.schemas)
        running.attach(plain, {"out": f"csv:{tmp_path}/{name}.csv"}, name)

    with begin(tmp_path, text=text) as running:
        running.pause()
        attach(running, "near")
        running.resume()
        assert running.wait().ended
    with pytest.raises(AuroraError, match="the run has ended: no query can be attached any more"):
        attach(running, "late")
    for change in (running.detach, running.resume_query):
        with pytest.raises(
            AuroraError, match="the run has ended: query near waits for the next run of the home"
        ):
            change("near")
    before = read(tmp_path / "near.csv")
    assert before.count(b"\n") > 3
    with begin(tmp_path, text=text) as running:
        assert running.wait().already
        assert running.queries()["near"].state == "ended" and read(tmp_path / "near.csv") == before
        check_border(tmp_path)
    # Another input: the network starts over, and what the query has read is gone.
    with begin(tmp_path, text=text, count=COUNT, fresh=False) as running:
        running.stop()
    with pytest.raises(AuroraError, match="another source reports"):
        begin(tmp_path, text=text, count=COUNT + 30)
    assert [note.name for note in Home.of(tmp_path / "home").notes()] == ["near"]
    # A run that cannot begin forgets nothing, one that begins afresh all.
    with pytest.raises(AuroraError, match="not an address"):
        begin(tmp_path, text=text, sinks={"crowds": "nowhere"}, fresh=True)
    assert [note.name for note in Home.of(tmp_path / "home").notes()] == ["near"]
    fewer = text.replace("  timed: {from: over, keep: 12, on: Time}\n", "")
    with begin(tmp_path, count=COUNT + 30, text=fewer, fresh=True) as running:
        assert running.queries() == {}
        assert running.wait().ended
    check_border(tmp_path, COUNT + 30)
    assert sorted(path.name for path in (tmp_path / "home" / "points").glob("[!.]*/")) == [
        "near",
        "recent",
        "view",
    ]
    assert read(tmp_path / "near.csv") == before


def test_queries_of_a_network_that_was_started_over_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    """A finished input that has changed is read again from its beginning."""
    rows = "".join(f"{i % 3},{i},{i % 60}\n" for i in range(70))
    (tmp_path / "reports.csv").write_text(rows)
    sources, sinks = {"reports": f"csv:{tmp_path}/reports.csv"}, {"crowds": f"csv:{tmp_path}/crowds.csv"}
    settings = Settings(batch=20, home=str(tmp_path / "home"), partitions=1)
    with start(border(), sources, sinks, settings) as running:
        running.pause()
        running.attach(query("one"), {"out": f"csv:{tmp_path}/one.csv"})
        running.resume()
        assert running.wait().ended
    before = read(tmp_path / "one.csv")
    (tmp_path / "reports.csv").write_text(rows + "1,99,40\n")
    with start(border(), sources, sinks, settings) as running:
        running.pause()
        assert "started over" in str(running.queries()["one"].fault)
        with pytest.raises(
            AuroraError, match="the network was started over, and point recent with it: detach"
        ):
            running.resume_query("one")
        assert read(tmp_path / "one.csv") == before
        running.detach("one")
        assert running.queries() == {}
        running.attach(query("one"), {"out": f"csv:{tmp_path}/one.csv"})
        running.resume()
        assert running.wait().ended
    assert read(tmp_path / "one.csv") == before + b"1,99,40\n"


def test_what_cannot_be_attached_and_what_is_shown(spark: SparkSession, tmp_path: Path) -> None:
    text = BORDER.replace("timed: {from: over, keep: 12, on: Time}", "timed: {from: over, keep: 1h}")
    sinks = {"crowds": f"csv:{tmp_path}/crowds.csv", "view": f"csv:{tmp_path}/view.csv"}
    told: list[str] = []
    held: list[Running] = []

    def watch(report: Any) -> None:
        if held and not told:
            try:
                held[0].attach(query("one"), {"out": "csv:x.csv"}, "within")
            except AuroraError as fault:
                told.append(str(fault))

    settings = Settings(batch=10, home=str(tmp_path / "home"), partitions=1)
    with start(from_text(text), source(COUNT), sinks, settings, watch) as running:
        running.pause()
        held.append(running)
        out = {"out": f"csv:{tmp_path}/out.csv"}

        def refused(asked: Any, since: Any = None, sinks: Any = out, name: str | None = None) -> str:
            with pytest.raises(AuroraError) as fault:
                running.attach(asked, sinks, name, since)
            assert "\n" not in str(fault.value)
            return str(fault.value)

        one = query("one")
        assert "since soon: 'soon' is neither a span" in refused(query("pairs"), "soon")
        assert "point near keeps 25; ask for no more than that" in refused(query("pairs"), 26)
        timed = from_text(QUERIES["sums"], "sums", running.schemas)
        assert "point timed keeps 1h; ask for no more than that" in refused(timed, "2h")
        assert "a name may contain letters" in refused(one, name="a b")
        assert "no sink given; add --sink" in refused(one, sinks={})
        assert "is not an address" in refused(one, sinks={"out": "elsewhere"})
        assert "the network has no output of that name" in refused(one, sinks={"in": "csv:x.csv"})
        assert "lies in the folder of the home" in refused(one, sinks={"out": f"csv:{tmp_path}/home/x.csv"})
        for keeping, what in (
            (QUERIES["one"] + "points: {mine2: {from: mine, keep: 5}}\n", "point mine2: leave it out"),
            (QUERIES["one"].replace("from: mine}", "from: mine, keep: 5}"), "output out: leave keep out"),
        ):
            told_of = refused(from_text(keeping, "keeping", running.schemas))
            assert told_of.startswith(
                f"{what}, for an attached query keeps no tuples; only points and views of the"
            )
        plain = from_text(BORDER.replace("border", "plain"))
        assert "the inputs of a query are points of the running network" in refused(
            plain, sinks={"crowds": "csv:x"}
        )
        with pytest.raises(AuroraError, match=r"no point resent \(did you mean recent\?\)"):
            running.schema("resent")
        with pytest.raises(AuroraError, match="no query x is attached; there are none"):
            running.detach("x")
        # Nothing of all this is left behind.
        assert running.queries() == {} and not list((tmp_path / "home").glob("points/*/readers/*"))
        assert not list((tmp_path / "home" / "queries").glob("*"))
        with pytest.raises(AuroraError, match="no tuples pass on over: the network is paused"):
            running.peek("over")
        running.step(2)
        wait_until(
            lambda: running.statistics().batches >= 2 and running.status()["points"]["near"]["passed"] > 0
        )
        shown = running.status()
        assert shown["points"]["view"]["view"] and shown["outputs"].keys() == {"crowds", "view"}
        assert running.peek("recent", 3, "Sid = 1").num_rows <= 3
        running.attach(query("seen"), {"out": f"csv:{tmp_path}/seen.csv"}, since="now")
        running.resume()
        assert running.wait().ended
    assert told == ["this cannot be done from the watch or a sink of the run itself: use another thread"]
    passed = streams(COUNT)
    for name in ("crowds", "view"):
        rows = passed["crowds"].rows
        assert read(tmp_path / f"{name}.csv") == csv_header(rows.schema) + to_csv(rows)
    assert to_csv(running.peek("view", 1000)) == to_csv(passed["view"].rows)


def test_a_run_whose_socket_cannot_be_made_leaves_nothing_behind(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AuroraError("no socket here")

    with monkeypatch.context() as patch:
        patch.setattr("aurora.history.running.ControlServer", refuse)
        with pytest.raises(AuroraError, match="no socket here"):
            begin(tmp_path)
    with begin(tmp_path) as running:
        assert running.wait().ended
    check_border(tmp_path)


def readers() -> set[int]:
    """The processes of this Spark that read the sources of queries."""
    java, found = SparkContext._gateway.proc.pid, set()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == java and b"python_streaming_source_runner" in (place / "cmdline").read_bytes():
                found.add(int(place.name))
        except OSError:
            continue
    return found


def test_a_query_whose_process_is_killed_goes_on_where_it_stopped(
    spark: SparkSession, tmp_path: Path
) -> None:
    with begin(tmp_path) as running:
        running.step(1)
        wait_until(lambda: running.statistics().batches >= 1)
        before = readers()
        running.attach(query("one"), {"out": f"csv:{tmp_path}/one.csv"}, "one", since="all")
        wait_until(lambda: running.queries()["one"].taken > 0)
        (own,) = readers() - before
        os.kill(own, signal.SIGKILL)
        running.step(2)
        wait_until(lambda: running.queries()["one"].state == "failed")
        assert "a Python worker of Spark ended without a message" in str(running.queries()["one"].fault)
        assert running.state == "paused"
        running.resume_query("one")
        running.resume()
        running.wait()
        assert running.queries()["one"].state == "ended"
    check_border(tmp_path)
    starts = {"p": {"point": "recent", "first": 0}}
    assert read(tmp_path / "one.csv") == answers(query("one"), starts, streams(COUNT))


def test_a_query_killed_just_before_the_end_of_the_input_has_failed(
    spark: SparkSession, tmp_path: Path
) -> None:
    with begin(tmp_path) as running:
        running.step(1)
        wait_until(lambda: running.statistics().batches >= 1)
        before = readers()
        running.attach(query("one"), {"out": f"csv:{tmp_path}/one.csv"}, "one", since="all")
        wait_until(lambda: running.queries()["one"].taken > 0)
        (own,) = readers() - before
        os.kill(own, signal.SIGKILL)
        # Nobody asked the network to stop, so what killed the query was not meant for both.
        running.resume()
        assert running.wait().ended
        assert running.queries()["one"].state == "failed"
    with begin(tmp_path) as running:
        running.wait()
        assert running.queries()["one"].state == "ended"
    starts = {"p": {"point": "recent", "first": 0}}
    assert read(tmp_path / "one.csv") == answers(query("one"), starts, streams(COUNT))


def _warm() -> int:
    assert warm._started is not None
    return warm._started[0].pid


def test_whatever_process_of_a_query_is_killed_at_any_moment(spark: SparkSession, tmp_path: Path) -> None:
    """The one that asks its source, a worker, or the one that forks these; while it starts, works or waits."""
    chance, name, kills = draw_chance(), "sums", max(KILLS, 3)
    # A batch for each, and some to come.
    count = 10 * (kills + 3)

    def status() -> QueryStatus:
        return running.queries()[name]

    with begin(tmp_path, count) as running:
        running.step(1)
        wait_until(lambda: running.statistics().batches >= 1)
        others = readers()
        running.attach(query(name), {"out": f"csv:{tmp_path}/{name}.csv"}, name, since="all")
        for _ in range(kills):
            running.step(1)
            threading.Event().wait(1.5 * chance.random())
            own = sorted(readers() - others | set(yielding(_warm())))
            if own:
                with suppress(ProcessLookupError):
                    os.kill(chance.choice(own), signal.SIGKILL)
            wait_until(lambda: status().state == "failed" or status().behind == 0)
            if status().state == "failed":
                running.resume_query(name)
        running.resume()
        assert running.wait().ended
    while status().state == "failed":
        # The network has ended with it; the next run of the home takes it up.
        with begin(tmp_path, count) as running:
            running.wait()
    assert status().state == "ended"
    check_border(tmp_path, count)
    (starts,) = (note.starts for note in Home.of(tmp_path / "home").notes())
    assert read(tmp_path / f"{name}.csv") == answers(query(name), starts, streams(count))


def test_a_query_does_not_write_over_what_the_network_reads(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "reports.csv"
    path.write_text("Sid,Time,Pos\n1,1,40\n")
    settings = Settings(home=str(tmp_path / "home"), follow=True, partitions=1)
    reports = dict.fromkeys(border().inputs, f"csv:{path}")
    with start(border(), reports, {"crowds": f"csv:{tmp_path}/crowds.csv"}, settings) as running:
        with pytest.raises(AuroraError, match=r"reads .*reports.csv, and sink out writes .*reports.csv"):
            running.attach(query("one"), {"out": f"csv:{path}"}, "one")
        assert running.queries() == {}
    assert path.read_text() == "Sid,Time,Pos\n1,1,40\n"


def test_a_name_can_be_given_again_whatever_spark_leaves_behind(spark: SparkSession, tmp_path: Path) -> None:
    with begin(tmp_path) as running:
        running.pause()
        running.attach(query("one"), {"out": f"csv:{tmp_path}/one.csv"}, "one")
        (checkpoint,) = Home.of(tmp_path / "home").query("one").glob("checkpoint-*")
        wait_until(lambda: running.queries()["one"].state == "live")
        running.detach("one")
        # Spark looks after its state in the background, and may do so a last time behind the end of a query.
        (checkpoint / "spark" / "state").mkdir(parents=True)
        running.attach(query("one"), {"out": f"csv:{tmp_path}/one.csv"}, "one", since="all")
        running.resume()
        running.wait()
        assert running.queries()["one"].state == "ended"
    starts = {"p": {"point": "recent", "first": 0}}
    assert read(tmp_path / "one.csv") == answers(query("one"), starts, streams(COUNT))


def test_a_query_that_comes_with_the_last_batch_sees_it(spark: SparkSession, tmp_path: Path) -> None:
    last, released = threading.Event(), threading.Event()

    def watch(report: BatchReport) -> None:
        if report.end:
            last.set()
            assert released.wait(PATIENCE)

    settings = Settings(batch=10, home=str(tmp_path / "home"), partitions=1)
    with start(border(), source(20), {"crowds": f"csv:{tmp_path}/crowds.csv"}, settings, watch) as running:
        assert last.wait(PATIENCE)
        sinks = {"out": f"csv:{tmp_path}/one.csv"}
        attaching = threading.Thread(target=lambda: running.attach(query("one"), sinks, since="all"))
        attaching.start()
        # It has been admitted: only then may the last batch end, behind which no query can come.
        queries = running._queries
        assert queries is not None
        wait_until(lambda: is_held(queries._changing))
        released.set()
        assert running.wait().ended
        attaching.join(PATIENCE)
        assert running.queries()["one"].state == "ended"
    check_border(tmp_path, 20)
    assert read(tmp_path / "one.csv") == answers(
        query("one"), {"p": {"point": "recent", "first": 0}}, streams(20)
    )


def is_held(lock: Any) -> bool:
    """Whether another thread has it."""
    if lock.acquire(blocking=False):
        lock.release()
        return False
    return True
