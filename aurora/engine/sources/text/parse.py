"""Bytes of CSV or JSON lines into Arrow: all records at once, or a fault."""

from collections.abc import Callable, Collection
from functools import partial
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import is_array, is_struct, struct_fields
from aurora.engine.sources.text.csv_records import UTF_8, Csv, find_breaks
from aurora.engine.sources.text.digits import check_digits, has_decimals
from aurora.engine.sources.text.hexadecimal import check_hexadecimal, hexadecimal_columns
from aurora.engine.sources.text.json_maps import as_entries, from_entries, has_maps, with_entries
from aurora.engine.sources.text.reasons import (
    NO_OBJECT,
    Unreadable,
    csv_reason,
    json_reason,
    unreadable_column,
)
from aurora.engine.sources.text.times import NAIVE, has_times, read_nested_times, read_times, times_as
from aurora.engine.sources.text.truths import read_truths
from aurora.engine.sources.text.unreadable_cells import read_or_null

__all__ = ["FAULTS", "CsvParser", "JsonParser", "Parser", "parse_csv", "parse_json"]

LINE_BREAK, CARRIAGE_RETURN = b"\n\r"
# So many bytes are parsed together.
BLOCK = 1 << 20
BLANKS = " \t"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# What a parser raises where some record cannot be read.
FAULTS = (
    pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowKeyError, UnicodeDecodeError, Unreadable,
)  # fmt: skip
PLAIN = Csv()

Reader = Callable[[bytes], pa.RecordBatch]


class Parser(Protocol):
    def __call__(self, data: bytes) -> pa.RecordBatch: ...

    def explain(self, record: bytes) -> str:
        """Why one record cannot be read; the same whatever was read before."""
        ...


class CsvParser:
    """Reads good records, as csv_records.py defines them.

    Times are read without a zone, which is fast, and where that fails as text, which takes both forms. In loose text,
    a column with a value that cannot be read is read as text, too, and then value by value.
    """

    def __init__(self, schema: Schema, columns: tuple[str, ...], csv: Csv) -> None:
        self._schema = schema
        self._columns = columns
        self._csv = csv
        # Those that are read as text where Arrow cannot read them: they may have blanks around them, or a zone.
        self._times = [name for name in schema.names if _is_trimmed(schema[name])]
        self._plain = self._reader(_naive)
        self._zoned = self._reader(lambda kind: pa.string() if _is_trimmed(kind) else kind)
        self._first = self._plain
        # The columns of loose text that had a value which cannot be read.
        self._loose: frozenset[str] = frozenset()

    def __call__(self, data: bytes) -> pa.RecordBatch:
        try:
            return self._first(data)
        except FAULTS:
            if self._csv.loose:
                return self._read_loosely(data)
            if not self._times or self._first == self._zoned:
                raise
        batch = self._zoned(data)
        # Files keep to one form: the next records are tried as text at once.
        self._first = self._zoned
        return batch

    def _read_loosely(self, data: bytes) -> pa.RecordBatch:
        while True:
            try:
                return self._reader(_naive, self._loose)(data)
            except FAULTS as fault:
                name = unreadable_column(fault, self._columns)
                if name is None or name not in self._schema or name in self._loose:
                    raise
                self._loose |= {name}

    def explain(self, record: bytes) -> str:
        reason = ""
        for reader in (self._read_loosely,) if self._csv.loose else (self._plain, self._zoned):
            try:
                reader(record)
            except FAULTS as fault:
                reason = csv_reason(fault, self._columns, self._schema)
                if not any(reason.startswith(f"field {name}: '") for name in self._times):
                    break
            else:
                return ""
        return reason

    def _reader(
        self, read_as: Callable[[pa.DataType], pa.DataType], loose: frozenset[str] = frozenset()
    ) -> Reader:
        schema = self._schema
        convert = self._conversion(
            {name: pa.string() if name in loose else read_as(schema[name]) for name in schema.names}
        )
        integers = [name for name in schema.names if pa.types.is_integer(schema[name]) and name not in loose]
        as_text = self._conversion(dict.fromkeys(integers, pa.string()))

        def read(data: bytes) -> pa.RecordBatch:
            data = self._csv.without_returns(data)
            if self._csv.encoding != UTF_8:
                data = _in_utf8(data, self._csv.encoding)
            if data.startswith(BYTE_ORDER_MARK):
                data = BYTE_ORDER_MARK + data  # Arrow drops one; that of the file was left out before.
            quoted = b'"' in data
            style = pyarrow.csv.ParseOptions(
                delimiter=self._csv.delimiter,
                newlines_in_values=quoted,
                ignore_empty_lines=len(self._columns) > 1,
            )

            def parse(convert: pyarrow.csv.ConvertOptions, block: int) -> pa.Table:
                options = pyarrow.csv.ReadOptions(
                    use_threads=False, block_size=block, column_names=self._columns
                )
                return pyarrow.csv.read_csv(pa.BufferReader(data), options, style, convert)

            def parse_all(convert: pyarrow.csv.ConvertOptions) -> pa.Table:
                by_block = partial(parse, convert)
                return by_block(_whole(data)) if quoted else _by_block(data, by_block)

            table = parse_all(convert)
            if integers and self._may_be_hexadecimal(data, integers):
                check_hexadecimal(parse_all(as_text), schema)
            for name in loose:
                values = read_or_null(
                    table.column(name), schema[name], _read_texts(name, schema[name], self._csv.decimal)
                )
                table = table.set_column(table.schema.get_field_index(name), name, values)
            for name in self._times:
                place = table.schema.get_field_index(name)
                if pa.types.is_string(table.schema.types[place]):
                    cells = pc.utf8_trim(table.column(name), BLANKS)
                    read_cells = read_times if pa.types.is_timestamp(schema[name]) else read_truths
                    table = table.set_column(place, name, read_cells(cells, name))
            return _one_batch(table, schema)

        return read

    def _may_be_hexadecimal(self, data: bytes, integers: Collection[str]) -> bool:
        """Whether a cell of some of the columns may be."""
        found = hexadecimal_columns(data, self._csv.delimiter)
        names = dict(enumerate(self._columns))
        return found is None or any(names.get(column) in integers for column in found)

    def _conversion(self, types: dict[str, pa.DataType]) -> pyarrow.csv.ConvertOptions:
        return pyarrow.csv.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            null_values=["", *self._csv.nulls],
            decimal_point=self._csv.decimal,
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )


