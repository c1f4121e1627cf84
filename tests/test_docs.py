"""Every command and snippet of the documents is run, and what they show is compared.

A block with a file name behind its language is that file. YAML is checked, boxes alone as boxes of the page's network
`manual`, queries on the points of the networks above them; Python is run, and a `text` block behind it is what it
prints; `console` blocks are run command by command, and what is shown is stdout, or stdout and stderr. A command that
shows an error must fail, and a network that begins with `# wrong` must be refused.
"""

import contextlib
import io
import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import pytest
from pyspark.sql import SparkSession

from aurora import AuroraError, Network, Schema, from_text
from aurora.algebra.expressions.aggregates import AGGREGATES
from aurora.algebra.expressions.rules import FUNCTIONS
from aurora.cli import main as cli

ROOT = Path(__file__).parent.parent
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "examples/README.md",
    "docs/README.md",
    "docs/your-own-file.md",
    "docs/late-data.md",
    "docs/coming-from-spark-or-flink.md",
    "docs/operations.md",
    "docs/security.md",
    "docs/glossary.md",
    "docs/networks.md",
    "docs/python.md",
    "docs/inside-spark.md",
    "docs/sources-and-sinks.md",
    "docs/notebook.md",
]
# Whose commands another test gives.
OTHERS = [
    "docs/running-networks.md",
    "docs/adaptation.md",
    "docs/kafka.md",
    "docs/mqtt.md",
    "docs/postgres.md",
    "docs/metrics.md",
    "docs/exit-codes.md",
    "docs/cluster.md",
    "docs/linear-road.md",
    "docs/linear-road-on-aurora.md",
    "docs/nexmark.md",
]
MARKDOWN = [*PAGES, *OTHERS, "CHANGELOG.md"]
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
        elif block.language == "text" and block.file is None:
            assert printed == block.text
        elif block.language == "console":
            check_console(block.text)


def check_yaml(text: str, page: str, points: dict[str, Schema]) -> None:
    if text.startswith("# wrong"):
        with pytest.raises(AuroraError):
            from_text(text, page).checked()
        return
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
            status, printed, told = call(arguments)
            assert (status == 0) == ("error: " not in shown), (command, status, told)
            if shown and printed != shown:
                assert plain(printed + told) == plain(shown)


def plain(text: str) -> list[list[str]]:
    """The words of each line; how long a run took may be anything, and the current folder is /data."""
    text = re.sub(r"in [\d.]+ s\b", "in N s", text.replace(os.getcwd(), "/data"))
    # On a slow machine a run tells of its progress.
    return [line.split() for line in text.splitlines() if not re.match(r"\d+ s: ", line)]


def aurora(arguments: list[str]) -> str:
    """What a command prints; it must succeed."""
    status, printed, told = call(arguments)
    assert status == 0, (arguments, told)
    return printed


def call(arguments: list[str], output: TextIO | None = None) -> tuple[int, str, str]:
    """The status of a command, and what it writes to stdout and stderr; or only the latter, if stdout is given."""
    before = sys.argv
    sys.argv = ["aurora", *arguments]
    shown, told = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    try:
        with (
            contextlib.redirect_stdout(output or shown),
            contextlib.redirect_stderr(told),
            pytest.raises(SystemExit) as ended,
        ):
            cli.main()
    finally:
        sys.argv = before
    shown.seek(0)
    told.seek(0)
    return int(ended.value.code or 0), shown.read(), told.read()


def test_the_picture_of_the_notebook_is_that_of_its_network() -> None:
    """Drawn anew where it is not there: look at it before you keep it."""
    code = next(block.text for block in blocks("docs/notebook.md") if block.text.startswith("net = Network"))
    names: dict[str, object] = {"Network": Network}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(code, "docs/notebook.md", "exec"), names)
    picture, network = ROOT / "docs" / "notebook-network.svg", names["net"]
    assert isinstance(network, Network)
    if not picture.exists():
        picture.write_text(network.svg() + "\n")
    assert picture.read_text() == network.svg() + "\n"


def test_links_lead_somewhere() -> None:
    for page in MARKDOWN:
        for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", (ROOT / page).read_text()):
            path = (ROOT / page).parent / target if target else ROOT / page
            assert path.exists(), f"{page}: {target}"
            assert not anchor or anchor in anchors(path), f"{page}: {target}#{anchor}"


def anchors(path: Path) -> set[str]:
    """Those that GitHub gives to the headings of a page."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_the_index_lists_every_page() -> None:
    index = (ROOT / "docs" / "README.md").read_text()
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert [page for page in sorted(pages) if f"]({page})" not in index] == []
    assert [page for page in sorted(pages) if f"docs/{page}" not in [*PAGES, *OTHERS]] == []


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
    for page in MARKDOWN:
        assert not re.search(r"(?<!\w)/(?:work|root|tmp|home)/", (ROOT / page).read_text()), page


def test_every_option_of_a_run_is_in_the_manual() -> None:
    manual = (ROOT / "docs" / "networks.md").read_text()
    told = aurora(["run", "--help"])
    options = set(re.findall(r"--[a-z-]+", told)) - {"--help", "--source", "--sink"}
    assert options and [option for option in sorted(options) if option not in manual] == []
