"""simulate, history, drive and validate as a user calls them, and their mistakes."""

import dataclasses
import functools
import json
import re
import sys
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from typer.testing import CliRunner

from aurora.cli.commands import app
from aurora.cli.main import main
from aurora.linear_road.edition import EDITION_2004
from aurora.linear_road.history_generator import make_history
from tests.spec import linear_road as spec


def call(*words):
    return CliRunner().invoke(app, ["linear-road", *map(str, words)])


@pytest.fixture(scope="module")
def simulated(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("traffic")
    result = call("simulate", "--minutes", 3, "--seed", 1, "--out", folder)
    assert result.exit_code == 0, result.output
    return folder


def read(lines):
    """Input lines as the plain rules want them."""
    reports, queries = [], []
    for line in lines:
        kind, time, vid, spd, xway, lane, way, seg, pos, qid, sinit, send, dow, tod, day = map(
            int, line.split(",")
        )
        if kind == 0:
            reports.append(spec.Report(time, vid, spd, xway, lane, way, seg, pos))
        else:
            queries.append(spec.Query(kind, time, vid, qid, xway, sinit, send, dow, tod, day))
    return reports, queries


def test_all_four_commands(simulated, tmp_path, monkeypatch):
    # Two days of ten segments in place of ten weeks: enough for all four to meet.
    short = functools.partial(
        make_history, edition=dataclasses.replace(EDITION_2004, history_days=2, segments=10)
    )
    monkeypatch.setattr("aurora.linear_road.history_generator.make_history", short)
    result = call("history", "--data", simulated, "--expressways", 1, "--seed", 1)
    assert result.exit_code == 0, result.output
    assert "57,600 of segment history" in result.output

    report = tmp_path / "drive.json"
    flow = tmp_path / "flow"
    result = call("drive", "--data", simulated, "--to", f"dir:{flow}", "--speed", 1e9, "--report", report)
    assert result.exit_code == 0, result.output
    assert "lateness p50 / p99 / max" in result.output
    delivered = [line for file in sorted(flow.iterdir()) for line in file.read_text().splitlines()]
    assert delivered == (simulated / "xway-0.csv").read_text().splitlines()
    assert json.loads(report.read_text())["tuples"] == len(delivered)

    reports, queries = read(delivered)
    tolls = ds.dataset(simulated / "toll_history").to_table().to_pydict()
    tolls = {tuple(key): toll for *key, toll in zip(*tolls.values(), strict=True)}
    segments = ds.dataset(simulated / "segment_history").to_table()
    columns = (segments[name].to_pylist() for name in ("Day", "Min", "XWay", "Dir", "Seg", "Lav", "Cnt"))
    right = spec.answers(reports, queries, tolls, list(zip(*columns, strict=True)))
    assert right.tolls
    assert {query.kind for query in queries} == {2, 3, 4}
    output = tmp_path / "output.csv"
    output.write_text("\n".join(spec.output_lines(right)))
    result = call("validate", "--data", simulated, "--output", output, "--report", tmp_path / "verdict.json")
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "verdict.json").read_text())["right"] is True


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["validate", "--data", "none", "--output", "none"], "no output at none: give the CSV file"),
        (["validate", "--data", "none", "--output", "there"], "no data at none: give a folder"),
        (["validate", "--data", "there", "--output", "there"], "no tuple in there: it is empty"),
        (["drive", "--data", "none", "--to", "dir:never"], "no data at none: give a folder"),
        (["drive", "--data", "there", "--to", "post:never"], "give dir:PATH or tcp:HOST:PORT"),
        (["history", "--data", "none"], "no data folder none: simulate first"),
    ],
)
def test_a_mistake_is_one_line_and_status_1(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("there").touch()
    monkeypatch.setattr(sys, "argv", ["aurora", "linear-road", *words])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert re.fullmatch(r"error: [^\n]*\n", said.err)
    assert message in said.err
    assert [path.name for path in tmp_path.iterdir()] == ["there"]
