"""Sinks: what they write, and that it reads back as what it was."""

import csv
import io
import json
import math
import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aurora import AuroraError, Schema
from aurora.engine.kafka.address import SINK_OPTIONS, read_kafka
from aurora.engine.kafka.encode import encode_rows
from aurora.engine.mqtt.address import read_mqtt
from aurora.engine.sinks.address import absolute_address, open_rejects, open_sink, sink_path
from aurora.engine.sinks.encode import csv_header, json_lines, to_csv, to_json
from aurora.engine.sinks.parts import PartSink
from aurora.engine.sinks.sink import StagingSink, publish
from aurora.engine.sinks.text import TextSink
from aurora.engine.sources.files.line_files import LineFiles
from aurora.engine.sources.source import REJECTS
from tests.thoroughness import examples

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
@settings(deadline=None, max_examples=examples(25, 80))
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
@settings(deadline=None, max_examples=examples(15, 40))
def test_json_is_json(rows: list[dict[str, Any]]) -> None:
    found = [json.loads(line) for line in to_json(batch(rows)).decode().split("\n")[:-1]]
    assert [row["s"] for row in found] == [row["s"] for row in rows]
    assert [row["i"] for row in found] == [row["i"] for row in rows]
    finite = [row["d"] if row["d"] is not None and math.isfinite(row["d"]) else None for row in rows]
    assert [row["d"] for row in found] == finite


NUMBERS = Schema.parse("a int")


def numbers(*values: int) -> tuple[pa.RecordBatch, Any]:
    return pa.record_batch({"a": pa.array(values, pa.int32())}), np.zeros(len(values), np.int64)


def test_a_file_is_cut_to_what_was_committed(tmp_path: Path) -> None:
    sink = open_sink("rows", f"csv:{tmp_path}/out.csv", NUMBERS)
    note = sink.deliver(0, *numbers(1, 2), sink.open(None))
    with open(tmp_path / "out.csv", "ab") as file:
        file.write(b"3\nhalf a li")
    assert sink.open(note) == note
    sink.deliver(1, *numbers(1, 2), note)
    found = list(csv.reader(io.StringIO((tmp_path / "out.csv").read_text())))
    assert found == [["a"], ["1"], ["2"], ["1"], ["2"]]


def test_many_rows_become_lines_some_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aurora.engine.sinks.text.ROWS", 2)
    path = tmp_path / "x.csv"
    times = TextSink(str(path), lambda rows, at: f"{rows['A'].to_pylist()} {at.tolist()}\n".encode())
    rows = pa.record_batch({"A": [1, 2, 3]})
    note = times.deliver(0, rows, np.array([7, 8, 9]), times.open(None))
    assert path.read_text() == "[1, 2] [7, 8]\n[3] [9]\n"
    times.take(1, [times.stage(rows, np.array([7, 8, 9]))], note)
    assert path.read_text() == "[1, 2] [7, 8]\n[3] [9]\n" * 2


@pytest.mark.parametrize("left", [b"a\n1\n", None])
def test_a_file_that_was_shortened_is_a_fault(tmp_path: Path, left: bytes | None) -> None:
    """Going on there would fill the gap with zeros."""
    path = tmp_path / "out.csv"
    sink = open_sink("rows", f"csv:{path}", NUMBERS)
    note = sink.deliver(0, *numbers(1, 2, 3), sink.open(None))
    path.unlink() if left is None else path.write_bytes(left)
    told = rf"out.csv has {len(left or b'')} bytes, the checkpoint says that 8 were written: restore it"
    with pytest.raises(AuroraError, match=told):
        sink.open(note)
    assert (path.read_bytes() if path.exists() else None) == left


def test_a_folder_whose_parts_are_missing_is_a_fault(tmp_path: Path) -> None:
    sink = PartSink(str(tmp_path / "out"), "csv")
    first = sink.deliver(0, *numbers(1), sink.open(None))
    sink.publish(first)
    note = sink.deliver(1, *numbers(2), first)
    (tmp_path / "out" / "part-00000000-00000.csv").unlink()
    with pytest.raises(
        AuroraError, match=r"out has 1 parts with 4 bytes, the checkpoint says that 2 with 8 were"
    ):
        sink.open(note)


