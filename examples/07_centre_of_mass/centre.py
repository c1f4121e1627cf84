"""The window functions of Query 2: init opens a window, incr takes in its tuples (an Arrow batch), final ends it."""

import pyarrow as pa
import pyarrow.compute as pc

from aurora import Schema, WindowFunction

LIMIT = 6.0


def add_positions(state: tuple[int, int], tuples: pa.RecordBatch) -> tuple[int, int]:
    total, soldiers = state
    return total + (pc.sum(tuples["Pos"]).as_py() or 0), soldiers + tuples.num_rows


CENTRE = WindowFunction(
    fields=Schema.parse("COM double"),
    init=lambda: (0, 0),
    incr=add_positions,
    final=lambda state: {"COM": state[0] / state[1]},
)


def keep_newest(state: list[dict[str, float]], tuples: pa.RecordBatch) -> list[dict[str, float]]:
    return [*state, *tuples.to_pylist()][-2:]


def compare(state: list[dict[str, float]]) -> dict[str, object]:
    before, now = state
    return {"Time": now["Time"], "COM": now["COM"], "Diff": abs(now["COM"] - before["COM"]) >= LIMIT}


MOVED = WindowFunction(Schema.parse("Time int, COM double, Diff boolean"), list, keep_newest, compare)
