"""Lines in pieces: how the text of a stretch is read, and the part of it that one task reads."""

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Ints
from aurora.algebra.tuples.types import is_map, is_nested, is_struct
from aurora.engine.sources.source import Portion, Reject, Wanted
from aurora.engine.sources.text.bad_records import SHOWN, parse_records, records_at
from aurora.engine.sources.text.csv_records import (
    LONGEST,
    NOT_CLOSED,
    TOO_LONG,
    UTF_8,
    Csv,
    Split,
    split_lines,
    without_break,
)
from aurora.engine.sources.text.encodings import is_wide
from aurora.engine.sources.text.headers import header_hint, header_of, tells_delimiter
from aurora.engine.sources.text.parse import FAULTS, Parser, parse_csv, parse_json
from aurora.engine.sources.text.patterns import PatternParser
from aurora.engine.sources.text.record_ends import is_too_long, scan
from aurora.engine.sources.text.text import Text
from aurora.errors import AuroraError

__all__ = ["BROKE_OFF", "Form", "Head", "LinePiece", "Style", "check_flat", "cut_lines", "read_head"]

# A line of blanks that is longer than this is no empty one.
SHORT = 64
BROKE_OFF = "connection broke in the middle of a line"


@dataclass(frozen=True)
class Style:
    """What an address says: csv, json, pattern or lines (csv or json, told by the first character), and about CSV."""

    kind: str
    delimiter: str = ","
    header: bool | None = None
    encoding: str = UTF_8
    nulls: tuple[str, ...] = ()
    loose: bool = False
    decimal: str = "."
    pattern: str | None = None

    def __str__(self) -> str:
        options = [] if self.delimiter == "," else [f"delimiter={self.delimiter}"]
        options += [] if self.header is None else [f"header={str(self.header).lower()}"]
        options += [] if self.encoding == UTF_8 else [f"encoding={self.encoding}"]
        options += [f"null={','.join(self.nulls)}"] if self.nulls else []
        options += ["unreadable=null"] if self.loose else []
        options += [] if self.decimal == "." else [f"decimal={self.decimal}"]
        options += [f"pattern={self.pattern}"] if self.pattern is not None else []
        return self.kind + ("?" + "&".join(options) if options else "")

    @property
    def csv(self) -> Csv:
        # A file in an encoding of wider characters is read from a copy, and that is in UTF-8.
        encoding = UTF_8 if is_wide(self.encoding) else self.encoding
        return Csv(self.delimiter, encoding, self.nulls, self.loose, self.decimal)


@dataclass(frozen=True)
class Form:
    """JSON lines, lines of a pattern, or CSV with the columns of its header, if it has one."""

    csv: Csv | None
    columns: tuple[str, ...] | None = None
    pattern: str | None = None

    def to_json(self) -> Any:
        csv = self.csv
        rare = csv and ([csv.loose, csv.decimal] if csv.decimal != "." else [True] if csv.loose else [])
        told = csv and [csv.delimiter, csv.encoding, csv.nulls, *(rare or [])]
        return [
            told,
            self.columns and list(self.columns),
            *([self.pattern] if self.pattern is not None else []),
        ]

    @staticmethod
    def from_json(content: Any) -> "Form":
        csv, columns, *pattern = content
        form = Csv(csv[0], csv[1], tuple(csv[2]), *csv[3:]) if csv else None
        return Form(form, tuple(columns) if columns else None, *pattern)

    def parser(self, schema: Schema) -> Parser:
        """Return what reads records of this form."""
        if self.pattern is not None:
            return PatternParser(schema, self.pattern)
        return parse_csv(schema, self.columns, self.csv) if self.csv else parse_json(schema)


@dataclass(frozen=True)
class Head:
    """What the beginning of a stretch tells, and the bytes and lines before its first record."""

    form: Form
    bytes: int
    lines: int


def check_flat(schema: Schema, label: str) -> None:
    """Raises a fault if CSV cannot hold a field."""
    for name in schema.names:
        if is_nested(schema[name]):
            kind = schema[name]
            what = "structs" if is_struct(kind) else "maps" if is_map(kind) else "arrays"
            raise AuroraError(
                f"{label}: CSV cannot hold {what}, and field {name} is one; use JSON or Parquet"
            )


