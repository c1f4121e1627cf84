"""Values of records into Arrow: lines by the parsers of files, or Avro; keys and times become fields beside them."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aurora.algebra.tuples.schema import Schema
from aurora.engine.kafka.address import KafkaAddress
from aurora.engine.kafka.avro_values import parse_avro
from aurora.engine.sources.source import Portion
from aurora.engine.sources.text.bad_records import parse_records
from aurora.engine.sources.text.csv_records import NOT_CLOSED, Csv, Split, find_breaks
from aurora.engine.sources.text.parse import parse_csv, parse_json
from aurora.engine.sources.text.reasons import not_a

__all__ = ["Records", "parse_values"]

PASSED_OVER = ""


@dataclass(frozen=True)
class Records:
    """What was fetched from one partition; keys and times only if they are asked for."""

    values: list[bytes | None]
    offsets: npt.NDArray[np.int64]
    keys: list[bytes | None] | None = None
    times: npt.NDArray[np.int64] | None = None


def parse_values(
    records: Records, address: KafkaAddress, declared: Schema, wanted: Schema, partition: int
) -> Portion:
    """The rows, numbered by their places among the records. A record without a value, a deletion, is no row."""
    beside = {address.key, address.timestamp} - {None}
    # A line of CSV is read whole; and whether a record is good must show even where no field of it is wanted.
    inner = [name for name in wanted.names if name not in beside]
    if address.format == "csv" or not inner:
        inner = [name for name in declared.names if name not in beside]
    known: dict[int, str] = {}
    columns = _columns_beside(records, address, declared, known)
    read = _read(records, address, declared.select(inner), f"{address.topic}/{partition}", known)
    names = [name for name in declared.names if name in inner or name in beside]
    chosen = pa.array(read.numbers)
    arrays = [read.rows.column(name) if name in inner else columns[name].take(chosen) for name in names]
    rows = pa.RecordBatch.from_arrays(arrays, schema=declared.select(names).arrow())
    return Portion(rows, read.numbers, read.rejects)


def _read(
    records: Records, address: KafkaAddress, schema: Schema, label: str, known: dict[int, str]
) -> Portion:
    if address.format == "avro":
        known |= {at: PASSED_OVER for at, value in enumerate(records.values) if value is None}
        return parse_avro(records.values, records.offsets, address, schema, label, known)
    data, found = _as_lines(records, address.csv, known)
    parser = parse_json(schema) if address.csv is None else parse_csv(schema, csv=address.csv)
    first = int(records.offsets[0]) if len(records.offsets) else 0
    return parse_records(data, found, parser, schema, 0, first, label, known)


def _as_lines(records: Records, csv: Csv | None, known: dict[int, str]) -> tuple[bytes, Split]:
    """The values as lines, one for each; `known` gets those that are none."""
    number = len(records.values)
    lines: list[bytes] = records.values  # type: ignore[assignment]
    try:
        data = _join(lines)
    except TypeError:
        known.update({at: PASSED_OVER for at, value in enumerate(records.values) if value is None})
        lines = [value or b"" for value in records.values]
        data = _join(lines)
    ends = find_breaks(data) + 1
    if len(ends) != number:
        # In JSON a line break is as good as a blank; in CSV it may stand within quotes.
        lines = [line.rstrip(b"\r\n") if csv is not None else line.replace(b"\n", b" ") for line in lines]
        data = _join(lines)
        ends = np.cumsum(np.fromiter(map(len, lines), np.int64, number) + 1)
    starts = np.concatenate([[0], ends[:-1]])[:number]
    for at in np.flatnonzero(ends - starts == 1).tolist():
        known.setdefault(at, "the value is empty")
    if csv is None:
        # Blanks alone; and each object ends where its line does.
        text = np.frombuffer(data, np.uint8)
        for at in np.flatnonzero(text[starts] <= ord(" ")).tolist():
            if not lines[at].strip():
                known.setdefault(at, "the value is empty")
    elif b'"' in data:
        for at, line in enumerate(lines):
            if b'"' in line:
                alone = csv.split(line + b"\n", True)
                if len(alone.ends) != 1 or alone.bad[0]:
                    known.setdefault(at, NOT_CLOSED if alone.bad.any() else "more than one record in a value")
    gaps = np.append(records.offsets[1:], records.offsets[-1:] + 1) - records.offsets[:1]
    return data, Split(ends, gaps, np.zeros(number, np.bool_))


def _join(lines: list[bytes]) -> bytes:
    return b"\n".join([*lines, b""])


def _columns_beside(
    records: Records, address: KafkaAddress, declared: Schema, known: dict[int, str]
) -> dict[str, pa.Array]:
    columns: dict[str, pa.Array] = {}
    if address.timestamp is not None:
        kind = declared[address.timestamp]
        times = pa.array(records.times, pa.int64())
        columns[address.timestamp] = (
            times.cast(pa.timestamp("ms", tz="UTC")).cast(kind) if pa.types.is_timestamp(kind) else times
        )
    if address.key is not None:
        assert records.keys is not None
        columns[address.key] = _key_column(records.keys, address.key, declared, known)
    return columns


def _key_column(keys: list[bytes | None], name: str, declared: Schema, known: dict[int, str]) -> pa.Array:
    """All at once; where that fails, one by one, and those that do not fit are told."""
    kind = declared[name]
    if (name,) in declared.required:
        known.update({at: f"field {name} is missing" for at, key in enumerate(keys) if key is None})
    try:
        return pa.array(keys, pa.binary()).cast(pa.string()).cast(kind)
    except pa.ArrowInvalid:
        pass
    for at, key in enumerate(keys):
        try:
            pa.array([key], pa.binary()).cast(pa.string()).cast(kind)
        except pa.ArrowInvalid:
            known[at] = not_a(name, (key or b"").decode("utf-8", "replace"), kind)
    kept = [None if at in known else key for at, key in enumerate(keys)]
    return pa.array(kept, pa.binary()).cast(pa.string()).cast(kind)
