"""Values of records that are Avro into Arrow: by the schema of the address, or that of the registry."""

from collections.abc import Callable
from itertools import compress

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.tuples.python_values import python_value
from aurora.algebra.tuples.schema import Schema
from aurora.engine.avro.read import read_records
from aurora.engine.avro.registry import FRAME, UnknownSchema, known_schema
from aurora.engine.avro.schema import Kind, parse_schema
from aurora.engine.kafka.address import KafkaAddress
from aurora.engine.sources.source import Portion, Reject
from aurora.engine.sources.text.reasons import not_a
from aurora.errors import AuroraError

__all__ = ["parse_avro"]

# So many bytes of a bad record are shown, as hexadecimal digits.
SHOWN = 100


def parse_avro(
    values: list[bytes | None], offsets: npt.NDArray[np.int64], address: KafkaAddress, schema: Schema,
    label: str, known: dict[int, str],
) -> Portion:  # fmt: skip
    """The rows, numbered by their places. `known` are records not to be tried: with a reason, or to be passed over."""
    bad = dict(known)
    places: list[npt.NDArray[np.int64]] = []
    parts: list[pa.RecordBatch] = []
    for kind, mine, contents in _by_schema(values, address, bad):
        try:
            columns, faults = read_records(contents, kind, set(schema.names))
        except AuroraError as fault:
            if address.avro is not None:
                raise
            # Who writes a record says which schema it has.
            bad.update(dict.fromkeys(mine.tolist(), str(fault)))
            continue
        bad.update({int(mine[at]): reason for at, reason in faults.items()})
        arrays = [_fitting(name, columns.get(name), mine, schema, bad) for name in schema.names]
        places.append(mine)
        parts.append(pa.RecordBatch.from_arrays(arrays, names=schema.names))
    rejects = [
        Reject(label, int(offsets[at]), reason, (values[at] or b"")[:SHOWN].hex())
        for at, reason in sorted(bad.items())
        if reason
    ]
    if not parts:
        return Portion(pa.RecordBatch.from_pylist([], schema.arrow()), np.empty(0, np.int64), tuple(rejects))
    where = np.concatenate(places)
    good = np.flatnonzero(~np.isin(where, list(bad)))
    order = good[np.argsort(where[good])]
    rows = pa.concat_batches(parts).take(pa.array(order))
    rows = pa.RecordBatch.from_arrays(rows.columns, schema=schema.arrow())
    return Portion(rows, where[order], tuple(rejects))


def _by_schema(
    values: list[bytes | None], address: KafkaAddress, bad: dict[int, str]
) -> list[tuple[Kind, npt.NDArray[np.int64], list[bytes]]]:
    """The records of each schema: their places, and their bytes."""
    tried = np.array([at not in bad for at in range(len(values))], np.bool_)
    if address.avro is not None:
        contents = [value or b"" for value in compress(values, tried)]
        return [(parse_schema(address.avro, "schema"), np.flatnonzero(tried), contents)]
    assert address.registry is not None
    for at in np.flatnonzero(tried).tolist():
        value = values[at] or b""
        if len(value) < FRAME or value[0]:
            bad[at] = "no schema number stands before the record; give schema=FILE if it is bare Avro"
            tried[at] = False
    numbers = np.full(len(values), -1, np.int64)
    frames = b"".join((values[at] or b"")[:FRAME] for at in np.flatnonzero(tried).tolist())
    digits = np.frombuffer(frames, np.uint8).reshape(-1, FRAME).astype(np.int64)
    numbers[tried] = digits[:, 1:] @ (256 ** np.arange(FRAME - 2, -1, -1))
    found = []
    for number in np.unique(numbers[tried]).tolist():
        mine = np.flatnonzero(numbers == number)
        try:
            kind = known_schema(address.registry, number)
        except UnknownSchema as fault:
            bad.update(dict.fromkeys(mine.tolist(), str(fault)))
            continue
        found.append((kind, mine, [(values[at] or b"")[FRAME:] for at in mine.tolist()]))
    return found


def _fitting(
    name: str, column: pa.Array | None, mine: npt.NDArray[np.int64], schema: Schema, bad: dict[int, str]
) -> pa.Array:
    """A column as the type that the input declares; what does not fit is told."""
    kind = schema[name]
    if column is None:
        column = pa.nulls(len(mine), kind)
    if (name,) in schema.required:
        for at in mine[np.asarray(column.is_null())].tolist():
            bad.setdefault(at, f"field {name} is missing")
    cast = _caster(kind)
    try:
        return cast(column)
    except pa.ArrowInvalid:
        pass
    fits = np.ones(len(column), np.bool_)
    for place, at in enumerate(mine.tolist()):
        try:
            cast(column.slice(place, 1))
        except pa.ArrowInvalid:
            bad.setdefault(at, not_a(name, str(python_value(column[place])), kind))
            fits[place] = False
    return cast(pc.if_else(pa.array(fits), column, pa.scalar(None, column.type)))


def _caster(kind: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    def cast(column: pa.Array) -> pa.Array:
        if pa.types.is_timestamp(column.type) and pa.types.is_integer(kind):
            # A number of milliseconds, as topics have them.
            return column.cast(pa.timestamp("ms", tz="UTC"), safe=False).cast(pa.int64()).cast(kind)
        return column.cast(kind)

    return cast
