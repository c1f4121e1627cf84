"""The figures of a home: noted now and then, and taken up by the next run."""

import json
import logging
from dataclasses import replace
from pathlib import Path

import pytest

from aurora import AuroraError
from aurora.engine.controls import Controls
from aurora.engine.durable import read_json
from aurora.engine.statistics import BatchReport, Delays, Statistics
from aurora.engine.work import BoxWork, InputWork, Work
from aurora.history.catalog import EVERY, QUIET, Catalog, read_averages, read_figures
from aurora.history.home import Home
from aurora.history.status import add_figures, describe_run
from aurora.network.qos import Graph, Qos
from tests.adapt.batches import batch
from tests.engine.test_statistics import Clock

GRAPHS = {"far": Qos(latency=Graph(((0.0, 1.0), (2.0, 1.0), (10.0, 0.0))))}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    (tmp_path / "checkpoint").mkdir()
    return Home.of(tmp_path)


def test_figures_are_noted_every_few_seconds_and_at_the_end(home: Home) -> None:
    clock = Clock()
    catalog = Catalog(home, GRAPHS, clock=clock)
    noted = []
    for number in range(int(3 * EVERY)):
        clock.now = number + 1.0
        catalog.take(batch(number, clock.now, 1000))
        noted.append(home.catalog.exists())
        home.catalog.unlink(missing_ok=True)
    assert sum(noted) == 3
    catalog.save()
    found = read_figures(home)
    assert found.boxes == catalog.averages.figures(1).boxes and found.inputs["r"].rate == pytest.approx(1000)
    assert Catalog(home, {}).averages.boxes == catalog.averages.boxes
    assert Catalog(home, {}, fresh=True).averages.boxes == {}


@pytest.mark.parametrize("text", [None, "", "{}", '{"boxes": 3}', "[]"])
def test_what_cannot_be_read_is_begun_anew(home: Home, text: str | None) -> None:
    if text is not None:
        home.catalog.write_text(text)
    assert read_averages(home).boxes == {}
    with pytest.raises(AuroraError, match="has no figures yet: let the network run for some batches"):
        read_figures(home)


def test_troubles_are_told_once_and_when_they_are_over(caplog: pytest.LogCaptureFixture) -> None:
    catalog = Catalog(None, GRAPHS, clock=Clock())
    catalog.live = ["r"]
    with caplog.at_level(logging.WARNING, "aurora"):
        for number in range(10):
            catalog.take(batch(number, number + 1.0, 1000, delays=(100, 4200)))
        assert catalog.troubles == ["output far is outside its good zone: p99 4.2 s > 2 s"]
        for number in range(10, 20):
            catalog.take(batch(number, number + 1.0, 1000, delays=(100, 900)))
    assert catalog.troubles == []
    assert [record.getMessage() for record in caplog.records] == [
        "output far is outside its good zone: p99 4.2 s > 2 s",
        "output far is in its good zone again: p99 0.9 s",
    ]


