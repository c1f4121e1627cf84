"""The formats of files: how events are encoded, and what takes them in order."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from aurora.nexmark.firehose.facts import Facts
from aurora.nexmark.firehose.fields import arrow_schema
from aurora.nexmark.firehose.formats import XML_BEGIN, XML_END, json_lines, xml_lines
from aurora.nexmark.firehose.rows import to_rows
from aurora.nexmark.firehose.settings import Settings

__all__ = ["FORMATS", "Format"]

Take = Callable[[Any], Any]


@dataclass(frozen=True)
class Format:
    """Encoding is for any thread; what it makes is given to the open file in order."""

    ending: str
    encode: Callable[[Facts, Settings], Any]
    open: Callable[[Path, Settings], Any]


@contextmanager
def _text(path: Path, begin: bytes = b"", end: bytes = b"") -> Iterator[Take]:
    with open(path, "wb") as file:
        file.write(begin)
        yield file.write
        file.write(end)


@contextmanager
def _parquet(path: Path, settings: Settings) -> Iterator[Take]:
    with pq.ParquetWriter(path, arrow_schema(settings.profile)) as writer:
        yield writer.write_batch


FORMATS = {
    "json": Format("jsonl", lambda facts, _: json_lines(facts), lambda path, _: _text(path)),
    "parquet": Format(
        "parquet", lambda facts, settings: to_rows(facts, arrow_schema(settings.profile)), _parquet
    ),
    "xml": Format("xml", lambda facts, _: xml_lines(facts), lambda path, _: _text(path, XML_BEGIN, XML_END)),
}
