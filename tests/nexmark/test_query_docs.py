"""The commands and snippets of the manual's sections on queries and metrics."""

import re
import shlex
from pathlib import Path

from pyspark.sql import SparkSession

from aurora.nexmark.queries import QUERIES
from tests import test_docs
from tests.test_docs import BLOCK, ROOT, Block, check_console, desk, run_blocks

__all__ = ["desk"]

PAGE = "docs/nexmark.md"


def sections() -> str:
    text = (ROOT / PAGE).read_text()
    return text[text.index("## Queries") : text.index("## Checks")]


def test_the_sections_are_true(desk: Path, spark: SparkSession) -> None:
    check_console("$ aurora nexmark generate --profile standard --events 100000 --seed 1 --out auctions\n")
    found = [Block(match[1], match[2], match[3]) for match in BLOCK.finditer(sections())]
    assert {block.language for block in found} == {"console", "python", "text"}
    run_blocks(found, PAGE)
    recipes = [shlex.split(line) for line in re.findall(r"^aurora (.+)$", sections(), re.MULTILINE)]
    assert len(recipes) == 4
    for words in recipes:
        if ">" in words:
            *words, _, file = words
            Path(file).write_text(test_docs.aurora(words))
        else:
            test_docs.aurora(words)
    assert Path("hot.jsonl").stat().st_size and Path("valued.jsonl").stat().st_size


def test_every_query_and_option_is_in_them() -> None:
    listed = re.findall(r"^\| (q\d+) \|", sections(), re.MULTILINE)
    assert sorted(listed) == sorted(QUERIES)
    told = test_docs.aurora(["nexmark", "run", "--help"])
    options = set(re.findall(r"--[a-z][a-z-]*[a-z]", told)) - {"--help", "--log", "--quiet"}
    assert options and [option for option in sorted(options) if option not in sections()] == []
