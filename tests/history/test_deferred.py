"""A network in two parts: the outputs that may wait have the same rows as ever, whenever the run is stopped."""

import socket
import threading
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from aurora import Memory, Running, Settings, run, start
from aurora.engine.sinks.encode import to_csv
from aurora.engine.totals import Totals
from aurora.errors import AuroraError
from aurora.history import turns
from aurora.history.deferred import Deferred
from tests.adapt.test_deferral import make_network, make_rows
from tests.history.attached import PATIENCE, wait_until
from tests.test_docs import call

# Rows of an input that is not at its end before both parts work.
LONG = 8000


def source(part: str, count: int = 300) -> dict[str, Memory]:
    return {"reports": Memory.of(make_network(part).inputs["reports"].schema, make_rows(count))}


def sinks(folder: Path) -> dict[str, str]:
    folder.mkdir(exist_ok=True)
    return {name: f"csv:{folder}/{name}.csv" for name in ("quick", "late")}


def settings(folder: Path, **more: object) -> Settings:
    return Settings(batch=40, partitions=2, home=str(folder / "home"), **more)  # type: ignore[arg-type]


def check_same(folder: Path, other: Path) -> None:
    for name in ("quick", "late"):
        found = (folder / f"{name}.csv").read_text()
        assert found == (other / f"{name}.csv").read_text() and found.count("\n") > 5


