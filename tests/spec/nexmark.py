"""The queries q0 to q8 as naively as can be: one event after the other, everything remembered."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

__all__ = ["ANSWERS", "late_events", "milliseconds"]

Event = dict[str, dict[str, Any]]
Row = dict[str, Any]

WINDOWS = {"draft": (3_600_000, 60_000, 600_000, 43_200_000), "standard": (10_000, 2_000, 10_000, 10_000)}
STATES = {"draft": {"OR"}, "standard": {"OR", "ID", "CA"}}
FOREVER = 10**18


def milliseconds(text: str) -> int:
    moment = datetime.strptime(text, "%Y-%m-%d %H:%M:%S.%f").replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)


def text_of(moment: int) -> str:
    return datetime.fromtimestamp(moment / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def time_of(event: Event) -> int:
    (body,) = event.values()
    return milliseconds(body["dateTime"])


def late_events(events: list[Event], lateness: int) -> list[bool]:
    """Which events are more than the lateness behind the largest time before them."""
    late, largest = [], -FOREVER
    for event in events:
        late.append(time_of(event) < largest - lateness)
        largest = max(largest, time_of(event))
    return late


def moments(events: list[Event], lateness: int) -> Iterator[tuple[str, dict[str, Any], int]]:
    """Each event that is on time, by kind, with the smallest time that may still come after it; then the end."""
    largest = -FOREVER
    for event, late in zip(events, late_events(events, lateness), strict=True):
        largest = max(largest, time_of(event))
        ((kind, body),) = event.items()
        # A late event is no event, but what it is late for has been told by the one before.
        yield ("", {}, largest - lateness) if late else (kind, body, largest - lateness)
    yield "", {}, FOREVER


def q0(events: list[Event], profile: str, lateness: int) -> list[Any]:
    return list(events)


def q1(events: list[Event], profile: str, lateness: int) -> list[Row]:
    bids = [event["bid"] for event in events if "bid" in event]
    return [
        {
            "auction": b["auction"],
            "bidder": b["bidder"],
            "price": 0.908 * b["price"],
            "dateTime": b["dateTime"],
        }
        for b in bids
    ]


def q2(events: list[Event], profile: str, lateness: int) -> list[Row]:
    items = {1007, 1020, 2001, 2019, 1087}
    return [
        {"auction": event["bid"]["auction"], "price": event["bid"]["price"]}
        for event in events
        if "bid" in event
        and (event["bid"]["auction"] in items if profile == "draft" else event["bid"]["auction"] % 123 == 0)
    ]


def q3(events: list[Event], profile: str, lateness: int) -> list[Row]:
    persons: list[dict[str, Any]] = []
    auctions: list[dict[str, Any]] = []
    found = []
    for kind, body, _ in moments(events, lateness):
        if kind == "person" and body["state"] in STATES[profile]:
            persons.append(body)
            pairs = [(body, auction) for auction in auctions]
        elif kind == "auction" and body["category"] == 10:
            auctions.append(body)
            pairs = [(person, body) for person in persons]
        else:
            continue
        for person, auction in pairs:
            closed = milliseconds(auction["expires"]) < milliseconds(person["dateTime"])
            if person["id"] == auction["seller"] and not closed:
                found.append(
                    {name: person[name] for name in ("name", "city", "state")} | {"id": auction["id"]}
                )
    return found


def closings(events: list[Event], lateness: int) -> list[dict[str, Any]]:
    """The auctions that are sold, with their prices, in the order of expiry and id."""
    on_time = [event for event, late in zip(events, late_events(events, lateness), strict=True) if not late]
    sold = []
    for auction in (event["auction"] for event in on_time if "auction" in event):
        prices = [
            event["bid"]["price"]
            for event in on_time
            if "bid" in event
            and event["bid"]["auction"] == auction["id"]
            and event["bid"]["price"] >= auction["reserve"]
            and auction["dateTime"] <= event["bid"]["dateTime"] <= auction["expires"]
        ]
        if prices:
            sold.append(auction | {"price": max(prices)})
    return sorted(sold, key=lambda auction: (auction["expires"], auction["id"]))


def q4(events: list[Event], profile: str, lateness: int) -> list[Row]:
    return averages(closings(events, lateness), "category", None)


def q6(events: list[Event], profile: str, lateness: int) -> list[Row]:
    return averages(closings(events, lateness), "seller", 10)


def averages(sold: list[dict[str, Any]], by: str, last: int | None) -> list[Row]:
    prices: dict[int, list[int]] = {}
    found = []
    for auction in sold:
        own = prices.setdefault(auction[by], [])
        own.append(auction["price"])
        counted = own if last is None else own[-last:]
        found.append(
            {
                by: auction[by],
                "avg": float(Fraction(sum(counted), len(counted))),
                "expires": auction["expires"],
            }
        )
    return found


def q5(events: list[Event], profile: str, lateness: int) -> list[Row]:
    size, advance, _, _ = WINDOWS[profile]
    windows: dict[int, dict[int, int]] = {}
    found = []
    for kind, body, bound in moments(events, lateness):
        if kind == "bid":
            time = milliseconds(body["dateTime"])
            start = time // advance * advance
            while start + size > time:
                counts = windows.setdefault(start, {})
                counts[body["auction"]] = counts.get(body["auction"], 0) + 1
                start -= advance
        for start in sorted(start for start in windows if start + size <= bound):
            counts = windows.pop(start)
            for auction in sorted(counts):
                if counts[auction] == max(counts.values()):
                    times = {"window_start": text_of(start), "window_end": text_of(start + size)}
                    found.append({"auction": auction, "num": counts[auction]} | times)
    return found


def q7(events: list[Event], profile: str, lateness: int) -> list[Row]:
    _, _, size, _ = WINDOWS[profile]
    windows: dict[int, list[dict[str, Any]]] = {}
    found = []
    for kind, body, bound in moments(events, lateness):
        if kind == "bid":
            windows.setdefault(milliseconds(body["dateTime"]) // size * size + size, []).append(body)
        for end in sorted(end for end in windows if end <= bound):
            # By their times, and as they came.
            bids = sorted(windows.pop(end), key=lambda bid: bid["dateTime"])
            highest = max(bid["price"] for bid in bids)
            found += [
                {name: bid[name] for name in ("auction", "bidder", "price", "dateTime")}
                | {"window_end": text_of(end)}
                for bid in bids
                if bid["price"] == highest
            ]
    return found


def q8(events: list[Event], profile: str, lateness: int) -> list[Row]:
    _, _, _, size = WINDOWS[profile]
    if profile == "draft":
        return own_windows(events, size, lateness)
    persons: dict[int, list[dict[str, Any]]] = {}
    sellers: dict[int, set[int]] = {}
    found = []
    for kind, body, bound in moments(events, lateness):
        if kind in ("person", "auction"):
            start = milliseconds(body["dateTime"]) // size * size
            if kind == "person":
                persons.setdefault(start, []).append(body)
            else:
                sellers.setdefault(start, set()).add(body["seller"])
        for start in sorted(start for start in persons if start + size <= bound):
            found += [
                {"id": person["id"], "name": person["name"], "window_start": text_of(start)}
                for person in persons.pop(start)
                if person["id"] in sellers.get(start, set())
            ]
    return found


def own_windows(events: list[Event], size: int, lateness: int) -> list[Row]:
    """Who opens an auction within `size` of registering; told when that time is over."""
    persons: list[dict[str, Any]] = []
    sales: list[tuple[int, int]] = []
    found = []
    for kind, body, bound in moments(events, lateness):
        if kind == "person":
            persons.append(body)
        elif kind == "auction":
            sales.append((body["seller"], milliseconds(body["dateTime"])))
        since = {id(person): milliseconds(person["dateTime"]) for person in persons}
        over = sorted((p for p in persons if since[id(p)] + size < bound), key=lambda p: since[id(p)])
        for person in over:
            persons.remove(person)
            start = since[id(person)]
            if any(seller == person["id"] and start <= time <= start + size for seller, time in sales):
                found.append({"id": person["id"], "name": person["name"], "window_start": text_of(start)})
    return found


ANSWERS: dict[str, Callable[[list[Event], str, int], list[Any]]] = {
    "q0": q0, "q1": q1, "q2": q2, "q3": q3, "q4": q4, "q5": q5, "q6": q6, "q7": q7, "q8": q8,
}  # fmt: skip
