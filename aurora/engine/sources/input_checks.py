"""Rows that can be read and break a check of their input: they are rejected like lines that cannot be read."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from aurora.algebra.tuples.python_values import python_rows
from aurora.algebra.tuples.train import Ints, Mask
from aurora.engine.sources.source import Portion, Reject
from aurora.network.checks import Check

__all__ = ["check_portion", "find_origins", "leave_out"]

# So much of a row is shown where it was no line of text.
SHOWN = 500


def check_portion(name: str, portion: Portion, checks: Sequence[Check]) -> Portion:
    """The rows of an input that satisfy all its checks; the others are rejects, for the first check that they break."""
    rows = portion.rows
    good = np.ones(rows.num_rows, np.bool_)
    broken: list[tuple[Check, Ints]] = []
    for check in checks:
        held = check.condition.matches(rows)
        if not held.all():
            broken.append((check, np.flatnonzero(good & ~held)))
            good &= held
    if not broken:
        return portion
    rejects = [reject for check, places in broken for reject in _rejects(name, portion, check, places)]
    return leave_out(portion, good, rejects)


def leave_out(portion: Portion, good: Mask, rejects: Iterable[Reject]) -> Portion:
    """Return a portion with its good rows only; why the others are left out stands in the rejects."""
    return replace(
        portion,
        rows=portion.rows.filter(pa.array(good)),
        numbers=portion.numbers[good],
        rejects=tuple(sorted([*portion.rejects, *rejects], key=lambda bad: (bad.file, bad.line))),
        arrived=None if portion.arrived is None else portion.arrived[good],
        order=None if portion.order is None else portion.order[good],
    )


def find_origins(name: str, portion: Portion, places: Ints) -> list[Reject]:
    """Return where rows were read, as rejects without a reason."""
    if not len(places):
        return []
    numbers = portion.numbers[places]
    if portion.origins is not None:
        return portion.origins(numbers)
    # A row that was no line of text: its number in the source, and its fields.
    rows = python_rows(portion.rows.take(pa.array(places)))
    texts = [json.dumps(row, default=str)[:SHOWN] for row in rows]
    return [Reject(name, int(number) + 1, "", text) for number, text in zip(numbers, texts, strict=True)]


def _rejects(name: str, portion: Portion, check: Check, places: Ints) -> list[Reject]:
    return [
        replace(reject, reason=check.explain(portion.rows.slice(place, 1)))
        for reject, place in zip(find_origins(name, portion, places), places.tolist(), strict=True)
    ]