def read_head(
    text: Text, start: int, style: Style, schema: Schema, complete: bool, stop: int, whole: bool = True
) -> Head | None:
    """Nothing if there is too little of the text to tell. Without `whole`, a first line that is cut off is data."""
    mark = 3 if text.read(start, min(stop, start + 3)) == b"\xef\xbb\xbf" else 0
    begin = start + mark
    if style.pattern is not None or style.kind == "json":
        return Head(Form(None, pattern=style.pattern), mark, 0)
    if style.kind == "lines":
        shown = text.read(begin, min(stop, begin + 65536)).lstrip()
        if not shown and not complete:
            return None
        if shown.startswith(b"{"):
            return Head(Form(None), mark, 0)
    check_flat(schema, text.label)
    csv = style.csv
    first = scan(text, begin, 1, csv, complete, stop)
    lines = 0
    if len(first.ends) and tells_delimiter(
        text.read(begin, min(int(first.ends[0]), begin + 16)), csv, text.label
    ):
        begin, lines = int(first.ends[0]), 1
        first = scan(text, begin, 1, csv, complete, stop)
    before = begin - start
    if not len(first.ends):
        return Head(Form(csv), before, lines) if complete else None
    if first.bad[0]:
        return Head(Form(csv), before, lines)
    record = text.read(begin, int(first.ends[0]))
    if not (whole or record.endswith(b"\n")):
        return Head(Form(csv), before, lines)
    columns = header_of(record, schema, csv, text.label, style.header)
    if columns is None:
        return Head(Form(csv), before, lines)
    return Head(Form(csv, columns), before + len(record), lines + int(first.lines[0]))


