"""Small auction houses made by hand: events with the fields that matter, at milliseconds from midnight."""

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

__all__ = ["auction", "bid", "moment", "person", "write_events", "write_rows"]

Event = dict[str, dict[str, Any]]
MIDNIGHT = datetime(2015, 7, 15)


def moment(ms: int) -> str:
    return (MIDNIGHT + timedelta(milliseconds=ms)).isoformat(" ", "milliseconds")


def person(ms: int, number: int, name: str = "Ann", state: str = "OR") -> Event:
    fields = {"id": number, "name": name, "emailAddress": "a@b.com", "creditCard": "1", "city": "Bend"}
    return {"person": fields | {"state": state, "dateTime": moment(ms), "extra": ""}}


def auction(
    ms: int, number: int, expires: int, seller: int = 1, category: int = 10, reserve: int = 100
) -> Event:
    fields = {"id": number, "itemName": "pot", "description": "a pot", "initialBid": 1, "reserve": reserve}
    times = {"dateTime": moment(ms), "expires": moment(expires)}
    return {"auction": fields | times | {"seller": seller, "category": category, "extra": "x"}}


def bid(ms: int, item: int, price: int, bidder: int = 2) -> Event:
    fields = {"auction": item, "bidder": bidder, "price": price, "channel": "Apple", "url": "https://a/b/c/d"}
    return {"bid": fields | {"dateTime": moment(ms), "extra": ""}}


def write_events(folder: Path, *files: list[Event | str]) -> Path:
    """A data folder; a line that is a string already is written as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, events in enumerate(files):
        write_rows(folder / f"events-{number:05d}.jsonl", events)
    return folder


def write_rows(path: Path, rows: Iterable[Any]) -> Path:
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path
