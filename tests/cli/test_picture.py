"""`aurora picture`: what is drawn, where it goes, and what is refused."""

from pathlib import Path
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet
import pytest

from aurora import read_network
from aurora.characters import printable

TEXT = """network: n
parameters: {least: 30}
inputs: {a: {schema: "A int, S string"}}
boxes: {"[f]": {filter: ["A >= {{least}}", "S <> 'x&<\\x1b'"], from: a}}
outputs: {o: {from: "[f]"}}
"""


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "n.yaml").write_text(TEXT.replace("\x1b", ""))
    return tmp_path


def test_a_picture_goes_into_a_file_or_to_stdout(aurora, desk: Path) -> None:  # type: ignore[no-untyped-def]
    ended = aurora("picture", "n.yaml", "--out", "n.svg", "--set", "least=77")
    assert (ended.status, ended.out, ended.err) == (0, "", "drawn in n.svg\n")
    drawn = (desk / "n.svg").read_text()
    assert drawn == read_network("n.yaml", parameters={"least": 77}).svg() + "\n"
    texts = "".join(ElementTree.fromstring(drawn).itertext())
    assert "A >= 77" in texts and "[f]" in texts and printable(texts) == texts
    (desk / "n.svg").write_text("an older one")
    assert aurora("picture", "n.yaml", "--out", "n.svg", "--set", "least=77").status == 0
    assert (desk / "n.svg").read_text() == drawn
    ended = aurora("picture", "n.yaml", "--out", "-", "--set", "least=77", "--quiet")
    assert (ended.status, ended.out, ended.err) == (0, drawn, "")


def test_what_cannot_be_drawn_is_one_line(aurora, desk: Path) -> None:  # type: ignore[no-untyped-def]
    (desk / "it.svg").symlink_to(desk / "n.yaml")
    (desk / "outside.yaml").write_text(
        'points: {t: {stored: "parquet:/none.parquet", key: [A]}}\n' + TEXT.replace("\x1b", "")
    )
    for arguments, told in (
        (
            ["n.yaml", "--out", "n.png"],
            "--out n.png: a picture is an SVG file; write a name that ends in .svg, or -",
        ),
        (["n.yaml", "--out", "it.svg"], "--out it.svg is the network itself; name another file"),
        (["n.yaml", "--out", "no/n.svg"], "no/n.svg cannot be written: No such file or directory"),
        (["none.yaml", "--out", "n.svg"], "cannot read network none.yaml: No such file or directory"),
        (
            ["outside.yaml", "--out", "n.svg"],
            "point t: /none.parquet lies outside of the folder of the network",
        ),
    ):
        ended = aurora("picture", *arguments)
        assert ended.status == 1 and ended.err.splitlines()[-1].startswith(f"error: {told}"), ended.err
    assert (desk / "n.yaml").read_text() == TEXT.replace("\x1b", "") and not (desk / "n.svg").exists()


def test_a_picture_may_look_where_it_is_allowed(aurora, desk: Path) -> None:  # type: ignore[no-untyped-def]
    (desk / "in").mkdir()
    pa.parquet.write_table(pa.table({"A": [1]}), desk / "t.parquet")
    (desk / "in" / "n.yaml").write_text(
        'points: {t: {stored: "parquet:t.parquet"}}\n' + TEXT.replace("\x1b", "")
    )
    assert aurora("picture", "in/n.yaml", "--out", "-").status == 1
    ended = aurora("picture", "in/n.yaml", "--out", "-", "--allow-file", "t.parquet")
    assert ended.status == 0 and "stored in parquet:t.parquet" in ended.out