@dataclass(frozen=True)
class LinePiece:
    """Some records of a text, as a range of bytes.

    `odd` says that some are not good, `half` that the last one is cut off unless it ends with a line break.
    """

    text: Text
    form: Form
    start: int
    stop: int
    records: int
    number: int
    line: int
    declared: Schema
    odd: bool = False
    half: bool = False

    def read(self, schema: Schema) -> Portion:
        if self.records == 1 and self.stop - self.start > LONGEST:
            return self._refuse(schema)
        data = self.text.read(self.start, self.stop)
        if len(data) != self.stop - self.start:
            raise AuroraError(f"{self.text.label} became shorter while it was read; start over with --fresh")
        csv = self.form.csv
        if csv is not None:
            # A line of CSV is read whole: where a cell is missing shows only from the others.
            schema = self.declared
        parser = self.form.parser(schema)
        half = self.half and not data.endswith(b"\n")
        if not self.odd and not half:
            try:
                rows = parser(data)
                if rows.num_rows == self.records:
                    numbers = np.arange(self.number, self.number + self.records, dtype=np.int64)
                    return Portion(rows, numbers, origins=partial(self._origins, data))
            except FAULTS:
                pass  # Some record is bad: look again, more closely.
        found = csv.split(data, True) if csv else split_lines(data, True)
        known = self._known(data, found)
        if half:
            known[len(found.ends) - 1] = BROKE_OFF
        place = self.number, self.line, self.text.label
        encoding = csv.encoding if csv else UTF_8
        hint = self._hint(data, found)
        portion = parse_records(data, found, parser, schema, *place, known, hint, encoding)
        return replace(portion, origins=partial(self._origins, data))

    def _refuse(self, schema: Schema) -> Portion:
        """Return the reject of one record that is too long, without reading the whole of it."""
        encoding = self.form.csv.encoding if self.form.csv else UTF_8
        shown = self.text.read(self.start, self.start + SHOWN).decode(encoding, "replace")
        reject = Reject(self.text.label, self.line, TOO_LONG, shown)
        return Portion(pa.RecordBatch.from_pylist([], schema.arrow()), np.empty(0, np.int64), (reject,))

    def _origins(self, data: bytes, numbers: Ints) -> list[Reject]:
        """Where rows were read, and their text."""
        csv = self.form.csv
        found = csv.split(data, True) if csv else split_lines(data, True)
        encoding = csv.encoding if csv else UTF_8
        return records_at(data, found, numbers - self.number, self.line, self.text.label, encoding)

    def read_some(self, schema: Schema, wanted: Wanted) -> tuple[Portion, int]:
        """Where a record is bad, all are read: only then is it known which."""
        csv = self.form.csv
        if self.odd or self.half:
            return self.read(schema), 0
        data = self.text.read(self.start, self.stop)
        found = csv.split(data, True) if csv else split_lines(data, True)
        numbers = np.arange(self.number, self.number + self.records, dtype=np.int64)
        if len(found.ends) != self.records:
            return self.read(schema), 0
        left = wanted(numbers)
        schema = self.declared if csv else schema
        if not left.any():
            return Portion(pa.RecordBatch.from_pylist([], schema.arrow()), numbers[:0]), self.records
        offsets = pa.py_buffer(np.concatenate([[0], found.ends]).astype(np.int64))
        whole = pa.Array.from_buffers(pa.large_binary(), self.records, [None, offsets, pa.py_buffer(data)])
        some = whole.filter(pa.array(left))
        parser = self.form.parser(schema)
        try:
            rows = parser(_bytes_of(some))
        except FAULTS:
            return self.read(schema), 0
        if rows.num_rows != len(some):
            return self.read(schema), 0
        portion = Portion(rows, numbers[left], origins=partial(self._origins, data))
        return portion, int(self.records - len(some))

    def _known(self, data: bytes, found: Split) -> dict[int, str]:
        """Records that are bad by their quotes, and empty lines, which are passed over unless there is one column."""
        known = dict.fromkeys(np.flatnonzero(found.bad).tolist(), NOT_CLOSED)
        known |= dict.fromkeys(np.flatnonzero(is_too_long(found.ends, 0)).tolist(), TOO_LONG)
        starts = np.concatenate([[0], found.ends[:-1]])
        if self.form.csv is None:
            text = np.frombuffer(data, np.uint8)
            # Most lines of JSON need no closer look.
            maybe = np.flatnonzero((text[starts] != ord("{")) & (found.ends - starts <= SHORT)).tolist()
            return known | {at: "" for at in maybe if not data[starts[at] : found.ends[at]].strip()}
        if len(self.form.columns or self.declared) > 1:
            short = np.flatnonzero(found.ends - starts <= 2).tolist()
            known |= {at: "" for at in short if not without_break(data[starts[at] : found.ends[at]])}
        return known

    def _hint(self, data: bytes, found: Split) -> str:
        """What to say of the first line of a file that has no header."""
        if self.line != 1 or self.form.csv is None or self.form.columns or found.bad[0]:
            return ""
        return header_hint(data[: found.ends[0]], self.declared, self.form.csv)


def _bytes_of(records: pa.LargeBinaryArray) -> bytes:
    """The records one behind the other."""
    _, offsets, data = records.buffers()
    stop = int(np.frombuffer(offsets, np.int64, len(records) + 1)[-1])
    return bytes(data.slice(0, stop).to_pybytes())


def cut_lines(
    text: Text, form: Form, found: Split, start: int, line: int, number: int, share: int, declared: Schema,
    half: bool = False,
) -> list[LinePiece]:  # fmt: skip
    """Pieces of `share` records; `line` is that before the first record, `half` about the last one."""
    pieces: list[LinePiece] = []
    count = len(found.ends)
    # One that is too long is a piece by itself, which is not read.
    long = np.flatnonzero(is_too_long(found.ends, start))
    bounds = sorted({*range(0, count, share), *long.tolist(), *(long + 1).tolist(), count})
    for low, high in pairwise(bounds):
        begins = int(found.ends[low - 1]) if low else start
        first = line + (int(found.lines[low - 1]) if low else 0) + 1
        odd = bool(found.bad[low:high].any())
        stop, rest = int(found.ends[high - 1]), half and high == count
        place = begins, stop, high - low, number + low, first
        pieces.append(LinePiece(text, form, *place, declared, odd, rest))
    return pieces
