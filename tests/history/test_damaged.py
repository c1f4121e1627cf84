"""Files of a home of which a bit has changed: nobody takes them for what was written."""

import fnmatch
import gzip
import os
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from aurora import AuroraError, Schema, Settings, from_text, start
from aurora.engine.checkpoint import Checkpoint
from aurora.engine.controls import ControlNotes
from aurora.engine.durable import Damaged, read_whole, replace_note, seal_line, unseal_line, write_whole
from aurora.engine.sources.files import unpack as unpacking
from aurora.engine.sources.files.file_list import FileList
from aurora.engine.sources.files.unpack import unpack
from aurora.engine.totals import Totals
from aurora.history import segments as module
from aurora.history.catalog import read_averages
from aurora.history.home import Home
from aurora.history.keeping import find_readers
from aurora.history.last_status import last_status
from aurora.history.log import Log
from aurora.history.peek import open_point
from aurora.history.segments import read_hashes, read_numbers, read_segment
from aurora.history.stored import store_by_key

NETWORK = """
network: rich
inputs:
  reports: {schema: "Sid int, Time int"}
points:
  people: {stored: "csv:people.csv", key: [Sid], schema: "Sid int, Name string"}
  passing: {from: named, keep: all, key: [Sid]}
  last: {from: named, keep: 20}
boxes:
  named: {join: "left.Sid = right.Sid", left: reports, right: people}
outputs:
  named: {from: named, keep: latest, key: [Sid]}
"""
QUERY = """
network: some
inputs: {p: {point: passing}}
boxes: {some: {filter: ["Sid < 2"], from: p}}
outputs: {out: {from: some}}
"""


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a run that was stopped has left its home."""
    folder = tmp_path_factory.mktemp("damaged")
    before = os.getcwd()
    os.chdir(folder)
    try:
        Path("in").mkdir()
        Path("people.csv").write_text("".join(f"{sid},n{sid}\n" for sid in range(50)))
        lines = [f"{number % 60},{number}\n" for number in range(300)]
        Path("in/1.csv").write_text("".join(lines[:150]))
        Path("in/2.csv.gz").write_bytes(gzip.compress("".join(lines[150:]).encode()))
        network = from_text(NETWORK)
        settings = Settings(batch=60, partitions=2, home="home", follow=True)
        with start(network, {"reports": "csv:in"}, {"named": "csv:named.csv"}, settings) as running:
            running.pause()
            running.attach(from_text(QUERY, points=network.point_schemas()), {"out": "csv:some.csv"}, "some")
            running.step(4)
            for report in running.batches():
                if report.batch >= 3:
                    break
        Home.of("home").allow_hosts(["db:5432"])
    finally:
        os.chdir(before)
    return folder


def read_checkpoint(path: Path) -> Any:
    checkpoint = Checkpoint(path.parent, kept=True)
    return checkpoint.mark() if path.name == "mark" else checkpoint.buckets(2)


def read_owner(path: Path) -> Any:
    """Whose a checkpoint is; it is that of another run whatever is asked for, unless it is damaged."""
    owner = {"layout": 0, "network": "", "name": "", "parts": {}, "table": {}, "source": {}, "sink": {}}
    try:
        Checkpoint(path.parent, kept=True)._check_owner(owner)
    except AuroraError as fault:
        if isinstance(fault, Damaged):
            raise
        return str(fault)
    return "nobody's"


def read_log(path: Path) -> Any:
    log = Log(str(path.parent))
    module._checked.clear()
    published = log.published()
    found = log.segments(0, published.rows, published)
    rows = [read_segment(*held)[0].to_pylist() for held in found]
    return rows, [
        (read_numbers(*held), read_hashes(*held) if held[1].keyed else 0) for held in found
    ].__repr__()


def read_stored(path: Path) -> Any:
    """Of a set that is damaged there is another one, made anew."""
    where, schema = path.parent.parent, Schema.parse("Sid int, Name string")
    address = f"csv:{where.parent.parent}/people.csv"
    return store_by_key("people", address, schema, ("Sid",), where).read().to_pylist()


def _known(path: Path) -> list[str]:
    found = FileList(str(path.parents[3] / "in"), notes=str(path), follow=True)
    return found.known()


def read_size(path: Path) -> Any:
    """Without a size that can be read, the copy is taken as it is."""
    try:
        return read_whole(path)
    except Damaged:
        return None


def read_copy(path: Path) -> Any:
    """The copy is made again if it, or its checksum, is damaged."""
    unpacking._checked.clear()
    copy = unpack(str(path.parents[4] / "in" / "2.csv.gz"), str(path.parent))
    assert str(path).removesuffix(".sum") == copy
    return Path(copy).read_bytes()


def home_of(path: Path) -> Home:
    return Home.of(next(parent for parent in path.parents if parent.name == "home"))


READERS: dict[str, Callable[[Path], Any]] = {
    "checkpoint/network": read_owner,
    "checkpoint/buckets": read_checkpoint,
    "checkpoint/mark": read_checkpoint,
    "checkpoint/committed.json": lambda path: vars(Totals.load(path) or Totals()),
    "checkpoint/controls.json": lambda path: ControlNotes(str(path.parent)).last_order(),
    "checkpoint/controls.seen": lambda path: ControlNotes(str(path.parent)).last_answer(),
    "checkpoint/sources/*.files": _known,
    "checkpoint/sources/*/*.size": read_size,
    "checkpoint/sources/*/*.csv": read_copy,
    "checkpoint/sources/*/*.sum": read_copy,
    "points/*/published": lambda path: Log(str(path.parent)).published(),
    "points/*/*.rows": read_log,
    "points/*/*.index": read_log,
    "points/*/point.json": lambda path: open_point(home_of(path), path.parent.name),
    "points/*/readers/*/*": lambda path: find_readers(str(path.parents[2])),
    "points/passed": read_whole,
    "queries/*/query.json": lambda path: list(home_of(path).notes()),
    "stored/*/*": read_stored,
    "figures.json": lambda path: read_averages(home_of(path)),
    "hosts.json": lambda path: home_of(path).read_hosts(),
    "network.json": lambda path: home_of(path).read_network(),
    "status.json": lambda path: last_status(home_of(path))["state"],
}
# What nobody verifies, and why.
LEFT = {
    "*checkpoint*/spark/*": "Spark's own, with checksums of its own",
    "rejects.csv": "a result, in plain sight: its end is looked at when a run goes on",
    "queries/*/rejects.csv": "the same",
    "*lock": "the number of a process, for a message",
}
# What is read instead of what is damaged: the reader may need all, and the copy is what it was.
SAFE = {"points/*/readers/*/*": "{'some': 0}", "checkpoint/sources/*/*.size": "None"}
# A query that is half detached is removed.
REMOVED = "queries/*/query.json"


def kinds(home: Path) -> Iterator[tuple[str, Path]]:
    """Each file of a home with the pattern of its kind."""
    for path in sorted(home.rglob("*")):
        if path.is_file():
            name = str(path.relative_to(home))
            name = re.sub(r"^queries/[^/]+/checkpoint-[^/]+", "checkpoint", name)
            left = next((kind for kind in LEFT if fnmatch.fnmatchcase(name, kind)), None)
            yield (
                left or next((kind for kind in READERS if fnmatch.fnmatchcase(name, kind)), f"? {name}"),
                path,
            )


def test_every_kind_of_file_is_known(folder: Path) -> None:
    found = {kind for kind, _ in kinds(folder / "home")}
    assert not [kind for kind in found if kind.startswith("?")], "verify it when it is read, and add it here"
    assert not READERS.keys() - found - {"checkpoint/mark"}, "nothing of these was tried"


@pytest.mark.parametrize("kind", READERS)
def test_a_bit_that_has_changed_is_seen(folder: Path, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    chance = random.Random(kind)
    for path in [path for found, path in kinds(folder / "home") if found == kind][:4]:
        read, whole = READERS[kind], path.read_bytes()
        before = repr(read(path))
        absent = None
        if kind != REMOVED:
            path.unlink()
            absent = _try(read, path)
            path.write_bytes(whole)
        places = {*chance.choices(range(len(whole)), k=12), *range(max(len(whole) - 10, 0), len(whole))}
        for place in sorted(places):
            data = bytearray(whole)
            data[place] ^= 1 << chance.randrange(8)
            path.write_bytes(data)
            told = _try(read, path)
            caplog.clear()
            good = told in (before, absent, SAFE.get(kind))
            damaged = re.fullmatch(rf"\S*{re.escape(path.name)} is damaged[^\n]+; [^\n]+", told)
            assert good or damaged, (path, place, told)
            if path.exists() or path.parent.exists():
                path.write_bytes(whole)


def _try(read: Callable[[Path], Any], path: Path) -> str:
    try:
        return repr(read(path))
    except AuroraError as fault:
        return str(fault)
    except FileNotFoundError:
        return "absent"


def test_notes_of_an_earlier_version_are_read(tmp_path: Path) -> None:
    for old in ("8", '{"a": 1}', '{\n "a": 1\n}', "spark-1a2b3c4d", "0f" * 16, ""):
        (tmp_path / "note").write_text(old)
        assert read_whole(tmp_path / "note") == old
    assert unseal_line(b'{"row": 1}') == b'{"row": 1}' and unseal_line(seal_line(b"x")[:-1]) == b"x"
    segment = (
        b'{"row": 0, "rows": 2, "at": 0, "size": 64, "arrived": [1, 2], "on": null, "numbers": [0, 1]}\n'
    )
    (tmp_path / f"{0:020}.index").write_bytes(segment)
    write_whole(tmp_path / "published", f'{{"rows": 2, "index": {len(segment)}, "data": 64}}')
    log = Log(str(tmp_path))
    assert [held.rows for _, held in log.segments(0, 2, log.published())] == [2]


@pytest.mark.parametrize("write", [write_whole, replace_note])
def test_a_note_that_was_cut_off_is_damaged(tmp_path: Path, write: Callable[[Path, str], None]) -> None:
    path = tmp_path / "note"
    write(path, "48")
    whole = path.read_bytes()
    for length in range(3, len(whole)):
        path.write_bytes(whole[:length])
        if whole[:length] != b"48\n":
            with pytest.raises(
                Damaged, match=r"note is damaged: it was cut off; restore it from a backup, or start"
            ):
                read_whole(path)


def test_rows_around_a_damaged_segment_can_be_read(folder: Path) -> None:
    log = Log(str(folder / "home" / "points" / "passing"))
    found = log.segments(0, 10**9, log.published())
    path, segment = found[1]
    with open(path, "r+b") as file:
        file.seek(segment.at + 70)
        byte = file.read(1)
        file.seek(segment.at + 70)
        file.write(bytes([byte[0] ^ 4]))
    module._checked.clear()
    try:
        with pytest.raises(
            Damaged, match=rf"are not what was written; the rows before {segment.row} and after"
        ):
            read_segment(*found[1])
        for other in (found[0], *found[2:]):
            assert read_segment(*other)[0].num_rows == other[1].rows
    finally:
        with open(path, "r+b") as file:
            file.seek(segment.at + 70)
            file.write(byte)


@pytest.mark.parametrize("place", ["first", "line end", "last"])
def test_a_damaged_index_is_made_anew_from_the_rows(
    folder: Path, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = next((folder / "home" / "points" / "passing").glob("*.index"))
    before, whole = read_log(path), path.read_bytes()
    assert whole.count(b"\n") > 2, "there are segments behind the damaged one"
    at = {"first": 12, "line end": whole.index(b"\n"), "last": len(whole) - 20}[place]
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    try:
        assert read_log(path) == before
        assert path.read_bytes() == whole
        assert caplog.messages == [
            f"{path} was damaged and was made anew from the rows, of which none is lost"
        ]
    finally:
        path.write_bytes(whole)


def test_an_index_that_the_rows_do_not_tell_either_is_a_fault(folder: Path) -> None:
    path = next((folder / "home" / "points" / "passing").glob("*.index"))
    rows = path.with_suffix(".rows")
    kept = {file: file.read_bytes() for file in (path, rows)}
    try:
        for file, data in kept.items():
            file.write_bytes(data[:12] + bytes([data[12] ^ 1]) + data[13:])
        with pytest.raises(
            Damaged, match=r"\.index is damaged in line 1, so the rows of \S+\.rows cannot be found"
        ):
            read_log(path)
    finally:
        for file, data in kept.items():
            file.write_bytes(data)
