"""A network in two parts: the outputs that may wait have the same rows as ever, whenever the run is stopped."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from aurora import Memory, Settings, run, start
from aurora.errors import AuroraError
from aurora.history import parts
from tests.adapt.test_deferral import make_network, make_rows
from tests.history.attached import wait_until


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
        patch.setattr(parts, "must_hold", lambda *_: True)
        patch.setattr(parts, "IDLE", 1e6)
        with start(make_network(part), source(part), sinks(out), settings(tmp_path)) as running:
            running.pause()
            wait_until(lambda: running._parts.deferred.held)  # type: ignore[union-attr]
            running.step(4)
            wait_until(lambda: running.statistics().batches >= 4)
            wait_until(lambda: running._parts.deferred.held)  # type: ignore[union-attr]
            shown = running.status()
            assert shown["outputs"]["quick"]["rows"] > 0
            assert shown["outputs"].keys() == {"quick", "late"} and not shown["points"]
            assert sum(running._parts.waiting().values()) > 0
    assert run(make_network(part), source(part), sinks(out), settings(tmp_path)).ended
    check_same(out, whole)


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
