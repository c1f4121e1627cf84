"""The commands and snippets of the manual's section on the firehose."""

from pathlib import Path

from pyspark.sql import SparkSession

from tests import test_docs
from tests.test_docs import BLOCK, ROOT, Block, desk, run_blocks

__all__ = ["desk"]

PAGE = "docs/nexmark.md"


def section() -> str:
    text = (ROOT / PAGE).read_text()
    return text[text.index("## Firehose") :].split("\n## ")[0]


def test_the_section_is_true(desk: Path, spark: SparkSession) -> None:
    found = [Block(match[1], match[2], match[3]) for match in BLOCK.finditer(section())]
    run_blocks(found, PAGE)
    assert {block.language for block in found} == {"console", "csv", "python", "text"}


def test_every_option_is_in_it() -> None:
    for command in ("generate", "serve"):
        told = test_docs.aurora(["nexmark", command, "--help"])
        options = {word.strip("[],.") for word in told.split() if word.startswith("--")} - {
            "--help",
            "--log",
            "--out",
            "--quiet",
            "--seed",
        }
        assert options and [option for option in sorted(options) if option not in section()] == []
