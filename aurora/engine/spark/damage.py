"""Which file of a state is damaged: Spark says that it cannot read the state, and of most files not which one."""

import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

__all__ = ["find_damaged_state"]


def find_damaged_state(spark: SparkSession, folder: Path) -> Path | None:
    """Return the first file of the state below Spark's folder of a checkpoint that cannot be read to its end.

    Each kind is read by what has written it, so a wrong bit is found by its own checksums.
    """
    jvm: Any = spark.sparkContext._jvm
    readers: dict[str, Callable[[Path], None]] = {
        ".zip": _read_zip,
        ".changelog": lambda file: _read_changelog(jvm, spark, file),
        ".sst": lambda file: _read_table(jvm, file),
    }
    for file in sorted(folder.glob("state/*/**/*")):
        read = readers.get(file.suffix)
        if read is not None and file.is_file() and not _can_read(read, file):
            return file
    return None


def _can_read(read: Callable[[Path], None], file: Path) -> bool:
    # Each reader has faults of its own for what it does not understand.
    with suppress(Exception):
        read(file)
        return True
    return False


def _read_zip(file: Path) -> None:
    with zipfile.ZipFile(file) as archive:
        bad = archive.testzip()
    if bad is not None:
        raise zipfile.BadZipFile(bad)


def _read_changelog(jvm: Any, spark: SparkSession, file: Path) -> None:
    name = spark.conf.get("spark.sql.streaming.stateStore.compression.codec", "lz4")
    codec = jvm.org.apache.spark.io.CompressionCodec.createCodec(spark.sparkContext._jsc.sc().conf(), name)
    stream = codec.compressedInputStream(jvm.java.io.FileInputStream(str(file)))
    try:
        stream.transferTo(jvm.java.io.OutputStream.nullOutputStream())
    finally:
        with suppress(Py4JError):
            stream.close()


def _read_table(jvm: Any, file: Path) -> None:
    reader = jvm.org.rocksdb.SstFileReader(jvm.org.rocksdb.Options())
    try:
        reader.open(str(file))
        reader.verifyChecksum()
    finally:
        with suppress(Py4JError):
            reader.close()
