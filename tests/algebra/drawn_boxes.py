"""Boxes with drawn arguments, added to a network together with their naive versions."""

from typing import Any

from hypothesis import strategies as st

from aurora import Network
from tests.algebra.drawn_functions import ALL, SO_FAR
from tests.algebra.kernels import USERS
from tests.algebra.naive_boxes import (
    EITHER,
    RANKED,
    SAME,
    SET,
    AsOfSum,
    ExplodedSum,
    Fits,
    Mapped,
    PulledSum,
    either,
    last_and_value,
    nothing_missing,
    ranked,
    running_value,
    value,
)
from tests.spec import clocks, joins, squal
from tests.spec.running import Running as NaiveRunning
from tests.spec.top import Top as NaiveTop
from tests.spec.windows import Aggregate as NaiveAggregate

__all__ = ["PREDICATES", "UNMATCHED", "Source", "add"]

Source = tuple[str, str]


# How a join is told which sides give tuples without a partner.
UNMATCHED: list[tuple[dict[str, str], tuple[int, ...]]] = [
    ({"outer": "left"}, (0,)),
    ({"outer": "right"}, (1,)),
    ({"outer": "both"}, (0, 1)),
    ({"anti": "left"}, (0,)),
    ({"anti": "right"}, (1,)),
]
# With a key, with more, and without one.
PREDICATES: list[tuple[str, Fits]] = [
    ("left.g = right.g", nothing_missing),
    (
        "left.g = right.g AND right.v >= left.v",
        lambda one, other: nothing_missing(one, other) and other["v"] >= one["v"],
    ),
    ("right.v >= left.v", lambda one, other: other["v"] >= one["v"]),
]


def add(draw: Any, network: Network, kind: str, name: str, read: list[Source]) -> Any:
    """Adds a box to the network, and gives its naive version."""
    streams = [network.stream(f"{box}.{port}" if port else box) for box, port in read]
    stream, other = streams[0], streams[-1]
    slack, size, advance = draw(st.integers(0, 2)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    text = draw(st.sampled_from([*ALL]))
    # As a number of tuples, or as a distance.
    spanned, align = draw(st.booleans()), draw(st.booleans())
    loose = {"on": "T", "slack": {"value": slack} if spanned else slack}
    order = {**loose, "group_by": ["g"]}
    plain_order, plain_loose = (
        squal.Order("T", 0 if spanned else slack, slack if spanned else None, by) for by in (("g",), ())
    )
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
            stream.aggregate({"v": text}, order=order, size=size, advance=advance, align=align, name=name)
            return NaiveAggregate(value(ALL[text]), plain_order, size, advance, align=align)
        case "aggregate":
            functions = {"g": "last(g)", "v": text}
            options = {"order": loose, "size": size, "advance": advance, "align": align}
            stream.aggregate(functions, name=f"{name}x", **options).map(SAME, name=name)
            return NaiveAggregate(last_and_value(ALL[text]), plain_loose, size, advance, align=align)
        case "own sessions":
            functions = {"g": "last(g)", "v": text}
            stream.aggregate(functions, order=loose, gap=size, name=f"{name}x").map(SAME, name=name)
            return clocks.OwnSessions(last_and_value(ALL[text]), plain_loose, size)
        case "own session groups":
            stream.aggregate({"v": text}, order=order, gap=size, name=name)
            return clocks.OwnSessions(value(ALL[text]), plain_order, size)
        case "running":
            text = draw(st.sampled_from([*SO_FAR]))
            stream.aggregate({"v": text}, order=order, size="all", name=name)
            return NaiveRunning(value(SO_FAR[text]), plain_order)
        case "numbered":
            text = draw(st.sampled_from([*SO_FAR]))
            functions = {"T": "T", "v": f"{text} + v - first(v)"}
            counted = {"on": "#", "group_by": ["g"]}
            found = stream.aggregate(functions, order=counted, size="all", name=f"{name}x")
            found.map(SAME, name=name)
            return NaiveRunning(running_value(SO_FAR[text]), squal.Order("#", group_by=("g",)))
        case "last":
            functions = {"T": "T", "v": f"{text} + v - first(v)"}
            counted = {"on": "#", "group_by": ["g"]}
            found = stream.aggregate(functions, order=counted, size=size, partial=True, name=f"{name}x")
            found.map(SAME, name=name)
            return NaiveRunning(running_value(ALL[text]), squal.Order("#", group_by=("g",)), size)
        case "top" | "tops":
            by, naive_order = (order, plain_order) if kind == "tops" else (loose, plain_loose)
            k, ties = draw(st.integers(1, 2)), draw(st.booleans())
            options = {"order": by, "size": size, "advance": advance, "align": align, "name": f"{name}x"}
            top = {"k": k, "by": "v DESC", "ties": ties, "rank": "place"}
            stream.top(top, **options).map(RANKED, name=name)
            best = [(lambda row: row["v"], True)]
            return Mapped(NaiveTop(k, best, naive_order, size, advance, ties, "place", align=align), ranked)
        case "join":
            options = {"size": size, "left_order": loose, "right_order": loose}
            stream.join(other, "left.g = right.g", name=f"{name}x", **options).map(SAME, name=name)
            return squal.Join(nothing_missing, size, plain_loose, plain_loose)
        case "outer":
            word, sides = draw(st.sampled_from(UNMATCHED))
            by = draw(st.sampled_from([loose, order]))
            options = {"size": size, "left_order": by, "right_order": loose, **word}
            alone = "anti" in word
            found = stream.join(other, "left.g = right.g", name=f"{name}x", **options)
            found.map(SAME if alone else EITHER, name=name)
            both = joins.Sides(([*SAME], [*SAME]), (("g", "g"),), sides, alone)
            left = plain_loose if by is loose else plain_order
            joined = joins.OuterJoin(nothing_missing, size, left, plain_loose, both)
            return joined if alone else Mapped(joined, either)
        case "asof":
            word = draw(st.sampled_from([{}, {"outer": "left"}, {"anti": "left"}]))
            text, fits = draw(st.sampled_from(PREDICATES))
            broadcast = draw(st.booleans())
            latest = stream.join(other, text, asof=True, broadcast=broadcast, name=f"{name}x", **word)
            latest.map(SAME if "anti" in word else {**SAME, "v": "v + coalesce(v_right, 0)"}, name=name)
            equal = (("g", "g"),) if "left.g" in text else ()
            sides = joins.Sides(([*SAME], [*SAME]), equal, (0,) if word else (), "anti" in word)
            return AsOfSum(fits, sides)
        case "pull":
            word = draw(st.sampled_from([{}, {"outer": "left"}, {"anti": "left"}]))
            held = network.table(f"{name}set", "g double, w int")
            pulled = stream.join(held, "left.g = right.g", name=f"{name}x", **word)
            pulled.map(SAME if "anti" in word else {**SAME, "v": "v + coalesce(w, 0)"}, name=name)
            sides = joins.Sides(([*SAME], ["g", "w"]), (), (0,) if word else (), "anti" in word)
            return PulledSum(nothing_missing, SET, 0, sides)
        case "wait":
            stream.wait("T", until=other, order=order, name=name)
            return squal.Wait("T", plain_order)
        case "resample":
            stream.resample(other, {"v": text}, size=size, left_order=loose, right_order=order, name=name)
            return squal.Resample(value(ALL[text]), size, plain_loose, plain_order)
    USERS[kind].add(network, name, streams)
    return squal.Stateful(USERS[kind].step)