@pytest.fixture(scope="module")
def whole(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the network gives in one part."""
    folder = tmp_path_factory.mktemp("whole")
    run(make_network("two arcs of one box"), source("two arcs of one box"), sinks(folder))
    return folder


def test_two_parts_give_what_one_gives_through_stops(whole: Path, tmp_path: Path) -> None:
    part, out = "two arcs of one box", tmp_path / "out"
    with start(make_network(part), source(part), sinks(out), settings(tmp_path)) as running:
        running.step(3)
        wait_until(lambda: running.statistics().batches >= 3)
    with start(make_network(part), source(part), sinks(out), settings(tmp_path)) as running:
        result = running.wait()
    assert result.ended and set(result.totals.rows) == {"quick", "late"}
    check_same(out, whole)
    again = run(make_network(part), source(part), sinks(out), settings(tmp_path))
    assert again.already
    check_same(out, whole)


def test_what_waits_is_durable_and_shown_and_comes_later(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part, out = "two arcs of one box", tmp_path / "out"
    with monkeypatch.context() as patch:
        # It does not follow the steps of the other part.
        patch.setattr(Deferred, "follow", lambda _: None)
        with start(make_network(part), source(part), sinks(out), settings(tmp_path)) as running:
            running.step(4)
            wait_until(lambda: running.statistics().batches >= 4)
            running.pause()
            shown = running.status()
            assert shown["outputs"]["quick"]["rows"] > 0
            assert shown["outputs"].keys() == {"quick", "late"} and not shown["points"]
            waiting = running._parts.waiting()
            assert waiting.keys() == {"over.1", "over.rest"} and all(waiting.values())
            assert {name: shown["arcs"][name]["waiting"] for name in waiting} == waiting
            assert {name: box["waiting"] for name, box in shown["boxes"].items()} == {
                "over": 0, "crowd": 0, "last": sum(waiting.values())
            }  # fmt: skip
            assert (
                f"{waiting['over.1']:,} waiting at over.1" in call(["explain", f"--home={tmp_path}/home"])[1]
            )
    assert run(make_network(part), source(part), sinks(out), settings(tmp_path)).ended
    check_same(out, whole)


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("kind", ["socket", "folder"])
def test_what_waits_behind_the_end_of_the_input_comes_in_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Neither is a socket asked again, nor does it matter that files were removed."""
    part, rows = "one arc", tmp_path / "rows.csv"
    rows.write_bytes(to_csv(source(part)["reports"].rows))
    run(make_network(part), {"reports": f"csv:{rows}"}, sinks(tmp_path / "whole"))
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    address = f"csv:{folder}?end=end"
    if kind == "socket":
        listening = socket.create_server(("127.0.0.1", 0))
        address = f"tcp:127.0.0.1:{listening.getsockname()[1]}"

        def send() -> None:
            with listening, listening.accept()[0] as connection:
                connection.sendall(rows.read_bytes())

        threading.Thread(target=send, daemon=True).start()
    with monkeypatch.context() as patch:
        patch.setattr(turns, "must_hold", lambda *_: True)
        # It ends as by a kill: what waits is left.
        patch.setattr(Deferred, "wait", lambda *_: pytest.fail("killed"))
        with (
            pytest.raises(pytest.fail.Exception, match="killed"),
            start(make_network(part), {"reports": address}, sinks(out), settings(tmp_path)) as running,
        ):
            running._parts.deferred.hold(True)  # type: ignore[union-attr]
            if kind == "folder":
                (folder / "1.csv").write_bytes(rows.read_bytes())
                (folder / "end").touch()
            running.wait()
    assert Totals.load(tmp_path / "home/checkpoint/committed.json").end  # type: ignore[union-attr]
    assert (out / "late.csv").read_bytes() != (tmp_path / "whole/late.csv").read_bytes()
    for left in folder.iterdir():
        left.rename(tmp_path / left.name)
    result = run(make_network(part), {"reports": address}, sinks(out), settings(tmp_path))
    assert result.ended and not result.already
    check_same(out, tmp_path / "whole")


@pytest.fixture
def both_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the load is."""
    monkeypatch.setattr(turns, "must_hold", lambda *_: False)
    monkeypatch.setattr(turns, "find_gathering", lambda *_: 0.0)


@pytest.mark.usefixtures("spark", "both_at_work")
def test_a_pause_waits_for_both_parts(tmp_path: Path) -> None:
    own: list[Running] = []
    begun, paused, done = threading.Event(), threading.Event(), threading.Event()

    def take(_: object) -> None:
        if not begun.is_set():
            begun.set()
            wait_until(lambda: bool(own) and own[0].state == "paused")
            own[0]._main.settle()
            # The other part stands still: time to return too early.
            paused.wait(0.5)
            done.set()

    chosen = {"quick": f"csv:{tmp_path}/quick.csv", "late": take}
    with start(make_network("one arc"), source("one arc", LONG), chosen, settings(tmp_path)) as running:
        own.append(running)
        assert begun.wait(PATIENCE)
        running.pause()
        was_done = done.is_set()
        paused.set()
        assert was_done and stand_still(running)


def test_a_step_leaves_both_parts_still(spark: SparkSession, tmp_path: Path) -> None:
    part, out = "one arc", tmp_path / "out"
    with start(make_network(part), source(part), sinks(out), settings(tmp_path)) as running:
        running.pause()
        for steps in (3, 1):
            made = running.statistics().batches
            running.step(steps)
            wait_until(lambda: stand_still(running) and running._parts.waiting() == {"over.1": 0})
            assert running.statistics().batches == made + steps and running.state == "paused"
        assert running.status()["outputs"]["late"]["rows"] > 0, "it has followed"
        running.resume()
        assert running.wait().ended


@pytest.mark.usefixtures("spark", "both_at_work")
def test_a_part_is_paused_from_within_a_batch_of_the_other(tmp_path: Path) -> None:
    """Neither waits for the other, which may wait for it."""
    own: list[Running] = []
    later, both = threading.Event(), threading.Barrier(2)
    taken: list[int] = []
    paused: list[bool] = []

    def take_late(_: object) -> None:
        later.set()
        pause()

    def take_quick(_: object) -> None:
        taken.append(1)
        # The first batch brings what the other part takes.
        if len(taken) > 1:
            assert later.wait(PATIENCE)
            pause()

    def pause() -> None:
        if len(paused) < 2:
            both.wait(PATIENCE)
            own[0].pause()
            paused.append(True)

    chosen = {"quick": take_quick, "late": take_late}
    one = start(make_network("one arc"), source("one arc", LONG), chosen, settings(tmp_path))
    own.append(one)
    with one:
        wait_until(lambda: len(paused) == 2 and stand_still(one))


def stand_still(running: Running) -> bool:
    """Whether no part may make a batch, and none is under way."""
    later = running._parts.deferred
    assert later is not None
    runs = (running._main, later._run)
    for each in runs:
        each.settle()
    if any(each.controls.allow(each.totals.batch + 1) for each in runs):
        return False
    for each in runs:
        # The totals say that a batch is done before it has been counted.
        with each.between_batches():
            pass
    return True


def test_a_fault_behind_an_arc_is_the_networks(spark: SparkSession, tmp_path: Path) -> None:
    def refuse(_: object) -> None:
        raise ValueError("no room for it")

    part = "one arc"
    chosen = {"quick": f"csv:{tmp_path}/quick.csv", "late": refuse}
    with pytest.raises(AuroraError, match="sink late: ValueError: no room for it"):
        run(make_network(part), source(part), chosen, settings(tmp_path))


def test_the_later_part_does_not_write_over_what_is_read(spark: SparkSession, tmp_path: Path) -> None:
    network = make_network("one arc")
    path = tmp_path / "reports.csv"
    path.write_text("Sid,Time,Pos,Note\n1,1,40,n\n")
    chosen = {"quick": f"csv:{tmp_path}/quick.csv", "late": f"csv:{path}"}
    with pytest.raises(AuroraError, match="reports"):
        run(network, {"reports": f"csv:{path}"}, chosen, settings(tmp_path))
    assert path.read_text().startswith("Sid")


def test_without_deferring_all_is_one_part(spark: SparkSession, tmp_path: Path) -> None:
    part = "one arc"
    with start(
        make_network(part), source(part, 50), sinks(tmp_path / "o"), settings(tmp_path, defer=False)
    ) as one:
        assert one._parts.deferred is None
        one.step(1)
        wait_until(lambda: one.statistics().batches >= 1)
    with pytest.raises(AuroraError, match="holds a run in one part: give --no-deferring"):
        start(make_network(part), source(part, 50), sinks(tmp_path / "o"), settings(tmp_path))


def test_a_home_in_two_parts_is_not_run_in_one(spark: SparkSession, tmp_path: Path) -> None:
    part = "one arc"
    with start(make_network(part), source(part), sinks(tmp_path / "o"), settings(tmp_path)) as two:
        two.step(1)
        wait_until(lambda: two.statistics().batches >= 1)
    with pytest.raises(AuroraError, match="holds a run in two parts, with tuples that wait"):
        start(make_network(part), source(part), sinks(tmp_path / "o"), settings(tmp_path, defer=False))
    other = make_network(part)
    name, other.name = other.name, "mill"
    with pytest.raises(
        AuroraError, match=f"is the home of another network, {name}; name another one, or start"
    ):
        start(other, source(part), sinks(tmp_path / "o"), settings(tmp_path, defer=False))
