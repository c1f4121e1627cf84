"""A source that loses some of its rows."""

import pytest

from aurora import AuroraError, Memory, Schema
from aurora.nexmark.losing import Losing, LosingSource

SCHEMA = Schema.parse("a int")


def test_the_same_rows_are_lost_however_they_are_cut() -> None:
    source = LosingSource(Memory.of(SCHEMA, [{"a": i} for i in range(1000)]), 0.3)
    found: list[int] = []
    cursor = source.begin()
    while not source.finished(cursor):
        after = source.advance(cursor, 170)
        for piece in source.pieces(cursor, after, 2):
            portion = piece.read(SCHEMA)
            assert portion.rows["a"].to_pylist() == portion.numbers.tolist()
            found += portion.numbers.tolist()
        cursor = after
    assert 690 <= len(found) <= 710
    (piece,) = source.pieces(source.begin(), source.advance(source.begin(), 1000), 1)
    assert piece.read(SCHEMA).numbers.tolist() == found


def test_all_of_them_cannot_be_lost() -> None:
    with pytest.raises(AuroraError, match="what is lost is a share of the rows from 0 to below 1, found 2"):
        Losing("json:x", 2)
