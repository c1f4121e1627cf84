"""What a run tells while it runs: lines where there is no terminal, a bar where there is one."""

import io
import json
import re
import sys
import types
from collections import Counter
from collections.abc import Iterator

import pytest

from aurora.cli.progress import RunWatch
from aurora.cli.telling import choose, listen
from aurora.engine.statistics import BatchReport, Delays, Statistics
from aurora.engine.work import InputWork, Work


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    with listen():
        yield


def report(batch: int, rows: int, waiting: int | None = None, **more: object) -> BatchReport:
    """A batch of 100 rows, of which there is one in 10 seconds; `rows` is how many there are so far."""
    work = Work(inputs={"r": InputWork(100, 0.1, waiting)})
    given: dict[str, object] = {"rejected": 0, "end": False, **more}
    return BatchReport(
        batch,
        {"a": 50, "hidden": 9},
        given.pop("rejected"),  # type: ignore[arg-type]
        0,
        {"r": {"row": rows}},
        {},
        10.0 * (batch + 1),
        given.pop("end"),  # type: ignore[arg-type]
        work=work,
        **given,  # type: ignore[arg-type]
    )


def running(live: bool) -> types.SimpleNamespace:
    """What the watch asks a network that runs."""
    return types.SimpleNamespace(
        live=frozenset(["r"] if live else []),
        statistics=lambda: Statistics("running", rows={"a": 7, "hidden": 8}, rejected=3),
        discarded=lambda: {"box": Counter({"out of order": 4}), "other": Counter(shed=1)},
    )


def test_a_plain_line_every_ten_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    now = [100.0]
    with RunWatch(["a"], lambda: now[0]) as watch:
        for batch, moment in enumerate((103.0, 109.9, 110.0, 119.0, 120.5, 140.0)):
            now[0] = moment
            # Rows of an earlier run count, but not for the rate.
            watch(report(batch, 1100 + 100 * batch, rejected=int(batch == 1), end=batch == 5))
    assert capsys.readouterr().err.splitlines() == [
        "10 s: batch 2: 1,300 rows in, 150 out, 10 rows/s, 1 rejected",
        "20 s: batch 4: 1,500 rows in, 250 out, 10 rows/s, 1 rejected",
    ]


def test_a_line_while_nothing_seems_to_happen(capsys: pytest.CaptureFixture[str]) -> None:
    """Spark starts, and a long batch of a file is under way; a live network that has nothing to do says nothing."""
    now = [100.0]
    with RunWatch(["a"], lambda: now[0]) as watch:
        for moment in (109.0, 110.0, 111.0):
            now[0] = moment
            watch.look()
        watch(report(0, 100))
        watch.running = running(live=False)  # type: ignore[assignment]
        for moment in (120.0, 121.0, 130.0):
            now[0] = moment
            watch.look()
        watch.running = running(live=True)  # type: ignore[assignment]
        now[0] = 150.0
        watch.look()
    line = "batch 0: 100 rows in, 50 out, 10 rows/s"
    assert capsys.readouterr().err.splitlines() == ["10 s: starting Spark", f"20 s: {line}", f"30 s: {line}"]


def test_what_the_whole_run_knows(capsys: pytest.CaptureFixture[str]) -> None:
    now = [100.0]
    with RunWatch(["a"], lambda: now[0]) as watch:
        watch.running = running(live=True)  # type: ignore[assignment]
        now[0] = 110.0
        watch(report(0, 100, waiting=1500, delays={"a": Delays(50, (100, 2345))}))
        watch.running = running(live=False)  # type: ignore[assignment]
        now[0] = 120.0
        watch(report(1, 200, waiting=600))
    assert capsys.readouterr().err.splitlines() == [
        "10 s: batch 0: 100 rows in, 7 out, 10 rows/s, 3 rejected, 5 left out, 1,500 waiting, lag 2.3 s",
        "20 s: 25%, batch 1: 200 rows in, 7 out, 10 rows/s, 3 rejected, 5 left out",
    ]


def test_the_same_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    choose("json:debug", False)
    now = [100.0]
    with RunWatch(["a"], lambda: now[0]) as watch:
        now[0] = 110.0
        watch(report(4, 500, rejected=1))
    batch, progress = map(json.loads, capsys.readouterr().err.splitlines())
    assert (batch["level"], batch["event"]) == ("debug", "batch")
    assert (progress["level"], progress["event"]) == ("info", "progress")
    figures = {
        "batch": 4, "seconds": 10.0, "rows_in": 500, "rows_out": 50, "rows_per_second": 2.0, "rejected": 1,
        "discarded": 0, "waiting": None, "lag_seconds": None, "done": None,
    }  # fmt: skip
    assert {name: progress[name] for name in figures} == figures == {name: batch[name] for name in figures}


def test_a_line_for_a_set_that_takes_long_to_store(capsys: pytest.CaptureFixture[str]) -> None:
    now = [100.0]
    with RunWatch([], lambda: now[0]) as watch:
        for rows, moment in ((1000, 103.0), (2000, 111.0), (3000, 112.0), (4000, 121.0)):
            now[0] = moment
            watch.store("people", rows)
    assert capsys.readouterr().err.splitlines() == [
        "11 s: storing people: 2,000 rows",
        "21 s: storing people: 4,000 rows",
    ]


def test_a_quiet_watch(capsys: pytest.CaptureFixture[str]) -> None:
    choose(None, True)
    now = [100.0]
    with RunWatch(["a"], lambda: now[0]) as watch:
        now[0] = 110.0
        watch(report(0, 100))
    assert capsys.readouterr().err == ""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_that_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """On 80 columns, with all that can be told."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    with RunWatch(["a"]) as watch:
        watch.running = running(live=False)  # type: ignore[assignment]
        watch(report(0, 12_345_678, waiting=12_345_678))
        assert watch._bar is not None
        watch._bar.refresh()
    shown = re.sub(r"\x1b\[[^A-Za-z]*[A-Za-z]", "", screen.getvalue())
    assert "12.3M in, 7 out, 3 rejected, 5 left out" in shown and " 50% 0:00:00" in shown
    assert "lag" not in shown and "…" not in shown
