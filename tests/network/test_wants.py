"""What a network file asks for is told without importing or opening anything; `check` looks into its folder only."""

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from aurora import AuroraError, read_network
from aurora.network.text import read_wants

TEXT = """network: n
inputs: {a: {schema: "A int"}}
points:
  near: {stored: "parquet:near.parquet", key: [A]}
  base: {stored: "sqlite:/data/b.db?table=t", schema: "A int"}
  far: {stored: "postgres:db.example:5432/shop/rates?service=x", schema: "A int"}
boxes:
  own: {user: "imported_by_nobody:own", inputs: {x: a}, outputs: {o: "A int"}}
  inner: {group: {sum: {aggregate: "statistics_of_mine.sums:SUM", from: a, order: {on: A}, size: 1}}}
outputs: {o: {from: own}}
"""


def test_a_file_tells_what_it_wants(tmp_path: Path) -> None:
    (tmp_path / "n.yaml").write_text(TEXT)
    (tmp_path / "imported_by_nobody.py").write_text("raise RuntimeError('it was imported')\n")
    wants = read_wants(tmp_path / "n.yaml")
    beside = str(tmp_path / "imported_by_nobody.py")
    assert dict(wants.modules) == {"imported_by_nobody": beside, "statistics_of_mine.sums": None}
    assert wants.files == ("near.parquet", "/data/b.db")
    assert wants.hosts == ("db.example:5432",)
    assert list(wants.lines()) == [
        f"imports imported_by_nobody from {beside}",
        "imports statistics_of_mine.sums, which must be installed",
        "reads near.parquet",
        "reads /data/b.db",
        "connects to db.example:5432",
    ]
    assert "imported_by_nobody" not in sys.modules


@pytest.mark.parametrize("text", ["", "[]", "boxes: 3", "points: [a]\nboxes: {a: 1, b: {group: 2}}", "a"])
def test_what_is_no_network_wants_nothing(text: str, tmp_path: Path) -> None:
    (tmp_path / "n.yaml").write_text(text)
    assert not read_wants(tmp_path / "n.yaml")


def test_files_are_opened_below_the_folder_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    for place in (folder, outside, tmp_path / "folder?x", tmp_path / "folder2"):
        place.mkdir()
        pa.parquet.write_table(pa.table({"A": [1]}), place / "t.parquet")
    monkeypatch.chdir(folder)
    (folder / "link.parquet").symlink_to(outside / "t.parquet")
    (folder / "linked").mkdir()
    (folder / "linked" / "a.parquet").symlink_to(outside / "t.parquet")

    def read(stored: str, *allowed: Path) -> None:
        points = f'points: {{t: {{stored: "{stored}"}}}}'
        text = f'network: n\ninputs: {{a: {{schema: "A int"}}}}\n{points}\noutputs: {{o: a}}\n'
        (folder / "n.yaml").write_text(text)
        assert read_network(folder / "n.yaml", files=allowed).inputs["t"].schema.names == ("A",)

    read("parquet:t.parquet")
    read(f"parquet:{outside}/t.parquet", outside)
    read(f"parquet:{outside}/t.parquet", outside / "t.parquet")
    for stored in (
        f"parquet:{outside}/t.parquet",
        "parquet:../outside/*.parquet",
        "parquet:link.parquet",
        "parquet:linked",
        "parquet:linked/*.parquet",
        f"sqlite:{outside}/t.parquet?table=x",
        f"parquet:{folder}?x/t.parquet",
        f"parquet:{tmp_path}/folder2/t.parquet",
    ):
        with pytest.raises(AuroraError, match="outside of the folder of the network, so it is not opened"):
            read(stored)
    # To run it is the user's decision.
    read_network(folder / "n.yaml")
