"""Comparisons: the slice of the data, the runs and verdicts, the tables, the files."""

import json
import os
import re
from contextlib import nullcontext
from fractions import Fraction

import pytest
import typer
from typer.testing import CliRunner

from aurora.cli import linear_road_compare
from aurora.cli.telling import with_choice
from aurora.errors import AuroraError
from aurora.linear_road.compare import Comparison, Outcome, compare, plot_comparison
from aurora.linear_road.reading import survey
from aurora.linear_road.rivals import server
from aurora.linear_road.rivals.duck import DuckDatabase
from aurora.linear_road.rivals.slice import input_for, last_minutes
from aurora.linear_road.rivals.systems import Relational, Telling
from aurora.linear_road.run import RunReport
from aurora.linear_road.stored_histories import find_histories
from tests.linear_road.test_rivals import on_virtual_clock
from tests.linear_road.test_validate import write, write_histories
from tests.linear_road.traffic import crowd, histories


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    traffic = crowd(7, cars=120, xways=1, seconds=290)
    folder = tmp_path_factory.mktemp("comparison") / "data"
    write(folder / "xway-0.csv", traffic.lines())
    tolls, segments = histories(1, sorted({q.vid for q in traffic.queries}), [0])
    write_histories(folder, tolls, segments, "parquet")
    return folder


def rows(path):
    return [tuple(map(int, line.split(","))) for line in path.read_text().splitlines()]


def test_the_data_are_not_cut_into_themselves(data, tmp_path):
    cut = last_minutes(data, tmp_path / "slice", 2)
    before = {path.name: path.read_bytes() for path in cut.glob("*.csv")}
    with pytest.raises(AuroraError, match="is what the comparison itself writes into"):
        last_minutes(cut, tmp_path / "slice", 1)
    assert before and {path.name: path.read_bytes() for path in cut.glob("*.csv")} == before


def test_the_last_minutes_begin_at_zero(data, tmp_path):
    cut = last_minutes(data, tmp_path / "cut", 2)
    expected = [(k, t - 180, *rest) for k, t, *rest in rows(data / "xway-0.csv") if t >= 180]
    assert rows(cut / "xway-0.csv") == expected
    assert find_histories(cut, None) == find_histories(cut, cut)
    assert last_minutes(data, tmp_path / "all", 5) == data


def test_a_share_of_the_cars(data, tmp_path):
    cut = last_minutes(data, tmp_path / "cut", 5, share=4)
    assert rows(cut / "xway-0.csv") == [row for row in rows(data / "xway-0.csv") if row[2] % 4 == 0]
    assert set(survey(cut).counts) == {0, 2, 3, 4}


def test_what_stands_for_so_many_expressways(data, tmp_path):
    assert input_for(Fraction(3), data, tmp_path, 5).replicate == 3
    half = input_for(Fraction("0.5"), data, tmp_path, 5)
    assert (half.replicate, half.data.name) == (1, "slice-2")
    with pytest.raises(AuroraError, match=r"1\.5 expressways cannot be made of the 1 in the data"):
        input_for(Fraction("1.5"), data, tmp_path, 5)


class Slow:
    """A system that gives up at once."""

    name = "aurora"

    def run(self, given, out, telling):
        out.mkdir()
        (out / "output.csv").touch()
        return RunReport("realtime", 1, 9, 3, 3.0, 0.0, 0, False, 2, 61.0, {}, ["given up at second 9"])


class Kept(Relational):
    """It keeps what it has answered."""

    def run(self, given, out, telling):
        report = super().run(given, out, telling)
        self.kept = report, (out / "output.csv").read_text()
        return report


class Wrong:
    """A system that gives the answers of another one, and leaves one out."""

    name = "postgres"

    def __init__(self, right):
        self.right = right

    def run(self, given, out, telling):
        report, text = self.right.kept
        out.mkdir()
        (out / "output.csv").write_text(text.partition("\n")[2])
        return report


