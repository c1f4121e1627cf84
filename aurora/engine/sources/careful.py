"""Records of which some are bad: the good ones are read, the bad ones told apart with their lines and reasons."""

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aurora.algebra.tuples.schema import Schema
from aurora.engine.sources.csv_records import UTF_8, Split, without_break
from aurora.engine.sources.parse import FAULTS, Parser
from aurora.engine.sources.source import Portion, Reject

__all__ = ["parse_records"]

# So much of a bad record is shown.
SHOWN = 500


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
    rejects: list[Reject] = []
    ends = found.ends
    starts = np.concatenate([[0], ends[:-1]])
    first_lines = np.concatenate([[0], found.lines[:-1]]) + line

    def reject(place: int, reason: str) -> None:
        text = without_break(data[starts[place] : ends[place]]).decode(encoding, "replace")
        rejects.append(Reject(label, int(first_lines[place]), reason, text[:SHOWN]))

    for place, reason in known.items():
        if reason:
            reject(place, reason)
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
            reject(low, parser.explain(part) + ("" if low else hint))
        else:
            reject(low, "more than one object on a line")
    rejects.sort(key=lambda bad: bad.line)
    if not batches:
        return Portion(pa.RecordBatch.from_pylist([], schema.arrow()), np.empty(0, np.int64), tuple(rejects))
    rows = batches[0] if len(batches) == 1 else pa.concat_batches(batches)
    return Portion(rows, np.concatenate(numbers), tuple(rejects))
