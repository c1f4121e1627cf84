"""Bytes of CSV or JSON lines into Arrow; what cannot be read is told apart, line by line."""

import re
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import is_struct, struct_fields
from aurora.engine.sources.source import Portion, Reject

__all__ = ["header_of", "parse_csv", "parse_json", "parse_records"]

LINE_BREAK, CARRIAGE_RETURN = b"\n\r"
NO_OBJECT = "no JSON object"

Ends = npt.NDArray[np.int64]
Parser = Callable[[bytes], pa.RecordBatch]


def header_of(line: bytes, schema: Schema) -> list[str] | None:
    """The columns of a CSV file if its first line names all fields of the schema; otherwise it is data."""
    try:
        cells = pyarrow.csv.read_csv(
            pa.BufferReader(line), pyarrow.csv.ReadOptions(autogenerate_column_names=True),
            convert_options=pyarrow.csv.ConvertOptions(strings_can_be_null=False),
        )  # fmt: skip
    except pa.ArrowInvalid:
        return None
    names = [str(column[0].as_py()).strip() for column in cells.columns] if cells.num_rows == 1 else []
    if len(set(names)) == len(names) and all(name in names for name in schema.names):
        return names
    return None


def _naive(kind: pa.DataType) -> pa.DataType:
    """Times are read without a zone and meant in UTC."""
    if is_struct(kind):
        return pa.struct([(name, _naive(inner)) for name, inner in struct_fields(kind).items()])
    return pa.timestamp("us") if pa.types.is_timestamp(kind) else kind


def parse_csv(schema: Schema, columns: list[str] | None) -> Parser:
    """Reads records with the given columns (those of the schema, in its order, if None)."""
    names = columns or list(schema.names)
    convert = pyarrow.csv.ConvertOptions(
        column_types={name: _naive(schema[name]) for name in schema.names},
        include_columns=list(schema.names),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )

    def parse(data: bytes) -> pa.RecordBatch:
        read = pyarrow.csv.ReadOptions(
            use_threads=False, block_size=max(len(data) + 1, 1024), column_names=names
        )
        style = pyarrow.csv.ParseOptions(newlines_in_values=b'"' in data)
        table = pyarrow.csv.read_csv(pa.BufferReader(data), read, style, convert)
        return _one_batch(table, schema)

    return parse


def parse_json(schema: Schema) -> Parser:
    """Reads one object a line; other fields are ignored, missing ones are null.

    So whether a line can be read depends on its being JSON and on the fields of the schema, and on nothing else.
    """
    explicit = pa.schema([(name, _naive(schema[name])) for name in schema.names])
    options = pyarrow.json.ParseOptions(explicit_schema=explicit, unexpected_field_behavior="ignore")

    def parse(data: bytes) -> pa.RecordBatch:
        _check_lines(data)
        read = pyarrow.json.ReadOptions(use_threads=False, block_size=max(len(data) + 1, 1024))
        table = pyarrow.json.read_json(pa.BufferReader(data), read, options)
        return _one_batch(table.select(list(schema.names)), schema)

    return parse


def _check_lines(data: bytes) -> None:
    """Raises a fault unless each line is UTF-8 and goes from { to }: Arrow looks at neither text nor line breaks.

    A line that holds half an object, or null alone (on which Arrow ends the process), would else be read.
    """
    if not data:
        return
    if not data.isascii():
        data.decode()
    text = np.frombuffer(data, np.uint8)
    breaks = np.flatnonzero(text == LINE_BREAK)
    if data[-1] != LINE_BREAK:
        breaks = np.append(breaks, len(data))
    starts = np.concatenate([[0], breaks[:-1] + 1])
    last = breaks - 1 - (text[breaks - 1] == CARRIAGE_RETURN)
    odd = np.flatnonzero((text[starts] != ord("{")) | (text[last] != ord("}")) | (last < starts))
    for place in odd.tolist():
        line = data[starts[place] : breaks[place]].strip()
        if not (line.startswith(b"{") and line.endswith(b"}")):
            raise pa.ArrowInvalid(NO_OBJECT)


