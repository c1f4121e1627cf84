"""Queries that a network takes up again when it starts: each alone, whatever has become of their files."""

from pathlib import Path
from typing import Any

import pytest

from aurora import Settings
from aurora.history import queries as attached
from aurora.history.home import Home, QueryNote
from aurora.history.points import Points
from aurora.history.queries import Queries
from tests.history.attached import QUERIES, border

KERNEL = """
network: own
inputs: {p: {point: recent}}
boxes: {own: {user: "kernel_that_is_gone:own", inputs: {p: p}, outputs: {out: "Sid int"}, stateless: true}}
outputs: {out: {from: own}}
"""


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
