"""Every command and snippet of the documents is run, and what they show is compared.

A block with a file name behind its language is that file. YAML is checked, boxes alone as boxes of the page's network
`manual`, queries on the points of the networks above them; Python is run, and a `text` block behind it is what it
prints; `console` blocks are run command by command.
"""

import contextlib
import io
import re
import shlex
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from aurora import Schema, from_text
from aurora.algebra.expressions.aggregates import AGGREGATES
from aurora.algebra.expressions.rules import FUNCTIONS
from aurora.cli import main as cli

ROOT = Path(__file__).parent.parent
PAGES = ["README.md", "CONTRIBUTING.md", "examples/README.md", "docs/networks.md", "docs/python.md"]
# Whose commands another test gives.
OTHERS = [
    "docs/running-networks.md",
    "docs/adaptation.md",
    "docs/kafka.md",
    "docs/metrics.md",
    "docs/exit-codes.md",
    "docs/cluster.md",
    "docs/linear-road.md",
    "docs/linear-road-on-aurora.md",
    "docs/nexmark.md",
]
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    language: str
    file: str | None
    text: str


def blocks(page: str) -> list[Block]:
    found = [Block(match[1], match[2], match[3]) for match in BLOCK.finditer((ROOT / page).read_text())]
    assert {block.language for block in found} <= {"yaml", "python", "console", "csv", "text"}, page
    return found


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder to work in, with the examples at hand; its modules are forgotten afterwards."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.parametrize("page", PAGES)
def test_page(page: str, desk: Path, spark: SparkSession) -> None:
    (desk / "my_kernels.py").write_text(
        "def balance(inputs, turn):\n    return {}\n\n\ndef TopBids(count, since):\n    return balance\n"
    )
    run_blocks(blocks(page), page)


def run_blocks(found: Iterable[Block], page: str) -> None:
    """Does what each block says, in the current folder."""
    names: dict[str, object] = {"__name__": "__main__"}
    printed: str | None = None
    points: dict[str, Schema] = {}
    for block in found:
        if block.file is not None:
            Path(block.file).write_text(block.text)
        if block.language == "yaml":
            check_yaml(block.text, page, points)
        elif block.language == "python" and block.file is None:
            with contextlib.redirect_stdout(io.StringIO()) as shown:
                exec(compile(block.text, page, "exec"), names)
            printed = shown.getvalue()
        elif block.language == "text":
            assert printed == block.text
        elif block.language == "console":
            check_console(block.text)


def check_yaml(text: str, page: str, points: dict[str, Schema]) -> None:
    if text.startswith("network:"):
        points.update(from_text(text, page, points).checked().point_schemas())
        return
    frame = next(block.text for block in blocks(page) if block.text.startswith("network: manual"))
    boxes = "".join(f"  {line}\n" for line in text.splitlines())
    added = from_text(frame.replace("outputs:\n", f"boxes:\n{boxes}outputs:\n"), page).checked()
    assert added.boxes


def check_console(text: str) -> None:
    """Runs each command behind a `$`, and compares the lines below it with what it prints."""
    for command, shown in re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE):
        first, *arguments = shlex.split(command)
        if first == "make":
            # These set up, or run this very test: that the target is there is all that can be said here.
            assert re.search(rf"^{arguments[0]}:", (ROOT / "Makefile").read_text(), re.MULTILINE), command
        elif first == "cat":
            assert Path(arguments[0]).read_text() == shown
        else:
            assert first == "aurora", command
            printed = aurora(arguments)
            assert not shown or printed == shown


def aurora(arguments: list[str]) -> str:
    before = sys.argv
    sys.argv = ["aurora", *arguments]
    try:
        shown = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        with contextlib.redirect_stdout(shown), pytest.raises(SystemExit) as ended:
            cli.main()
    finally:
        sys.argv = before
    assert ended.value.code in (0, None), arguments
    shown.seek(0)
    return shown.read()


def test_links_lead_somewhere() -> None:
    for page in [*PAGES, *OTHERS]:
        for target in re.findall(r"\]\(([^)#:]+)\)", (ROOT / page).read_text()):
            assert ((ROOT / page).parent / target).exists(), f"{page}: {target}"


def test_the_manual_lists_all_functions() -> None:
    manual = (ROOT / "docs" / "networks.md").read_text()
    table = manual[manual.index("| choice |") :]
    table = table[: table.index("\n\n")]
    listed = re.findall(r"`(\w+)`", table.replace("`DISTINCT`", ""))
    words = {name for name in FUNCTIONS if name.isidentifier()} - {
        "and",
        "or",
        "not",
        "in",
        "div",
        "negate",
        "explode",
    }
    assert sorted(listed) == sorted(words | set(AGGREGATES))


def test_nothing_of_one_machine_is_in_the_documents() -> None:
    for page in [*PAGES, *OTHERS, "CHANGELOG.md"]:
        assert not re.search(r"/(?:work|root|tmp|home)/", (ROOT / page).read_text()), page


def test_every_option_of_a_run_is_in_the_manual() -> None:
    manual = (ROOT / "docs" / "networks.md").read_text()
    told = aurora(["run", "--help"])
    options = set(re.findall(r"--[a-z-]+", told)) - {"--help", "--source", "--sink"}
    assert options and [option for option in sorted(options) if option not in manual] == []
