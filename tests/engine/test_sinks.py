"""Sinks: what they write, and that it reads back as what it was."""

import csv
import io
import json
import math
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aurora import AuroraError, Schema
from aurora.algebra.tuples.train import Train
from aurora.engine.sinks.address import open_sink
from aurora.engine.sinks.encode import csv_header, to_csv, to_json
from aurora.engine.sinks.parts import PartSink
from aurora.engine.sinks.text import TextSink
from aurora.engine.sources.files import LineFiles

SCHEMA = Schema.parse("i bigint, d double, s string, b boolean, t timestamp, y date")
FIELDS = {
    "i": st.integers(-(2**63), 2**63 - 1),
    "d": st.floats(),
    "s": st.text(st.characters(codec="utf-8", exclude_characters="\x00\r"), max_size=6),
    "b": st.booleans(),
    "t": st.datetimes(min_value=datetime(1900, 1, 1)),
    "y": st.dates(),
}
ROWS = st.lists(
    st.fixed_dictionaries({name: st.none() | field for name, field in FIELDS.items()}), max_size=8
)


def batch(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    naive = pa.schema([(f.name, pa.timestamp("us") if f.name == "t" else f.type) for f in SCHEMA.arrow()])
    return pa.RecordBatch.from_pylist(rows, naive).cast(SCHEMA.arrow())


def test_cells_as_people_expect_them() -> None:
    rows = [
        {"i": 1, "d": 2.0, "s": "plain", "b": True, "t": None, "y": None},
        {"i": None, "d": 1e20, "s": 'a,"b"', "b": None, "t": None, "y": None},
        {"i": -1, "d": -0.5, "s": "", "b": False, "t": None, "y": None},
    ]
    assert to_csv(batch(rows)).decode() == '1,2.0,plain,true,,\n,1e+20,"a,""b""",,,\n-1,-0.5,"",false,,\n'
    assert csv_header(SCHEMA.arrow()) == b"i,d,s,b,t,y\n"
    assert json.loads(to_json(batch(rows)).decode().splitlines()[0])["d"] == 2.0


@given(ROWS)
@settings(deadline=None, max_examples=80)
def test_csv_reads_back(tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]) -> None:
    path = tmp_path_factory.getbasetemp() / "back.csv"
    written = batch(rows)
    path.write_bytes(csv_header(written.schema) + to_csv(written))
    source = LineFiles(str(path), "csv", SCHEMA)
    end = source.advance(source.begin(), 100)
    portions = [piece.read(SCHEMA) for piece in source.pieces(source.begin(), end, 1)]
    assert not any(portion.rejects for portion in portions)
    assert repr([row for portion in portions for row in portion.rows.to_pylist()]) == repr(
        written.to_pylist()
    )


@given(ROWS)
@settings(deadline=None, max_examples=40)
def test_json_is_json(rows: list[dict[str, Any]]) -> None:
    found = [json.loads(line) for line in to_json(batch(rows)).decode().split("\n")[:-1]]
    assert [row["s"] for row in found] == [row["s"] for row in rows]
    assert [row["i"] for row in found] == [row["i"] for row in rows]
    finite = [row["d"] if row["d"] is not None and math.isfinite(row["d"]) else None for row in rows]
    assert [row["d"] for row in found] == finite


def test_a_file_is_cut_to_what_was_committed(tmp_path: Path) -> None:
    sink = open_sink("rows", f"csv:{tmp_path}/out.csv", Schema.parse("a int"))
    assert isinstance(sink, TextSink)
    arrived = np.zeros(2, np.int64)
    rows = pa.record_batch({"a": pa.array([1, 2], pa.int32())})
    size = sink.append(rows, arrived, sink.prepare(None))
    with open(sink.path, "ab") as file:
        file.write(b"3\nhalf a li")
    assert sink.prepare(size) == size
    sink.append(rows, arrived, size)
    assert list(csv.reader(io.StringIO(Path(sink.path).read_text()))) == [["a"], ["1"], ["2"], ["1"], ["2"]]


def test_parts_of_unfinished_batches_go(tmp_path: Path) -> None:
    sink = PartSink(str(tmp_path / "out"), "parquet")
    sink.prepare(-1, fresh=True)
    train = Train.empty(Schema.parse("a int").arrow())
    for number in (0, 1):
        sink.commit(number, [sink.write(train)] if len(train) else [])
        (tmp_path / "out" / f"part-{number:08d}-00000.parquet").write_text("rows")
    (tmp_path / "out" / "_staged").mkdir(exist_ok=True)
    (tmp_path / "out" / "_staged" / "left.parquet").write_text("rows")
    sink.prepare(0, fresh=False)
    sink.finish()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["part-00000000-00000.parquet"]


def test_a_folder_with_other_files_is_not_emptied(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(AuroraError, match=r"precious.txt, no part of a result"):
        PartSink(str(tmp_path), "csv").prepare(-1, fresh=True)


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("csv:a/out.csv", TextSink),
        ("json:a/out.jsonl", TextSink),
        ("json:a/out.json", PartSink),
        ("csv:a", PartSink),
    ],
)
def test_the_path_tells_file_from_folder(tmp_path: Path, address: str, kind: type, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    assert isinstance(open_sink("out", address, SCHEMA), kind)


def test_lines_of_tasks_are_taken_in_order(tmp_path: Path) -> None:
    sink = TextSink(
        str(tmp_path / "out.txt"), lambda rows, _: b"%d\n" % rows["i"][0].as_py(), b"head\n", True
    )
    size = sink.prepare(None)
    parts = []
    for number in (3, 1, 2):
        train = Train(pa.record_batch({"i": [number]}), np.zeros(1, np.int64), np.array([[number]]))
        parts.append(sink.write(train))
    assert (tmp_path / "out.txt").read_text() == "head\n"
    size = sink.take(parts[:2], size)
    assert (tmp_path / "out.txt").read_text() == "head\n1\n3\n"
    # A run that is killed now leaves a part that nobody takes, and lines beyond the commit.
    with open(tmp_path / "out.txt", "a") as file:
        file.write("more")
    assert sink.prepare(size) == size and (tmp_path / "out.txt").read_text() == "head\n1\n3\n"
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]
