"""The queries of the extension, q9 to q22, as naively as can be."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from tests.spec.nexmark import Event, Row, late_events, milliseconds, moments, text_of

__all__ = ["EXTENSION"]

BID = ("auction", "bidder", "price", "dateTime")
RANKS = {
    "rank1": lambda price: price < 10_000,
    "rank2": lambda price: 10_000 <= price < 1_000_000,
    "rank3": lambda price: price >= 1_000_000,
}


def bids_of(events: list[Event]) -> list[dict[str, Any]]:
    return [event["bid"] for event in events if "bid" in event]


def on_time(events: list[Event], lateness: int) -> list[Event]:
    return [event for event, late in zip(events, late_events(events, lateness), strict=True) if not late]


def picked(row: dict[str, Any], *names: str) -> Row:
    return {name: row[name] for name in names}


def auctions_with_bids(
    events: list[Event], lateness: int
) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """By expiry and id; the bids as they came."""
    good = on_time(events, lateness)
    auctions = [event["auction"] for event in good if "auction" in event]
    for auction in sorted(auctions, key=lambda each: (each["expires"], each["id"])):
        yield (
            auction,
            [
                bid
                for bid in bids_of(good)
                if bid["auction"] == auction["id"]
                and auction["dateTime"] <= bid["dateTime"] <= auction["expires"]
            ],
        )


def q9(events: list[Event], profile: str, lateness: int) -> list[Row]:
    found = []
    for auction, bids in auctions_with_bids(events, lateness):
        enough = [bid for bid in bids if bid["price"] >= auction["reserve"]]
        if enough:
            best = min(enough, key=lambda bid: (-bid["price"], bid["dateTime"]))
            found.append(picked(best, *BID) | picked(auction, "seller", "expires"))
    return found


def q10(events: list[Event], profile: str, lateness: int) -> list[Row]:
    return [
        picked(bid, *BID, "extra") | {"day": bid["dateTime"][:10], "minute": bid["dateTime"][11:16]}
        for bid in bids_of(events)
    ]


def q11(events: list[Event], profile: str, lateness: int) -> list[Row]:
    """Sessions that an event ends, by their starts and users."""
    by_user: dict[int, list[int]] = {}
    found = []
    for kind, body, bound in moments(events, lateness):
        if kind == "bid":
            by_user.setdefault(body["bidder"], []).append(milliseconds(body["dateTime"]))
        over = []
        for user, times in by_user.items():
            times.sort()
            while times:
                count = next(
                    (i + 1 for i in range(len(times) - 1) if times[i + 1] > times[i] + 10_000), len(times)
                )
                if times[count - 1] + 10_000 >= bound:
                    break
                over.append((times[0], user, times[count - 1] + 10_000, count))
                del times[:count]
        found += [
            {"bidder": user, "bid_count": count, "starttime": text_of(start), "endtime": text_of(end)}
            for start, user, end, count in sorted(over)
        ]
    return found


def q12(events: list[Event], profile: str, lateness: int) -> list[Row]:
    """All events arrive at once, at the beginning of the year 1970."""
    counts: dict[int, int] = {}
    for bid in bids_of(events):
        counts[bid["bidder"]] = counts.get(bid["bidder"], 0) + 1
    times = {"starttime": text_of(0), "endtime": text_of(10_000)}
    return [{"bidder": bidder, "bid_count": counts[bidder]} | times for bidder in sorted(counts)]


def q13(events: list[Event], profile: str, lateness: int) -> list[Row]:
    return [picked(bid, *BID) | {"value": str(bid["auction"] % 10_000)} for bid in bids_of(events)]


def q14(events: list[Event], profile: str, lateness: int) -> list[Row]:
    found = []
    for bid in bids_of(events):
        price, hour = 0.908 * bid["price"], int(bid["dateTime"][11:13])
        if 1_000_000 < price < 50_000_000:
            kind = "dayTime" if 8 <= hour <= 18 else "nightTime" if hour <= 6 or hour >= 20 else "otherTime"
            found.append(
                picked(bid, "auction", "bidder", "dateTime", "extra")
                | {"price": price, "bidTimeType": kind, "c_counts": bid["extra"].count("c")}
            )
    return found


def statistics(events: list[Event], lateness: int, by: str | None, distinct: bool) -> list[Row]:
    groups: dict[Any, list[dict[str, Any]]] = {}
    for bid in bids_of(on_time(events, lateness)):
        groups.setdefault((bid[by] if by else None, bid["dateTime"][:10]), []).append(bid)
    found = []
    for (group, day), bids in groups.items():
        row: Row = {by: group} if by else {}
        row |= {"day": day, "total_bids": len(bids)}
        row |= {f"{rank}_bids": sum(holds(bid["price"]) for bid in bids) for rank, holds in RANKS.items()}
        for field in ("bidder", "auction") if distinct else ():
            row[f"total_{field}s"] = len({bid[field] for bid in bids})
            for rank, holds in RANKS.items():
                row[f"{rank}_{field}s"] = len({bid[field] for bid in bids if holds(bid["price"])})
        if by == "channel":
            row["minute"] = max(bid["dateTime"][11:16] for bid in bids)
        if by == "auction":
            prices = [bid["price"] for bid in bids]
            row |= {"min_price": min(prices), "max_price": max(prices), "sum_price": sum(prices)}
            row["avg_price"] = sum(prices) / len(prices)
        found.append(row)
    return found


def q15(events: list[Event], profile: str, lateness: int) -> list[Row]:
    return statistics(events, lateness, None, distinct=True)


def q16(events: list[Event], profile: str, lateness: int) -> list[Row]:
    return statistics(events, lateness, "channel", distinct=True)


def q17(events: list[Event], profile: str, lateness: int) -> list[Row]:
    return statistics(events, lateness, "auction", distinct=False)


def q18(events: list[Event], profile: str, lateness: int) -> list[Row]:
    found = []
    for _, bids in auctions_with_bids(events, lateness):
        last: dict[int, dict[str, Any]] = {}
        for bid in bids:
            if bid["bidder"] not in last or bid["dateTime"] >= last[bid["bidder"]]["dateTime"]:
                last[bid["bidder"]] = bid
        found += [picked(last[bidder], *BID) for bidder in sorted(last)]
    return found


def q19(events: list[Event], profile: str, lateness: int) -> list[Row]:
    """Of auctions that close at one time, the best bids of all come first."""
    found = []
    for auction, bids in auctions_with_bids(events, lateness):
        best = sorted(bids, key=lambda bid: (-bid["price"], bid["dateTime"]))[:10]
        found += [
            ((auction["expires"], rank, auction["id"]), picked(bid, *BID) | {"rank_number": rank})
            for rank, bid in enumerate(best, 1)
        ]
    return [row for _, row in sorted(found, key=lambda pair: pair[0])]


def q20(events: list[Event], profile: str, lateness: int) -> list[Row]:
    found, bids, auctions = [], [], []
    for kind, body, _ in moments(events, lateness):
        if kind == "bid":
            bids.append(body)
            pairs = [(body, auction) for auction in auctions]
        elif kind == "auction" and body["category"] == 10:
            auctions.append(body)
            pairs = [(bid, body) for bid in bids]
        else:
            continue
        for bid, auction in pairs:
            if (
                bid["auction"] == auction["id"]
                and auction["dateTime"] <= bid["dateTime"] <= auction["expires"]
            ):
                own = picked(bid, *BID, "channel", "url")
                found.append(own | picked(auction, "itemName", "initialBid", "reserve", "expires", "seller"))
    return found


def q21(events: list[Event], profile: str, lateness: int) -> list[Row]:
    known = {"apple": "0", "google": "1", "facebook": "2", "baidu": "3"}
    found = []
    for bid in bids_of(events):
        match = re.search(r"(&|^)channel_id=([^&]*)", bid["url"])
        number = known.get(bid["channel"].lower(), match[2] if match else "")
        if number:
            found.append(picked(bid, "auction", "bidder", "price", "channel") | {"channel_id": number})
    return found


def q22(events: list[Event], profile: str, lateness: int) -> list[Row]:
    found = []
    for bid in bids_of(events):
        parts = [*bid["url"].split("/"), "", "", "", "", "", ""]
        found.append(
            picked(bid, "auction", "bidder", "price", "channel")
            | {"dir1": parts[3], "dir2": parts[4], "dir3": parts[5]}
        )
    return found


EXTENSION: dict[str, Callable[[list[Event], str, int], list[Any]]] = {
    "q9": q9, "q10": q10, "q11": q11, "q12": q12, "q13": q13, "q14": q14, "q15": q15, "q16": q16, "q17": q17,
    "q18": q18, "q19": q19, "q20": q20, "q21": q21, "q22": q22,
}  # fmt: skip
