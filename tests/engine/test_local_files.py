"""The file system of Spark's Java for the local disk."""

import re
import stat
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from aurora import Settings, from_text, run
from aurora.engine.spark.local_files import JAR, keep_folder, local_files
from aurora.engine.totals import Totals

# What Spark calls a file while it writes it.
PARTIAL = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(\.TID\d+)?\.tmp")
SUMS = """
network: sums
inputs:
  numbers: {schema: "g int, t int"}
boxes:
  sum: {aggregate: {s: "sum(t)"}, from: numbers, order: {on: t, slack: 1, group_by: [g]}, size: 3}
outputs:
  sums: {from: sum}
"""


def test_the_classes_are_those_of_the_source(spark: SparkSession) -> None:
    compiler = spark._jvm.org.codehaus.janino.SimpleCompiler()
    compiler.cook(JAR.with_name("LocalFiles.java").read_text())
    compiled = {
        f"{name.replace('.', '/')}.class": bytes(code) for name, code in dict(compiler.getBytecodes()).items()
    }
    with zipfile.ZipFile(JAR) as jar:
        assert {name: jar.read(name) for name in jar.namelist()} == compiled


@pytest.mark.parametrize("mode", [0o644, 0o600, 0o751, 0o1777])
def test_files_and_folders_get_the_permissions_that_are_asked_for(
    spark: SparkSession, tmp_path: Path, mode: int
) -> None:
    files = _files(spark)
    assert files.getClass().getName() == "aurora.LocalFiles"
    path = spark._jvm.org.apache.hadoop.fs.Path
    permission = spark._jvm.org.apache.hadoop.fs.permission.FsPermission(mode)
    for made in ("file", "folder"):
        here = path(str(tmp_path / made))
        files.create(here).close() if made == "file" else files.mkdirs(here)
        files.setPermission(here, permission)
        assert stat.S_IMODE((tmp_path / made).stat().st_mode) == mode
        assert files.getFileStatus(here).getPermission().toShort() == mode


def test_permissions_of_what_is_not_there_are_a_fault(spark: SparkSession, tmp_path: Path) -> None:
    permission = spark._jvm.org.apache.hadoop.fs.permission.FsPermission(0o644)
    with pytest.raises(Exception, match="NoSuchFileException"):
        _files(spark).setPermission(spark._jvm.org.apache.hadoop.fs.Path(str(tmp_path / "none")), permission)


@pytest.mark.parametrize("master", ["spark://a:1", "yarn", "local-cluster[2,1,1024]"])
def test_executors_of_their_own_are_left_alone(master: str) -> None:
    assert local_files(master) == {}


def test_settings_of_the_users_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert local_files("local[2]") == local_files(None) != {}
    monkeypatch.setenv("SPARK_CONF_DIR", "/etc/spark")
    assert local_files(None) == {}


def _files(spark: SparkSession) -> Any:
    conf = spark._jsc.hadoopConfiguration()
    return spark._jvm.org.apache.hadoop.fs.FileSystem.get(spark._jvm.java.net.URI("file:///"), conf)


@pytest.fixture
def forced(spark: SparkSession) -> Iterator[Callable[[], list[Path]]]:
    """The files and folders that were forced to the disk, in this order."""
    paths = spark._jvm.java.util.concurrent.ConcurrentLinkedQueue()
    spark._jvm.aurora.LocalFiles.noteForced(paths)
    yield lambda: [Path(path) for path in paths.toArray()]
    spark._jvm.aurora.LocalFiles.noteForced(None)


def test_what_is_made_in_a_kept_folder_is_on_the_disk(
    spark: SparkSession, tmp_path: Path, forced: Callable[[], list[Path]]
) -> None:
    files, path, kept = _files(spark), spark._jvm.org.apache.hadoop.fs.Path, tmp_path / "kept"
    keep_folder(spark, kept)
    assert forced() == []
    files.mkdirs(path(str(kept / "state")))
    made = [tmp_path, kept]
    assert forced() == made
    file = files.create(path(str(kept / "state" / "a.sst")))
    file.write(b"content")
    assert forced() == made
    file.close()
    file.close()
    made += [kept / "state" / "a.sst", kept / "state"]
    assert forced() == made and (kept / "state" / "a.sst").read_bytes() == b"content"
    # A file that is still to be named needs no name on the disk before.
    files.create(path(str(kept / ".0.tmp"))).close()
    made += [kept / ".0.tmp"]
    assert forced() == made
    files.rename(path(str(kept / ".0.tmp")), path(str(kept / "0")))
    assert forced() == [*made, kept]


