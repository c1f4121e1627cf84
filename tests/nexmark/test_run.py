"""`nexmark run`: results and reports, checks, restarts, rates, and faults in one line."""

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from aurora import AuroraError, Settings, TextSink, run
from aurora.cli.commands import app
from aurora.engine.locks import Locks, lock_beside
from aurora.nexmark.data import EventFolder
from aurora.nexmark.plots import plot_run
from aurora.nexmark.queries import QUERIES, Rules, query_network
from aurora.nexmark.record import Record
from aurora.nexmark.run import run_query
from tests.engine.without_spark import files
from tests.nexmark.events import small_events
from tests.nexmark.test_queries import count_late
from tests.spec.nexmark import ANSWERS

EVENTS = small_events(5, 400)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Events in two files, with lines in between that are none."""
    folder = tmp_path_factory.mktemp("events")
    lines = [json.dumps(event, ensure_ascii=False) for event in EVENTS]
    lines[100:100] = ['{"bid": {"auction": 5', "null", '{"bid": {"auction": "five", "price": 1}}']
    (folder / "events-00000.jsonl").write_text("\n".join(lines[:200]) + "\n")
    (folder / "events-00001.jsonl").write_text("\n".join(lines[200:]) + "\n")
    return folder


def rows_of(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_run_with_its_report(spark: SparkSession, data: Path, tmp_path: Path) -> None:
    measured = run_query("q4", data, tmp_path, check=True, batch=150, lateness=4.0)
    assert rows_of(tmp_path / "result.jsonl") == ANSWERS["q4"](EVENTS, "standard", 4000)
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["agrees"] is True and report["ended"] is True
    assert (
        report["events"] == 403
        and report["rejected"] == 3
        and report["late"] == count_late("q4", EVENTS, "standard", 4000)
    )
    assert report["rows"] == len(ANSWERS["q4"](EVENTS, "standard", 4000))
    assert set(report["tuple_latency_s"]) == {"p50", "p95", "p99", "max"}
    assert report["output_matching"]["kind"] == "numeric"
    assert report["output_matching"]["value"] == measured.curve.matching
    # Whatever came late, in the end nothing is missing.
    assert measured.curve.distance.height[-1] == pytest.approx(0, abs=1e-6)
    assert report["events_per_s"] > 0 and report["mb_per_s"] > 0 and report["rate"] is None
    assert len((tmp_path / "rejects.csv").read_text().splitlines()) == 4
    assert measured.verdict.startswith("q4 agrees")
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


def test_a_run_that_broke_off_goes_on(spark: SparkSession, data: Path, tmp_path: Path) -> None:
    """The second batch fails when it is written; the next run has the state and the rows of the first.

    That every query begins each batch from stored bytes alone is what test_queries.py holds, without Spark.
    """
    query = "q6"
    network, source = query_network(query, Rules(lateness=4000)), EventFolder.of(data).source
    good = Record(QUERIES[query].measure)
    calls = []

    def breaking(rows: pa.RecordBatch, arrived: Any) -> bytes:
        calls.append(rows.num_rows)
        if len(calls) == 2:
            raise OSError("no space left")
        return good(rows, arrived)

    path = str(tmp_path / "result.jsonl")
    with pytest.raises(AuroraError, match="no space left"):
        run(network, {"events": source}, {"result": TextSink(path, breaking)}, Settings(batch=120))
    run(network, {"events": source}, {"result": TextSink(path, good)}, Settings(batch=70))
    assert rows_of(tmp_path / "result.jsonl") == ANSWERS[query](EVENTS, "standard", 4000)


def test_events_go_through_as_they_are(spark: SparkSession, tmp_path: Path) -> None:
    lines = [json.dumps(event, ensure_ascii=False) for event in EVENTS[:50]]
    (tmp_path / "events-00000.jsonl").write_text(
        "\n".join([*lines[:20], "{}", '{"bid": null}', *lines[20:]]) + "\n"
    )
    measured = run_query("q0", tmp_path, tmp_path / "out")
    assert (tmp_path / "out" / "result.jsonl").read_text().splitlines() == lines
    assert measured.report.rejected == 0 and measured.report.output_matching["kind"] == "rows"


def test_at_a_rate(spark: SparkSession, data: Path, tmp_path: Path) -> None:
    told: list[str] = []
    measured = run_query("q7", data, tmp_path, rate=2000, tell=told.append, lateness=4.0)
    assert rows_of(tmp_path / "result.jsonl") == ANSWERS["q7"](EVENTS, "standard", 4000)
    assert measured.report.rate is not None and measured.report.rate["asked"] == 2000
    # The last event is due after 0.2 s, and nothing that it brings forth can come before.
    assert measured.report.seconds >= 0.2
    assert len(measured.record.latency) and (measured.record.latency >= 0).all()
    plot_run(measured, tmp_path / "report.png")
    assert (tmp_path / "report.png").stat().st_size > 10_000
    assert told[0] == "warming up; then 2,000 events a second"


def test_what_is_lost_shows(spark: SparkSession, data: Path, tmp_path: Path) -> None:
    measured = run_query("q4", data, tmp_path, rate=4000, lose=0.5, lateness=4.0)
    assert 0 < measured.report.rows < len(ANSWERS["q4"](EVENTS, "standard", 4000))
    assert measured.curve.ideal is not None and measured.curve.measured is not None
    assert len(measured.curve.ideal.time) > 1 and measured.curve.distance.height[-1] > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--query", "q99", "--data", "DATA"], "there is no query 'q99': there are q0, q1"),
        (
            ["--query", "q1", "--data", "nowhere"],
            "there is no folder nowhere: make one with aurora nexmark generate",
        ),
        (["--query", "q1", "--data", "EMPTY"], "has no events-NNNNN.jsonl or .parquet"),
        (["--query", "q1", "--data", "DATA", "--profile", "paper"], "there is no profile 'paper'"),
        (["--query", "q1", "--data", "DATA", "--rate", "0"], "a rate is a number of rows a second above 0"),
        (["--query", "q1", "--data", "DATA", "--lateness", "-1"], "the lateness must be 0 or more"),
        (["--query", "q1", "--data", "DATA", "--out", "FILE"], "cannot write to --out"),
        (["--query", "q1", "--data", "DATA", "--out", "FILE/out"], "cannot write to --out"),
        (["--query", "q1", "--data", "DATA", "--lose", "0.1"], "what is lost is measured at a --rate"),
    ],
)
def test_faults(data: Path, tmp_path: Path, arguments: list[str], message: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    places = {"DATA": str(data), "EMPTY": str(tmp_path / "empty"), "FILE": str(tmp_path / "file")}
    places["FILE/out"] = str(tmp_path / "file" / "out")
    given = [places.get(argument, argument) for argument in arguments]
    done = CliRunner().invoke(app, ["nexmark", "run", "--out", str(tmp_path / "out"), *given])
    assert isinstance(done.exception, AuroraError) and message in str(done.exception)
    assert not (tmp_path / "out" / "report.json").exists()


@pytest.mark.parametrize("name", ["report.json", "result.jsonl"])
def test_events_are_not_written_over(data: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes((data / "events-00000.jsonl").read_bytes())
    (tmp_path / "events-00000.jsonl").symlink_to(name)
    before = files(tmp_path)
    with pytest.raises(
        AuroraError, match=r"^the run reads \S+events-00000.jsonl, and with --out \S+ it writes"
    ):
        run_query("q1", tmp_path, tmp_path, fresh=True)
    assert files(tmp_path) == before


def test_a_run_under_way_keeps_its_report(data: Path, tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text("{}")
    with Locks() as locks:
        locks.take("it", lock_beside(str(tmp_path / "result.jsonl")))
        before = files(tmp_path)
        with pytest.raises(AuroraError, match=r"result.jsonl\) is in use by another run"):
            run_query("q1", data, tmp_path, fresh=True)
        assert files(tmp_path) == before


def test_a_run_that_could_read_no_event_has_failed(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "events-00000.jsonl").write_text('{"bid": 1}\nnone\n')
    words = ["nexmark", "run", "--query", "q0", "--data", str(tmp_path), "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, words)
    assert "2 rejected: see" in done.output
    assert isinstance(done.exception, AuroraError)
    assert str(done.exception).startswith("no row of input events could be read: ")


def test_the_command(spark: SparkSession, data: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(
        app, ["nexmark", "run", "--query", "q2", "--data", str(data), "--out", str(tmp_path), "--check"]
    )
    assert done.exit_code == 0, done.output
    assert "q2 selection (standard): 403 events" in done.output and "q2 agrees" in done.output
    assert (
        f"3 rejected: see {tmp_path / 'rejects.csv'}\n" in done.output and (tmp_path / "rejects.csv").exists()
    )
    assert "output matching" in done.output and "tuple latency" in done.output


def test_a_folder_says_what_its_events_are(data: Path, tmp_path: Path) -> None:
    assert EventFolder.of(data).lateness == 4000
    (tmp_path / "events-00000.parquet").touch()
    (tmp_path / "generation.json").write_text('{"profile": "draft", "late_by": 1.5, "events": 7, "seed": 1}')
    folder = EventFolder.of(tmp_path)
    assert (folder.profile, folder.lateness, folder.events) == ("draft", 1500, 7)
    assert folder.source == f"parquet:{tmp_path}/events-*.parquet"
    (tmp_path / "generation.json").write_text("{}")
    with pytest.raises(AuroraError, match="is not what aurora nexmark generate writes"):
        EventFolder.of(tmp_path)


def test_the_draft_at_its_small_scale(spark: SparkSession, tmp_path: Path) -> None:
    """From the firehose to the check, with five seconds of the level's minute: 10,000 bids a second."""
    events = tmp_path / "events"
    level = ["--profile", "draft", "--scale", "small", "--events", "60500"]
    made = CliRunner().invoke(app, ["nexmark", "generate", *level, "--out", str(events)])
    assert made.exit_code == 0, made.output
    for query in ("q4", "q5"):
        measured = run_query(query, events, tmp_path / query, check=True)
        assert measured.report.events == 60_500 and measured.report.agrees, measured.verdict
        assert measured.report.rows > 0
