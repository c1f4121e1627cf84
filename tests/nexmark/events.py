"""Small inputs with all that is hard: ties, gaps, late events, auctions without bids or before their sellers."""

import random
from typing import Any

from tests.spec.nexmark import text_of

__all__ = ["small_events"]

BEGIN = 1_436_918_400_000
STATES = ("OR", "ID", "CA", "WA")


def small_events(seed: int, count: int) -> list[dict[str, dict[str, Any]]]:
    """Ids are few, so that bids, auctions and persons meet, also such as come before what they refer to."""
    chance = random.Random(seed)
    events: list[dict[str, dict[str, Any]]] = []
    now = BEGIN + chance.randrange(12_000)
    persons, auctions = 0, 0
    step = chance.choice([40, 300, 1500])
    for _ in range(count):
        now += chance.choice([0, 0, step // 2, step, step * (40 if chance.random() < 0.03 else 1)])
        time = now - chance.choice([0, 0, 0, 0, step, 1000, 3000, 7000, 60_000])
        stamp = text_of(time)
        kind = chance.choices(["person", "auction", "bid"], [2, 3, 8])[0]
        if kind == "person":
            body = person(chance, persons, stamp)
            persons += 1
        elif kind == "auction":
            body = auction(chance, auctions, persons, time)
            auctions += 1
        else:
            body = bid(chance, auctions, persons, stamp)
        events.append({kind: body})
    return events


def person(chance: random.Random, number: int, stamp: str) -> dict[str, Any]:
    return {
        "id": number,
        "name": chance.choice(['Ann "Ä" B', "Bo", "Cy, D"]),
        "emailAddress": "a@b.c",
        "creditCard": "1 2",
        "city": chance.choice(["Bend", "Boise"]),
        "state": chance.choice(STATES),
        "dateTime": stamp,
        "extra": "",
    }


def auction(chance: random.Random, number: int, persons: int, time: int) -> dict[str, Any]:
    return {
        "id": number,
        "itemName": "thing",
        "description": "\\ new",
        "initialBid": 5,
        "reserve": chance.choice([0, 10, 30]),
        "dateTime": text_of(time),
        "expires": text_of(time + chance.choice([0, 1, 500, 2000, 9000, 30_000])),
        "seller": max(0, persons + chance.choice([-3, -2, -1, -1, 0, 1])),
        "category": chance.choice([10, 10, 11, 12]),
        "extra": "x",
    }


def bid(chance: random.Random, auctions: int, persons: int, stamp: str) -> dict[str, Any]:
    return {
        "auction": chance.choice(
            [123, 1007, *(max(0, auctions + back) for back in (-4, -3, -2, -1, -1, 0, 1))]
        ),
        "bidder": chance.randrange(persons + 1),
        "price": chance.choice([5, 10, 20, 30, 30, 40, 12_000, 2_000_000]),
        "channel": chance.choice(["Apple", "baidu", "channel-7", "channel-9"]),
        "url": chance.choice(
            [
                "https://a.b/c/d/e/item.htm?q=1&channel_id=77",
                "https://a.b/c",
                "x",
                "https://a/b/c/d?channel_id=5",
            ]
        ),
        "dateTime": stamp,
        "extra": chance.choice(["", "cac", "b"]),
    }
