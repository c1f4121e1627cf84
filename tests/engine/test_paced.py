"""Sources by the clock, and files by a pattern."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from aurora import AuroraError, Memory, Network, Paced, Schema, TextSink, run
from aurora.engine.sources.address import check_source
from aurora.engine.sources.files.line_files import LineFiles
from aurora.engine.sources.paced import PacedSource
from tests.engine.test_sources import drained, rows_of

SCHEMA = Schema.parse("a int")


class Hands:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1_000_000

    def __call__(self) -> int:
        return self.now


def test_rows_come_when_they_are_due() -> None:
    clock = Hands()
    source = PacedSource(Memory.of(SCHEMA, [{"a": i} for i in range(10)]), 2.0, clock)
    cursor = source.advance(source.begin(), 100)
    assert cursor["row"] == 1 and source.advance(cursor, 100) == cursor
    clock.now += 499
    assert source.advance(cursor, 100) == cursor
    clock.now += 1
    second = source.advance(cursor, 100)
    assert second["row"] == 2
    clock.now += 60_000
    behind = source.advance(second, 3)
    assert behind["row"] == 5 and not source.finished(behind)
    end = source.advance(behind, 100)
    assert end["row"] == 10 and source.finished(end) and source.advance(end, 100) == end
    portions = [piece.read(SCHEMA) for piece in source.pieces(second, end, 1)]
    arrived = [
        moment for portion in portions if portion.arrived is not None for moment in portion.arrived.tolist()
    ]
    assert arrived == [1_000_000 + 500 * row for row in range(2, 10)]


def test_rows_that_were_due_at_once() -> None:
    source = PacedSource(Memory.of(SCHEMA, [{"a": i} for i in range(10)]), 100.0, Hands(), wait=False)
    assert not source.live
    end = source.advance(source.begin(), 100)
    assert source.finished(end)
    (piece,) = source.pieces(source.begin(), end, 1)
    arrived = piece.read(SCHEMA).arrived
    assert arrived is not None and arrived.tolist() == [1_000_000 + 10 * number for number in range(10)]


def test_a_run_sees_when_rows_came(spark: SparkSession, tmp_path: Path) -> None:
    moments: list[int] = []

    def encode(rows: Any, arrived: Any) -> bytes:
        moments.extend(arrived.tolist())
        return b"".join(b"%d\n" % value for value in rows["a"].to_pylist())

    network = Network("paced")
    network.output("all", network.input("numbers", "a int"))
    source = Paced(Memory.of(SCHEMA, [{"a": i} for i in range(20)]), 1000.0)
    run(network, {"numbers": source}, {"all": TextSink(str(tmp_path / "out.txt"), encode)})
    assert (tmp_path / "out.txt").read_text().split() == [str(i) for i in range(20)]
    assert [moment - moments[0] for moment in moments] == list(range(20))


def test_a_rate_is_above_nothing() -> None:
    with pytest.raises(AuroraError, match="a rate is a number of rows a second above 0, found 0"):
        Paced("json:x", 0)


def test_files_by_a_pattern(tmp_path: Path) -> None:
    for name, text in {
        "e-2.jsonl": '{"a": 3}\n',
        "e-1.jsonl": '{"a": 1}\n{"a": 2}\n',
        "notes.json": "{}",
    }.items():
        (tmp_path / name).write_text(text)
    pattern = str(tmp_path / "e-*.jsonl")
    check_source("e", f"json:{pattern}")
    assert rows_of(drained(LineFiles(pattern, "json", SCHEMA), SCHEMA, 2)) == [{"a": 1}, {"a": 2}, {"a": 3}]
    with pytest.raises(AuroraError, match=r"source e: there is no file .*; check the path"):
        check_source("e", Paced(f"json:{tmp_path}/f-*.jsonl", 5))
