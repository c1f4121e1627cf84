"""Sources of one's own that do not keep the contract are told of it in one line."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aurora import AuroraError, Cursor, Feed, Network, Piece, Portion, Schema, Source
from aurora.engine.local import LocalRun
from aurora.engine.plan.plan import plan_network
from aurora.engine.sources.address import open_source, read_table

FITTING = pa.record_batch({"b": ["x", "y"], "a": pa.array([1, 2], pa.int64()), "more": [0, 0]})


@dataclass(frozen=True)
class OnePiece:
    """All its rows are one piece."""

    rows: pa.RecordBatch
    numbers: int = 2
    live: bool = False

    def begin(self) -> Cursor:
        return {"row": 0}

    def advance(self, cursor: Cursor, rows: int) -> Cursor:
        return {"row": 2}

    def finished(self, cursor: Cursor) -> bool:
        return bool(cursor["row"] == 2)

    def pieces(self, start: Cursor, end: Cursor, number: int) -> list[Piece]:
        return [self] if start != end else []

    def read(self, schema: Schema) -> Portion:
        return Portion(self.rows, np.arange(self.numbers))


def found(source: Source) -> list[dict[str, Any]]:
    network = Network("own")
    network.output("all", network.input("rows", "a int, b string"))
    run = LocalRun(plan_network(network))
    run.read({"rows": source})
    return run.rows("all")


def test_more_fields_in_another_order_and_wider_types_will_do() -> None:
    assert found(OnePiece(FITTING)) == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (OnePiece(FITTING.select(["b"])), "source rows: the rows of a piece have no field a; their fields are b"),
        (OnePiece(FITTING, 3), "source rows: a piece has read 2 rows and gives 3 numbers; a portion has a number for"),
        (OnePiece(pa.record_batch({"a": ["p", "q"], "b": ["x", "y"]})),
         "source rows: the rows of a piece do not fit (a int, b string): Failed to parse string"),
    ],
)  # fmt: skip
def test_what_does_not_fit(source: Source, message: str) -> None:
    with pytest.raises(AuroraError) as fault:
        found(source)
    assert str(fault.value).startswith(message) and "\n" not in str(fault.value)


class Late:
    """A source that there is only once its feed has worked."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def open_source(self, name: str, schema: Schema, folder: Any, follow: bool) -> tuple[Source, Feed | None]:
        self.calls.append(f"open {name} {folder.name} {follow}")
        return OnePiece(FITTING), self

    @property
    def once(self) -> bool:
        return True

    def connect(self) -> None:
        self.calls.append("connect")

    def catch_up(self) -> None:
        self.calls.append("catch up")

    def stop(self) -> None:
        self.calls.append("stop")


def test_a_source_with_a_feed(tmp_path: Any) -> None:
    late = Late()
    schema = Schema.parse("a int, b string")
    source, feed = open_source("rows", late, schema, True, tmp_path)
    assert feed is late and late.calls == ["open rows rows.opened True"] and found(source)


def test_a_table_waits_for_its_feed() -> None:
    late = Late()
    table = read_table("rows", late, Schema.parse("a bigint"))
    assert table.to_pylist() == [{"a": 1}, {"a": 2}]
    assert late.calls == ["open rows opened False", "connect", "catch up", "stop"]
