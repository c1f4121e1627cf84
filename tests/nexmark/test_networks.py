"""`aurora nexmark network`: queries as text, which runs like any other network."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from aurora import AuroraError, from_text
from aurora.cli.commands import app
from aurora.nexmark.queries import QUERIES, Rules, query_network
from aurora.nexmark.run import run_query
from tests.nexmark.auctions import write_rows
from tests.nexmark.events import small_events
from tests.nexmark.simulated import simulated

EVENTS = small_events(8, 300)
TIMES = ("dateTime", "expires", "window_start", "window_end")


def printed(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["nexmark", "network", *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def rows_of(path: Path) -> list[dict[str, Any]]:
    """With times as moments: a sink that is not told how many digits they have leaves out the zeros at their end."""
    return [
        {
            name: datetime.fromisoformat(value) if name in TIMES else value
            for name, value in json.loads(line).items()
        }
        for line in path.read_text().splitlines()
    ]


@pytest.mark.parametrize("query", QUERIES)
def test_the_text_is_the_query(query: str) -> None:
    assert from_text(printed(query)) == query_network(query)
    rules = Rules("draft", 0.5, 1500)
    options = ("--profile", "draft", "--lateness", "1.5", "--dollars-to-euros", "0.5")
    assert from_text(printed(query, *options)) == query_network(query, rules)


@pytest.mark.parametrize("query", ["q4", "q13"])
def test_what_is_printed_gives_the_same_rows(query: str, tmp_path: Path) -> None:
    text = printed(query, "--tables", str(tmp_path))
    tables = QUERIES[query].tables()
    network = from_text(text)
    found, _ = simulated(network, EVENTS, 50, 2, tables)
    wanted, _ = simulated(query_network(query), EVENTS, 1000, 1, tables)
    assert found and found == wanted
    for name, table in tables.items():
        lines = (tmp_path / f"{name}.csv").read_text().splitlines()
        assert len(lines) == 1 + table.rows.num_rows


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that says another profile and another lateness than the defaults."""
    folder = tmp_path_factory.mktemp("data")
    write_rows(folder / "events-00000.jsonl", EVENTS)
    summary = {"profile": "draft", "late_by": 10.0, "events": len(EVENTS)}
    (folder / "generation.json").write_text(json.dumps(summary))
    return folder


def test_the_rules_are_those_of_the_data(data: Path) -> None:
    assert from_text(printed("q5", "--data", str(data))) == query_network(
        "q5", Rules("draft", lateness=10_000)
    )
    given = ("--data", str(data), "--profile", "standard", "--lateness", "2")
    assert from_text(printed("q5", *given)) == query_network("q5", Rules(lateness=2000))


@pytest.mark.parametrize("query", ["q4", "q5", "q13"])
def test_it_runs_by_hand(query: str, data: Path, spark: SparkSession, tmp_path: Path) -> None:
    """The recipe of docs/nexmark.md gives the rows of `nexmark run`."""
    run_query(query, data, tmp_path / "out")
    file = tmp_path / "query.yaml"
    file.write_text(printed(query, "--data", str(data), "--tables", str(tmp_path)))
    bound = [
        "--source",
        f"events=json:{data}/events-*.jsonl",
        "--sink",
        f"result=json:{tmp_path}/result.jsonl",
    ]
    for name in QUERIES[query].tables():
        bound += ["--source", f"{name}=csv:{tmp_path}/{name}.csv"]
    done = CliRunner().invoke(app, ["run", str(file), *bound])
    assert done.exit_code == 0, done.output
    rows = rows_of(tmp_path / "result.jsonl")
    assert rows and rows == rows_of(tmp_path / "out" / "result.jsonl")


def test_unknown_queries_are_faults() -> None:
    done = CliRunner().invoke(app, ["nexmark", "network", "q99"])
    assert isinstance(done.exception, AuroraError) and "there is no query 'q99'" in str(done.exception)
