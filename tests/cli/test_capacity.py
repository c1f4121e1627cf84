"""`aurora capacity` and `aurora explain` with figures: what they print, and how they end."""

import json
import os
import signal
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from aurora import start
from aurora.adapt.averages import Averages
from aurora.adapt.drawing import describe_arcs
from aurora.engine.outages import is_stopped
from aurora.engine.sinks.sink import Interrupted
from aurora.history.home import Home
from aurora.network.text import read_network
from tests.adapt.batches import batch
from tests.cli.test_interrupts import PROGRESS
from tests.history.attached import PATIENCE

NETWORK = """\
network: border
inputs:
  r: {schema: "a int"}
boxes:
  over: {filter: ["a > 1"], from: r}
outputs:
  far: {from: over, qos: {latency: [[0, 1], [2, 1], [10, 0]], delivered: [[100, 1], [0, 0]]}}
  near: {from: over.rest, qos: {value: {of: a, graph: [[0, 0], [9, 1]]}}}
"""


@pytest.fixture
def network(tmp_path: Path) -> Path:
    path = tmp_path / "border.yaml"
    path.write_text(NETWORK)
    return path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home whose last run knew what its box costs: 2 microseconds a tuple, and 1 for reading a row."""
    folder = Home.of(tmp_path / "home")
    folder.checkpoint.mkdir(parents=True)
    averages = Averages()
    sizes = [10_000, 50_000, 20_000, 100_000, 80_000, 10_000, 60_000]
    for number, (rows, before) in enumerate(zip(sizes, [0, *sizes], strict=False)):
        averages = averages.add(batch(number, number + 1.0, rows, took=0.5 + before * 5e-6))
    folder.catalog.write_text(json.dumps({**averages.to_json(), "cores": 2, "most": 1_000_000}))
    return folder.folder


def test_what_fits(aurora, network: Path, home: Path) -> None:  # type: ignore[no-untyped-def]
    ended = aurora(
        "capacity", network, "--rate", "r=50000", "--home", home, "--cores", "2", "--headroom", "1"
    )
    assert (ended.status, ended.err) == (0, "")
    assert [line.split() for line in ended.out.splitlines() if line] == [
        ["part", "a", "second", "us", "each", "cores"],
        ["input", "r", "50,000", "1", "0.050"],
        ["filter", "over", "50,000", "2", "0.100"],
        ["each", "row", "50,000", "7", "0.350"],
        # Of 100,000 rows: a shorter train would cost more for its trip than for its rows.
        ["each", "batch", "0.5", "1,000,000", "0.500"],
        ["needed", "1.000"],
        ["there", "are", "2", "x", "1", "2.000"],
        ["fits;", "the", "largest", "rates", "that", "do:", "r", "100,000"],
    ]


def test_what_does_not_fit(aurora, network: Path, home: Path) -> None:  # type: ignore[no-untyped-def]
    words = ("capacity", network, "--rate", "r=150_000", "--home", home, "--cores", "2", "--headroom", "1")
    ended = aurora(*words)
    assert ended.status == 3 and ended.err == ""
    assert ended.out.endswith(
        "does not fit; the largest rates that do: r 100,000\n33% of the rows would have to be dropped\n"
        # What is shed has been read.
        "the graphs would shed 37% of r, leaving far 63%, near 63%\n"
    )
    found = json.loads(aurora(*words, "--json").out)
    assert not found["fits"] and found["largest"]["r"] == pytest.approx(100_000)
    assert found["shed"] == pytest.approx(1 / 3)
    assert [part["part"] for part in found["parts"]] == ["r", "over", "each row", "each batch"]


def test_a_network_in_two_parts(aurora, network: Path, home: Path) -> None:  # type: ignore[no-untyped-def]
    network.write_text(
        NETWORK.replace(
            "near: {from: over.rest, qos: {",
            "near: {from: over.rest, qos: {latency: [[0, 1], [60, 1], [90, 0]], ",
        )
    )
    words = ("capacity", network, "--rate", "r=5000", "--home", home, "--cores", "2")
    ended = aurora(*words)
    assert ended.status == 0, ended.err
    assert not json.loads(aurora(*words, "--json").out)["two_parts"], "no box is for one of them alone"
    assert "two parts" not in ended.out
    patient = NETWORK.replace("outputs:", '  more: {map: {a: "a + 1"}, from: over.rest}\noutputs:')
    patient = patient.replace(
        "near: {from: over.rest, qos: {", "near: {from: more, qos: {latency: [[0, 1], [60, 1], [90, 0]], "
    )
    network.write_text(patient)
    assert aurora(*words).out.endswith("is not included; run with --no-deferring to avoid it\n")
    assert json.loads(aurora(*words, "--json").out)["two_parts"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["--rate", "r=5"],
            "give either --home DIR (costs from its runs) or --sample NAME=csv:PATH, not both",
        ),
        (["--home", "{home}"], "input r has no rate; add --rate r=ROWS_PER_SECOND"),
        (["--home", "{home}", "--rate", "r=many"], "--rate r=many: write a number of rows a second"),
        (["--home", "{home}", "--rate", "q=1", "--rate", "r=1"], "--rate q: the network has no such input"),
        (["--home", "{home}", "--rate", "r=5", "--headroom", "2"], "--headroom 2: write a share above 0"),
        (["--home", "nowhere", "--rate", "r=5"], "nowhere is not the home of a network"),
        (["--sample", "r=csv:nothing.csv", "--rate", "r=5"], "source r: there is no nothing.csv"),
        (
            ["--sample", "r", "--rate", "r=5"],
            "--sample r: write NAME=ADDRESS, for example reports=csv:reports.csv",
        ),
    ],
)
def test_faults(aurora, network: Path, home: Path, words: list[str], told: str) -> None:  # type: ignore[no-untyped-def]
    ended = aurora("capacity", network, *(word.replace("{home}", str(home)) for word in words))
    assert ended.status == 1 and ended.out == ""
    assert ended.err.startswith("error: ") and told in ended.err and ended.err.count("\n") == 1


def test_nearly_all_is_not_all(aurora, network: Path, home: Path) -> None:  # type: ignore[no-untyped-def]
    ended = aurora("capacity", network, "--rate", "r=900_000_000", "--home", home, "--cores", "2")
    assert "99.9% of the rows would have to be dropped\n" in ended.out


def test_a_table_needs_a_sample_too(aurora, network: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    network.write_text(NETWORK.replace("boxes:", '  sites: {schema: "a int", static: true}\nboxes:'))
    (tmp_path / "r.csv").write_text("a\n1\n")
    ended = aurora("capacity", network, "--rate", "r=5", "--sample", f"r=csv:{tmp_path / 'r.csv'}")
    told = "error: table sites has no sample; add --sample sites=csv:PATH\n"
    assert (ended.status, ended.out, ended.err) == (1, "", told)


def test_the_home_of_another_network(aurora, network: Path, home: Path) -> None:  # type: ignore[no-untyped-def]
    words = ("capacity", network, "--rate", "r=5000", "--home", home)
    Home.of(home).write_network(describe_arcs(read_network(network)))
    assert (aurora(*words).status, aurora(*words).err) == (0, "")
    network.write_text(
        NETWORK.replace('over: {filter: ["a > 1"]', 'over: {filter: ["a > 1", "a > 0"]').replace(
            "outputs:", '  more: {map: {a: "a + 1"}, from: over}\noutputs:'
        )
    )
    changed = aurora(*words)
    assert changed.status == 0 and changed.err.startswith(
        "the boxes of network border are not those of its last run"
    )
    network.write_text(NETWORK.replace("network: border", "network: mill"))
    ended = aurora(*words)
    told = f"error: {home} is the home of another network, border; name another one\n"
    assert (ended.status, ended.out, ended.err) == (1, "", told)


def test_a_signal_while_a_sample_is_measured(  # type: ignore[no-untyped-def]
    aurora, network: Path, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the first row is read: the sample is not to blame."""
    # This process is not to end where the start takes long.
    monkeypatch.setattr("aurora.cli.interrupts.START", PATIENCE)
    (tmp_path / "r.csv").write_text("a\n1\n")
    for number in (signal.SIGINT, signal.SIGTERM):

        def start_late(*arguments: object, number: int = number) -> object:
            os.kill(os.getpid(), number)
            return start(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr("aurora.history.sampling.start", start_late)
        ended = aurora("capacity", network, "--rate", "r=5", "--sample", f"r=csv:{tmp_path / 'r.csv'}")
        told = [line for line in ended.err.splitlines() if not PROGRESS.search(line)]
        assert (ended.status, ended.out, told) == (128 + number, "", ["stopped"])


def test_a_signal_while_the_run_on_a_sample_starts(  # type: ignore[no-untyped-def]
    aurora, network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a start that gives up at a signal, as that of any other run."""
    (tmp_path / "r.csv").write_text("a\n1\n")

    def wait_for_a_server(*arguments: object) -> object:
        os.kill(os.getpid(), signal.SIGINT)
        assert is_stopped()
        raise Interrupted("source r: the run was stopped while it waited for a server")

    monkeypatch.setattr("aurora.history.sampling.start", wait_for_a_server)
    ended = aurora("capacity", network, "--rate", "r=5", "--sample", f"r=csv:{tmp_path / 'r.csv'}")
    told = "source r: the run was stopped while it waited for a server\n"
    assert (ended.status, ended.out, ended.err) == (130, "", told)


def test_a_home_without_figures(aurora, network: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "new" / "checkpoint").mkdir(parents=True)
    ended = aurora("capacity", network, "--rate", "r=5", "--home", tmp_path / "new")
    assert ended.status == 1 and "has no figures yet: let the network run for some batches" in ended.err


def test_a_sample_is_run_and_measured(aurora, network: Path, tmp_path: Path, spark: SparkSession) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "r.csv").write_text("a\n" + "".join(f"{i % 4}\n" for i in range(2000)))
    words = ("--rate", "r=10", "--sample", f"r=csv:{tmp_path / 'r.csv'}", "--json")
    ended = aurora("capacity", network, *words)
    found = json.loads(ended.out)
    assert ended.status == 0 and found["fits"] and found["unmeasured"] == []
    parts = {part["part"]: part for part in found["parts"]}
    assert parts["over"]["cost_us"] > 0 and parts["r"]["cost_us"] > 0 and parts["each batch"]["cost_us"] > 0
    assert sorted(os.listdir(tmp_path)) == ["border.yaml", "r.csv"], "nothing is left behind"


def test_a_network_of_a_home_with_its_figures(  # type: ignore[no-untyped-def]
    aurora, network: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = aurora("explain", "--home", home)
    assert ended.status == 1 and ended.err == (
        f"error: the home does not record its network yet; name it: aurora explain NETWORK --home {home}\n"
    )
    starting = Home.of(home)
    monkeypatch.setattr("aurora.history.home.is_checkpoint", lambda _: True)
    starting.open()
    ended = aurora("explain", "--home", home)
    starting.release()
    assert ended.status == 1
    assert ended.err == f"error: the network in {home} is still starting; try again in a few seconds\n"
    ended = aurora("explain", network, "--home", home)
    assert ended.status == 0
    (line,) = (line.split() for line in ended.out.splitlines() if line.startswith("filter over"))
    assert line == ["filter", "over", "<-", "r", "-", "-"] or line[5:6] == ["2"]


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_graphs_are_drawn(aurora, network: Path, tmp_path: Path, ending: str) -> None:  # type: ignore[no-untyped-def]
    picture = tmp_path / f"graphs.{ending}"
    ended = aurora("explain", network, "--plot", picture)
    assert (ended.status, ended.out, ended.err) == (0, "", "")
    begin = picture.read_bytes()[:300]
    assert begin.startswith(b"\x89PNG") if ending == "png" else b"<?xml" in begin


def test_what_cannot_be_drawn(aurora, network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    assert "ends in .png or .svg" in aurora("explain", network, "--plot", tmp_path / "graphs.txt").err
    closed = aurora("explain", network, "--plot", tmp_path / "nowhere" / "graphs.png")
    assert closed.status == 1 and "No such file or directory; name another file" in closed.err
    plain = tmp_path / "plain.yaml"
    plain.write_text(NETWORK[: NETWORK.index(", qos")] + "}\n")
    assert "no output has a graph; add for example qos:" in aurora("explain", plain, "--plot", "x.png").err
    assert "--plot needs a network" in aurora("explain", "--plot", "x.png").err
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    missing = aurora("explain", network, "--plot", tmp_path / "graphs.png")
    assert missing.err == "error: this needs the package matplotlib; pip install 'aurora-spark[plot]'\n"
