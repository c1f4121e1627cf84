"""All rows of a source that ends, one chunk after the other, in memory for about one of them."""

from collections.abc import Iterator

import pyarrow as pa

from aurora.algebra.tuples.schema import Schema
from aurora.engine.sources.portion_schema import fit_rows
from aurora.engine.sources.source import Portion, Source
from aurora.errors import AuroraError

__all__ = ["read_all_rows"]


def read_all_rows(what: str, source: Source, schema: Schema, rows: int) -> Iterator[pa.RecordBatch]:
    """Chunks of at most so many rows; a bad row is a fault, because every answer may depend on it."""
    own = getattr(source, "portions", None)
    for portion in own(rows) if callable(own) else _portions(source, schema, rows):
        if portion.rejects:
            bad = portion.rejects[0]
            line = f", line {bad.line}" if bad.line else ""
            raise AuroraError(f"{what}: {bad.file}{line}: {bad.reason}")
        if portion.rows.num_rows:
            yield fit_rows(what, portion, schema)


def _portions(source: Source, schema: Schema, rows: int) -> Iterator[Portion]:
    place = source.begin()
    while True:
        reached = source.advance(place, rows)
        for piece in source.pieces(place, reached, 1):
            yield piece.read(schema)
        if reached["row"] == place["row"] and (reached == place or source.finished(reached)):
            return
        place = reached
