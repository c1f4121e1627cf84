"""Random networks against the naive runner, for cuts, buckets, and boxes that share stages or do not."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aurora import Network
from tests.algebra.harness import CUTS, Arrival, choose_cuts, plain
from tests.algebra.kernels import FIELDS, USERS
from tests.algebra.running import HeldRows, run_network
from tests.algebra.strategies import arrivals, groups, nearly_rising
from tests.spec import clocks, joins, squal
from tests.spec.network import Clocks
from tests.spec.network import Network as NaiveNetwork
from tests.spec.running import Running as NaiveRunning
from tests.spec.top import Top as NaiveTop
from tests.spec.windows import Aggregate as NaiveAggregate
from tests.thoroughness import examples

# Every box gives these fields again, so that any box can stand behind any other.
SAME = {"g": "g", "T": "T", "v": "v"}
Source = tuple[str, str]
Naive = dict[str, tuple[Any, list[Source]]]
Row = dict[str, Any]


def last_and_total(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {"g": rows[-1]["g"], **total(rows)}


def total(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {"v": sum(row["v"] for row in rows)}


def running_total(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {"T": rows[-1]["T"], "v": sum(row["v"] for row in rows) + rows[-1]["v"] - rows[0]["v"]}


def nothing_missing(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one["g"] is not None and one["g"] == other["g"]


class AsOfSum(joins.AsOf):
    """The left tuple, with what the right one adds to it."""

    def push(self, port: int, row: dict[str, Any], ts: int) -> list[squal.Out]:
        narrow = {name: row[name] for name in SAME}
        return [
            (out, ts, {**found, "v": found["v"] + (found.get("v_right") or 0)})
            for out, ts, found in super().push(port, narrow, ts)
        ]


# The rows of a stored set: two of one group, one of none.
SET: list[Row] = [{"g": g, "w": w} for w, g in enumerate((2, 0, None, 2, 3), 1)]
HELD = HeldRows(pa.RecordBatch.from_pylist(SET, pa.schema({"g": pa.int32(), "w": pa.int32()})), ("g",))


class PulledSum(joins.Lookup):
    """The tuple, with what a row of the set adds to it."""

    def push(self, port: int, row: Row, ts: int) -> list[squal.Out]:
        narrow = {name: row[name] for name in SAME}
        return [
            (out, ts, {**narrow, "v": found["v"] + (found.get("w") or 0)})
            for out, ts, found in super().push(port, narrow, ts)
        ]


def elements(row: Row) -> list[int] | None:
    if row["v"] > 4:
        return None
    return [row["v"]] if row["g"] == 1 else [row["v"] + 1, row["v"], 6]


class ExplodedSum(squal.Explode):
    """Each element with its place added to it."""

    def __init__(self, outer: bool) -> None:
        super().__init__(elements, "v", "at", outer)

    def push(self, port: int, row: Row, ts: int) -> list[squal.Out]:
        return [
            (out, ts, {**found, "v": (found["v"] or 0) + (found["at"] or 0)})
            for out, ts, found in super().push(port, row, ts)
        ]


class GatherTotal(clocks.Gather):
    """Bounds at T and so much behind it; the left tuple gets the sum of the right ones."""

    def __init__(self, reach: int) -> None:
        super().__init__(total, nothing_missing)
        self.reach_of_one = reach

    def push(self, port: int, row: Row, ts: int) -> list[squal.Out]:
        return super().push(port, {**row, "U": row["T"] + self.reach_of_one}, ts)


class KeptTuples(clocks.KeptJoin):
    """The left tuple of each pair; the left is kept for so long, the right as long or for good."""

    def __init__(self, reach: int, for_good: bool) -> None:
        super().__init__(nothing_missing, for_good)
        self.reach_of_one = reach

    def push(self, port: int, row: Row, ts: int) -> list[squal.Out]:
        return super().push(port, {**row, "U": row["T"] + self.reach_of_one}, ts)


def add_clocked(draw: Any, network: Network, kind: str, name: str, read: list[Source]) -> tuple[Any, Clocks]:
    """Adds a box that goes by a clock: that of its stream, or of any other that is there."""
    streams = [network.stream(f"{box}.{port}" if port else box) for box, port in read]
    stream, other = streams[0], streams[-1]
    span, size, advance = draw(st.integers(0, 2)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    named = [(source, "") for source, entry in network.inputs.items() if not entry.static] + [
        (box, "1") for box in network.boxes if "x" not in box[3:]
    ]
    named = [source for source in named if "T" in network.stream(source[0]).schema]
    sources, orders = [], []
    for own in read:
        clock = draw(st.one_of(st.none(), st.sampled_from(named)))
        sources.append((own if clock is None else clock, span))
        orders.append({"on": "T", "slack": {"value": span}, "clock": "stream" if clock is None else clock[0]})
    order = {**orders[0], "group_by": ["g"]}
    two = {"left_order": orders[0], "right_order": orders[-1], "name": f"{name}x"}
    match kind:
        case "clocked" | "clocked groups":
            align, by = draw(st.booleans()), kind == "clocked groups"
            functions = {"v": "sum(v)"} if by else {"g": "last(g)", "v": "sum(v)"}
            options = {"size": size, "advance": advance, "align": align, "name": f"{name}x"}
            found = stream.aggregate(functions, order=order if by else orders[0], **options)
            found.map(SAME, name=name)
            plain_order = squal.Order("T", group_by=("g",) if by else ())
            naive = clocks.Windows(total if by else last_and_total, plain_order, size, advance, align)

            def earliest(bounds: list[Any]) -> Any:
                start = bounds[0] - size + 1
                return -(-start // advance) * advance if align else start

            return naive, Clocks(sources, earliest)
        case "sessions":
            functions = {"g": "last(g)", "v": "sum(v)"}
            stream.aggregate(functions, order=orders[0], gap=size, name=f"{name}x").map(SAME, name=name)
            return clocks.Sessions(last_and_total, squal.Order("T"), size), Clocks(sources)
        case "session groups":
            stream.aggregate({"v": "sum(v)"}, order=order, gap=size, name=name)
            return clocks.Sessions(total, squal.Order("T", group_by=("g",)), size), Clocks(sources)
        case "clocked bsort":
            stream.bsort(draw(st.sampled_from([orders[0], order])), name=name)
            return clocks.BSort(squal.Order("T")), Clocks(sources, lambda bounds: bounds[0])
        case "gather":
            reach = draw(st.integers(0, 3))
            between = ["left.T", f"left.T + {reach}" if reach else "left.T"]
            found = stream.resample(other, {"s": "sum(v)"}, match="left.g = right.g", between=between, **two)
            found.map({**SAME, "v": "s"}, name=name)
            return GatherTotal(reach), Clocks(sources, None if reach else min)
        case "kept":
            for_good = draw(st.booleans())
            keep = {"left": f"T + {size}", "right": "all" if for_good else f"T + {size}"}
            stream.join(other, "left.g = right.g", keep=keep, **two).map(SAME, name=name)
            return KeptTuples(size, for_good), Clocks(sources)
    word = draw(st.sampled_from([{}, {"outer": "left"}]))
    stream.join(other, "left.g = right.g", size=size, **two, **word).map(SAME, name=name)
    naive = clocks.Join(nothing_missing, size, (0,) if word else ())
    return naive, Clocks(sources, lambda bounds: min(bounds[0], bounds[1] - size))


def add(draw: Any, network: Network, kind: str, name: str, read: list[Source]) -> Any:
    """Adds a box to the network, and gives its naive version."""
    streams = [network.stream(f"{box}.{port}" if port else box) for box, port in read]
    stream, other = streams[0], streams[-1]
    slack, size, advance = draw(st.integers(0, 2)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    order = {"on": "T", "slack": slack, "group_by": ["g"]}
    loose = {"on": "T", "slack": slack}
    plain_order, plain_loose = squal.Order("T", slack, group_by=("g",)), squal.Order("T", slack)
    match kind:
        case "filter":
            stream.filter("v > 3", name=name)
            return squal.Filter(lambda row: row["v"] > 3)
        case "map":
            stream.map({"g": "g", "T": "T + 1", "v": "v * 2"}, name=name)
            return squal.Map(g=lambda r: r["g"], T=lambda r: r["T"] + 1, v=lambda r: r["v"] * 2)
        case "explode":
            outer = draw(st.booleans())
            array = "if(v > 4, CAST(NULL AS array<bigint>), if(g = 1, map_values(map('v', v)), array(v + 1, v, 6L)))"
            entries = "if(v > 4, NULL, if(g = 1, map('a', v), map('b', v + 1, 'a', v, 'c', 6L)))"
            what, as_ = draw(st.sampled_from([(array, "v"), (entries, ["key", "v"])]))
            made = stream.explode(what, as_, at="at", outer=outer, name=f"{name}x")
            made.map({**SAME, "v": "coalesce(v, 0) + coalesce(at, 0)"}, name=name)
            return ExplodedSum(outer)
        case "union":
            stream.union(other, name=name)
            return squal.Union()
        case "bsort":
            stream.bsort(loose, name=name)
            return squal.BSort(plain_loose)
        case "groups":
            stream.aggregate({"v": "sum(v)"}, order=order, size=size, advance=advance, name=name)
            return NaiveAggregate(total, plain_order, size, advance)
        case "aggregate":
            functions = {"g": "last(g)", "v": "sum(v)"}
            found = stream.aggregate(functions, order=loose, size=size, advance=advance, name=f"{name}x")
            found.map(SAME, name=name)
            return NaiveAggregate(last_and_total, plain_loose, size, advance)
        case "running":
            stream.aggregate({"v": "sum(v)"}, order=order, size="all", name=name)
            return NaiveRunning(total, plain_order)
        case "last":
            functions = {"T": "T", "v": "sum(v) + v - first(v)"}
            counted = {"on": "#", "group_by": ["g"]}
            found = stream.aggregate(functions, order=counted, size=size, partial=True, name=f"{name}x")
            found.map(SAME, name=name)
            return NaiveRunning(running_total, squal.Order("#", group_by=("g",)), size)
        case "top" | "tops":
            by, naive_order = (order, plain_order) if kind == "tops" else (loose, plain_loose)
            k, ties = draw(st.integers(1, 2)), draw(st.booleans())
            options = {"order": by, "size": size, "advance": advance, "name": f"{name}x"}
            stream.top({"k": k, "by": "v DESC", "ties": ties}, **options).map(SAME, name=name)
            return NaiveTop(k, [(lambda row: row["v"], True)], naive_order, size, advance, ties)
        case "join":
            options = {"size": size, "left_order": loose, "right_order": loose}
            stream.join(other, "left.g = right.g", name=f"{name}x", **options).map(SAME, name=name)
            return squal.Join(nothing_missing, size, plain_loose, plain_loose)
        case "outer":
            words = {"outer": "left"}, {"anti": "left"}, {"anti": "right"}
            word = draw(st.sampled_from(words))
            options = {
                "size": size,
                "left_order": draw(st.sampled_from([loose, order])),
                "right_order": loose,
            }
            stream.join(other, "left.g = right.g", name=f"{name}x", **options, **word).map(SAME, name=name)
            side, alone = int(word.get("anti") == "right"), "anti" in word
            sides = joins.Sides(([*SAME], [*SAME]), (("g", "g"),), (side,), alone)
            left = plain_loose if options["left_order"] is loose else plain_order
            return joins.OuterJoin(nothing_missing, size, left, plain_loose, sides)
        case "asof":
            word = draw(st.sampled_from([{}, {"outer": "left"}, {"anti": "left"}]))
            latest = stream.join(other, "left.g = right.g", asof=True, name=f"{name}x", **word)
            latest.map(SAME if "anti" in word else {**SAME, "v": "v + coalesce(v_right, 0)"}, name=name)
            sides = joins.Sides(([*SAME], [*SAME]), (("g", "g"),), (0,) if word else (), "anti" in word)
            return AsOfSum(nothing_missing, sides)
        case "pull":
            word = draw(st.sampled_from([{}, {"outer": "left"}, {"anti": "left"}]))
            held = network.table(f"{name}set", "g int, w int")
            pulled = stream.join(held, "left.g = right.g", name=f"{name}x", **word)
            pulled.map(SAME if "anti" in word else {**SAME, "v": "v + coalesce(w, 0)"}, name=name)
            sides = joins.Sides(([*SAME], ["g", "w"]), (), (0,) if word else (), "anti" in word)
            return PulledSum(nothing_missing, SET, 0, sides)
        case "wait":
            stream.wait("T", until=other, order=order, name=name)
            return squal.Wait("T", plain_order)
        case "resample":
            functions = {"v": "sum(v)"}
            stream.resample(other, functions, size=size, left_order=loose, right_order=order, name=name)
            return squal.Resample(total, size, plain_loose, plain_order)
    USERS[kind].add(network, name, streams)
    return squal.Stateful(USERS[kind].step)


INPUTS = {
    "clocked join": 2,
    "gather": 2,
    "kept": 2,
    "union": 2,
    "join": 2,
    "outer": 2,
    "asof": 2,
    "wait": 2,
    "resample": 2,
    **{kind: user.inputs for kind, user in USERS.items()},
}
ONE_AT_A_TIME = [
    *(
        "filter",
        "map",
        "explode",
        "union",
        "bsort",
        "aggregate",
        "running",
        "last",
        "top",
        "wait",
        "join",
        "outer",
        "asof",
        "pull",
    ),
    *USERS,
]
ONE_CLOCKED = ["clocked", "sessions", "clocked bsort", "kept"]
CLOCKED = [*ONE_CLOCKED, "clocked groups", "session groups", "gather", "clocked join"]
# The inputs whose T boxes pass on: what is known of it they pass on too.
PASSES = {"filter": (0,), "explode": (0,), "union": (0, 1), "last": (0,), "asof": (0,), "pull": (0,)}
# One cause can bring forth a row for each group. Such rows come by their fields, and what they cause in turn is
# ordered by fields again, not as the naive network, that takes them one by one, would have it: they end a network.
SEVERAL_AT_ONCE = ["groups", "tops", "resample"]
KINDS = [*ONE_AT_A_TIME, *SEVERAL_AT_ONCE, *CLOCKED]
FEW = settings(max_examples=examples(3, settings().max_examples // 6))


@st.composite
def networks(draw: Any, first: str, anywhere: bool) -> tuple[Network, Naive, dict[str, Clocks]]:
    """The first box is given: left to chance, some kinds would hardly come. Every port of every box is an output."""
    network, naive, by_clock = Network("drawn"), Naive(), dict[str, Clocks]()
    network.input("in0", FIELDS)
    network.input("in1", FIELDS)
    sources: list[Source] = [("in0", ""), ("in1", "")]
    for number in range(draw(st.integers(1, 5))):
        kind = draw(st.sampled_from(KINDS)) if number else first
        name = f"box{number}"
        # The latest streams are drawn most often: networks become deep.
        latest = [*sources, *sources[-2:], *sources[-1:]]
        read = [draw(st.sampled_from(latest)) for _ in range(INPUTS.get(kind, 1))]
        if kind in CLOCKED:
            box, by_clock[name] = add_clocked(draw, network, kind, name, read)
        else:
            box, by_clock[name] = add(draw, network, kind, name, read), Clocks(passes=PASSES.get(kind, ()))
        naive[name] = box, read
        ports = network.boxes[name].operator.outputs
        for port in ports:
            network.output(f"{name}.{port}", network.stream(f"{name}.{port}"))
        if anywhere or kind in ONE_AT_A_TIME or kind in ONE_CLOCKED:
            sources += [(name, port) for port in ports]
    return network, naive, by_clock


ROWS = arrivals(nearly_rising(st.integers(-3, 3), least=4), inputs=2, g=groups, v=st.integers(0, 6))


def found_by(
    network: Network, rows: list[Arrival], cut: int, buckets: int = 1, fuse: bool = True
) -> dict[Source, list[dict[str, Any]]]:
    sets = {name: HELD for name, entry in network.inputs.items() if entry.static}
    run = run_network(network, rows, cut, buckets, fuse, tables=sets)
    return {
        (output.port.box, output.port.port): [row for train in run.outputs[name] for row in plain(train.rows)]
        for name, output in network.outputs.items()
    }


@pytest.mark.parametrize("first", KINDS)
@FEW
@given(st.data(), ROWS, st.integers(1, 4), st.booleans())
def test_networks(first: str, data: st.DataObject, rows: list[Arrival], buckets: int, fuse: bool) -> None:
    network, naive, by_clock = data.draw(networks(first, anywhere=False))
    wanted = NaiveNetwork(naive, by_clock, [*SAME]).run(
        (f"in{side}", {name: row[name] for name in SAME}) for side, row in rows
    )
    for cut in choose_cuts(rows):
        for source, stream in found_by(network, rows, cut, buckets, fuse).items():
            want = [{name: row[name] for name in SAME} for row in wanted.get(source, [])]
            assert stream == want, f"{source}, cut {cut}, {list(network.boxes.values())}"


@pytest.mark.parametrize("first", KINDS)
@FEW
@given(st.data(), ROWS, st.integers(2, 5), st.booleans())
def test_cuts_buckets_and_fusing_do_not_matter(
    first: str, data: st.DataObject, rows: list[Arrival], buckets: int, fuse: bool
) -> None:
    network, _, _ = data.draw(networks(first, anywhere=True))
    whole = found_by(network, rows, len(rows) + 1)
    for cut in choose_cuts(rows)[:-1]:
        found = found_by(network, rows, cut, buckets, fuse)
        assert found == whole, f"cut {cut}, {list(network.boxes.values())}"


def test_a_stream_joined_with_itself() -> None:
    network = Network("itself")
    stream = network.input("in0", FIELDS)
    order = {"on": "T", "slack": 1}
    join = stream.join(stream, "left.g = right.g", size=1, left_order=order, right_order=order, name="twice")
    network.output("twice", join)
    naive = squal.Join(lambda a, b: a["g"] == b["g"], 1, squal.Order("T", 1), squal.Order("T", 1))
    rows = [(0, {"g": i % 2, "T": i // 2, "v": i}) for i in range(12)]
    wanted = NaiveNetwork({"twice": (naive, [("in0", ""), ("in0", "")])}).run(("in0", row) for _, row in rows)
    for cut in CUTS:
        assert found_by(network, rows, cut) == wanted
