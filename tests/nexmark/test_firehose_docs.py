"""The commands and snippets of the manual's section on the firehose."""

import contextlib
import io
from pathlib import Path

from pyspark.sql import SparkSession

from tests import test_docs
from tests.test_docs import BLOCK, ROOT, Block, check_console, desk

__all__ = ["desk"]

PAGE = "docs/nexmark.md"


def section() -> str:
    text = (ROOT / PAGE).read_text()
    return text[text.index("## Firehose") :].split("\n## ")[0]


def test_the_section_is_true(desk: Path, spark: SparkSession) -> None:
    names: dict[str, object] = {"__name__": "__main__"}
    printed: str | None = None
    found = [Block(match[1], match[2], match[3]) for match in BLOCK.finditer(section())]
    for block in found:
        if block.language == "console":
            check_console(block.text)
        elif block.language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as shown:
                exec(compile(block.text, PAGE, "exec"), names)
            printed = shown.getvalue()
        elif block.language == "text":
            assert printed == block.text
    assert {block.language for block in found} == {"console", "csv", "python", "text"}


def test_every_option_is_in_it() -> None:
    for command in ("generate", "serve"):
        told = test_docs.aurora(["nexmark", command, "--help"])
        options = {word.strip("[],.") for word in told.split() if word.startswith("--")} - {
            "--help",
            "--out",
            "--seed",
        }
        assert options and [option for option in sorted(options) if option not in section()] == []
