"""Boxes with drawn arguments, added to a network together with their naive versions."""

from typing import Any

from hypothesis import strategies as st

from aurora import Network
from tests.algebra.drawn_functions import ALL, APART, SO_FAR
from tests.algebra.kernels import USERS
from tests.algebra.naive_boxes import (
    SAME,
    SET,
    AsOfSum,
    ExplodedSum,
    Fits,
    GatherValue,
    KeptTuples,
    PulledSum,
    largest_and_value,
    last_and_value,
    nothing_missing,
    running_value,
    value,
)
from tests.spec import clocks, joins, squal
from tests.spec.network import Clocks
from tests.spec.running import Running as NaiveRunning
from tests.spec.top import Top as NaiveTop
from tests.spec.windows import Aggregate as NaiveAggregate

__all__ = ["Source", "add", "add_clocked"]

Source = tuple[str, str]


# With a key, with more, and without one.
PREDICATES: list[tuple[str, Fits]] = [
    ("left.g = right.g", nothing_missing),
    (
        "left.g = right.g AND right.v >= left.v",
        lambda one, other: nothing_missing(one, other) and other["v"] >= one["v"],
    ),
    ("right.v >= left.v", lambda one, other: other["v"] >= one["v"]),
]


def add_clocked(draw: Any, network: Network, kind: str, name: str, read: list[Source]) -> tuple[Any, Clocks]:
    """Adds a box that goes by a clock: that of its stream, or of any other that is there."""
    streams = [network.stream(f"{box}.{port}" if port else box) for box, port in read]
    stream, other = streams[0], streams[-1]
    span, size, advance = draw(st.integers(0, 2)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    text = draw(st.sampled_from([*ALL]))
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
        case "clocked" | "clocked groups" | "clocked parts":
            align, by = kind == "clocked parts" or draw(st.booleans()), kind == "clocked groups"
            functions = {"v": text} if by else {"g": "last(g)", "v": text}
            computed = value(ALL[text]) if by else last_and_value(ALL[text])
            if kind == "clocked parts":
                # What is summed up in every bucket, and put together.
                text = draw(st.sampled_from([*APART]))
                functions, computed = {"g": "max(g)", "v": text}, largest_and_value(ALL[text])
            options = {"size": size, "advance": advance, "align": align, "name": f"{name}x"}
            found = stream.aggregate(functions, order=order if by else orders[0], **options)
            found.map(SAME, name=name)
            plain_order = squal.Order("T", group_by=("g",) if by else ())
            naive = clocks.Windows(computed, plain_order, size, advance, align)

            def earliest(bounds: list[Any]) -> Any:
                start = bounds[0] - size + 1
                return -(-start // advance) * advance if align else start

            return naive, Clocks(sources, earliest)
        case "clocked top" | "clocked tops":
            by, plain_order = (
                (order, squal.Order("T", group_by=("g",)))
                if kind == "clocked tops"
                else (orders[0], squal.Order("T"))
            )
            k, ties, align = draw(st.integers(1, 2)), draw(st.booleans()), draw(st.booleans())
            options = {"order": by, "size": size, "advance": advance, "align": align, "name": f"{name}x"}
            stream.top({"k": k, "by": "v DESC", "ties": ties}, **options).map(SAME, name=name)
            best = [(lambda row: row["v"], True)]
            return clocks.Top(k, best, plain_order, size, advance, align, ties), Clocks(sources)
        case "clocked running":
            text = draw(st.sampled_from([*SO_FAR]))
            stream.aggregate({"v": text}, order=order, size="all", name=name)
            naive = clocks.Running(value(SO_FAR[text]), squal.Order("T", group_by=("g",)))
            return naive, Clocks(sources, lambda bounds: bounds[0])
        case "sessions":
            functions = {"g": "last(g)", "v": text}
            stream.aggregate(functions, order=orders[0], gap=size, name=f"{name}x").map(SAME, name=name)
            return clocks.Sessions(last_and_value(ALL[text]), squal.Order("T"), size), Clocks(sources)
        case "session groups":
            stream.aggregate({"v": text}, order=order, gap=size, name=name)
            naive = clocks.Sessions(value(ALL[text]), squal.Order("T", group_by=("g",)), size)
            return naive, Clocks(sources)
        case "clocked bsort":
            stream.bsort(draw(st.sampled_from([orders[0], order])), name=name)
            return clocks.BSort(squal.Order("T")), Clocks(sources, lambda bounds: bounds[0])
        case "gather":
            reach = draw(st.integers(0, 3))
            between = ["left.T", f"left.T + {reach}" if reach else "left.T"]
            outer = draw(st.booleans())
            word = {"outer": "left"} if outer else {}
            match, fits = draw(st.sampled_from(PREDICATES))
            found = stream.resample(other, {"s": text}, match=match, between=between, **two, **word)
            found.map({**SAME, "v": "coalesce(s, 0)"}, name=name)
            # With `outer` also tuples come out whose upper bound lies before the lower one: nothing is known of it.
            known = None if reach or outer else min
            return GatherValue(ALL[text], fits, reach, outer), Clocks(sources, known)
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
    text = draw(st.sampled_from([*ALL]))
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
            stream.aggregate({"v": text}, order=order, size=size, advance=advance, name=name)
            return NaiveAggregate(value(ALL[text]), plain_order, size, advance)
        case "aggregate":
            functions = {"g": "last(g)", "v": text}
            found = stream.aggregate(functions, order=loose, size=size, advance=advance, name=f"{name}x")
            found.map(SAME, name=name)
            return NaiveAggregate(last_and_value(ALL[text]), plain_loose, size, advance)
        case "running":
            text = draw(st.sampled_from([*SO_FAR]))
            stream.aggregate({"v": text}, order=order, size="all", name=name)
            return NaiveRunning(value(SO_FAR[text]), plain_order)
        case "last":
            functions = {"T": "T", "v": f"{text} + v - first(v)"}
            counted = {"on": "#", "group_by": ["g"]}
            found = stream.aggregate(functions, order=counted, size=size, partial=True, name=f"{name}x")
            found.map(SAME, name=name)
            return NaiveRunning(running_value(ALL[text]), squal.Order("#", group_by=("g",)), size)
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
            text, fits = draw(st.sampled_from(PREDICATES))
            broadcast = draw(st.booleans())
            latest = stream.join(other, text, asof=True, broadcast=broadcast, name=f"{name}x", **word)
            latest.map(SAME if "anti" in word else {**SAME, "v": "v + coalesce(v_right, 0)"}, name=name)
            equal = (("g", "g"),) if "left.g" in text else ()
            sides = joins.Sides(([*SAME], [*SAME]), equal, (0,) if word else (), "anti" in word)
            return AsOfSum(fits, sides)
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
            stream.resample(other, {"v": text}, size=size, left_order=loose, right_order=order, name=name)
            return squal.Resample(value(ALL[text]), size, plain_loose, plain_order)
    USERS[kind].add(network, name, streams)
    return squal.Stateful(USERS[kind].step)
