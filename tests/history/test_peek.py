"""A look at a point from its log alone."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from aurora import AuroraError
from aurora.cli.commands import app
from aurora.history import latest, peek, segments
from aurora.history.home import Home
from aurora.history.keeping import remove_old
from aurora.history.log import Log
from aurora.history.peek import Peek, describe_point, is_point, meet, open_point
from aurora.history.point_sink import PointSink
from aurora.network.points import Keep
from tests.history.logs import SCHEMA, count, make_point, to_batch, write


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setattr(segments, "ROWS", 3)
    home = Home.of(tmp_path)
    home.checkpoint.mkdir()
    write(PointSink(str(home.point("recent")), make_point()), [count(0, 5), count(5, 5)])
    describe_point(home.point("recent"), SCHEMA, {"keep": "all"})
    (tmp_path / "points" / ".recent.lock").touch()
    return home


def numbers(rows: pa.RecordBatch) -> list[int]:
    assert rows.schema == SCHEMA.arrow()
    return rows["n"].to_pylist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(("last", "where", "found"), [
    (0, None, []),
    (1, None, [9]),
    (4, None, [6, 7, 8, 9]),
    (99, None, list(range(10))),
    (2, "n < 5", [3, 4]),
    (99, "g = 'g1' and t > 2", [4, 7]),
    (99, "t is null", []),
])  # fmt: skip
def test_the_last_rows_that_meet_a_condition(
    home: Home, last: int, where: str | None, found: list[int]
) -> None:
    rows, upto = open_point(home, "recent").last(last, where)
    assert numbers(rows) == found and upto == 10


@pytest.mark.parametrize(("last", "where", "found", "read"), [
    (99, "n = 4", [4], 1),
    (99, "n IN (2, 7, 8, 99) and t > 2", [7, 8], 2),
    (1, "n = 2 or n = 8", [8], 1),
    (99, "n = 99", [], 0),
    (99, "n + 0 = 4", [4], 5),
])  # fmt: skip
def test_a_condition_on_the_storage_key_reads_what_can_meet_it(
    home: Home, monkeypatch: pytest.MonkeyPatch, last: int, where: str, found: list[int], read: int
) -> None:
    place, key = home.point("keyed"), ("n",)
    write(PointSink(str(place), make_point(key=key)), [count(0, 9), count(9, 5)])
    describe_point(place, SCHEMA, {"keep": "all", "key": ["n"]})
    segments_read = []

    def noted(path: str, segment: segments.Segment) -> Any:
        segments_read.append(segment.row)
        return segments.read_segment(path, segment)

    monkeypatch.setattr(peek, "read_segment", noted)
    assert numbers(open_point(home, "keyed").last(last, where)[0]) == found
    assert len(segments_read) == read
    replace(Log(str(place)).published(), ended=True).write(str(place))
    followed = open_point(home, "keyed").follow(0, where)
    assert [n for rows in followed for n in numbers(rows)][-last:] == found


def test_rows_that_come_are_followed_without_a_gap(home: Home) -> None:
    point, found = open_point(home, "recent"), []
    sink, coming = PointSink(str(home.point("recent")), make_point()), [3, 1, 4]
    note = vars(Log(sink.folder).published())

    def meanwhile(_: float) -> None:
        """What happens while it waits."""
        nonlocal note
        if coming:
            note = sink.deliver(0, *to_batch(count(note["rows"], coming.pop())), note)
            sink.publish(note)
        else:
            replace(Log(sink.folder).published(), ended=True).write(sink.folder)

    for rows in point.follow(7, "n % 2 = 0", meanwhile):
        found += numbers(rows)
    assert found == [8, 10, 12, 14, 16]


def test_who_follows_a_home_that_does_not_run_is_told(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def then_interrupted(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Peek.follow, "__defaults__", (None, then_interrupted))
    found = CliRunner().invoke(app, ["peek", str(home.folder), "recent", "--last", "1", "--follow"])
    assert found.stdout.splitlines() == ["n,t,g", "9,9.0,g0"]
    assert f"{home.folder} is not running; waiting for rows of its next run" in found.stderr


def test_rows_that_are_removed_meanwhile_are_passed_over(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who looks on from another process holds nobody up."""
    folder = str(home.point("short"))
    write(PointSink(folder, make_point(Keep(rows=1))), [count(n, 1) for n in range(5)])
    describe_point(home.point("short"), SCHEMA, {"keep": 1})
    point, log = open_point(home, "short"), Log(folder)
    looked = Log.segments

    def then_removed(self: Log, *given: object) -> object:
        found = looked(self, *given)  # type: ignore[arg-type]
        remove_old(log, make_point(Keep(rows=1)))
        return found

    monkeypatch.setattr(Log, "segments", then_removed)
    assert numbers(point.last(99)[0]) == [4]
    replace(log.published(), ended=True).write(folder)
    assert [numbers(rows) for rows in point.follow(0)] == [[4]]


@pytest.mark.parametrize(
    ("keep", "spec", "found"),
    [(Keep(rows=3), {"keep": 3}, [7, 8, 9]), (Keep(span=4), {"keep": 4, "on": "t"}, [5, 6, 7, 8, 9])],
)
def test_what_is_no_longer_kept_is_not_shown(
    home: Home, keep: Keep, spec: dict[str, Any], found: list[int]
) -> None:
    """Though it lies in the same file."""
    folder = home.point("short")
    write(PointSink(str(folder), make_point(keep, spec.get("on"))), [count(0, 10)])
    describe_point(folder, SCHEMA, spec)
    assert numbers(open_point(home, "short").last(99)[0]) == found
    assert numbers(open_point(home, "short").last(2, "n < 9")[0]) == found[-3:-1]


def test_a_table_whose_copy_is_replaced_meanwhile_is_whole(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, point = home.point("now"), make_point(Keep(latest=True), key=("g",))
    note = write(sink := PointSink(str(folder), point), [count(0, 5)])
    describe_point(folder, SCHEMA, {"keep": "latest", "key": ["g"]})
    latest.write_copy(Log(str(folder)), point, SCHEMA)
    opened, read = open_point(home, "now"), latest.read_latest

    def then_replaced(*given: Any) -> Any:
        monkeypatch.setattr("aurora.history.peek.read_latest", read)
        sink.publish(sink.deliver(0, *to_batch(count(5, 1)), note))
        latest.write_copy(Log(str(folder)), point, SCHEMA)
        return latest.Latest(to_batch([])[0], *([None] * 3))

    monkeypatch.setattr("aurora.history.peek.read_latest", then_replaced)
    assert numbers(opened.last(99)[0]) == [3, 4, 5]


def test_what_is_not_there_is_told(home: Home) -> None:
    assert is_point(home, "recent") and not is_point(home, "resent")
    with pytest.raises(
        AuroraError, match=r"^there is no point or view resent \(did you mean recent\?\); there are recent$"
    ):
        open_point(home, "resent")
    with pytest.raises(AuroraError, match="is not the home of a network"):
        open_point(Home.of(home.folder / "x"), "recent")
    with pytest.raises(AuroraError, match="where: unknown field 'm'"):
        open_point(home, "recent").last(1, "m = 1")
    with pytest.raises(AuroraError, match="where"):
        meet(to_batch(count(0, 1))[0], "n +")
    assert numbers(meet(to_batch(count(0, 5))[0], "n % 2 = 1")) == [1, 3]


def test_a_point_that_nothing_has_passed_yet(tmp_path: Path) -> None:
    rows, upto = Peek(Log(str(tmp_path)), SCHEMA, make_point()).last(3)
    assert numbers(rows) == [] and upto == 0
