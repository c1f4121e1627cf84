"""Every command of the two documents is run, in their order, on less traffic; and the engine in the first of them."""

import dataclasses
import functools
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from aurora import from_text
from aurora.cli.commands import app
from aurora.linear_road import drive as driver
from aurora.linear_road import history_generator
from aurora.linear_road.edition import EDITION_2004
from aurora.linear_road.history_generator import make_history
from aurora.linear_road.network.queries import OUTPUTS, linear_road
from aurora.linear_road.rivals.server import find_server

DOCS = Path(__file__).parents[2] / "docs"
TOOLS, OWN = ((DOCS / name).read_text() for name in ("linear-road.md", "linear-road-on-aurora.md"))

# What makes the commands take seconds. Real time cannot be shortened, but the data can: `moment` has three seconds.
SMALLER = {
    "--minutes 180": "--minutes 2",
    "--minutes 5 --seed 1 --out small": "--minutes 3 --seed 1 --out small",
    "--minutes 30 --out demo": "--minutes 1 --out demo",
    "--to tcp:127.0.0.1:7000 --speed 10": "--to tcp:127.0.0.1:0 --speed 1e9",
    "--to tcp:127.0.0.1:7000": "--to tcp:127.0.0.1:0 --speed 1e9",
    "--data traffic --out run --pace realtime --replicate 60": "--data moment --out now --pace realtime --replicate 2",
    "--from 40 --minutes 5": "--from 1 --up-to 1 --data moment",
    "--expressways 1,10,50": "--expressways 1 --data moment",
}


def smaller(command):
    for words, fewer in SMALLER.items():
        command = command.replace(words, fewer)
    if find_server() is None:
        command = command.replace(",postgres", "")
    return command


def commands(document):
    """The commands in the blocks of a document; an ampersand at the end is left out."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", document, re.MULTILINE | re.DOTALL)
    lines = [line for language, block in blocks if not language for line in block.splitlines()]
    return [line.removesuffix(" &") for line in lines if line.startswith(("aurora ", "python "))]


def called(desk, command, *statuses):
    """What a command prints; its files are on the desk, because Spark's processes have another current folder."""
    words = shlex.split(smaller(command))[1:]
    for at, option in enumerate(words):
        if option in ("--data", "--out", "--output"):
            words[at + 1] = str(desk / words[at + 1])
    result = CliRunner().invoke(app, words)
    assert result.exit_code in (statuses or (0,)), (command, result.output, result.exception)
    return result.output


