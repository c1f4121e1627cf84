"""`--set` on the command line."""

from pathlib import Path

import pytest

TEXT = """network: n
parameters: {least: 30, word: }
inputs: {a: {schema: "A int, S string"}}
boxes: {f: {filter: ["A >= {{least}} AND S <> {{word}}"], from: a}}
outputs: {o: {from: f}}
"""


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "n.yaml").write_text(TEXT)
    (tmp_path / "a.csv").write_text("A,S\n29,x\n30,x\n31,' OR TRUE\n32,007\n")
    return tmp_path


def test_commands_take_values(aurora, desk: Path) -> None:  # type: ignore[no-untyped-def]
    for command in (["check", "n.yaml"], ["explain", "n.yaml", "--no-spark"]):
        ended = aurora(*command, "--set", "word=x", "--set", "least=31")
        assert ended.status == 0 and "  parameter least = 31\n  parameter word = x\n" in ended.out
    show = ["show", "n.yaml", "--source", "a=csv:a.csv", "--format", "csv"]
    for word, rows in (("x", "31,' OR TRUE\n32,007\n"), ("' OR TRUE", "30,x\n32,007\n"), ("y OR TRUE", None)):
        ended = aurora(*show, "--set", f"word={word}")
        assert ended.out == "A,S\n" + ("30,x\n31,' OR TRUE\n32,007\n" if rows is None else rows)


def test_wrong_values_are_one_line(aurora, desk: Path) -> None:  # type: ignore[no-untyped-def]
    for values, told in (
        ([], "n.yaml: parameter word has no default, so it needs a value: --set word=VALUE"),
        (["word"], "--set word: write NAME=VALUE, for example rate=5"),
        (["word=a", "word=b"], "--set word is given twice"),
        (
            ["word=a", "lest=5"],
            "n.yaml: there is no parameter lest (did you mean least?); its parameters are",
        ),
        (
            ["word=a", "least=5 OR TRUE"],
            "n.yaml: parameter least is a whole number, as its default 30 is, found",
        ),
    ):
        for command in ("check", "run", "capacity"):
            ended = aurora(command, "n.yaml", *(option for value in values for option in ("--set", value)))
            assert ended.status == 1 and ended.err.startswith(f"error: {told}"), ended.err
