"""Reading: every kind of bad line is named, good data are read without a complaint."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from aurora import Schema
from aurora.engine.sources.text.csv_records import Csv
from aurora.engine.sources.text.parse import parse_csv
from aurora.errors import AuroraError
from aurora.linear_road import reading
from aurora.linear_road.reading import cut_blocks, input_files, read_types, survey
from aurora.linear_road.records import DIALECTS, FIELDS, parse_input, parse_output, replication
from aurora.linear_road.scan import copy_lines, scan_lines

SAMPLE = Path(__file__).parent / "data" / "datafile20seconds.dat"
REPORT = "0,5,107,32,0,0,0,10,53320,-1,-1,-1,-1,-1,-1"


def changed(**fields):
    parts = REPORT.split(",")
    for name, value in fields.items():
        parts[FIELDS.index(name)] = str(value)
    return ",".join(parts)


def lines(*texts):
    return np.frombuffer("".join(text + "\n" for text in texts).encode(), np.uint8)


def test_the_original_sample_is_read_without_a_complaint():
    found = survey(SAMPLE)
    assert found.rejects == ()
    assert found.counts == {0: 279, 2: 0, 3: 1, 4: 0}
    assert found.last_second == 20


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (REPORT[:20], "9 fields, 15 expected"),
        (REPORT + ",1", "16 fields, 15 expected"),
        ("", "1 fields, 15 expected"),
        (changed(Spd="fast"), "Spd is not an integer"),
        (changed(Spd="3.5"), "Spd is not an integer"),
        (changed(Spd=""), "Spd is not an integer"),
        (changed(Spd='"32'), "Spd is not an integer"),
        (changed(Spd='"'), "Spd is not an integer"),
        (changed(Type="x"), "Type is not an integer"),
        (changed(Type=1), "unknown type 1, 0, 2, 3 or 4 expected"),
        (changed(Type=-1), "unknown type -1, 0, 2, 3 or 4 expected"),
        (changed(Spd=101), "Spd out of range: 101, 0..100 expected"),
        (changed(Time=-1), "Time out of range: -1, 0 or more expected"),
        (changed(Pos=528000), "Pos out of range: 528000, 0..527999 expected"),
        (changed(Seg=11), "Seg is 11, but Pos 53320 lies in segment 10"),
        (changed(Pos=52799), "Seg is 10, but Pos 52799 lies in segment 9"),
        (changed(VID="9" * 30), "VID out of range: more, 0 or more expected"),
        (changed(Type=3, QID=1, Day=0), "Day out of range: 0, 1..69 expected"),
        (changed(Type=4, QID=1, Sinit=0, Send=0, DOW=0, TOD=0), "DOW out of range: 0, 1..7 expected"),
    ],
)
def test_a_bad_line_is_rejected_with_its_reason(line, reason):
    rows = parse_input(lines(REPORT, line, REPORT))
    assert rows.good.tolist() == [True, False, True]
    assert rows.reasons == {1: reason}


@pytest.mark.parametrize(
    ("spd", "good"),
    [
        ('"32"', True),
        ('" 32\t"', True),
        ("\t32 ", True),
        ('32"', False),
        (' "32"', False),
        ('""', False),
        ("0x20", False),
        ("+32", False),
        ("1e1", False),
    ],
)
def test_a_number_is_read_as_the_csv_source_reads_it(spd, good):
    line = changed(Spd=spd)
    for given in (lines(line), lines(line)[:-1], lines(line + "\r")):
        assert parse_input(given).good.tolist() == [good]
    assert parse_input(lines(line)).values[0].tolist()[3] == (32 if good else 0)
    cells = parse_csv(Schema.parse(", ".join(f"{name} bigint" for name in FIELDS)), FIELDS, Csv(loose=True))
    assert cells(f"{line}\n".encode()).column("Spd").to_pylist() == [32 if good else None]


def test_quoted_numbers_are_copied_as_numbers():
    line = changed(VID='"107"', Spd='"32"')
    starts, _, whole, _, _ = scan_lines(lines(line), len(FIELDS))
    steps = replication(2, 0, 107, 0).steps()
    copied = copy_lines(lines(line), starts, np.array([True]), whole, steps, 1).tobytes().decode()
    assert copied == changed(VID=1107, XWay=1, Spd='"32"') + "\n"


def test_only_the_fields_of_the_type_are_looked_at():
    query = changed(Type=2, QID=7, Spd="text", Lane=99, Day="", Pos="9" * 40)
    assert parse_input(lines(query, REPORT + "\r", " 0" + REPORT[1:])).good.all()


def test_rejects_have_their_line_numbers_across_blocks(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text(
        "".join(f"{changed(Time=i // 50, VID=i)}\n" if i % 97 else f"junk {i}\n" for i in range(1000))
    )
    assert len(cut_blocks(path, 5000)) > 5
    expected = [(i + 1, "1 fields, 15 expected", f"junk {i}") for i in range(0, 1000, 97)]
    assert [(r.line, r.reason, r.text) for r in survey(path).rejects] == expected


def test_blocks_cover_the_file_and_end_at_line_ends(tmp_path):
    path = tmp_path / "in.csv"
    path.write_bytes(b"a\n" * 3000 + b"x" * 20_000 + b"\n" + b"b\n" * 3000 + b"no end")
    data = path.read_bytes()
    for size in (1000, 4096, 10_000, 10**6):
        blocks = cut_blocks(path, size)
        assert b"".join(data[block.start : block.end] for block in blocks) == data
        assert all(data[block.end - 1 : block.end] == b"\n" for block in blocks[:-1])
        assert [block.line for block in blocks] == [1 + data[: block.start].count(b"\n") for block in blocks]


def test_frames_hold_the_good_tuples(spark, tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("\n".join([REPORT, "bad", changed(Type=2, QID=3), changed(VID=2**40)]))
    frame = read_types(spark, survey(path), (0,), {"VID": "long", "Seg": "byte"})
    assert sorted(map(tuple, frame.collect())) == [(107, 10), (2**40, 10)]


def test_frames_number_lines_file_after_file(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "cut_blocks", partial(cut_blocks, size=100))
    for xway in (0, 1):
        rows = [changed(VID=vid, XWay=xway) for vid in range(20)]
        (tmp_path / f"xway-{xway}.csv").write_text("\n".join([*rows[:9], "bad", *rows[9:]]))
    frame = read_types(spark, survey(tmp_path), (0,), {"XWay": "int", "VID": "long", "line": "long"})
    found = sorted(map(tuple, frame.collect()), key=lambda row: row[2])
    assert [row[:2] for row in found] == [(xway, vid) for xway in (0, 1) for vid in range(20)]
    assert [row[2] for row in found[:20]] == [*range(1, 10), *range(11, 22)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "it is empty"),
        ("binary\0\n", "line 1: 1 fields, 15 expected"),
        (f"{changed(Time=9)}\n{REPORT}\n", "not ordered by Time: line 2 has Time 5 after 9"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_clear_line(tmp_path, content, message):
    path = tmp_path / "in.csv"
    path.write_text(content)
    with pytest.raises(AuroraError, match=message) as fault:
        survey(path)
    assert "\n" not in str(fault.value)


def test_the_files_of_a_folder(tmp_path):
    with pytest.raises(AuroraError, match="no data at"):
        input_files(tmp_path / "none")
    with pytest.raises(AuroraError, match="no CSV file"):
        input_files(tmp_path)
    (tmp_path / "any.csv").touch()
    assert [path.name for path in input_files(tmp_path)] == ["any.csv"]
    for number in (10, 2):
        (tmp_path / f"xway-{number}.csv").touch()
    assert [path.name for path in input_files(tmp_path)] == ["xway-2.csv", "xway-10.csv"]


@pytest.mark.parametrize(
    ("dialect", "line", "reason"),
    [
        ("native", "0,1,5,5.25,40,0", None),
        ("native", "2,5,5.001,4.5,7,0", None),
        ("original", "2,5,5,7,4,0", None),
        ("walmart", "1,5,5,0,12,1,107", None),
        ("native", "1,5,5,0,12,1,107", "7 fields, 5 expected"),
        ("original", "4,5,5,7,100,0", "the dialect original has no travel time"),
        ("native", "0,1,5,soon,40,0", "Emit is not a number"),
        ("native", "0,1,5,5.1,40.5,0", "Spd is not an integer"),
        ("native", "7,1", "unknown output type, 0..4 expected"),
    ],
)
def test_output_lines(dialect, line, reason):
    rows = parse_output(lines(line), DIALECTS[dialect])
    assert rows.reasons == ({} if reason is None else {0: reason})


def test_copies_never_share_a_number():
    copies = replication(3, max_xway=0, max_vid=1000, max_qid=-1)
    assert (copies.xways, copies.vid_step, copies.qid_step) == (1, 10_000, 10)
    steps = copies.steps()
    assert steps[2].tolist() == [0, 0, 10_000, 0, 0, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0]