def parse_csv(schema: Schema, columns: tuple[str, ...] | None = None, csv: Csv = PLAIN) -> CsvParser:
    """Reads records with the given columns, which are those of the schema, in its order, unless given."""
    return CsvParser(schema, columns or schema.names, csv)


def _read_texts(name: str, kind: pa.DataType, decimal: str) -> Callable[[pa.Array], pa.Array]:
    """Reads texts as cells of a column are read."""
    parser = CsvParser(Schema.of({name: kind}), (name,), Csv(decimal=decimal))

    def read(texts: pa.Array) -> pa.Array:
        cells = pc.replace_substring(texts, '"', '""').to_pylist()
        return parser("".join(f'"{cell}"\n' for cell in cells).encode()).column(0)

    return read


def _in_utf8(data: bytes, encoding: str) -> bytes:
    try:
        return data.decode(encoding).encode()
    except UnicodeDecodeError:
        raise Unreadable(f"not {encoding} text") from None


def _is_trimmed(kind: pa.DataType) -> bool:
    """Whether Arrow takes no blanks around values of the type in CSV, as it does around numbers and dates."""
    return bool(pa.types.is_timestamp(kind) or pa.types.is_boolean(kind))


class JsonParser:
    """One object a line; other fields are ignored, missing ones are null.

    So whether a line can be read depends on its being JSON and on the fields of the schema, and on nothing else. Times
    are read as Arrow reads them, which is fast, and where that fails as text.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._maps = any(has_maps(schema[name]) for name in schema.names)
        entries = {name: as_entries(schema[name]) for name in schema.names}
        self._times = {name: kind for name, kind in entries.items() if has_times(kind)}
        self._plain = _json_options(entries, NAIVE)
        self._texts = _json_options(entries, pa.string())
        self._first = self._plain

    def __call__(self, data: bytes) -> pa.RecordBatch:
        _check_lines(data)
        if self._maps:
            data = with_entries(data, self._schema)
        try:
            return self._read(data, self._first)
        except FAULTS:
            if not self._times or self._first is self._texts:
                raise
        batch = self._read(data, self._texts)
        # Files keep to one form: the next records are tried as text at once.
        self._first = self._texts
        return batch

    def _read(self, data: bytes, parsed: pyarrow.json.ParseOptions) -> pa.RecordBatch:
        def parse(block: int) -> pa.Table:
            options = pyarrow.json.ReadOptions(use_threads=False, block_size=block)
            return pyarrow.json.read_json(pa.BufferReader(data), options, parsed)

        table = _by_block(data, parse).select(list(self._schema.names))
        for name, kind in self._times.items() if parsed is self._texts else ():
            times = read_nested_times(table.column(name).combine_chunks(), kind, name)
            table = table.set_column(table.schema.get_field_index(name), name, times)
        return _one_batch(table, self._schema)

    def explain(self, record: bytes) -> str:
        try:
            self(record)
        except FAULTS as fault:
            return json_reason(fault, record, self._schema)
        return ""


def parse_json(schema: Schema) -> JsonParser:
    return JsonParser(schema)


def _json_options(kinds: dict[str, pa.DataType], time: pa.DataType) -> pyarrow.json.ParseOptions:
    """Return how Arrow is to read the fields, timestamps as the type given."""
    explicit = pa.schema([(name, _as_text(times_as(kind, time))) for name, kind in kinds.items()])
    return pyarrow.json.ParseOptions(explicit_schema=explicit, unexpected_field_behavior="ignore")


def _naive(kind: pa.DataType) -> pa.DataType:
    """Return the type by which times are read: without a zone, and meant in UTC."""
    return times_as(kind, NAIVE)


def _as_text(kind: pa.DataType) -> pa.DataType:
    """Arrow takes a date in JSON only as a number of days."""
    if is_array(kind):
        return pa.list_(_as_text(kind.value_type))
    if is_struct(kind):
        return pa.struct([(name, _as_text(inner)) for name, inner in struct_fields(kind).items()])
    return pa.string() if pa.types.is_date(kind) else kind


def _check_lines(data: bytes) -> None:
    """Raises a fault unless each line is UTF-8 and goes from { to }: Arrow looks at neither text nor line breaks.

    A line that holds half an object, or null alone (on which Arrow ends the process), would else be read.
    """
    if not data:
        return
    if not data.isascii():
        data.decode()
    text = np.frombuffer(data, np.uint8)
    breaks = find_breaks(data)
    if data[-1] != LINE_BREAK:
        breaks = np.append(breaks, len(data))
    starts = np.concatenate([[0], breaks[:-1] + 1])
    last = breaks - 1 - (text[breaks - 1] == CARRIAGE_RETURN)
    odd = np.flatnonzero((text[starts] != ord("{")) | (text[last] != ord("}")) | (last < starts))
    for place in odd.tolist():
        line = data[starts[place] : breaks[place]].strip()
        if not (line.startswith(b"{") and line.endswith(b"}")):
            raise Unreadable(NO_OBJECT)


def _by_block(data: bytes, parse: Callable[[int], pa.Table]) -> pa.Table:
    """Parses blocks that fit into the processor's cache, which takes two thirds of the time; or all at once, where a
    line does not fit into one."""
    if len(data) > BLOCK:
        try:
            return parse(BLOCK)
        except pa.ArrowInvalid as fault:
            if "straddl" not in str(fault):
                raise
    return parse(_whole(data))


def _whole(data: bytes) -> int:
    return max(len(data) + 1, 1024)


def _one_batch(table: pa.Table, schema: Schema) -> pa.RecordBatch:
    for path in sorted(schema.required):
        _check_there(table.column(path[0]), path)
    for name in schema.names:
        if has_maps(schema[name]):
            made = from_entries(table.column(name).combine_chunks(), schema[name])
            table = table.set_column(table.schema.get_field_index(name), name, made)
        if has_decimals(schema[name]):
            check_digits(table.column(name).combine_chunks(), name)
    batches = table.cast(schema.arrow()).combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema.arrow())


def _check_there(column: pa.ChunkedArray, path: tuple[str, ...]) -> None:
    """Raises a fault where the field is missing although the struct around it is there."""
    around = 0
    for name in path[1:]:
        around = column.null_count
        column = pc.struct_field(column, name)
    if column.null_count > around:
        raise Unreadable(f"field {'.'.join(path)} is missing")
