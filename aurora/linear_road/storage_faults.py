"""Faults of disks and stored files, as Spark reports them, in one line that says what to do."""

from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from aurora.errors import AuroraError

__all__ = ["plain_storage_faults"]

# What Spark's text holds, and what the user should read.
_KNOWN = (
    ("No space left", "the disk is full: make room there, or choose another place"),
    ("Permission denied", "no permission to write there"),
    ("Mkdirs failed", "no permission to write there"),
    ("MALFORMED_RECORD", "a line of the history in CSV is not a row: make it again with linear-road history"),
    ("Malformed CSV", "a line of the history in CSV is not a row: make it again with linear-road history"),
    ("is not a Parquet file", "a file of the history is not Parquet: make it again with linear-road history"),
    ("CANNOT_READ_FILE", "a file of the history cannot be read: make it again with linear-road history"),
)


@contextmanager
def plain_storage_faults(doing: str) -> Iterator[None]:
    """Turns a fault of the disk into one line: what was being done, what is wrong, what to do."""
    try:
        yield
    except (PySparkException, Py4JJavaError, OSError) as fault:
        text = str(fault)
        for sign, advice in _KNOWN:
            if sign in text:
                raise AuroraError(f"{doing} failed: {advice}") from None
        raise
