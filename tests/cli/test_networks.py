"""`aurora check`, `aurora explain`, `aurora run`: what they print, and how they end."""

import json
import os
import re
import signal
import threading
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

from aurora import Result
from aurora.engine.totals import Totals
from tests.cli.conftest import Ended

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
BORDER = EXAMPLES / "05_border_watch" / "network.yaml"
REPORTS = EXAMPLES / "05_border_watch" / "reports.csv"


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("Spark was started for a fault that shows before")

    monkeypatch.setattr("aurora.engine.spark_run.spark_session", refuse)


@pytest.mark.usefixtures("no_spark")
def test_check_prints_the_boxes(aurora) -> None:  # type: ignore[no-untyped-def]
    ended = aurora("check", BORDER)
    assert ended.status == 0 and ended.err == ""
    assert ended.out.splitlines() == [
        "network border watch",
        "  input reports (Sid int, Time int, Pos int)",
        "  filter    over.1 <- reports (Sid int, Time int, Pos int)",
        "  filter    over.rest <- reports (Sid int, Time int, Pos int)",
        "  aggregate crowd <- over.1 (Time int, Cnt bigint)",
        "  filter    enough.1 <- crowd.1 (Time int, Cnt bigint)",
        "  filter    enough.rest <- crowd.1 (Time int, Cnt bigint)",
        "  output    alarms <- enough.1 (Time int, Cnt bigint)",
        "ok: 3 boxes, 1 input, 1 output",
    ]


@pytest.mark.usefixtures("no_spark")
@pytest.mark.parametrize("command", [["check"], ["explain", "--no-spark"]])
def test_a_join_as_of_by_arrival_of_two_inputs_is_warned_of(aurora, command: list[str]) -> None:  # type: ignore[no-untyped-def]
    ended = aurora(*command, EXAMPLES / "16_tolls_as_of" / "network.yaml")
    assert ended.status == 0 and ended.err.count("\n") == 2
    assert (
        "box priced joins as of by arrival: if entries and tolls are files, they are read side by"
        in ended.err
    )
    assert "asof: {left: Field, right: Field}, or give both inputs an order: Field" in ended.err
    for name in ("29_orders_and_rates", "30_inputs_in_order"):
        assert aurora(*command, EXAMPLES / name / "network.yaml").err == ""


@pytest.mark.usefixtures("no_spark")
def test_explain_shows_the_fused_stages(aurora) -> None:  # type: ignore[no-untyped-def]
    ended = aurora("explain", "--no-spark", BORDER)
    assert ended.status == 0
    stages = ended.out[ended.out.index("stage 0") :].splitlines()
    assert stages == [
        "stage 0 (where tuples are read, without state)",
        "     filter over",
        "stage 1 (with state in Spark's checkpoint)",
        "  -> over.1 to one bucket",
        "     aggregate crowd",
        "     filter enough",
        "  => output alarms from enough.1",
    ]