def _one_batch(table: pa.Table, schema: Schema) -> pa.RecordBatch:
    for path in sorted(schema.required):
        _check_there(table.column(path[0]), path)
    batches = table.cast(schema.arrow()).combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema.arrow())


def _check_there(column: pa.ChunkedArray, path: tuple[str, ...]) -> None:
    """Raises a fault where the field is missing although the struct around it is there."""
    around = 0
    for name in path[1:]:
        around = column.null_count
        column = pc.struct_field(column, name)
    if column.null_count > around:
        raise pa.ArrowInvalid(f"field {'.'.join(path)} is missing")


def parse_records(
    data: bytes, ends: Ends, parser: Parser, schema: Schema, number: int, line: int, lines: Ends, file: str
) -> Portion:
    """All records at once; where that fails, halves, until the bad ones stand alone.

    `ends` are the bytes after each record, `number` that of the first row in its source, `line` that of the first
    line in its file, `lines` how many lines there are up to each record.
    """
    batches: list[pa.RecordBatch] = []
    numbers: list[Ends] = []
    rejects: list[Reject] = []
    starts = np.concatenate([[0], ends[:-1]])
    first_lines = np.concatenate([[0], lines[:-1]]) + line
    pending = [(0, len(ends))] if len(ends) else []

    def reject(place: int, part: bytes, reason: str) -> None:
        text = part.rstrip(b"\r\n").decode("utf-8", "replace")
        rejects.append(Reject(file, int(first_lines[place]), reason, text[:500]))

    while pending:
        low, high = pending.pop()
        part = data[starts[low] : ends[high - 1]]
        try:
            batch = parser(part)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowKeyError, UnicodeDecodeError) as fault:
            if high - low == 1:
                if part.strip():
                    reject(low, part, _reason(fault))
                continue
            batch = None
        if batch is not None and batch.num_rows == high - low:
            batches.append(batch)
            numbers.append(np.arange(low, high, dtype=np.int64) + number)
        elif high - low == 1 and batch is not None and batch.num_rows:
            reject(low, part, "more than one object on a line")
        elif high - low > 1:
            middle = (low + high) // 2
            pending += [(middle, high), (low, middle)]
    rejects.sort(key=lambda reject: reject.line)
    if not batches:
        return Portion(pa.RecordBatch.from_pylist([], schema.arrow()), np.empty(0, np.int64), tuple(rejects))
    rows = batches[0] if len(batches) == 1 else pa.concat_batches(batches)
    return Portion(rows, np.concatenate(numbers), tuple(rejects))


def _reason(fault: Exception) -> str:
    """Arrow's complaint about one record, in the words of its reader."""
    text = str(fault).split("\n")[0]
    columns = re.search(r"Expected (\d+) columns, got (\d+)", text)
    if columns:
        return f"expected {columns[1]} fields, found {columns[2]}"
    value = re.search(
        r"In CSV column #(\d+): (?:Row #\d+: )?(?:CSV )?conversion error to ([^:]+): invalid value '(.*)'",
        text,
    )
    if value:
        return f"column {int(value[1]) + 1}: '{value[3]}' is no {value[2]}"
    value = re.search(r"Failed to convert JSON to ([^,]+), couldn't parse:(.*)", text)
    if value:
        return f"'{value[2]}' is no {value[1]}"
    kinds = re.search(r"Column\(/(.*)\) changed from (\w+) to (\w+)", text)
    if kinds:
        return f"field {kinds[1].replace('/', '.')}: {kinds[3]} where {kinds[2]} is expected"
    if "UTF8" in text or "utf-8" in text:
        return "not UTF-8 text"
    return re.sub(r"^(CSV|JSON) parse error: ", "", text).replace(" in row 0", "").strip()
