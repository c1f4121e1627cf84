"""What is compressed, or has no line breaks, costs neither memory nor disk without end."""

import bz2
import gzip
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from aurora import AuroraError, Schema
from aurora.engine.draft.look import first_rows
from aurora.engine.draft.sample import look_at
from aurora.engine.sources.address import open_source, read_table
from aurora.engine.sources.files import unpack as unpacking
from aurora.engine.sources.files.unpack import unpack
from aurora.engine.sources.text.csv_records import LONGEST, TOO_LONG
from aurora.network.text import from_text
from tests.engine.test_sources import drained

SCHEMA = Schema.parse("a int, b string")


def test_a_file_that_grows_beyond_measure_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"1,x\n" * 2_000_000))
    folder = tmp_path / "copies"
    with pytest.raises(
        AuroraError, match=r"bomb.csv.gz has \S+ bytes and unpacked more than \S+, beyond the limit"
    ):
        unpack(str(path), str(folder), most=1_000_000)
    assert list(folder.iterdir()) == []
    assert os.path.getsize(unpack(str(path), str(folder), most=8_000_000)) == 8_000_000


@pytest.mark.parametrize("damaged", ["bomb.csv", "bomb.csv.sum"])
def test_a_copy_that_is_damaged_is_made_again(
    tmp_path: Path, damaged: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"1,x\n" * 1000))
    copy = Path(unpack(str(path), str(tmp_path / "copies")))
    (found,) = (file for file in copy.parent.iterdir() if file.name.endswith(damaged))
    data = bytearray(found.read_bytes())
    data[5] ^= 1
    found.write_bytes(data)
    # As a restart finds it.
    unpacking._checked.clear()
    assert Path(unpack(str(path), str(tmp_path / "copies"))).read_bytes() == b"1,x\n" * 1000
    assert caplog.messages == [f"{copy} was damaged and is made again from {path}"]
    unpacking._checked.clear()
    unpack(str(path), str(tmp_path / "copies"))
    assert len(caplog.messages) == 1


def test_the_limit_goes_by_the_size_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"1,x\n" * 2_000_000))
    unpack(str(path), str(tmp_path / "small"))
    monkeypatch.setattr(unpacking, "SMALL", 1 << 20)
    with pytest.raises(AuroraError, match="beyond the limit; if that is right, set another limit"):
        unpack(str(path), str(tmp_path / "large"))


def test_the_address_may_set_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.bz2"
    path.write_bytes(bz2.compress(b"1,x\n" * 1_000_000))
    with pytest.raises(AuroraError, match="beyond the limit of 1,000,000; if that is right"):
        read_table("t", f"csv:{path}?max_unpacked=1MB", SCHEMA)
    assert read_table("t", f"csv:{path}?max_unpacked=1gb", SCHEMA).num_rows == 1_000_000
    with pytest.raises(AuroraError, match="source t: max_unpacked is a size such as 500GB, found 'much'"):
        read_table("t", f"csv:{path}?max_unpacked=much", SCHEMA)


