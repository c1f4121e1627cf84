"""Random networks of kernels against the naive runner: one train at a time through all boxes, for every cut."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from aurora.algebra.aggregate import Aggregate
from aurora.algebra.bsort import BSort
from aurora.algebra.filter import Filter
from aurora.algebra.join import Join
from aurora.algebra.map import Map
from aurora.algebra.ordering.order import Order
from aurora.algebra.ordering.pairs import joined_schema
from aurora.algebra.resample import Resample
from aurora.algebra.state.state import State
from aurora.algebra.state.turn import Moment, Turn
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Train
from aurora.algebra.union import Union
from aurora.algebra.wait import Wait
from tests.algebra.harness import CUTS, batch, plain
from tests.algebra.strategies import arrivals, groups, nearly_rising
from tests.spec import squal
from tests.spec.network import Network
from tests.spec.windows import Aggregate as NaiveAggregate

# Every box gives this schema again, so that any box can stand behind any other.
SCHEMA = Schema.parse("g int, T int, v bigint")
Source = tuple[str, str]
Boxes = dict[str, tuple[Any, list[Source]]]


TURNED = Schema.parse("T int, g int, v bigint")
JOINED = joined_schema(SCHEMA, SCHEMA)
SAME = {"g": "g", "T": "T", "v": "v"}


class Pipe:
    """Two boxes in a row."""

    def __init__(self, first: Any, second: Any) -> None:
        self.first, self.second = first, second
        self.outputs = second.outputs

    def call(self, inputs: tuple[Train, ...], turn: Turn) -> dict[str, Train]:
        found: dict[str, Train] = self.second.call((self.first.call(inputs, turn)["1"],), turn)
        return found


def last_and_total(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {"g": rows[-1]["g"], **total(rows)}


def total(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {"v": sum(row["v"] for row in rows)}


def orders(order: dict[str, Any]) -> tuple[Order, squal.Order]:
    return Order("T", **order), squal.Order("T", **order)


def pair(draw: Any, kind: str) -> tuple[Any, Any, int]:
    """A kernel, its naive version, and how many inputs they have."""
    slack, size, advance = draw(st.integers(0, 2)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    order, plain_order = orders({"slack": slack, "group_by": ("g",)})
    loose, plain_loose = orders({"slack": slack})
    if kind == "filter":
        return Filter.of(["v > 3"], SCHEMA), squal.Filter(lambda row: row["v"] > 3), 1
    if kind == "map":
        box = Map.of({"g": "g", "T": "T + 1", "v": "v * 2"}, SCHEMA)
        fields = {"g": lambda r: r["g"], "T": lambda r: r["T"] + 1, "v": lambda r: r["v"] * 2}
        return box, squal.Map(**fields), 1
    if kind == "union":
        return Union.of([SCHEMA, SCHEMA]), squal.Union(), 2
    if kind == "bsort":
        return BSort.of(loose, SCHEMA), squal.BSort(plain_loose), 1
    if kind == "groups":
        box = Aggregate.of({"v": "sum(v)"}, order, size, advance, SCHEMA)
        return box, NaiveAggregate(total, plain_order, size, advance), 1
    if kind == "aggregate":
        texts = {"g": "last(g)", "v": "sum(v)"}
        box = Pipe(Aggregate.of(texts, loose, size, advance, SCHEMA), Map.of(SAME, TURNED))
        return box, NaiveAggregate(last_and_total, plain_loose, size, advance), 1
    if kind == "join":
        box = Pipe(Join.of("left.g = right.g", size, loose, loose, SCHEMA, SCHEMA), Map.of(SAME, JOINED))
        naive = squal.Join(
            lambda a, b: a["g"] is not None and a["g"] == b["g"], size, plain_loose, plain_loose
        )
        return box, naive, 2
    if kind == "wait":
        return Wait.of("T", order, SCHEMA, SCHEMA), squal.Wait("T", plain_order), 2
    if kind == "resample":
        box = Resample.of({"v": "sum(v)"}, size, loose, order, SCHEMA, SCHEMA)
        return box, squal.Resample(total, size, plain_loose, plain_order), 2
    raise ValueError(kind)


ONE_AT_A_TIME = ["filter", "map", "union", "bsort", "aggregate", "wait", "join"]
# One cause can bring forth a row for each group. Such rows come by their fields, and what they cause in turn is
# ordered by fields again, not as the naive network, that takes them one by one, would have it: they end a network.
SEVERAL_AT_ONCE = ["groups", "resample"]


@st.composite
def networks(
    draw: Any, anywhere: bool
) -> tuple[dict[str, tuple[Any, list[Source]]], dict[str, tuple[Any, list[Source]]]]:
    kernels: Boxes = {}
    naive: Boxes = {}
    sources: list[Source] = [("in0", ""), ("in1", "")]
    for number in range(draw(st.integers(1, 5))):
        kind = draw(st.sampled_from([*ONE_AT_A_TIME, *SEVERAL_AT_ONCE]))
        kernel, plain_box, inputs = pair(draw, kind)
        name = f"box{number}"
        # The latest streams are drawn most often: networks become deep.
        read = [draw(st.sampled_from([*sources, *sources[-2:], *sources[-1:]])) for _ in range(inputs)]
        kernels[name], naive[name] = (kernel, read), (plain_box, read)
        if anywhere or kind in ONE_AT_A_TIME:
            sources += [(name, port) for port in kernel.outputs]
    return kernels, naive


def run(boxes: Boxes, rows: list[tuple[int, dict[str, Any]]], cut: int) -> dict[Source, list[dict[str, Any]]]:
    streams: dict[Source, list[dict[str, Any]]] = {}
    states = {name: State() for name in boxes}
    starts = [*range(0, len(rows), cut), len(rows)]
    for start in starts:
        moment = Moment(0, start - 1, end=start == starts[-1])
        flowing: dict[Source, Train] = {}
        for side in (0, 1):
            numbers = [i for i in range(start, min(start + cut, len(rows))) if rows[i][0] == side]
            keys = np.array(numbers, np.int64)
            flowing[f"in{side}", ""] = Train(batch([rows[i][1] for i in numbers], SCHEMA), keys, keys[None])
        for name, (box, read) in boxes.items():
            found = box.call(tuple(flowing[source] for source in read), Turn(states[name], moment))
            for port, train in found.items():
                flowing[name, port] = train
                streams.setdefault((name, port), []).extend(plain(train.rows))
    return streams


@settings(max_examples=3 * settings().max_examples)
@given(
    networks(anywhere=False),
    arrivals(nearly_rising(st.integers(-3, 3)), inputs=2, g=groups, v=st.integers(0, 6)),
)
def test_networks(both: Any, rows: list[tuple[int, dict[str, Any]]]) -> None:
    kernels, naive = both
    rows = [(side, {"g": row["g"], "T": row["T"], "v": row["v"]}) for side, row in rows]
    wanted = Network(naive).run((f"in{side}", row) for side, row in rows)
    for cut in CUTS:
        found = run(kernels, rows, cut)
        for source, stream in found.items():
            want = [{name: row[name] for name in SCHEMA} for row in wanted.get(source, [])]
            assert stream == want, f"{source}, cut {cut}, {kernels}"


@settings(max_examples=3 * settings().max_examples)
@given(
    networks(anywhere=True),
    arrivals(nearly_rising(st.integers(-3, 3)), inputs=2, g=groups, v=st.integers(0, 6)),
)
def test_cuts_do_not_matter(both: Any, rows: list[tuple[int, dict[str, Any]]]) -> None:
    kernels, _ = both
    rows = [(side, {"g": row["g"], "T": row["T"], "v": row["v"]}) for side, row in rows]
    whole = run(kernels, rows, len(rows) + 1)
    for cut in (1, 3, 7):
        assert run(kernels, rows, cut) == whole, f"cut {cut}, {kernels}"


def test_a_stream_joined_with_itself() -> None:
    order = Order("T", slack=1)
    join = Join.of("left.g = right.g", 1, order, order, SCHEMA, SCHEMA)
    boxes = {"twice": (join, [("in0", ""), ("in0", "")])}
    naive = squal.Join(lambda a, b: a["g"] == b["g"], 1, squal.Order("T", 1), squal.Order("T", 1))
    rows = [(0, {"g": i % 2, "T": i // 2, "v": i}) for i in range(12)]
    wanted = Network({"twice": (naive, boxes["twice"][1])}).run((f"in{side}", row) for side, row in rows)
    for cut in CUTS:
        assert run(boxes, rows, cut) == wanted
