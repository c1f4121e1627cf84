"""How a sink writes times and numbers: what the options of its address say."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.expressions import Expression
from aurora.algebra.expressions.time_patterns import Letters, read_pattern
from aurora.algebra.tuples.lists import with_elements
from aurora.algebra.tuples.maps import entries_of, to_maps
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import TIMESTAMP
from aurora.algebra.tuples.zones import find_zone, near_zones
from aurora.engine.sinks.encode import cell_texts, csv_header, to_csv, to_json
from aurora.engine.sinks.times import time_text
from aurora.errors import AuroraError

__all__ = [
    "CELL_OPTIONS",
    "CSV_OPTIONS",
    "OPTIONS",
    "PLAIN",
    "Notation",
    "check_cell_options",
    "read_notation",
]

OPTIONS = ("times", "zone")
CELL_OPTIONS = ("decimal", "delimiter")
CSV_OPTIONS = (*OPTIONS, *CELL_OPTIONS)
ISO = "iso"
DELIMITERS = {"tab": "\t", "\\t": "\t"}


@dataclass(frozen=True)
class Notation:
    """`times` is iso, or a pattern of `date_format`; without it times are written as 2026-11-16 06:02:11.15."""

    times: str | None = None
    zone: str | None = None
    decimal: str = "."
    delimiter: str = ","

    @property
    def cells(self) -> list[tuple[str, str]]:
        """Return the options of CSV that differ from what is usual."""
        both = (("decimal", self.decimal, "."), ("delimiter", self.delimiter, ","))
        return [(name, value) for name, value, usual in both if value != usual]

    def to_json(self, rows: pa.RecordBatch) -> bytes:
        return to_json(self.apply(rows))

    def to_csv(self, rows: pa.RecordBatch) -> bytes:
        return to_csv(self.apply(rows), self.delimiter)

    def csv_header(self, schema: pa.Schema) -> bytes:
        return csv_header(schema, self.delimiter)

    def apply(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows with texts for what would be written in another way."""
        columns = [self._commas(self._written(column)) for column in rows.columns]
        return pa.RecordBatch.from_arrays(columns, names=rows.schema.names)

    def _commas(self, column: pa.Array) -> pa.Array:
        if self.decimal == "." or not (pa.types.is_floating(column.type) or pa.types.is_decimal(column.type)):
            return column
        return pc.replace_substring(cell_texts(column), ".", self.decimal)

    def _written(self, column: pa.Array) -> pa.Array:
        """The column with its times as texts, those inside of structs, arrays and maps too."""
        kind = column.type
        if self.times is None and self.zone is None:
            return column
        if pa.types.is_timestamp(kind):
            return self._texts(column)
        if pa.types.is_struct(kind) and kind.num_fields:
            inner = [self._written(each) for each in column.flatten()]
            missing = column.is_null() if column.null_count else None
            return pa.StructArray.from_arrays(inner, [field.name for field in kind], mask=missing)
        if pa.types.is_map(kind):
            entries = entries_of(column)
            missing = column.is_null() if column.null_count else None
            return to_maps(entries._replace(items=self._written(entries.items)), missing)
        if pa.types.is_list(kind):
            return with_elements(column, self._written(column.flatten()))
        return column

    def _texts(self, column: pa.Array) -> pa.Array:
        values = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        zone = None if self.zone is None else find_zone(self.zone)
        shown = values if zone is None else zone.to_local(values)
        mask = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
        local = pa.array(shown, mask=mask).cast(TIMESTAMP)
        if self.times is not None and self.times != ISO:
            return _by_pattern(self.times).evaluate(pa.record_batch([local], names=["t"]))
        text = time_text(local)
        if self.times is None:
            return text
        offset = "Z" if zone is None else _offsets(shown - values)
        return pc.binary_join_element_wise(pc.replace_substring(text, " ", "T"), offset, "")


PLAIN = Notation()


@lru_cache(maxsize=64)
def _by_pattern(pattern: str) -> Expression:
    written = pattern.replace("\\", "\\\\").replace("'", "\\'")
    return Expression.parse(f"date_format(t, '{written}')", Schema.of({"t": TIMESTAMP}))


def _offsets(ahead: np.ndarray) -> pa.Array:
    """How far clocks are ahead of UTC, as +01:00."""
    different, which = np.unique(ahead // 1_000_000, return_inverse=True)
    texts = []
    for seconds in different.tolist():
        hours, rest = divmod(abs(seconds), 3600)
        text = f"{'-' if seconds < 0 else '+'}{hours:02}:{rest // 60:02}"
        texts.append(text + (f":{rest % 60:02}" if rest % 60 else ""))
    return pa.array(texts, pa.string()).take(pa.array(which))


def read_notation(what: str, given: Mapping[str, str]) -> Notation:
    """Return the notation that options ask for; raise if one cannot be. `what` is the sink in messages."""
    times, zone = given.get("times"), given.get("zone")
    if zone is not None and find_zone(zone) is None:
        raise AuroraError(
            f"{what}: zone is a time zone such as Europe/Berlin or +02:00, found '{zone}'{near_zones(zone)}"
        )
    if times is not None and times != ISO:
        _check_pattern(what, times, zone)
    delimiter = DELIMITERS.get(given.get("delimiter", ","), given.get("delimiter", ","))
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        raise AuroraError(f"{what}: a delimiter is one character, such as ; or tab, found '{delimiter}'")
    decimal = given.get("decimal", ".")
    if decimal not in (".", ","):
        raise AuroraError(f"{what}: decimal is . or , found '{decimal}'")
    return Notation(times, zone, decimal, delimiter)


def check_cell_options(what: str, form: str, given: Mapping[str, str]) -> None:
    """Raise a fault if options of CSV are given for another format."""
    for name in CELL_OPTIONS:
        if name in given and form != "csv":
            raise AuroraError(f"{what}: {name} is for CSV; add format=csv, or leave it out")


def _check_pattern(what: str, pattern: str, zone: str | None) -> None:
    try:
        parts = read_pattern(pattern)
    except AuroraError as fault:
        raise AuroraError(
            f"{what}: times is iso or a pattern such as dd.MM.yyyy HH:mm:ss, found '{pattern}': {fault}"
        ) from None
    letters = "".join(part.letter for part in parts if isinstance(part, Letters))
    if not letters:
        raise AuroraError(f"{what}: times is iso or a pattern such as dd.MM.yyyy HH:mm:ss, found '{pattern}'")
    if zone is not None and re.search("[XxZ]", letters):
        raise AuroraError(f"{what}: a pattern writes the offset of UTC; for that of {zone} write times=iso")
