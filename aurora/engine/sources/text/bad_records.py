"""Records of which some are bad: the good ones are read, the bad ones told apart with their lines and reasons."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aurora.algebra.tuples.schema import Schema
from aurora.engine.sources.source import Portion, Reject
from aurora.engine.sources.text.csv_records import UTF_8, Split, without_break
from aurora.engine.sources.text.parse import FAULTS, Parser

__all__ = ["SHOWN", "parse_records", "records_at"]

# So much of a bad record is shown.
SHOWN = 500


def records_at(
    data: bytes, found: Split, places: npt.NDArray[np.int64], line: int, label: str, encoding: str = UTF_8
) -> list[Reject]:
    """The records at these places as rejects, without a reason; `line` is that of the first line."""
    starts = np.concatenate([[0], found.ends[:-1]])
    lines = np.concatenate([[0], found.lines[:-1]]) + line
    bounds = zip(starts[places].tolist(), found.ends[places].tolist(), lines[places].tolist(), strict=True)
    return [
        Reject(label, at, "", without_break(data[start:end]).decode(encoding, "replace")[:SHOWN])
        for start, end, at in bounds
    ]


def parse_records(
    data: bytes, found: Split, parser: Parser, schema: Schema, number: int, line: int, label: str,
    known: dict[int, str], hint: str = "", encoding: str = UTF_8,
) -> Portion:  # fmt: skip
    """All records at once; where that fails, halves, until the bad ones stand alone.

    `number` is that of the first row in its source, `line` that of the first line in its file; `known` are records
    that need not be tried, with their reasons, or with none if they are to be passed over;
    `hint` is added to the reason of the first one.
    """
    batches: list[pa.RecordBatch] = []
    numbers: list[npt.NDArray[np.int64]] = []
    reasons = {place: reason for place, reason in known.items() if reason}
    ends = found.ends
    starts = np.concatenate([[0], ends[:-1]])
    bounds = [-1, *sorted(known), len(ends)]
    runs = [(low + 1, high) for low, high in pairwise(bounds) if high - low > 1]
    pending = runs[::-1]
    while pending:
        low, high = pending.pop()
        part = data[starts[low] : ends[high - 1]]
        try:
            batch = parser(part)
        except FAULTS:
            batch = None
        if batch is not None and batch.num_rows == high - low:
            batches.append(batch)
            numbers.append(np.arange(low, high, dtype=np.int64) + number)
        elif high - low > 1:
            middle = (low + high) // 2
            pending += [(middle, high), (low, middle)]
        elif batch is None:
            reasons[low] = parser.explain(part) + ("" if low else hint)
        else:
            reasons[low] = "more than one object on a line"
    places = np.array(sorted(reasons), np.int64)
    bad = records_at(data, found, places, line, label, encoding)
    rejects = tuple(replace(one, reason=reasons[at]) for one, at in zip(bad, places.tolist(), strict=True))
    if not batches:
        return Portion(pa.RecordBatch.from_pylist([], schema.arrow()), np.empty(0, np.int64), rejects)
    rows = batches[0] if len(batches) == 1 else pa.concat_batches(batches)
    return Portion(rows, np.concatenate(numbers), rejects)