@pytest.fixture(scope="module")
def desk(spark, tmp_path_factory):
    """The folder of all commands; two days of history, of ten segments, in place of ten weeks."""
    folder = tmp_path_factory.mktemp("desk")
    short = functools.partial(
        make_history, edition=dataclasses.replace(EDITION_2004, history_days=2, segments=10)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(history_generator, "make_history", short)
        (folder / "engine.py").write_text(re.search(r"```python\n(.*?)```", TOOLS, re.DOTALL)[1])
        # The first command of the first document: all others need its traffic.
        (folder / "simulated.txt").write_text(called(folder, commands(TOOLS)[0]))
        lines = (folder / "traffic" / "xway-0.csv").read_text().splitlines()
        (folder / "moment").mkdir()
        first = "".join(f"{line}\n" for line in lines if int(line.split(",")[1]) < 3)
        (folder / "moment" / "xway-0.csv").write_text(first)
        yield folder


def driven(desk, command, monkeypatch):
    """Calls `drive`, and starts the engine of the document when it says that it waits for a client."""
    started = []

    def start(port):
        words = [sys.executable, desk / "engine.py", "127.0.0.1", str(port), desk / "output.csv", "1"]
        started.append(subprocess.Popen(words))

    opened = driver.receiver_for
    monkeypatch.setattr(driver, "receiver_for", lambda to, _: opened(to, start))
    told = called(desk, command)
    assert started[0].wait() == 0
    assert "lateness p50 / p99 / max" in told


def test_the_tools_for_any_engine(desk, monkeypatch):
    history, drive, validate = commands(TOOLS)[1:4]
    assert "reports" in (desk / "simulated.txt").read_text()
    assert "57,600 of segment history" in called(desk, history)
    driven(desk, drive, monkeypatch)
    # The engine knows no travel times.
    assert "no travel time given" in called(desk, validate, 1)


def test_the_engine_in_the_document_gets_the_verdict_in_the_document(desk, monkeypatch):
    assert sum(bool(line.strip()) for line in (desk / "engine.py").read_text().splitlines()) <= 30
    simulate, drive, engine, validate = commands(TOOLS)[4:8]
    assert engine == "python engine.py 127.0.0.1 7000 output.csv 10"
    called(desk, simulate)
    driven(desk, drive, monkeypatch)
    called(desk, validate, 1)
    outputs = json.loads((desk / "output.validation.json").read_text())["outputs"]
    told = dict(re.findall(r"│ (\w+ \w+) +│(.*)│\n", TOOLS))
    assert outputs.keys() == told.keys()
    for name, cells in told.items():
        _, given, missing, extra, wrong, _, _, duplicate, *_ = (cell.strip() for cell in cells.split("│"))
        found = outputs[name]
        for cell, number in ((given, found["given"]), (missing, found["missing"])):
            assert (cell == "0") == (number == 0), name
        assert (extra, wrong, duplicate) == ("0", "0", "0")
        assert (found["extra"], found["wrong"], found["duplicate"]) == (0, 0, 0), name


def answers_are_right(verdict):
    """On a busy machine some are late, but none is wrong."""
    outputs = json.loads(verdict.read_text())["outputs"]
    assert outputs["toll notification"]["given"]
    for name, found in outputs.items():
        assert (found["missing"], found["extra"], found["wrong"], found["duplicate"]) == (0, 0, 0, 0), name


def test_the_rivals(desk):
    (compare,) = commands(TOOLS)[8:]
    told = called(desk, compare)
    assert "Table 7" in told and "Table 8" in told
    found = json.loads((desk / "comparison" / "comparison.json").read_text())["outcomes"]
    systems = ["aurora", "duckdb", "postgres"] if find_server() else ["aurora", "duckdb"]
    assert [outcome["system"] for outcome in found] == systems
    for system in systems:
        answers_are_right(desk / "comparison" / f"{system}-L1" / "output.validation.json")


def test_a_run_of_the_whole(desk):
    demo, fast, realtime = commands(OWN)[3:6]
    assert re.search(r"right: [\d,]+ tuples", called(desk, demo, 0, 1))
    answers_are_right(desk / "demo" / "run" / "output.validation.json")
    assert "tuples" in called(desk, fast)
    assert json.loads((desk / "run" / "report.json").read_text())["ended"]
    called(desk, realtime)
    report = json.loads((desk / "now" / "report.json").read_text())
    assert report["ended"] and report["pace"] == "realtime" and report["seconds"] >= 2


def test_the_rating(desk):
    # Those between are about a run in the background: test_run.py gives them.
    (rate,) = commands(OWN)[11:]
    assert re.search(r"^L = [01] \(", called(desk, rate), re.MULTILINE)
    (trial,) = json.loads((desk / "rating" / "rating.json").read_text())["trials"]
    assert trial["expressways"] == 1 and trial["tuples_per_s"] > 0


def test_the_boxes_of_the_network(desk):
    explain = re.search(r"^`(aurora explain \S+)`", OWN, re.MULTILINE)[1]
    told = called(desk, explain)
    groups = re.findall(r"^\| `(cars|segments|accidents|tolls|accounts|past)`", OWN, re.MULTILINE)
    assert len(groups) == 6 and [group for group in groups if f" {group}." not in told] == []


def test_the_network_through_aurora_run(desk, monkeypatch):
    monkeypatch.chdir(desk)
    if not (desk / "traffic" / "toll_history").exists():
        called(desk, "aurora linear-road history --data traffic --expressways 1 --seed 1")
    printing, running = commands(OWN)[1:3]
    command, _, file = printing.partition(" > ")
    (desk / file).write_text(called(desk, command))
    called(desk, running)
    for name in OUTPUTS:
        lines = (desk / f"{name}.csv").read_text().splitlines()
        assert len(lines) > 1 or name == "alerts", name


def test_the_network_is_printed_as_it_is(desk):
    assert from_text(called(desk, commands(OWN)[0])) == linear_road()