def test_other_files_are_not_forced_to_the_disk(
    spark: SparkSession, tmp_path: Path, forced: Callable[[], list[Path]]
) -> None:
    files, path = _files(spark), spark._jvm.org.apache.hadoop.fs.Path
    keep_folder(spark, tmp_path / "kept")
    for name in ("kept.csv", "kept2/a", "a"):
        files.create(path(str(tmp_path / name))).close()
    files.rename(path(str(tmp_path / "a")), path(str(tmp_path / "b")))
    assert forced() == []
    assert (tmp_path / ".b.crc").exists()


def test_a_folder_that_cannot_be_there_is_a_fault(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="NoSuchFileException"):
        keep_folder(spark, tmp_path / "none" / "spark")


def test_a_java_of_the_users_is_left_alone(
    spark: SparkSession, tmp_path: Path, forced: Callable[[], list[Path]]
) -> None:
    conf = spark._jsc.hadoopConfiguration()
    conf.unset("fs.file.impl")
    try:
        keep_folder(spark, tmp_path / "kept")
    finally:
        conf.set("fs.file.impl", "aurora.LocalFiles")
    _files(spark).mkdirs(spark._jvm.org.apache.hadoop.fs.Path(str(tmp_path / "kept")))
    assert forced() == []


def test_a_kept_file_has_no_checksum_and_those_of_before_count(spark: SparkSession, tmp_path: Path) -> None:
    """One that was left beside another content would make the file unreadable."""
    files, path = _files(spark), spark._jvm.org.apache.hadoop.fs.Path

    def write(name: str, content: bytes) -> None:
        file = files.create(path(str(tmp_path / "kept" / name)))
        file.write(content)
        file.close()

    def read(name: str) -> bytes:
        file = files.open(path(str(tmp_path / "kept" / name)))
        try:
            return bytes(file.readAllBytes())
        finally:
            file.close()

    for name in ("old", "damaged", "replaced", "renamed"):
        write(name, b"before")
    keep_folder(spark, tmp_path / "kept")
    write("replaced", b"behind")
    write("new", b"behind")
    assert files.rename(path(str(tmp_path / "kept" / "new")), path(str(tmp_path / "kept" / "renamed")))
    (tmp_path / "kept" / "damaged").write_bytes(b"Before")
    assert (read("old"), read("replaced"), read("renamed")) == (b"before", b"behind", b"behind")
    assert {file.name for file in (tmp_path / "kept").glob(".*")} == {".old.crc", ".damaged.crc"}
    with pytest.raises(Exception, match="ChecksumException"):
        read("damaged")


def test_what_a_batch_needs_is_on_the_disk_before_it_is_noted(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forced: Callable[[], list[Path]]
) -> None:
    """The plan of the batch and its state; and what Spark notes behind it, before the next one is noted."""
    store, noted = Totals.store, {}

    def store_later(totals: Totals, note: Path) -> None:
        noted[totals.batch] = (forced(), set(filter(Path.is_file, (note.parent / "spark").rglob("*"))))
        store(totals, note)

    monkeypatch.setattr(Totals, "store", store_later)
    (tmp_path / "numbers.csv").write_text("".join(f"{i % 4},{i}\n" for i in range(60)))
    settings = Settings(batch=20, partitions=2, checkpoint=str(tmp_path / "checkpoint"))
    sources, sinks = {"numbers": f"csv:{tmp_path}/numbers.csv"}, {"sums": f"csv:{tmp_path}/sums.csv"}
    run(from_text(SUMS), sources, sinks, settings)
    assert sorted(noted) == [-1, 0, 1, 2]
    for batch in range(3):
        order, there = noted[batch]
        last = {path: number for number, path in enumerate(order)}
        written = {_named(path): number for path, number in last.items()}
        assert all(written[file] < last[file.parent] for file in there)
        spark_folder = tmp_path / "checkpoint" / "spark"
        assert spark_folder / "offsets" / str(batch) in there
        assert batch == 0 or spark_folder / "commits" / str(batch - 1) in there
        states = [file for file in there if file.name.startswith(f"{batch + 1}_") and file.suffix != ".crc"]
        assert {file.parent.name for file in states} == {"0", "1"}


def _named(path: Path) -> Path:
    """The name that a file gets when it is written."""
    found = PARTIAL.fullmatch(path.name)
    return path.with_name(found["name"]) if found else path
