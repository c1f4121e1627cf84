"""`aurora nexmark network`: queries as text, which runs like any other network."""

import json
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


def printed(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["nexmark", "network", *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def plain_rows(path: Path) -> list[dict[str, Any]]:
    """Without the zeros at the end of times: a sink that is not told how many digits they have writes none."""
    return [
        {
            name: value.rstrip("0").rstrip(".") if "." in str(value) and isinstance(value, str) else value
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


def test_it_runs_by_hand(spark: SparkSession, tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    write_rows(data / "events-00000.jsonl", EVENTS)
    run_query("q5", data, out)
    (tmp_path / "hot.yaml").write_text(printed("q5"))
    bound = ["--source", f"events=json:{data}/events-*.jsonl", "--sink", f"result=json:{tmp_path}/hot.jsonl"]
    done = CliRunner().invoke(app, ["run", str(tmp_path / "hot.yaml"), *bound])
    assert done.exit_code == 0, done.output
    rows = plain_rows(tmp_path / "hot.jsonl")
    assert rows and rows == plain_rows(out / "result.jsonl")


def test_unknown_queries_are_faults() -> None:
    done = CliRunner().invoke(app, ["nexmark", "network", "q99"])
    assert isinstance(done.exception, AuroraError) and "there is no query 'q99'" in str(done.exception)
