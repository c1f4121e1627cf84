"""The page on adaptation: its commands in order, in one folder, with a network in the background.

What they show is compared without its numbers, which depend on the machine and on the moment.
"""

import contextlib
import io
import re
import shlex
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from aurora.cli import main as cli
from tests.test_docs import ROOT, blocks
from tests.test_running_docs import Background, desk, do, until

__all__ = ["desk"]

PAGE = "docs/adaptation.md"
NUMBER = re.compile(r"-?\d[\d,.]*(?:e[+-]?\d+)?")


def test_the_page(desk: Path, spark: SparkSession) -> None:
    with Background(desk) as background:
        for block in blocks(PAGE):
            if block.file is not None:
                Path(block.file).write_text(block.text)
            elif block.language == "python":
                exec(compile(block.text, PAGE, "exec"), {})
            elif block.language == "console":
                for command, shown in re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE):
                    give(command, shown, background)
    assert Path("gates.svg").stat().st_size > 1000


def give(command: str, shown: str, background: Background) -> None:
    _, *words = shlex.split(command)
    if command.startswith(("aurora status", "aurora explain --home", "aurora capacity")):
        until(lambda: without_numbers(printed(words)), without_numbers(shown), background)
    else:
        do(command, shown, background)


def printed(words: list[str]) -> str:
    """What a command shows, whatever its status is."""
    before, sys.argv = sys.argv, ["aurora", *words]
    try:
        shown = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        with contextlib.redirect_stdout(shown), pytest.raises(SystemExit) as ended:
            cli.main()
    finally:
        sys.argv = before
    shown.seek(0)
    text = shown.read()
    # Before the first figures are noted, there is a fault and nothing to show.
    assert ended.value.code == (1 if not text else 3 if "does not fit" in text else 0)
    return text


def without_numbers(text: str) -> list[str]:
    """The words of each line; what is not known is like a number, and shares come and go with the rates."""
    lines = [re.sub(r"\bN%", "", NUMBER.sub("N", line)) for line in text.splitlines()]
    words = [[re.sub(r"^-$", "N", word) for word in line.split()] for line in lines]
    # Latencies and utilities are those of the last seconds.
    return [re.sub(r"(?: (?:p50|p99) N s,?| utility N)+$", "", " ".join(line)) for line in words]


def test_the_lines_of_a_trouble_are_those_that_are_told() -> None:
    page = (ROOT / PAGE).read_text()
    for line in ("rows waiting, growing by", "has caught up:", "is outside its good zone: p99"):
        assert line in page