def test_a_file_that_something_else_has_written_is_a_fault(tmp_path: Path) -> None:
    """Another run, say, between a kill and the restart."""
    path = tmp_path / "out.csv"
    sink = open_sink("rows", f"csv:{path}", NUMBERS)
    note = sink.deliver(0, *numbers(1, 2, 3), sink.open(None))
    path.write_text("a\n4\n5\n6\n7\n")
    with pytest.raises(
        AuroraError, match=r"out.csv is not the file that the checkpoint describes: something else has"
    ):
        sink.open(note)
    assert path.read_text() == "a\n4\n5\n6\n7\n"


CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "emptied": (lambda path: path.write_text(""), "was changed by .*: it has 0 bytes, 8 were written"),
    "shortened": (lambda path: os.truncate(path, 5), "was changed by .*: it has 5 bytes, 8 were written"),
    "grown": (
        lambda path: path.write_text(path.read_text() + "9\n"),
        "was changed by .*: it has 10 bytes, 8 were written",
    ),
    "replaced": (
        lambda path: replace_file(path, "mine\n"),
        "was replaced by another file, of 5 bytes, while",
    ),
    "replaced alike": (
        lambda path: replace_file(path, path.read_text()),
        "was replaced by another file, of 8 b",
    ),
    "removed": (lambda path: path.unlink(), "No such file"),
}


def replace_file(path: Path, text: str) -> None:
    path.with_suffix(".new").write_text(text)
    os.replace(path.with_suffix(".new"), path)


