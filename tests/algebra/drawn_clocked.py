"""Boxes that go by a clock, with drawn arguments, added to a network together with their naive versions."""

from typing import Any

from hypothesis import strategies as st

from aurora import Network
from tests.algebra.drawn_boxes import PREDICATES, UNMATCHED, Source
from tests.algebra.drawn_functions import ALL, APART, SO_FAR
from tests.algebra.naive_boxes import (
    EITHER,
    RANKED,
    SAME,
    GatherValue,
    KeptTuples,
    Mapped,
    either,
    last_and_value,
    nothing_missing,
    number_and_value,
    ranked,
    value,
    with_partner,
)
from tests.spec import clocks, joins, squal
from tests.spec.network import Clocks

__all__ = ["add_clocked"]


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
                functions, computed = (
                    {"g": "CAST(count(DISTINCT g) AS double)", "v": text},
                    number_and_value(ALL[text]),
                )
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
            top = {"k": k, "by": "v DESC", "ties": ties, "rank": "place"}
            stream.top(top, **options).map(RANKED, name=name)
            best = [(lambda row: row["v"], True)]
            tops = clocks.Top(k, best, plain_order, size, advance, align, ties, "place")
            return Mapped(tops, ranked), Clocks(sources)
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
        case "clocked asof":
            word = draw(st.sampled_from([{}, {"outer": "left"}, {"anti": "left"}]))
            predicate, fits = draw(st.sampled_from(PREDICATES))
            asof = {"left": "T", "right": "T"}
            latest = stream.join(other, predicate, asof=asof, broadcast=draw(st.booleans()), **two, **word)
            latest.map(SAME if "anti" in word else {**SAME, "v": "v + coalesce(v_right, 0)"}, name=name)
            equal = (("g", "g"),) if "left.g" in predicate else ()
            sides = joins.Sides(([*SAME], [*SAME]), equal, (0,) if word else (), "anti" in word)
            return Mapped(clocks.AsOf(fits, sides), with_partner), Clocks(sources, min)
        case "kept":
            for_good = draw(st.booleans())
            keep = {"left": f"T + {size}", "right": "all" if for_good else f"T + {size}"}
            stream.join(other, "left.g = right.g", keep=keep, **two).map(SAME, name=name)
            return KeptTuples(size, for_good), Clocks(sources)
        case "clocked resample" | "clocked resamples":
            if kind == "clocked resamples":
                two["right_order"] = {**orders[1], "group_by": ["g"]}
                functions, computed, by = {"v": text}, value(ALL[text]), ("g",)
            else:
                functions, computed, by = {"g": "last(g)", "v": text}, last_and_value(ALL[text]), ()
            stream.resample(other, functions, size=size, **two).map(SAME, name=name)
            naive = clocks.Resample(computed, size, squal.Order("T", group_by=by))
            return naive, Clocks(sources, lambda bounds: min(bounds[0], bounds[1] - size))
        case "clocked wait":
            stream.wait("T", until=other, order=orders[1], name=name)
            return clocks.Wait(), Clocks(sources[1:])
    word, sides = draw(st.sampled_from([({}, ()), *UNMATCHED]))
    found = stream.join(other, "left.g = right.g", size=size, **two, **word)
    naive = clocks.Join(nothing_missing, size, sides, "anti" in word)
    if 1 in sides and "anti" not in word:
        found.map(EITHER, name=name)
        return Mapped(naive, either), Clocks(sources)
    found.map(SAME, name=name)
    # Of a side that comes out alone, its own T is known as that of its pairs is.
    near, far = (1, 0) if word == {"anti": "right"} else (0, 1)
    return naive, Clocks(sources, lambda bounds: min(bounds[near], bounds[far] - size))