@pytest.mark.parametrize(("waiting", "over"), [(0, True), (None, True), (90_000, False)])
def test_a_trouble_of_an_output_ends_when_nothing_comes_or_waits_any_more(
    waiting: int | None, over: bool, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    catalog = Catalog(None, GRAPHS, clock=clock)
    catalog.live = ["r"]
    for number in range(10):
        clock.now = number + 1.0
        catalog.take(batch(number, clock.now, 1000, delays=(100, 4200)))
    for number in range(10, 20):
        clock.now = number + 1.0
        catalog.take(batch(number, clock.now, 1000, waiting=waiting))
    assert catalog.troubles, "it is too early to tell"
    clock.now += QUIET
    assert not catalog.troubles if over else catalog.troubles
    assert ("output far has no late rows any more" in caplog.messages) == over


def test_an_output_whose_part_is_held_is_told_as_well() -> None:
    clock = Clock()
    catalog = Catalog(None, GRAPHS, clock=clock)
    catalog.live = ["r"]
    for _ in range(200):
        clock.now += 0.25
        catalog.take_ages({"far": clock.now})
    assert catalog.troubles == ["output far is outside its good zone: what leads to it waits for 50 s > 2 s"]
    clock.now += QUIET / 2
    catalog.take_ages({})
    assert catalog.troubles
    clock.now += QUIET
    assert not catalog.troubles


def test_the_part_that_may_wait_counts_as_well(home: Home) -> None:
    catalog = Catalog(home, GRAPHS, clock=Clock())
    catalog.live = ["r"]
    for number in range(5):
        catalog.take(batch(number, number + 1.0, 1000))
        rows = 500 * (1 + number)
        boxes = {"late": BoxWork(rows, {"1": rows // 5}, 0.001)}
        work = Work(boxes, {"arc": InputWork(rows, 0.0, 10**9)}, 0.5 + 1e-5 * 500 * number)
        delays = {"far": Delays(100, (4200,))}
        catalog.take_later(
            BatchReport(number, {"far": 100}, 0, 0, {}, {}, number + 1.0, False, delays=delays, work=work)
        )
    assert catalog.figures().boxes.keys() == {"over", "late"} and catalog.figures().inputs.keys() == {"r"}
    assert catalog.troubles == ["output far is outside its good zone: p99 4.2 s > 2 s"]
    catalog.save()
    assert read_figures(home).boxes["late"].selectivity == pytest.approx({"1": 0.2})
    told, noted = catalog.figures().later, read_figures(home).later
    assert told is not None and noted is not None
    assert (
        told.fixed == pytest.approx(noted.fixed)
        and told.per_row == pytest.approx(noted.per_row)
        and told.fixed > 0
    )
    again = Catalog(home, GRAPHS, clock=Clock()).figures().later
    assert again is not None and again.fixed == pytest.approx(told.fixed), "the next run begins with it"


def test_stored_files_are_never_late(caplog: pytest.LogCaptureFixture) -> None:
    catalog = Catalog(None, GRAPHS, clock=Clock())
    for number in range(10):
        catalog.take(batch(number, number + 1.0, 1000, waiting=10_000 * number, delays=(90_000,)))
    assert catalog.troubles == [] and not caplog.records


def test_the_figures_in_the_status() -> None:
    clock = Clock()
    catalog = Catalog(None, GRAPHS, clock=clock)
    catalog.cores, catalog.live = 2, ["r"]
    for number in range(9):
        clock.now = number + 1.0
        took = 0.4 + 0.01 * number
        catalog.take(batch(number, clock.now, 10_000 + 1000 * number, took=took, waiting=7))
    seen = Statistics("running", 9, taken={"over": 12_600}, given={"over": 12_600}, input_rates={"r": 900.0})
    told = describe_run(seen, ["over"], {"far": None}, {}, {})
    found = add_figures(told, catalog.figures(), ["input r falls behind"])
    assert json.loads(json.dumps(found["arcs"])) == found["arcs"]
    assert found["boxes"]["over"]["ports"] == {"1": 0.5, "rest": 0.5}
    assert found["boxes"]["over"]["cost_us"] == 2.0 and found["boxes"]["over"]["rate"] > 10_000
    assert found["inputs"]["r"] == {"rate": 900.0, "waiting": 7, "growth": 0.0, "cost_us": 1.0}
    assert found["arcs"]["over.1"]["rate"] == pytest.approx(found["arcs"]["r"]["rate"] / 2, abs=0.1)
    assert found["overhead"]["row_us"] > 0 and found["cores"] == 2 and found["capacity"] > 10_000
    assert found["troubles"] == ["input r falls behind"]


def test_a_home_that_is_starting(tmp_path: Path) -> None:
    home = Home.of(tmp_path / "home")
    assert not home.is_starting
    home.open()
    assert home.is_starting and home.last_status()["state"] == "starting"
    home.note_started()
    assert not home.is_starting and home.last_status()["state"] == "stopped"
    home.release()
    home.open()
    home.release()
    assert not home.is_starting and not (tmp_path / "home" / "starting").exists()
    (tmp_path / "home" / "starting").touch()
    (tmp_path / "home" / "lock").write_text("1\n")
    assert not home.is_starting, "it was killed while it started"


def test_what_was_learnt_is_there_in_the_next_run(home: Home) -> None:
    catalog = Catalog(home, GRAPHS, clock=Clock())
    catalog.values = lambda: {"far": (0.25, 0.75)}
    catalog.take(replace(batch(0, 1.0, 1000), controls=Controls(rewrites=(("b", "a"),))))
    catalog.take_later(replace(batch(0, 1.0, 1000), controls=Controls(rewrites=(("d", "c"),))))
    catalog.save()
    again = Catalog(home, GRAPHS)
    assert again.known_orders == (("b", "a"), ("d", "c")) and again.known_values == {"far": [0.25, 0.75]}
    fresh = Catalog(home, GRAPHS, fresh=True)
    assert fresh.known_orders == () and fresh.known_values == {}
    noted = read_json(home.catalog)
    del noted["orders"]
    home.catalog.write_text(json.dumps(noted))
    older = Catalog(home, GRAPHS)
    assert older.known_orders == () and older.averages.boxes, "one that was noted without them"
