"""Queries that a network takes up again when it starts: each alone, whatever has become of their files."""

import time
from pathlib import Path
from typing import Any

import pytest

from aurora import AuroraError, Settings
from aurora.engine.spark.faults import NO_JAVA, SILENT
from aurora.engine.statistics import Statistics
from aurora.engine.totals import Totals
from aurora.history import queries as attached
from aurora.history.home import Home, QueryNote
from aurora.history.points import Points
from aurora.history.queries import Queries
from aurora.history.query import AttachedQuery
from tests.history.attached import QUERIES, border

KERNEL = """
network: own
inputs: {p: {point: recent}}
boxes: {own: {user: "kernel_that_is_gone:own", inputs: {p: p}, outputs: {out: "Sid int"}, stateless: true}}
outputs: {out: {from: own}}
"""


class Killed:
    """Stands for the run of a query that ends with a fault."""

    state = "stopped"
    totals = Totals()

    def __init__(self, fault: str) -> None:
        self.fault = fault

    def wait(self) -> None:
        raise AuroraError(self.fault)

    def stop(self) -> None:
        raise AuroraError(self.fault)

    def statistics(self) -> Statistics:
        return Statistics("stopped")


@pytest.mark.parametrize(
    ("fault", "asked", "state"),
    [
        (f"the run failed: {SILENT} (more in x.log)", 1.0, "stopped"),
        (f"{NO_JAVA} (more in x.log)", 1.0, "stopped"),
        (f"the run failed: {SILENT}", 600.0, "failed"),
        ("box over: no luck", 1.0, "failed"),
    ],
)
def test_a_query_that_was_ended_with_its_network_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, asked: float, state: str
) -> None:
    """A signal to all processes of a group ends the workers before the network hears of it."""
    monkeypatch.setattr("aurora.history.query.start_run", lambda *_, **__: Killed(fault))
    note = QueryNote("one", "", {}, {})
    query = AttachedQuery(Home.of(tmp_path), note, border(), {}, {}, {}, Settings())
    query.wait()
    assert query.status().state == "failed"
    query.stop(time.monotonic() + asked)
    found = query.status()
    assert (found.state, found.fault) == (state, None if state == "stopped" else fault)


class Started:
    """Stands for a query that runs; the folder of one sink is gone, and nobody has thought of that."""

    def __init__(self, home: Home, note: QueryNote, *_: Any) -> None:
        if note.name == "astray":
            raise FileNotFoundError(2, "No such file or directory", "/astray")
        self.note = note

    def status(self) -> str:
        return "runs"


def test_one_that_cannot_be_started_does_not_keep_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attached, "AttachedQuery", Started)
    home = Home.of(tmp_path / "home")
    points = Points(border(), home)
    for sink in points.sinks().values():
        sink.open(None)
    start = {"p": {"point": "recent", "first": 0, "mark": points.log("recent").published().mark}}
    missing = str(tmp_path / "moved" / "query.yaml")
    for name, text in (("astray", QUERIES["one"]), ("own", KERNEL), ("well", QUERIES["one"])):
        home.write_note(QueryNote(name, text, {"out": "csv:out.csv"}, start, path=missing))
        points.register("recent", f"{name}/0", 3)
    main: Any = None
    queries = Queries(border(), main, Settings(), home, points)
    queries.take_up_all()
    found: dict[str, Any] = queries.status()
    # Its file is not needed: the text was noted when it was attached.
    assert found["well"] == "runs"
    assert found["astray"].fault == "FileNotFoundError: [Errno 2] No such file or directory: '/astray'"
    assert found["own"].state == "failed" and found["own"].fault.startswith(
        "box own (p p): cannot import 'kernel_that_is_gone:own' (No module named 'kernel_that_is_gone')"
    )
    assert len(list(home.notes())) == 3


def test_a_query_that_is_resumed_is_there_all_the_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its status is that of before until it has started, whether it failed at work or when it was taken up."""
    states: list[str] = []

    class Failed(Killed):
        def __init__(self, *_: Any, **__: Any) -> None:
            super().__init__("box over: no luck")
            if queries.status():
                states.append(queries.status()["one"].state)
            if len(states) == 2:
                raise AuroraError("no room")

    monkeypatch.setattr("aurora.history.query.start_run", Failed)
    home = Home.of(tmp_path / "home")
    points = Points(border(), home)
    for sink in points.sinks().values():
        sink.open(None)
    start = {"p": {"point": "recent", "first": 0, "mark": points.log("recent").published().mark}}
    home.write_note(QueryNote("one", QUERIES["one"], {"out": "csv:out.csv"}, start))
    points.describe()
    main: Any = None
    queries = Queries(border(), main, Settings(), home, points)
    queries.take_up_all()
    queries.wait()
    queries.resume("one")
    queries.wait()
    with pytest.raises(AuroraError, match=r"^no room$"):
        queries.resume("one")
    assert queries.status()["one"].fault == "no room"
    queries.resume("one")
    assert states == ["failed"] * 3