@pytest.mark.parametrize("way", ["deliver", "take"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_others_change_while_it_is_written_is_left_as_it_is(
    tmp_path: Path, change: str, way: str
) -> None:
    path = tmp_path / "out.csv"
    sink = open_sink("rows", f"csv:{path}", NUMBERS)
    assert isinstance(sink, TextSink)
    note = sink.deliver(0, *numbers(1, 2, 3), sink.open(None))
    do, told = CHANGES[change]
    do(path)
    left = path.read_bytes() if path.exists() else None
    with pytest.raises((AuroraError, FileNotFoundError), match=told):
        if way == "take":
            sink.take(1, [sink.stage(*numbers(4))], note)
        else:
            sink.deliver(1, *numbers(4), note)
    assert (path.read_bytes() if path.exists() else None) == left
    if change != "replaced alike":
        with pytest.raises(AuroraError, match=r"out.csv (has|is not the file)"):
            sink.open(note)
        assert (path.read_bytes() if path.exists() else None) == left


def test_what_others_add_behind_a_run_that_has_ended_is_not_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    sink = open_sink("rows", f"csv:{path}", NUMBERS)
    note = sink.deliver(0, *numbers(1, 2, 3), sink.open(None))
    sink.finish()
    with open(path, "a") as file:
        file.write("mine\n")
    with pytest.raises(AuroraError, match=rf"has 13 bytes, .* left 8: .*truncate -s 8 {path}, or start over"):
        sink.open(note)
    assert path.read_text() == "a\n1\n2\n3\nmine\n"
    os.truncate(path, 8)
    assert sink.open(note) == note


def test_another_file_that_begins_alike_is_not_cut_back(tmp_path: Path) -> None:
    """A run that was killed leaves lines behind its note, but in its own file."""
    path = tmp_path / "out.csv"
    sink = open_sink("rows", f"csv:{path}", NUMBERS)
    note = sink.open(None)
    replace_file(path, "a\nmine\n")
    with pytest.raises(AuroraError, match=r"has 7 bytes, and the run before left 2"):
        sink.open(note)
    assert path.read_text() == "a\nmine\n"
    replace_file(path, "a\n")
    assert sink.deliver(0, *numbers(4), sink.open(note))["bytes"] == 4, "a copy that was restored will do"


def test_the_note_of_an_earlier_version_will_do(tmp_path: Path) -> None:
    sink = open_sink("rows", f"csv:{tmp_path}/out.csv", NUMBERS)
    note = sink.deliver(0, *numbers(1), sink.open(None))
    assert sink.open({name: note[name] for name in ("bytes", "mark")}) == note
    parts = PartSink(str(tmp_path / "out"), "csv")
    kept = parts.open(None)
    assert parts.open({name: kept[name] for name in ("batch", "parts", "bytes")}) == kept


def test_rejects_do_not_replace_what_has_come_since(tmp_path: Path) -> None:
    path = tmp_path / "rejects.csv"
    sink = open_rejects(f"csv:{path}")
    note = sink.open(None)
    path.write_text("mine\n")
    with pytest.raises(
        AuroraError, match=r"rejects.csv, which something else has written while the run went on"
    ):
        sink.deliver(0, BAD, np.zeros(1, np.int64), note)
    assert path.read_text() == "mine\n"


def test_parts_do_not_replace_what_others_wrote(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    sink = PartSink(str(folder), "csv")
    note = sink.deliver(0, *numbers(1), sink.open(None))
    (folder / "part-00000000-00000.csv").write_text("mine")
    with pytest.raises(AuroraError, match=r"part-00000000-00000.csv was written by something else"):
        sink.publish(note)
    with pytest.raises(AuroraError, match=r"part-00000000-00000.csv was written by something else"):
        sink.open(note)
    assert (folder / "part-00000000-00000.csv").read_text() == "mine"


def test_a_folder_that_is_replaced_while_it_is_written_is_a_fault(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    sink = PartSink(str(folder), "csv")
    note = sink.deliver(0, *numbers(1), sink.open(None))
    shutil.rmtree(folder / "_staged")
    with pytest.raises(
        AuroraError, match=r"part-00000000-00000.csv is missing, something else has removed it"
    ):
        sink.publish(note)
    os.rename(folder, tmp_path / "kept")
    with pytest.raises(
        AuroraError, match=r"out/ was replaced by another folder .* and 1 parts are not in it"
    ):
        sink.deliver(1, *numbers(2), note)


def test_parts_of_unfinished_batches_go(tmp_path: Path) -> None:
    sink = PartSink(str(tmp_path / "out"), "parquet")
    note = sink.deliver(0, *numbers(1), sink.open(None))
    sink.publish(note)
    sink.publish(sink.deliver(2, *numbers(2), note))
    sink.stage(*numbers(3))
    assert sink.open(note) == note
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["part-00000000-00000.parquet"]


def test_parts_appear_when_their_batch_counts(tmp_path: Path) -> None:
    """Wherever a kill comes between the note and the last of them, the next run moves the others in."""
    sink, folder = PartSink(str(tmp_path / "out"), "csv"), tmp_path / "out"
    before = sink.open(None)
    note = sink.take(0, [sink.stage(*numbers(1)), sink.stage(*numbers(2))], before)
    sink.sync()
    assert list(folder.glob("part-*")) == []
    os.replace(folder / "_staged" / note["staged"][0], folder / "part-00000000-00000.csv")
    went_on = sink.open(note)
    assert went_on == note and (note["parts"], note["bytes"]) == (2, 8)
    assert sorted(path.name for path in folder.iterdir()) == [
        "part-00000000-00000.csv",
        "part-00000000-00001.csv",
    ]
    again = sink.take(1, [sink.stage(*numbers(3))], went_on)
    assert sink.open(went_on) == went_on, "of a batch that does not count nothing is left"
    assert len(list(folder.iterdir())) == 2
    with pytest.raises(AuroraError, match=r"has 2 parts with 8 bytes, the checkpoint says that 3 with 12"):
        sink.open(again)


def test_parts_that_nobody_took_are_gone_from_a_finished_folder(tmp_path: Path) -> None:
    for kind, name in (("csv", "out"), ("csv", "out.csv")):
        sink = open_sink("rows", f"{kind}:{tmp_path}/{name}", NUMBERS)
        assert isinstance(sink, StagingSink)
        note = sink.open(None)
        repeated, taken = sink.stage(*numbers(1)), sink.stage(*numbers(1))
        assert repeated != taken
        publish(sink, sink.take(0, [taken], note))
        sink.finish()
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()) == [
        "out.csv",
        "out/part-00000000-00000.csv",
    ]
    assert (tmp_path / "out.csv").read_text() == "a\n1\n"


@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_parts_read_back(tmp_path: Path, kind: str) -> None:
    sink = PartSink(str(tmp_path / "out"), kind)
    sink.publish(sink.deliver(3, *numbers(1, 2), sink.open(None)))
    (part,) = (tmp_path / "out").glob("part-*")
    if kind == "parquet":
        assert pyarrow.parquet.read_table(part)["a"].to_pylist() == [1, 2]
    else:
        assert part.read_text() == {"csv": "a\n1\n2\n", "json": '{"a": 1}\n{"a": 2}\n'}[kind]


def test_a_folder_with_other_files_is_not_emptied(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(AuroraError, match=r"precious.txt, which is not part of a result"):
        PartSink(str(tmp_path), "csv").open(None)
    assert (tmp_path / "precious.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("csv:a/out.csv", TextSink),
        ("csv:a/OUT.CSV", TextSink),
        ("json:a/out.jsonl", TextSink),
        ("json:a/out.json", TextSink),
        ("json:a/out.ndjson", TextSink),
        ("csv:a/out.json", TextSink),
        ("csv:out.txt", TextSink),
        ("csv:out.TSV", TextSink),
        ("csv:a", PartSink),
        ("csv:run.2026-11-16", PartSink),
        ("csv:parts.d/", PartSink),
        ("parquet:a/out", PartSink),
    ],
)
def test_the_path_tells_file_from_folder(tmp_path: Path, address: str, kind: type, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    assert isinstance(open_sink("out", address, SCHEMA), kind)


def test_a_folder_that_is_called_like_a_file_of_parquet_is_one(tmp_path: Path) -> None:
    (tmp_path / "out.parquet").mkdir()
    assert isinstance(open_sink("out", f"parquet:{tmp_path}/out.parquet", SCHEMA), PartSink)


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("parquet:x.parquet", "sink out: Parquet is written as a folder of parts, .* like a file; write parquet:x"),
        ("csv:x.csv.gz", "sink out: x.csv.gz looks like a compressed file, and sinks do not compress; write csv:x.csv"),
        ("csv:a/b/x.csv", r"sink out: there is no folder \S+/a; check the path, or make it with mkdir -p \S+/a"),
        ("parquet:a/b/x", r"sink out: there is no folder \S+/a; check the path, or make it with mkdir -p \S+/a"),
    ],
)  # fmt: skip
def test_paths_that_are_most_likely_wrong(
    tmp_path: Path, address: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AuroraError, match=f"^{told}$"):
        open_sink("out", address, SCHEMA)
    assert list(tmp_path.iterdir()) == []


def test_lines_of_tasks_are_taken_in_order(tmp_path: Path) -> None:
    sink = open_sink("rows", f"csv:{tmp_path}/out.csv", NUMBERS)
    assert isinstance(sink, TextSink)
    note = sink.open(None)
    parts = [sink.stage(*numbers(number)) for number in (1, 2, 3)]
    assert (tmp_path / "out.csv").read_text() == "a\n"
    note = sink.take(0, parts[:2], note)
    assert (tmp_path / "out.csv").read_text() == "a\n1\n2\n"
    # A run that is killed now leaves a part that nobody takes, and lines beyond the commit.
    with open(tmp_path / "out.csv", "a") as file:
        file.write("more")
    assert sink.open(note) == note and (tmp_path / "out.csv").read_text() == "a\n1\n2\n"
    sink.finish()
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_a_file_cannot_be_a_folder(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("a\n1\n")
    with pytest.raises(AuroraError, match=r"sink far: .*r.csv is a file, so .*r.csv/x.csv cannot be in it"):
        open_sink("far", f"csv:{tmp_path}/r.csv/x.csv", NUMBERS)
    with pytest.raises(AuroraError, match=r"sink far: .*r.csv is a file, so .*r.csv/x cannot be in it"):
        open_sink("far", f"csv:{tmp_path}/r.csv/x", NUMBERS)


@pytest.mark.parametrize(
    "address", ["csv:s3://bucket/x.csv", "parquet:hdfs://host:9000/x", "json:http://host/x"]
)
def test_only_local_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        AuroraError, match=r"sink far: \w+://\S+ is not a local path, and only local paths are supported"
    ):
        open_sink("far", address, NUMBERS)
    assert list(tmp_path.iterdir()) == []


BAD = pa.RecordBatch.from_pylist(
    [{"source": "r", "file": "r.csv", "line": 2, "reason": "bad", "text": "x"}], REJECTS.arrow()
)


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_rejects_of_an_earlier_run_do_not_survive_a_clean_one(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"bad.{ending}"
    address = f"{'csv' if ending == 'csv' else 'json'}:{path}"
    sink = open_rejects(address)
    note = sink.open(None)
    assert note is None and not path.exists()
    note = sink.deliver(0, BAD, np.zeros(1, np.int64), note)
    assert path.read_text().count("r.csv") == 1
    assert sink.open(note) == note and path.exists(), "a run that goes on keeps them"
    assert open_rejects(address).open(None) is None
    assert not path.exists()


def test_a_file_of_something_else_is_not_replaced_by_rejects(tmp_path: Path) -> None:
    (tmp_path / "rejects.csv").write_text("a,b\n1,2\n")
    (tmp_path / "blank.csv").write_text("\na,b\n1,2\n")
    with pytest.raises(AuroraError, match=r"blank.csv, which holds something else"):
        open_rejects(f"csv:{tmp_path}/blank.csv")
    with pytest.raises(
        AuroraError, match=r"rejected rows would go to .*rejects.csv, which holds something else"
    ):
        open_rejects(f"csv:{tmp_path}/rejects.csv")
    assert (tmp_path / "rejects.csv").read_text() == "a,b\n1,2\n"


def test_years_of_more_than_four_digits() -> None:
    times = pa.array([2**62, -(2**62), 0, 253402300800000000, None], pa.int64()).cast(
        pa.timestamp("us", "UTC")
    )
    days = pa.array([2**31 - 1, -719_528, 0, None, 11], pa.int32()).cast(pa.date32())
    lines = to_csv(pa.record_batch({"t": times, "d": days})).decode().splitlines()
    assert lines == [
        "+148108-07-06 14:00:27.387904,+5881580-07-11",
        "-144169-06-28 09:59:32.612096,0000-01-01",
        "1970-01-01 00:00:00,1970-01-01",
        "+10000-01-01 00:00:00,",
        ",1970-01-12",
    ]
    assert json_lines(pa.record_batch({"t": times[:1]}), 3) == b'{"t": "+148108-07-06 14:00:27.387"}\n'


WRITTEN = pa.RecordBatch.from_pylist(
    [
        {"t": datetime(2026, 7, 1, 22, 30, 0, 250000, UTC), "x": 1.5, "s": "a;b", "n": {"at": [None]}},
        {"t": None, "x": None, "s": "", "n": None},
        {"t": datetime(2026, 12, 31, 23, tzinfo=UTC), "x": -1234.0, "s": "a,b",
         "n": {"at": [datetime(2026, 1, 1, tzinfo=UTC)]}},
    ],
    Schema.parse("t timestamp, x double, s string, n struct<at: array<timestamp>>").arrow(),
)  # fmt: skip


def schema_of(rows: pa.RecordBatch) -> Schema:
    return Schema.of({field.name: field.type for field in rows.schema})


@pytest.mark.parametrize(
    ("options", "first", "last", "inside"),
    [
        ("times=iso", "2026-07-01T22:30:00.25Z", "2026-12-31T23:00:00Z", "2026-01-01T00:00:00Z"),
        (
            "times=iso&zone=Europe/Berlin",
            *("2026-07-02T00:30:00.25+02:00", "2027-01-01T00:00:00+01:00", "2026-01-01T01:00:00+01:00"),
        ),
        ("zone=Asia/Kolkata", "2026-07-02 04:00:00.25", "2027-01-01 04:30:00", "2026-01-01 05:30:00"),
        (
            "times=dd.MM.yyyy HH:mm&zone=Europe/Berlin",
            "02.07.2026 00:30",
            "01.01.2027 00:00",
            "01.01.2026 01:00",
        ),
        (
            "times=iso&zone=-03:30",
            *("2026-07-01T19:00:00.25-03:30", "2026-12-31T19:30:00-03:30", "2025-12-31T20:30:00-03:30"),
        ),
    ],
)
def test_times_as_the_address_says(tmp_path: Path, options: str, first: str, last: str, inside: str) -> None:
    sink = open_sink("o", f"json:{tmp_path}/o.jsonl?{options}", schema_of(WRITTEN))
    note = sink.open(None)
    sink.deliver(0, WRITTEN, np.zeros(3, np.int64), note)
    found = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    assert [row["t"] for row in found] == [first, None, last]
    assert [row["n"] for row in found] == [{"at": [None]}, None, {"at": [inside]}]
    assert [row["x"] for row in found] == [1.5, None, -1234.0]
    sink.finish()


def test_a_comma_for_the_point_and_another_delimiter(tmp_path: Path) -> None:
    rows = WRITTEN.select(["t", "x", "s"])
    for place, wanted in (
        ("o.csv?decimal=,&delimiter=;&times=iso", 't;x;s\n2026-07-01T22:30:00.25Z;1,5;"a;b"\n;;""\n'),
        ("p.csv?decimal=,", 't,x,s\n2026-07-01 22:30:00.25,"1,5",a;b\n,,""\n'),
        ("q.csv?delimiter=tab", 't\tx\ts\n2026-07-01 22:30:00.25\t1.5\ta;b\n\t\t""\n'),
    ):
        sink = open_sink("o", f"csv:{tmp_path}/{place}", schema_of(rows))
        sink.deliver(0, rows.slice(0, 2), np.zeros(2, np.int64), sink.open(None))
        sink.finish()
        assert (tmp_path / place.partition("?")[0]).read_text() == wanted
    parts = open_sink("o", f"csv:{tmp_path}/parts?decimal=,&delimiter=;", schema_of(rows))
    parts.deliver(0, rows.slice(2), np.zeros(1, np.int64), parts.open(None))
    (part,) = (tmp_path / "parts").rglob("*.csv")
    assert part.read_text() == "t;x;s\n2026-12-31 23:00:00;-1234,0;a,b\n"


@pytest.mark.parametrize(
    ("address", "says"),
    [
        (
            "json:o.json?zone=Europe/Belin",
            "zone is a time zone such as Europe/Berlin or +02:00, found 'Europe/Belin'",
        ),
        ("json:o.json?times=jj", "times is iso or a pattern such as dd.MM.yyyy HH:mm:ss, found 'jj'"),
        ("json:o.json?times=HH:mmX&zone=UTC", "for that of UTC write times=iso"),
        ("json:o.json?decimal=,", "there is no option decimal; the options of json are times, zone"),
        ("csv:o.csv?decimal=;", "decimal is . or , found ';'"),
        ("csv:o.csv?delimiter=;;", "a delimiter is one character"),
        ("csv:o.csv?time=iso", "there is no option time (did you mean times?)"),
        ("parquet:o?times=iso", "parquet has no options, found ?times=iso"),
        ("console?zone=X", "zone is a time zone"),
        ("kafka:h:9092/t?format=avro&schema=x.avsc&times=iso", "times and zone are for texts"),
        ("kafka:h:9092/t?zone=X", "zone is a time zone"),
        ("mqtt:h:1883/t?times=iso&zone=X", "zone is a time zone"),
    ],
)
def test_faults_of_how_values_are_written(address: str, says: str) -> None:
    with pytest.raises(AuroraError) as fault:
        open_sink("o", address, Schema.parse("t timestamp"))
    assert says in str(fault.value) and str(fault.value).startswith("sink o: ")


def test_the_console_kafka_and_mqtt_write_times_as_they_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    rows = WRITTEN.select(["t"]).slice(0, 1)
    schema = schema_of(rows)
    console = open_sink("o", "console?times=iso&zone=Europe/Berlin", schema)
    console.deliver(0, rows, np.zeros(1, np.int64), None)
    assert capsys.readouterr().out == "o: 2026-07-02T00:30:00.25+02:00\n"
    kafka = read_kafka("sink o", "kafka:h:9092/t?times=iso", SINK_OPTIONS)
    assert encode_rows(rows, "json", None, kafka.notation).messages(0, 1) == [
        {"value": b'{"t": "2026-07-01T22:30:00.25Z"}'}
    ]
    assert read_mqtt("sink o", "mqtt:h:1883/t?times=iso", ("times",)).notation == kafka.notation


def test_an_address_with_options_is_the_path_in_front_of_them(tmp_path: Path) -> None:
    assert sink_path(f"csv:{tmp_path}/o.csv?delimiter=;") == f"{tmp_path}/o.csv"
    assert absolute_address("json:/o.json?times=iso") == "json:/o.json?times=iso"
