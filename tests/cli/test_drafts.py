"""`aurora draft` and `aurora show`: what they print, and their faults in one line."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from aurora.cli.commands import app
from aurora.errors import AuroraError


def called(*words: str) -> Result:
    return CliRunner().invoke(app, [*words], catch_exceptions=False)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.csv").write_text("k,t,v\na,2026-11-16T07:00:00Z,1\nb,2026-11-16T07:00:30Z,\n")
    return tmp_path


def test_a_draft_goes_to_the_terminal_or_to_a_file(desk: Path) -> None:
    told = called("draft", "r.csv")
    assert told.exit_code == 0 and told.stdout.startswith("# A first network for r.csv")
    assert told.stderr.splitlines() == [
        "to keep it: aurora draft r.csv --out r.yaml",
        "to run it:  aurora run r.yaml --source r=csv:r.csv --sink per_minute=console",
    ]
    kept = called("draft", "r.csv", "--out", "first.yaml")
    assert kept.stdout == "" and (desk / "first.yaml").read_text() == told.stdout
    assert kept.stderr.splitlines() == [
        "to run it:  aurora run first.yaml --source r=csv:r.csv --sink per_minute=console"
    ]
    with pytest.raises(AuroraError, match=r"first.yaml already exists"):
        called("draft", "r.csv", "--out", "first.yaml")
    assert called("check", "first.yaml").exit_code == 0


def test_rejects_among_the_first_lines_are_told(desk: Path) -> None:
    (desk / "s.csv").write_text("k,v\na,1\nb\nc,2\n")
    assert called("show", "s.csv").stderr == "1 line cannot be read; line 3: expected 2 fields, found 1\n"


def test_rows_of_a_file(desk: Path) -> None:
    assert called("show", "r.csv").stdout.splitlines() == [
        "k       t                         v",
        "string  timestamp            bigint",
        "a       2026-11-16 07:00:00       1",
        "b       2026-11-16 07:00:30",
    ]
    assert (
        called("show", "r.csv", "--rows", "1", "--format", "csv").stdout == "k,t,v\na,2026-11-16 07:00:00,1\n"
    )
    (desk / "j.jsonl").write_text('{"a": [1, 2], "b": "[x]"}\n')
    assert called("show", "j.jsonl").stdout.splitlines()[-1] == "[1, 2]         [x]"


def test_rows_of_a_stream(desk: Path) -> None:
    (desk / "n.yaml").write_text(called("draft", "r.csv").stdout)
    both = called("show", "n.yaml", "--source", "r=csv:r.csv", "--format", "csv")
    assert both.stdout == "k,t,n,avg_v\na,2026-11-16 07:00:00,1,1.0\nb,2026-11-16 07:00:00,1,\n"
    assert (
        called("show", "n.yaml", "r", "--source", "r=csv:r.csv", "--rows", "1").stdout.splitlines()[-1]
        == ".. 1 more"
    )


NET = """\
network: two
inputs:
  r: {schema: "k string, v int"}
boxes:
  high: {filter: ["v > 1"], from: r}
  sums: {aggregate: {n: "count(*)"}, from: r, order: {on: v}, size: 1}
outputs:
  high: {from: high}
  sums: {from: sums}