@pytest.mark.usefixtures("no_spark")
def test_what_a_network_asks_for_is_told_first(aurora, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    network, rates = tmp_path / "in" / "n.yaml", tmp_path / "out" / "rates.parquet"
    for path in (network, rates):
        path.parent.mkdir()
    pa.parquet.write_table(pa.table({"Item": [1]}), rates)
    network.write_text(
        'inputs: {a: {schema: "Item int"}}\noutputs: {o: a}\n'
        f'points: {{rates: {{stored: "parquet:{rates}", key: [Item]}}}}\n'
    )
    for arguments in (["check", network], ["explain", "--no-spark", network]):
        refused = aurora(*arguments)
        told, fault = refused.err.splitlines()
        assert refused.status == 1 and told == f"{network} reads {rates}"
        assert fault.startswith("error: point rates: ") and fault.endswith(
            f"allow it with --allow-file {rates}, or give its schema"
        )
        allowed = aurora(*arguments, "--allow-file", rates.parent)
        assert (allowed.status, allowed.err) == (0, f"{told}\n")


def test_explain_shows_the_plan_of_spark(aurora, spark: SparkSession) -> None:  # type: ignore[no-untyped-def]
    ended = aurora("explain", BORDER)
    assert ended.status == 0
    assert "== Physical Plan ==" in ended.out and "TransformWithState" in ended.out


@pytest.mark.usefixtures("no_spark")
def test_a_wrong_network_is_one_line(aurora, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(BORDER.read_text().replace("Pos >= 30", "Poss >= 30"))
    found = "unknown field 'Poss' (did you mean Pos?): the fields are Sid, Time, Pos"
    message = f"error: box over (from reports): {found}\n"
    for arguments in (("check",), ("explain",), ("run", "--sink", "alarms=console")):
        ended = aurora(arguments[0], wrong, *arguments[1:])
        assert (ended.status, ended.out, ended.err) == (1, "", message)


@pytest.mark.usefixtures("no_spark")
def test_a_network_that_cannot_be_read(aurora, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    missing = tmp_path / "none.yaml"
    assert (
        aurora("check", missing).err == f"error: cannot read network {missing}: No such file or directory\n"
    )
    assert aurora("check", tmp_path).err == f"error: cannot read network {tmp_path}: Is a directory\n"
    bytes_ = tmp_path / "bytes.yaml"
    bytes_.write_bytes(b"\xff\xfe\x00")
    assert aurora("check", bytes_).err == f"error: cannot read network {bytes_}: it is not UTF-8 text\n"
    unclosed = tmp_path / "unclosed.yaml"
    unclosed.write_text("network: n\ninputs:\n  a: {schema: 'A int'\nboxes: {}\n")
    assert aurora("check", unclosed).err.startswith(f"error: {unclosed}, line 4: not valid YAML")


SOURCE = f"reports=csv:{REPORTS}"
# Options of a run, and the line that they are answered with.
WRONG: list[tuple[tuple[str, ...], str]] = [
    (("--sink", "alarms=console"), "input reports has no source; add --source reports=csv:PATH"),
    (("--source", SOURCE), "no sink given; add --sink alarms=csv:PATH (outputs: alarms)"),
    (("--source", f"report=csv:{REPORTS}", "--sink", "alarms=console"), "source report: the network has no input"),
    (("--source", SOURCE, "--sink", "alarm=console"), "sink alarm: the network has no output of that name"),
    (("--source", SOURCE, "--source", SOURCE, "--sink", "alarms=console"), "--source reports is given twice"),
    (("--source", "reports", "--sink", "alarms=console"), "--source reports: write NAME=ADDRESS"),
    (("--source", "reports=nowhere.csv", "--sink", "alarms=console"), "source reports: 'nowhere.csv' is not"),
    (("--source", "reports=csv:nowhere.csv", "--sink", "alarms=console"), "source reports: there is no nowhere.csv"),
    (("--source", "reports=tcp:9000", "--sink", "alarms=console"), "source reports: 'tcp:9000' needs a host"),
    (("--source", SOURCE, "--sink", "alarms=out.csv"), "sink alarms: 'out.csv' is not an address"),
    (("--source", SOURCE, "--sink", "alarms=console", "--batch", "0"), "batch is a whole number of rows"),
    (("--source", SOURCE, "--sink", "alarms=console", "--rejects", "csv:bad"), "rejects go to one file"),
    (("--source", SOURCE, "--sink", "alarms=console", "--master", "nonsense"), "'nonsense' is not a Spark master"),
]  # fmt: skip


@pytest.mark.usefixtures("no_spark")
@pytest.mark.parametrize(("options", "message"), WRONG, ids=[message for _, message in WRONG])
def test_a_wrong_run_is_one_line_before_spark_starts(aurora, options: tuple[str, ...], message: str) -> None:  # type: ignore[no-untyped-def]
    ended = aurora("run", BORDER, *options)
    assert ended.status == 1 and ended.out == ""
    assert ended.err.startswith(f"error: {message}") and ended.err.count("\n") == 1


@pytest.mark.usefixtures("no_spark")
def test_an_interrupt_has_its_own_status(aurora, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    """The handler sets `stop`; the run ends after its batch, tells what it did, and the command ends as interrupted."""

    def start(network, sources, sinks, settings, watch, storing):  # type: ignore[no-untyped-def]
        totals = Totals(batch=4, places={"reports": {"row": 9}})
        return Told(Result(totals, 1.0, False, goes_on=bool(settings.checkpoint)), sent)

    sent = signal.SIGINT
    monkeypatch.setattr("aurora.history.running.start", start)
    command = ["run", BORDER, "--source", SOURCE, "--sink", "alarms=console"]
    ended = aurora(*command)
    assert ended.status == 130 and ended.out == ""
    assert [line.rstrip() for line in ended.err.splitlines()] == [
        "5 batches in 1.0 s",
        "input    rows",
        "reports     9",
        "output  rows",
        "alarms     0",
        "stopped: nothing is kept; with --checkpoint DIR, a run continues where it stopped",
    ]
    ended = aurora(*command, "--checkpoint", "here")
    assert ended.err.splitlines()[-1] == "stopped: the same command continues where it stopped"
    ended = aurora(*command, "--checkpoint", "here", "--fresh")
    assert (
        ended.err.splitlines()[-1] == "stopped: the same command without --fresh continues where it stopped"
    )
    sent = signal.SIGTERM
    assert aurora(*command).status == 143, "as the service manager does it"


class Told:
    """A run whose result is known; while somebody waits for it, a signal comes."""

    live: frozenset[str] = frozenset()

    def __init__(self, result: Result, sent: int | None = None) -> None:
        self._result, self._sent = result, sent

    def __enter__(self) -> "Told":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def wait(self, stop: threading.Event) -> Result:
        if self._sent is not None:
            os.kill(os.getpid(), self._sent)
            assert stop.wait(10)
        return self._result


@pytest.mark.usefixtures("no_spark")
def test_rejects_are_told_with_their_file(aurora, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    totals = Totals(batch=0, end=True, rejected=2, rows=Counter(alarms=1), taken=Counter(over=7))
    totals.discarded = {"crowd": Counter({"out of order": 1})}
    totals.rejects, totals.places = "out/rejects.csv", {"reports": {"row": 9}}
    ended = _ended(aurora, monkeypatch, Result(totals, 1.0, True))
    assert ended.status == 0
    assert ended.err.splitlines()[-2:] == [
        "box crowd left out 1 tuple: out of order",
        "2 rows could not be read: see out/rejects.csv",
    ]
    totals.rejects = None
    ended = _ended(aurora, monkeypatch, Result(totals, 1.0, True))
    assert ended.err.splitlines()[-1] == "2 rows could not be read: add --rejects csv:PATH to see them"


@pytest.mark.usefixtures("no_spark")
def test_a_run_that_could_read_no_row_has_failed(aurora, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    totals = Totals(batch=0, end=True, rejected=3, rejects="r.csv", unreadable=Counter(reports=3))
    totals.places = {"reports": {"row": 3}}
    ended = _ended(aurora, monkeypatch, Result(totals, 1.0, True))
    assert ended.status == 1
    assert ended.err.splitlines()[-2:] == [
        "3 rows could not be read: see r.csv",
        "error: no row of input reports could be read: check the schema, and what the file holds",
    ]


@pytest.mark.usefixtures("no_spark")
def test_an_input_without_rows_is_warned_of(aurora, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    totals = Totals(batch=0, end=True)
    totals.places = {"reports": {"row": 0}}
    ended = _ended(aurora, monkeypatch, Result(totals, 1.0, True))
    assert ended.status == 0
    assert ended.err.splitlines()[-1] == f"input reports had no rows: {SOURCE.partition(':')[2]} is empty"
    totals.places = {"reports": {"row": 1}}
    assert "had no rows" not in _ended(aurora, monkeypatch, Result(totals, 1.0, True)).err


def _ended(aurora, monkeypatch: pytest.MonkeyPatch, result: Result, *options: str) -> Ended:  # type: ignore[no-untyped-def]
    """How a run ends whose result is known."""
    monkeypatch.setattr("aurora.history.running.start", lambda *_: Told(result))
    ended: Ended = aurora("run", BORDER, "--source", SOURCE, "--sink", "alarms=console", *options)
    return ended


@pytest.mark.usefixtures("no_spark")
def test_a_summary_fits_a_terminal(aurora, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    totals = Totals(batch=12_345, end=True, rows=Counter(alarms=1_234_567_890_123))
    totals.places = {"reports": {"row": 9}, "r" * 200: {"row": 1_234_567_890_123}}
    totals.discarded = {"b" * 200: Counter({"out of order": 10**12, "shed": 1})}
    monkeypatch.setenv("COLUMNS", "80")
    lines = _ended(aurora, monkeypatch, Result(totals, 1.0, True)).err.splitlines()
    assert len(lines) == 8 and max(map(len, lines)) <= 80
    assert lines[:3] == [
        "12,346 batches in 1.0 s",
        f"input{' ' * 57}{' ' * 13}rows",
        f"reports{' ' * 55}{' ' * 16}9",
    ]


@pytest.mark.usefixtures("no_spark")
def test_a_quiet_run_tells_what_went_wrong(aurora, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    totals = Totals(batch=0, end=True, places={"reports": {"row": 9}})
    for options in (["--quiet"], ["--log", "warning"]):
        assert _ended(aurora, monkeypatch, Result(totals, 1.0, True), *options).err == ""
    totals.rejected, totals.rejects = 2, "r.csv"
    assert (
        _ended(aurora, monkeypatch, Result(totals, 1.0, True), "--quiet").err
        == "2 rows could not be read: see r.csv\n"
    )


@pytest.mark.usefixtures("no_spark")
def test_a_run_told_in_json(aurora, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    totals = Totals(batch=0, end=True, rejected=9, rows=Counter(alarms=1), rejects="r.csv")
    totals.discarded, totals.places = {"crowd": Counter({"out of order": 1})}, {"reports": {"row": 9}}
    totals.unreadable = Counter(reports=9)
    told = _ended(aurora, monkeypatch, Result(totals, 1.0, True), "--log", "json").err.splitlines()
    found = [json.loads(line) for line in told]
    assert [(each["level"], each["event"]) for each in found] == [
        ("info", "summary"),
        ("warning", "rejects"),
        ("error", "error"),
    ]
    for each in found:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", each.pop("time"))
    assert found[0] == {
        "level": "info",
        "event": "summary",
        "message": "1 batch in 1.0 s",
        "ended": True,
        "batches": 1,
        "seconds": 1.0,
        "inputs": {"reports": 9},
        "outputs": {"alarms": 1},
        "discarded": {"crowd": {"out of order": 1}},
        "rejected": 9,
    }


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["fly"], "No such command 'fly'; see aurora --help"),
        (
            ["check"],
            "Invalid value for NETWORK: give a network, --home DIR, or both; see aurora check --help",
        ),
        (
            ["run", "--sourec", "x"],
            "No such option: --sourec (Possible options: --set, --source); see aurora run --help",
        ),
        (["nexmark", "run", "--xyzzy"], "No such option: --xyzzy; see aurora nexmark run --help"),
    ],
)
def test_a_command_in_wrong_words_is_told_in_one_line(aurora, words: list[object], told: str) -> None:  # type: ignore[no-untyped-def]
    ended = aurora(*words)
    assert (ended.status, ended.out, ended.err) == (2, "", f"error: {told}\n")


def test_without_a_command_there_is_help(aurora) -> None:  # type: ignore[no-untyped-def]
    ended = aurora("nexmark")
    assert ended.status == 2 and ended.err.startswith("Usage: aurora nexmark ")


def test_run_writes_files_and_tells_what_it_did(aurora, spark: SparkSession, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    handler = signal.getsignal(signal.SIGINT)
    out = tmp_path / "alarms.csv"
    ended = aurora("run", BORDER, "--source", SOURCE, "--sink", f"alarms=csv:{out}", "--partitions", 2)
    assert ended.status == 0 and ended.out == ""
    assert out.read_text() == (BORDER.parent / "expected" / "alarms.csv").read_text()
    assert sorted(os.listdir(tmp_path)) == ["alarms.csv"], "no checkpoint stays behind a finished run"
    assert "1 batch in " in ended.err and "reports    15" in ended.err and "alarms     2" in ended.err
    assert signal.getsignal(signal.SIGINT) is handler


def test_a_bad_row_goes_to_the_rejects(aurora, spark: SparkSession, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """What the installed command does in a process of its own is in tests/test_package.py."""
    reports = tmp_path / "reports.csv"
    reports.write_text(REPORTS.read_text() + "6,four,40\n")
    out = tmp_path / "out.csv"
    ended = aurora("run", BORDER, "--source", f"reports=csv:{reports}", "--sink", f"alarms=csv:{out}")
    assert ended.status == 0, ended.err
    assert out.read_text() == "Time,Cnt\n2,5\n3,3\n"
    assert ended.out == ""
    assert ended.err.splitlines()[-1] == f"1 row could not be read: see {tmp_path / 'rejects.csv'}"
    header, row = (tmp_path / "rejects.csv").read_text().splitlines()
    assert header == "source,file,line,reason,text"
    assert row.startswith("reports,reports.csv,17,") and row.endswith('"6,four,40"')