def test_the_same_input_and_verdict_for_each_system(spark, data, tmp_path):
    told, tried = [], []
    right = Kept(DuckDatabase(), on_virtual_clock(5))
    systems = {
        "duckdb": right,
        "postgres": Wrong(right),
        "aurora": Slow(),
    }
    comparison = compare(
        tmp_path / "out",
        [Fraction(2)],
        ["duckdb", "postgres", "aurora"],
        data=data,
        telling=Telling(told.append),
        tried=tried.append,
        open_system=lambda name, _: nullcontext(systems[name]),
        ensure=lambda _: None,
        spark=spark,
    )
    assert tried == comparison.outcomes
    right, wrong, slow = tried
    assert (right.passed, right.faults) == (True, {})
    assert (wrong.passed, wrong.faults) == (False, {"toll notification": 1})
    assert (slow.passed, slow.faults) == (False, {"given up": 1})
    assert right.responses["travel time"]["answers"] == 2 * survey(data).counts[4]
    assert right.spent["move"] > 0
    assert "duckdb, L = 2: running" in told
    written = json.loads((tmp_path / "out" / "comparison.json").read_text())
    assert written["ratings"] == {
        "duckdb": {"l_rating": 2.0, "tuples_per_s": right.tuples_per_s},
        "postgres": {"l_rating": 0, "tuples_per_s": 0},
        "aurora": {"l_rating": 0, "tuples_per_s": 0},
    }
    verdict = json.loads((tmp_path / "out" / "duckdb-L2" / "output.validation.json").read_text())
    assert verdict["right"] and verdict["replicate"] == 2
    assert not list((tmp_path / "out").rglob("output.csv"))


def test_the_smaller_first_and_none_after_a_failure(data, spark, tmp_path):
    comparison = compare(
        tmp_path / "out",
        [Fraction(3), Fraction(1, 2), Fraction(1)],
        ["aurora"],
        data=data,
        open_system=lambda *_: nullcontext(Slow()),
    )
    assert [each.expressways for each in comparison.outcomes] == [0.5]
    assert comparison.best("aurora") is None


def outcome(system, size, passed, slowest):
    responses = {"toll notification": {"answers": 5, "p50": 0.1, "p99": 0.2, "max": slowest}}
    faults = {} if passed else {"toll notification": 7}
    return Outcome(system, size, passed, 1000 * size, 0.5, faults, responses, [], {})


COMPARISON = Comparison(
    ["aurora", "duckdb"],
    [outcome("aurora", 1, True, 0.5), outcome("aurora", 2, True, 0.75), outcome("duckdb", 1, False, 33.25)],
    5,
)


@pytest.fixture
def call():
    app = typer.Typer()
    app.command()(with_choice(linear_road_compare.compare))
    return lambda *words: CliRunner().invoke(app, list(map(str, words)))


def test_the_command_prints_the_tables_of_the_paper(call, tmp_path, monkeypatch):
    asked = {}

    def canned(out, expressways, systems, *, tried, **options):
        asked.update(options, expressways=expressways, systems=systems)
        for each in COMPARISON.outcomes:
            tried(each)
        return COMPARISON

    monkeypatch.setattr("aurora.linear_road.compare.compare", canned)
    words = ["--out", tmp_path, "--expressways", "0.5, 1,2", "--systems", "aurora,duckdb", "--minutes", 3]
    result = call(*words)
    assert result.exit_code == 0, result.output
    assert asked["expressways"] == [Fraction(1, 2), 1, 2]
    assert (asked["systems"], asked["minutes"]) == (["aurora", "duckdb"], 3)
    assert "duckdb, L = 1: 1,000 tuples/s, failed: 7 toll notification" in result.stderr
    assert re.search(r"aurora +│ +2 │ +2,000", result.stdout)
    assert re.search(r"duckdb +│ +- │ +- ", result.stdout)
    assert re.search(r"1 │ toll notification +│ +0\.50 │ +33\.25 \*", result.stdout)
    assert re.search(r"2 │ toll notification +│ +0\.75 │ +- ", result.stdout)
    assert (tmp_path / "comparison.png").stat().st_size > 5000


def test_the_plot_copes_with_a_system_that_answered_nothing(tmp_path):
    nothing = Outcome("aurora", 1, False, 0, 61.0, {"given up": 1}, {}, [], {})
    plot_comparison(Comparison(["aurora"], [nothing], 5), tmp_path / "plot.png")
    assert (tmp_path / "plot.png").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--expressways", "many"], "--expressways has 'many': give numbers"),
        (["--expressways", "0"], "--expressways must be numbers above 0"),
        (
            ["--systems", "oracle"],
            r"unknown systems in --systems \(oracle\): give some of aurora, duckdb, postgres",
        ),
        (["--minutes", "0"], "--minutes is 0: give 1 or more"),
    ],
)
def test_a_mistake_is_told_before_anything_runs(call, words, message, tmp_path):
    result = call("--out", tmp_path / "out", *words)
    assert isinstance(result.exception, AuroraError)
    assert re.match(message, str(result.exception))
    assert not (tmp_path / "out").exists()


def test_a_server_that_cannot_be_had_is_told_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(server, "find_server", lambda: None)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(AuroraError, match="no PostgreSQL server on this machine"):
        compare(tmp_path / "out", [Fraction(1)], ["duckdb", "postgres"])
    assert not (tmp_path / "out").exists()
