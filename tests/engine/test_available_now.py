"""The trigger that takes what there is: live inputs stop where they were when it began, and no time passes then."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from aurora import Memory, Schema
from aurora.engine.sources.files.line_files import LineFiles
from aurora.engine.spark.source import Admission

SCHEMA = Schema.parse("a int")


def admission(sources: dict[str, Any], rows: int = 4) -> Admission:
    return Admission(None, sources, rows, 2, True, 1)  # type: ignore[arg-type]


def rows_of(offset: dict[str, Any]) -> dict[str, int]:
    return {name: place["row"] for name, place in offset["inputs"].items()}


def test_a_live_input_stops_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("".join(f"{n}\n" for n in range(10)))
    live = LineFiles(str(path), "csv", SCHEMA, follow=True)
    stored = Memory.of(SCHEMA, [{"a": n} for n in range(6)])
    admitted = admission({"live": live, "stored": stored})
    offset = admitted.first()
    limits = admitted.find_limits(offset["inputs"])
    assert limits == {"live": 10}
    with path.open("a") as file:
        file.write("10\n11\n")
    seen = []
    for wall in range(0, 100_000, 10_000):
        offset, before = admitted.next(offset, wall, limits=limits), offset
        if offset is before:
            break
        seen.append(rows_of(offset))
    assert seen == [{"live": 4, "stored": 4}, {"live": 8, "stored": 6}, {"live": 10, "stored": 6}]
    # Otherwise it goes on, and time passes.
    assert rows_of(admitted.next(offset, 200_000)) == {"live": 12, "stored": 6}
    assert not offset["end"]


def test_inputs_that_end_are_read_to_the_end() -> None:
    admitted = admission({"stored": Memory.of(SCHEMA, [{"a": n} for n in range(6)])})
    offset = admitted.first()
    limits = admitted.find_limits(offset["inputs"])
    assert limits == {}
    offset = admitted.next(admitted.next(offset, 0, limits=limits), 1, limits=limits)
    assert offset["end"] and admitted.next(offset, 2, limits=limits) is offset


def test_the_first_batches_are_empty_where_everything_is_to_be_loaded_before(tmp_path: Path) -> None:
    """All that there is comes with the one behind them; a run that goes on has been through them."""
    source = Memory.of(SCHEMA, [{"a": n} for n in range(6)])
    admitted = replace(admission({"in": source}, rows=10), warm_up=2)
    first = admitted.next(admitted.first(), 0)
    second = admitted.next(first, 1)
    for number, offset in enumerate((first, second), 1):
        assert rows_of(offset) == {"in": 0} and offset["batch"] == number and not offset["end"]
    third = admitted.next(second, 2)
    assert rows_of(third) == {"in": 6} and third["end"]