"""


def test_inputs_in_the_order_of_a_field_are_shown_in_that_order(desk: Path) -> None:
    (desk / "n.yaml").write_text(
        "network: n\ninputs:\n  a: {schema: 't int', order: t}\n  b: {schema: 't int', order: t}\n"
        "boxes:\n  all: {union: [a, b]}\noutputs:\n  o: {from: all}\n"
    )
    (desk / "a.csv").write_text("t\n1\n2\n9\n")
    (desk / "b.csv").write_text("t\n3\n4\n5\n10\n")
    words = ["show", "n.yaml", "--source", "a=csv:a.csv", "--source", "b=csv:b.csv", "--format", "csv"]
    assert called(*words).stdout.split() == ["t", "1", "2", "3", "4", "5", "9", "10"]
    assert called(*words, "b").stdout.split() == ["t", "3", "4", "5", "10"]
    (desk / "b.csv").write_text("t\n3\n5\n4\n")
    with pytest.raises(
        AuroraError, match=r"^input b is not in the order of t: line 4 of b.csv has 4 after 5"
    ):
        called(*words)


def test_what_a_stream_lacks_is_told_once(desk: Path) -> None:
    (desk / "n.yaml").write_text(NET)
    (desk / "bad.csv").write_text("k,v\na,5\nb,one\nc,2\nd,3,4\n")
    words = ["show", "n.yaml", "--source", "r=csv:bad.csv", "--format", "csv"]
    both = called(*words)
    assert both.exit_code == 0
    assert both.stdout == "high:\nk,v\na,5\nc,2\n\nsums:\nv,n\n5,1\n"
    assert both.stderr.splitlines() == [
        "box sums left out 1 tuple: out of order",
        "2 rows could not be read; bad.csv, line 3: field v: 'one' is not an int",
    ]
    (desk / "good.csv").write_text("k,v\na,5\n")
    assert called("show", "n.yaml", "--source", "r=csv:good.csv").stderr == ""


def test_what_the_sources_have_to_tell_is_told_once(desk: Path) -> None:
    (desk / "n.yaml").write_text(NET)
    (desk / "r.json").write_text('{"k": "a", "V": 5}\n')
    shown = called("show", "n.yaml", "--source", "r=json:r.json", "--format", "csv")
    assert shown.stdout == "high:\nk,v\n\nsums:\nv,n\n"
    told = "input r: field v: not in the first line of r.json, which has k, V (did you mean V?)"
    assert [line for line in shown.stderr.splitlines() if line.startswith("input")] == [told]


@contextmanager
def written(pipe: Path, text: str) -> Iterator[None]:
    """A named pipe that somebody writes to."""
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=[text])
    writer.start()
    yield
    writer.join()


@contextmanager
def standard_input(text: str) -> Iterator[None]:
    before, (end, begin) = os.dup(0), os.pipe()
    os.write(begin, text.encode())
    os.close(begin)
    os.dup2(end, 0)
    os.close(end)
    yield
    os.dup2(before, 0)
    os.close(before)


def test_a_pipe_is_shown_although_it_comes_once(desk: Path) -> None:
    (desk / "n.yaml").write_text(NET)
    rows = "k;v\na;1\nb;2\nc;x\n"
    with written(desk / "p", rows):
        shown = called("show", "n.yaml", "--source", "r=csv:p?delimiter=;", "--format", "csv")
    assert shown.stdout == "high:\nk,v\nb,2\n\nsums:\nv,n\n1,1\n2,1\n"
    assert shown.stderr == "1 row could not be read; p, line 4: field v: 'x' is not an int\n"
    with standard_input(rows):
        assert called(
            "show", "n.yaml", "high", "--source", "r=csv:-?delimiter=;", "--format", "csv"
        ).stdout == ("k,v\nb,2\n")
    with standard_input("k,v\na,1\n"):
        assert called("show", "csv:-", "--format", "csv").stdout == "k,v\na,1\n"


def test_of_a_pipe_the_records_are_taken_that_are_needed(desk: Path) -> None:
    """Whoever writes on is not waited for; a record in quotes stays whole."""
    os.mkfifo(desk / "p")
    end = os.open(desk / "p", os.O_RDWR)
    os.write(end, b'k,v\n"a\na",1\nb,2\nc,3\n')
    assert called("show", "csv:p", "--rows", "1", "--format", "csv").stdout == 'k,v\n"a\na",1\n'
    os.close(end)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["show", "e.csv"], "^e.csv has no rows: there is nothing to show$"),
        (["draft", "e.csv"], "^e.csv has no rows: there is nothing to draft from$"),
        (["show", "e.json"], "^e.json has no rows: there is nothing to show$"),
        (
            ["show", "p.json"],
            "^p.json has its objects over several lines: convert it to an object per line, as with jq -c",
        ),
        (
            ["show", "kafka:h:9092/t"],
            "^kafka:h:9092/t: only csv:, json:, parquet: and sqlite: can be looked at without",
        ),
        (
            ["show", "postgres:h:5432/d/t"],
            "^postgres:h:5432/d/t: only csv:, json:, parquet: and sqlite: can be",
        ),
        (
            ["draft", "mqtt:h:1883/t"],
            "^mqtt:h:1883/t: only csv:, json:, parquet: and sqlite: can be looked at",
        ),
        (["show", "r.csv", "k"], "r.csv is a file: a stream, --source and --set go with a network"),
        (["show", "r.csv", "--format", "xml"], "--format xml: write table, csv or json"),
        (["show", "nothing.csv"], "there is no file nothing.csv"),
        (["draft", "nothing.csv"], "there is no file nothing.csv"),
        (["show", "nothing.yaml"], "cannot read network nothing.yaml"),
    ],
)
def test_faults(desk: Path, words: list[str], told: str) -> None:
    for name, text in {"e.csv": "", "e.json": "\n", "p.json": '{\n  "k": 1\n}\n'}.items():
        (desk / name).write_text(text)
    with pytest.raises(AuroraError, match=told):
        called(*words)
