"""Commands that talk to a network in its home: what they print, and what they say to bad input."""

import json
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from aurora import Settings, start
from aurora.cli import homes
from aurora.history.answers import answers
from aurora.history.home import Home
from aurora.history.peek import describe_point
from aurora.history.point_sink import PointSink
from tests.history.attached import BORDER, QUERIES, border, source, streams, wait_until
from tests.history.logs import SCHEMA, count, make_point, write

COMMANDS = [
    ("status",),
    ("pause",),
    ("resume",),
    ("resume", "near"),
    ("step", "--batches", "2"),
    ("stop",),
    ("detach", "near"),
    ("peek", "over"),
]


@pytest.mark.parametrize(("where", "told"), [(None, ""), ("Pos > 3", " that meet the condition")])
def test_peek_says_that_it_waits_for_a_stream(
    where: str | None,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Once, after two seconds without a tuple."""
    now = 0.0

    def rest(seconds: float) -> None:
        nonlocal now
        now += seconds

    def ask(*_: object, **__: object) -> dict[str, object]:
        some = {"rows": "", "count": 0} if now < 10 else {"rows": "1,34\n", "count": 1}
        return {"number": 1, "header": "Sid,Pos\n", **some}

    monkeypatch.setattr("aurora.history.control.ask", ask)
    homes._peek_stream(Home.of(tmp_path), "over", where, 1, False, "csv", lambda: now, rest)
    assert capsys.readouterr().out == "Sid,Pos\n1,34\n"
    assert caplog.messages == [f"waiting for tuples of over{told}: none has passed since this command began"]
    caplog.clear()
    homes._peek_stream(Home.of(tmp_path), "over", where, 1, False, "csv", lambda: now, rest)
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("form", "shown"),
    [
        ("csv", 'x\na\u2028b\n"c\nd"\n'),
        ("json", '{"x": "a\u2028b"}\n{"x": "c\\nd"}\n'),
    ],
)
def test_peek_counts_rows_whatever_is_in_them(
    form: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = pa.record_batch({"x": ["a\u2028b", "c\nd", "e"]})
    running = SimpleNamespace(look=lambda stream, after: (rows, 3))

    def ask(home: Home, command: str, **request: Any) -> Any:
        return answers(cast(Any, running))[command](request)

    monkeypatch.setattr("aurora.history.control.ask", ask)
    homes._peek_stream(Home.of(tmp_path), "over", None, 2, False, form)
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_not_a_home(aurora, tmp_path: Path, command: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    ended = aurora(command[0], tmp_path, *command[1:])
    told = f"error: {tmp_path} is not the home of a network; start one with aurora run NETWORK --home {tmp_path}\n"
    assert (ended.status, ended.out, ended.err) == (1, "", told)


@pytest.mark.parametrize("command", COMMANDS[1:])
def test_a_home_in_which_nothing_runs(aurora, tmp_path: Path, command: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "checkpoint").mkdir()
    ended = aurora(command[0], tmp_path, *command[1:])
    told = f"error: no network runs in {tmp_path}; start it with aurora run NETWORK --home {tmp_path}\n"
    assert (ended.status, ended.out, ended.err) == (1, "", told)


def test_the_status_of_a_network_that_does_not_run(aurora, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "checkpoint").mkdir()
    ended = aurora("status", tmp_path)
    assert (ended.status, ended.out, ended.err) == (0, "stopped, 0 batches\n", "")
    assert json.loads(aurora("status", tmp_path, "--json").out)["state"] == "stopped"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ("--sink", "out=console"),
            "--sink out=console: a query writes to files; aurora peek shows what passes",
        ),
        (("--sink", "out"), "--sink out: write NAME=ADDRESS, for example alarms=csv:out.csv"),
        (("--sink", "out=csv:x.csv", "--sink", "out=csv:y.csv"), "--sink out is given twice"),
        (("--sink", "out=csv:x.csv"), "no network runs in"),
    ],
)
def test_attach_is_told_what_is_wrong(aurora, tmp_path: Path, arguments: tuple[str, ...], told: str) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "home" / "checkpoint").mkdir(parents=True)
    (tmp_path / "one.yaml").write_text(QUERIES["one"])
    ended = aurora("attach", tmp_path / "home", tmp_path / "one.yaml", *arguments)
    assert ended.status == 1 and ended.err.startswith(f"error: {told}") and ended.err.count("\n") == 1
    missing = aurora("attach", tmp_path / "home", tmp_path / "none.yaml", "--sink", "out=csv:x.csv")
    assert missing.err == f"error: cannot read query {tmp_path}/none.yaml: No such file or directory\n"


def test_points_are_shown_though_nothing_runs(aurora, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    home = Home.of(tmp_path)
    home.checkpoint.mkdir()
    write(PointSink(str(home.point("recent")), make_point()), [count(0, 5)])
    describe_point(home.point("recent"), SCHEMA, {"keep": "all"})
    assert aurora("peek", tmp_path, "recent", "--last", 2).out == "n,t,g\n3,3.0,g0\n4,4.0,g1\n"
    shown = aurora("peek", tmp_path, "recent", "--where", "n < 2", "--format", "json").out
    assert [json.loads(line)["n"] for line in shown.splitlines()] == [0, 1]
    assert aurora("peek", tmp_path, "recent", "--last", 0).out == "n,t,g\n"
    for arguments, told in (
        (("recent", "--format", "xml"), "--format xml: write csv or json"),
        (("recent", "--where", "m = 1"), "where: unknown field 'm': the fields are n, t, g"),
        (("resent",), "no network runs in"),
    ):
        ended = aurora("peek", tmp_path, *arguments)
        assert ended.status == 1 and ended.err.startswith(f"error: {told}") and ended.err.count("\n") == 1


def test_a_home_that_cannot_be_one(aurora, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("Spark was started for a fault that shows before")

    monkeypatch.setattr("aurora.engine.spark_run.spark_session", refuse)
    monkeypatch.chdir(tmp_path)
    Path("border.yaml").write_text(BORDER)
    Path("reports.csv").write_text("1,1,40\n")
    command = ["run", "border.yaml", "--source", "reports=csv:reports.csv", "--sink", "crowds=csv:crowds.csv"]
    used = Home.of("used")
    used.open()
    for options, told in (
        (
            ("--home", "home", "--checkpoint", "c"),
            "a home contains its own checkpoint: give a home or a checkpoint",
        ),
        (("--home", "."), f"home {tmp_path} holds border.yaml, so it is not the home of a network"),
        (("--home", "border.yaml"), f"home {tmp_path}/border.yaml is not a folder; name another one"),
        (("--home", "used"), f"home {tmp_path}/used is in use by another run, process"),
    ):
        ended = aurora(*command, *options)
        assert ended.status == 1 and ended.err.count("\n") == 1, ended.err
        assert ended.err.startswith(f"error: {told}"), ended.err
    used.release()


def test_a_network_is_watched_and_changed_from_another_terminal(  # type: ignore[no-untyped-def]
    spark: SparkSession, aurora, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("one.yaml").write_text(QUERIES["one"])
    Path("plain.yaml").write_text(
        QUERIES["one"].replace("point: recent", 'schema: "Sid int, Time int, Pos int"')
    )
    Path("lost.yaml").write_text(QUERIES["one"].replace("point: recent", "point: resent"))
    home = Path("home")
    settings = Settings(batch=10, home="home", partitions=1)
    with start(border(), source(60), {"crowds": "csv:crowds.csv"}, settings) as running:
        paused = aurora("pause", home)
        assert paused.status == 0 and paused.err.startswith("paused after ") and running.state == "paused"
        attached = aurora("attach", home, "one.yaml", "--sink", "out=csv:one.csv", "--name", "first")
        assert (attached.status, attached.err) == (0, "attached first; aurora detach home first ends it\n")
        for arguments, told in (
            (
                ("attach", home, "one.yaml", "--sink", "out=csv:two.csv", "--name", "first"),
                "a query first is attached",
            ),
            (("attach", home, "one.yaml", "--sink", "out=csv:one.csv"), "sink out ("),
            (("attach", home, "one.yaml"), "no sink given; add --sink out=csv:PATH (outputs: out)"),
            (("attach", home, "one.yaml", "--sink", "in=csv:x.csv"), "sink in: the network has no output"),
            (("attach", home, "one.yaml", "--sink", "out=csv:x.csv", "--since", "soon"), "since soon: "),
            (
                ("attach", home, "one.yaml", "--sink", "out=csv:x.csv", "--name", "a b"),
                "query a b: a name may contain",
            ),
            (
                ("attach", home, "plain.yaml", "--sink", "out=csv:x.csv"),
                "input p: the inputs of a query are points",
            ),
            (
                ("attach", home, "lost.yaml", "--sink", "out=csv:x.csv"),
                "input p: there is no point resent (did you mean recent?)",
            ),
            (("detach", home, "last"), "no query last is attached; there are first"),
            (("resume", home, "last"), "no query last is attached; there are first"),
            (("resume", home, "first"), "query first has not failed: it is "),
            (
                ("step", home, "--batches", "0"),
                "step: batches must be a whole number from 1 to 1,000,000,000; found 0",
            ),
            (("peek", home, "ower"), "no stream ower is running (did you mean over"),
        ):
            ended = aurora(*arguments)
            assert ended.status == 1 and ended.err.count("\n") == 1, arguments
            assert ended.err.startswith(f"error: {told}"), ended.err

        def step_when_somebody_looks() -> None:
            wait_until(lambda: bool(running.statistics().controls.taps))
            running.step(2)

        stepping = threading.Thread(target=step_when_somebody_looks)
        stepping.start()
        shown = aurora("peek", home, "over", "--last", 2, "--where", "Sid >= 0")
        stepping.join()
        assert shown.out.startswith("Sid,Time,Pos\n") and shown.out.count("\n") == 3
        table = aurora("status", home).out
        assert table.startswith("paused, ") and "recent" in table and "first" in table
        stepped = aurora("step", home)
        told = f"makes 1 batch as soon as there is input, then pauses; aurora resume {home} continues\n"
        assert (stepped.status, stepped.err) == (0, told)
        found = json.loads(aurora("status", home, "--json").out)
        assert found["queries"]["first"]["points"] == {"p": "recent"} and found["controls"]["paused"]
        wait_until(lambda: running.queries()["first"].behind == 0 and running.queries()["first"].taken > 0)
        assert aurora("detach", home, "first").status == 0 and running.queries() == {}
        resumed = aurora("resume", home)
        assert (resumed.status, resumed.err) == (0, "resumed\n")
        stopped = aurora("stop", home)
        assert stopped.status == 0 and stopped.err.startswith("stopped after ")
    assert aurora("status", home).out.startswith("stopped, ")
    mine = streams(60)["recent"].rows
    lines = [
        f"{s},{t},{p}"
        for s, t, p in zip(*(mine[n].to_pylist() for n in mine.schema.names), strict=True)
        if s == 1
    ]
    found_lines = Path("one.csv").read_text().splitlines()[1:]
    assert found_lines and found_lines == lines[: len(found_lines)]