@pytest.mark.parametrize("several", [False, True])
def test_a_look_unpacks_the_first_lines_alone(
    tmp_path: Path, several: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What is behind the first lines is damaged: who reads on finds out.
    data = gzip.compress(b"a,b\n" + b"".join(b'%d,"x\ny"\n' % n for n in range(2_000_000)))
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "1.csv.gz").write_bytes(gzip.compress(b"a,b\n7,z\n") if several else data[: len(data) // 2])
    if several:
        (folder / "2.csv.gz").write_bytes(data[: len(data) // 2])
    place = folder if several else folder / "1.csv.gz"
    monkeypatch.setattr(unpacking, "unpack", lambda *_: pytest.fail("all of it was unpacked"))
    sample = look_at(f"csv:{place}", 100)
    assert sample.rows.num_rows == 100 and sample.rejects == () and sample.address == f"csv:{place}"
    assert sample.rows.column("a").to_pylist()[:2] == ([7, 0] if several else [0, 1])


def test_a_network_on_a_sample_unpacks_no_more(tmp_path: Path) -> None:
    from aurora.engine.draft.piped import keep_beginning

    data = gzip.compress(b"".join(b'{"a": %d, "b": "x"}\n' % n for n in range(1_000_000)))
    (tmp_path / "in.jsonl.gz").write_bytes(data[: len(data) // 2])
    network = from_text(
        'inputs: {r: {schema: "a int, b string"}}\nboxes: {f: {filter: ["a > 1"], from: r}}\noutputs: {f: {from: f}}'
    )
    bound = keep_beginning("r", f"json:{tmp_path}/in.jsonl.gz?max_unpacked=1GB", 10, tmp_path)
    assert first_rows(network, "f", {"r": bound}, 10).rows.num_rows == 8


@pytest.mark.parametrize("kind", ["csv", "json"])
@pytest.mark.parametrize("rows", [1, 2, 100])
def test_a_line_that_is_too_long_is_a_reject(tmp_path: Path, kind: str, rows: int) -> None:
    good = [b"1,x\n", b"2,y\n"] if kind == "csv" else [b'{"a": 1, "b": "x"}\n', b'{"a": 2, "b": "y"}\n']
    long = b"9," + b"z" * LONGEST + b"\n" if kind == "csv" else b'{"a": 9, "b": "' + b"z" * LONGEST + b'"}\n'
    path = tmp_path / "in.txt"
    path.write_bytes(good[0] + long + good[1] + long[:-1])
    source, _ = open_source("r", f"{kind}:{path}", SCHEMA, False, tmp_path)
    portions = drained(source, SCHEMA, rows)
    assert [row["a"] for portion in portions for row in portion.rows.to_pylist()] == [1, 2]
    rejects = [reject for portion in portions for reject in portion.rejects]
    assert [(bad.line, bad.reason) for bad in rejects] == [(2, TOO_LONG), (4, TOO_LONG)]
    assert all(len(bad.text) <= 500 and bad.text.startswith(long[:2].decode()) for bad in rejects)
    numbers = [number for portion in portions for number in portion.numbers.tolist()]
    assert numbers == [0, 2]


def test_a_first_line_that_is_too_long_is_no_header(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b"x" * (LONGEST + 9) + b"\n1,x\n")
    portions = drained(open_source("r", f"csv:{path}", SCHEMA, False, tmp_path)[0], SCHEMA, 10)
    assert [row["a"] for portion in portions for row in portion.rows.to_pylist()] == [1]
    assert [bad.reason for portion in portions for bad in portion.rejects] == [TOO_LONG]


SHOW = """
import os, signal, sys
from aurora.engine.draft import look
from aurora.cli.main import main

def held(*_):
    print(os.listdir(os.environ["TMPDIR"]), flush=True)
    signal.pause()

look.first_rows = held
main()
"""


def test_a_look_that_is_terminated_leaves_no_files(tmp_path: Path) -> None:
    (tmp_path / "n.yaml").write_text(
        'inputs: {r: {schema: "a int"}}\nboxes: {f: {filter: ["a > 1"], from: r}}\noutputs: {f: {from: f}}\n'
    )
    (tmp_path / "r.csv.gz").write_bytes(gzip.compress(b"1\n2\n"))
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    show = subprocess.Popen(
        [
            sys.executable,
            "-c",
            SHOW,
            "show",
            str(tmp_path / "n.yaml"),
            "--source",
            f"r=csv:{tmp_path}/r.csv.gz",
        ],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    with show:
        assert show.stdout is not None
        while "aurora-show-" not in (line := show.stdout.readline()):
            assert line, "the command ended before"
        assert list(temporary.glob("aurora-show-*/r/r.csv"))
        show.send_signal(signal.SIGTERM)
        assert show.wait(60) == 143
    assert list(temporary.glob("aurora-*")) == []
