"""Rows that drop boxes leave out by chance are passed over before they are read: the others are the same as ever."""

from pathlib import Path

import numpy as np
import pytest

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Ints, Mask
from aurora.engine.sources.address import open_source
from aurora.engine.sources.source import SkippingPiece

SCHEMA = Schema.parse("Sid int, Name string")
CSV = "".join(f'{i},"n {i},\n{i}"\n' if i % 7 == 0 else f"{i},n{i}\n" for i in range(500))
JSON = "".join(f'{{"Sid": {i}, "Name": "n{i}"}}\n' for i in range(500))


def thirds(numbers: Ints) -> Mask:
    return np.asarray(numbers % 3 == 1)


@pytest.mark.parametrize(
    ("kind", "content"), [("csv", CSV), ("json", JSON), ("csv", CSV.replace("\n", "\r\n"))]
)
@pytest.mark.parametrize("cut", [500, 60])
def test_what_is_left_is_the_same(tmp_path: Path, kind: str, content: str, cut: int) -> None:
    path = tmp_path / f"r.{kind}"
    path.write_text(content, newline="")
    source, _ = open_source("r", f"{kind}:{path}", SCHEMA, False, tmp_path)
    start, end, passed, read = source.begin(), source.begin(), 0, 0
    while not source.finished(end):
        start, end = end, source.advance(end, cut)
        for piece in source.pieces(start, end, 2):
            assert isinstance(piece, SkippingPiece)
            whole, (some, skipped) = piece.read(SCHEMA), piece.read_some(SCHEMA, thirds)
            wanted = thirds(whole.numbers)
            assert some.numbers.tolist() == whole.numbers[wanted].tolist()
            assert some.rows.to_pylist() == [
                row for row, left in zip(whole.rows.to_pylist(), wanted, strict=True) if left
            ]
            passed, read = passed + skipped, read + len(some.numbers)
    assert (passed, read) == (333, 167)


def test_where_a_record_is_bad_all_are_read(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("1,a\nx,b\n4,c\n")
    source, _ = open_source("r", f"csv:{path}", SCHEMA, False, tmp_path)
    (piece,) = source.pieces(source.begin(), source.advance(source.begin(), 9), 1)
    assert isinstance(piece, SkippingPiece)
    some, skipped = piece.read_some(SCHEMA, lambda numbers: numbers < 2)
    assert skipped == 0 and some.rows["Sid"].to_pylist() == [1, 4] and len(some.rejects) == 1


def test_all_or_nothing_can_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("1,a\n4,c\n")
    source, _ = open_source("r", f"csv:{path}", SCHEMA, False, tmp_path)
    (piece,) = source.pieces(source.begin(), source.advance(source.begin(), 9), 1)
    assert isinstance(piece, SkippingPiece)
    none, skipped = piece.read_some(SCHEMA, lambda numbers: numbers < 0)
    assert len(none.rows) == 0 and skipped == 2
    assert len(piece.read_some(SCHEMA, lambda numbers: numbers >= 0)[0].rows) == 2
