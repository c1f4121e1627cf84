"""Rows of a Parquet file that one task reads; what cannot be read is rejected by row group or by row."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from aurora.algebra.tuples.python_values import python_rows, python_value
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import is_nested, is_struct, struct_fields
from aurora.engine.sources.source import Portion, Reject
from aurora.engine.sources.text.reasons import a_type, not_a
from aurora.engine.sources.text.times import cut_nanoseconds
from aurora.errors import AuroraError

__all__ = ["BadFile", "ParquetPiece", "check_unpacked", "first_line", "missing_field", "read_chunks"]

SHOWN = 500
# Of each column of a row group so many bytes are read at once where it is read in chunks.
BUFFER = 1 << 20
# A row group, which is in memory as a whole, may have so many bytes.
MOST = 4 << 30


@dataclass(frozen=True)
class BadFile:
    """A file without rows that is rejected as a whole; it has no line."""

    path: str
    reason: str

    def read(self, schema: Schema) -> Portion:
        reject = Reject(os.path.basename(self.path), 0, self.reason, "")
        return Portion(pa.RecordBatch.from_pylist([], schema.arrow()), np.empty(0, np.int64), (reject,))


@dataclass(frozen=True)
class ParquetPiece:
    path: str
    offset: int
    rows: int
    number: int

    def read(self, schema: Schema) -> Portion:
        """Only the row groups that hold its rows, and only the fields of the schema."""
        label = os.path.basename(self.path)
        batches = [pa.RecordBatch.from_pylist([], schema.arrow())]
        numbers = [np.empty(0, np.int64)]
        rejects: list[Reject] = []
        begins = 0
        with pyarrow.parquet.ParquetFile(self.path, page_checksum_verification=True) as file:
            paths = list(_paths(schema, _fields(file)))
            for group in range(file.num_row_groups):
                size = file.metadata.row_group(group).num_rows
                low, high = max(begins, self.offset), min(begins + size, self.offset + self.rows)
                if low < high:
                    try:
                        table = file.read_row_group(group, columns=paths, use_threads=False)
                    except (OSError, pa.ArrowException) as fault:
                        # Told by the piece that holds the first row, so that it is told once however files are cut.
                        if low == begins:
                            reason = (
                                f"rows {begins + 1} to {begins + size} cannot be read: {first_line(fault)}"
                            )
                            rejects.append(Reject(label, begins + 1, reason, ""))
                        begins += size
                        continue
                    part = table.select(list(schema.names)).slice(low - begins, high - low)
                    for at, batch in _cast(part.combine_chunks(), schema, label, low, rejects):
                        batches.append(batch)
                        numbers.append(
                            np.arange(batch.num_rows, dtype=np.int64) + self.number + at - self.offset
                        )
                begins += size
        return Portion(pa.concat_batches(batches), np.concatenate(numbers), tuple(rejects))


def read_chunks(path: str, schema: Schema, rows: int, number: int) -> Iterator[Portion]:
    """All rows of a file, at most so many at a time; `number` is that of its first row in the source."""
    label = os.path.basename(path)
    names = list(schema.names)
    row = 0
    try:
        with pyarrow.parquet.ParquetFile(path, buffer_size=BUFFER, page_checksum_verification=True) as file:
            paths = list(_paths(schema, _fields(file)))
            for chunk in file.iter_batches(rows, columns=paths, use_threads=False):
                rejects: list[Reject] = []
                table = pa.Table.from_batches([chunk]).select(names).combine_chunks()
                for at, batch in _cast(table, schema, label, row, rejects):
                    numbers = np.arange(batch.num_rows, dtype=np.int64) + number + at
                    yield Portion(batch, numbers)
                if rejects:
                    nothing = pa.RecordBatch.from_pylist([], schema.arrow())
                    yield Portion(nothing, np.empty(0, np.int64), tuple(rejects))
                row += chunk.num_rows
    except (OSError, pa.ArrowException) as fault:
        nothing = pa.RecordBatch.from_pylist([], schema.arrow())
        reason = f"the rows from {row + 1} on cannot be read: {first_line(fault)}"
        yield Portion(nothing, np.empty(0, np.int64), (Reject(label, row + 1, reason, ""),))


def _cast(
    table: pa.Table, schema: Schema, label: str, row: int, rejects: list[Reject]
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows that the schema can hold, from those with the row number `row` on; the others one by one."""
    table = cut_nanoseconds(table)
    pending = [(0, table.num_rows)] if table.num_rows else []
    while pending:
        low, high = pending.pop()
        part = table.slice(low, high - low)
        try:
            yield row + low, part.cast(schema.arrow()).combine_chunks().to_batches()[0]
        except pa.ArrowException:
            if high - low == 1:
                reason, text = _explain(part, schema), str(python_rows(part)[0])
                rejects.append(Reject(label, row + low + 1, reason, text[:SHOWN]))
            else:
                middle = (low + high) // 2
                pending += [(middle, high), (low, middle)]


def _explain(row: pa.Table, schema: Schema) -> str:
    for name in schema.names:
        try:
            row.column(name).cast(schema[name])
        except pa.ArrowException:
            there = row.schema.field(name).type
            if is_nested(there) or is_nested(schema[name]):
                return f"field {name}: found {there} where {a_type(schema[name])} is expected"
            return not_a(name, str(python_value(row.column(name)[0])), schema[name])
    return f"cannot be read as ({schema})"


def first_line(fault: Exception) -> str:
    return (str(fault).splitlines() or [type(fault).__name__])[0]


def check_unpacked(path: str, metadata: pyarrow.parquet.FileMetaData, most: int | None) -> None:
    """Raise a fault if a row group would have more than so many bytes in memory: unpacked, or as the rows that it says
    it has, which cost nothing in the file where they are all the same."""
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        # What takes the least takes a bit and, if it is null, as much.
        size = max(group.total_byte_size, group.num_rows * group.num_columns // 4)
        if size > (MOST if most is None else most):
            given = "" if most is None else f" of {most:,}"
            raise AuroraError(
                f"{path} has a row group of {group.num_rows:,} rows that is {size:,} bytes unpacked, beyond the limit"
                f"{given}; if that is right, set another limit, as ?max_unpacked=500GB"
            )


def _fields(file: pyarrow.parquet.ParquetFile) -> dict[str, pa.DataType]:
    return {field.name: field.type for field in file.schema_arrow}


def _paths(
    fields: Mapping[str, pa.DataType], there: Mapping[str, pa.DataType], before: str = ""
) -> Iterator[str]:
    """The columns of the file: what is inside structs by dotted names, if it is a struct there too."""
    for name, kind in fields.items():
        if is_struct(kind) and kind.num_fields and is_struct(there[name]):
            yield from _paths(struct_fields(kind), struct_fields(there[name]), f"{before}{name}.")
        else:
            yield before + name


def missing_field(
    fields: Mapping[str, pa.DataType], there: Mapping[str, pa.DataType], before: str = ""
) -> str | None:
    for name, kind in fields.items():
        if name not in there:
            return before + name
        if is_struct(kind) and is_struct(there[name]):
            inside = missing_field(struct_fields(kind), struct_fields(there[name]), f"{before}{name}.")
            if inside is not None:
                return inside
    return None
