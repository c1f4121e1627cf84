"""The checks of q9 to q22, on hand-made auctions with known answers."""

from pathlib import Path
from typing import Any

import pytest

from aurora.nexmark.check import check
from tests.nexmark.auctions import Event, auction, bid, moment, write_events, write_rows

NINE = 9 * 3_600_000


def placed(ms: int, item: int, price: float, bidder: int = 2) -> dict[str, Any]:
    return {"auction": item, "bidder": bidder, "price": price, "dateTime": moment(ms)}


def with_channel(event: Event, channel: str, url: str, extra: str = "") -> Event:
    return {"bid": event["bid"] | {"channel": channel, "url": url, "extra": extra}}


SALE = [
    auction(0, 1, 1_000, reserve=150, seller=7),
    auction(0, 2, 900, reserve=900, seller=8, category=11),
    bid(10, 1, 200, 3),
    bid(10, 1, 200, 4),
    bid(5, 1, 149, 3),
    bid(20, 1, 50, 3),
    bid(20, 1, 60, 3),
    bid(30, 2, 899, 4),
    bid(1_001, 1, 500, 5),
]
SOLD = {"seller": 7, "expires": moment(1_000)}
ITEM = {"channel": "Apple", "url": "https://a/b/c/d", "itemName": "pot", "initialBid": 1, "reserve": 150}
LONG = with_channel(
    bid(NINE, 12_345, 2_000_000), "channel-9", "https://a.com/x/y/z?q=1&channel_id=77", "cacc"
)
BARE = with_channel(bid(0, 3, 2_000_000), "BAIDU", "https://a.com/x", "c")
LOST = with_channel(bid(1, 3, 60_000_000), "channel-8", "https://a.com/x/y/z")
BIDS = [LONG, BARE, LOST]


def statistics(bids: str, bidders: str = "", auctions: str = "") -> dict[str, int]:
    """Counts of all and of the three ranks, for each name."""
    given = {"bids": bids, "bidders": bidders, "auctions": auctions}
    return {
        f"{rank}_{name}": int(count)
        for name, counts in given.items()
        if counts
        for rank, count in zip(("total", "rank1", "rank2", "rank3"), counts.split(), strict=True)
    }


PRICED = [bid(0, 1, 9_999, 2), bid(1, 1, 10_000, 2), bid(2, 1, 999_999, 3), bid(3, 2, 1_000_000, 3)]
DAY = {"day": "2015-07-15"}
ALL = statistics("4 1 2 1", "2 1 2 1", "2 1 1 1")
PRICES = {"min_price": 9_999, "max_price": 999_999, "avg_price": 1_019_998 / 3, "sum_price": 1_019_998}
ONE = dict.fromkeys(("min_price", "max_price", "sum_price"), 1_000_000) | {"avg_price": 1e6}


@pytest.mark.parametrize(
    ("query", "events", "rows"),
    [
        ("q9", SALE, [placed(10, 1, 200, 3) | SOLD]),
        (
            "q10",
            [LONG],
            [placed(NINE, 12_345, 2_000_000) | {"extra": "cacc", "day": "2015-07-15", "minute": "09:00"}],
        ),
        (
            "q11",
            [
                bid(0, 1, 5, 9),
                bid(0, 2, 5, 9),
                bid(10_000, 1, 5, 9),
                bid(20_001, 1, 5, 9),
                bid(20_001, 1, 5, 8),
            ],
            [
                {"bidder": 9, "bid_count": 3, "starttime": moment(0), "endtime": moment(20_000)},
                {"bidder": 9, "bid_count": 1, "starttime": moment(20_001), "endtime": moment(30_001)},
                {"bidder": 8, "bid_count": 1, "starttime": moment(20_001), "endtime": moment(30_001)},
            ],
        ),
        ("q13", [LONG], [placed(NINE, 12_345, 2_000_000) | {"value": "2345"}]),
        (
            "q14",
            BIDS,
            [
                placed(NINE, 12_345, 1_816_000.0)
                | {"bidTimeType": "dayTime", "extra": "cacc", "c_counts": 3},
                placed(0, 3, 1_816_000.0) | {"bidTimeType": "nightTime", "extra": "c", "c_counts": 1},
            ],
        ),
        ("q15", PRICED, [DAY | ALL]),
        ("q16", PRICED, [{"channel": "Apple", "minute": "00:00"} | DAY | ALL]),
        (
            "q17",
            PRICED,
            [
                {"auction": 1} | DAY | statistics("3 1 2 0") | PRICES,
                {"auction": 2} | DAY | statistics("1 0 0 1") | ONE,
            ],
        ),
        (
            "q12",
            [bid(0, 1, 5, 3), bid(9, 1, 5, 4), bid(1, 1, 5, 3)],
            [
                {
                    "bidder": bidder,
                    "bid_count": count,
                    "starttime": moment(start),
                    "endtime": moment(start + 10_000),
                }
                for bidder, count, start in ((4, 1, 20_000), (3, 1, 10_000), (3, 1, 20_000))
            ],
        ),
        ("q18", SALE, [placed(10, 1, 200, 4), placed(20, 1, 60, 3), placed(30, 2, 899, 4)]),
        (
            "q19",
            [auction(0, 1, 99), *(bid(number % 3, 1, 5, number) for number in range(12))],
            # Equal prices by time, and in one moment as they came.
            [
                placed(number % 3, 1, 5, number) | {"rank_number": rank + 1}
                for rank, number in enumerate([0, 3, 6, 9, 1, 4, 7, 10, 2, 5])
            ],
        ),
        ("q20", [*SALE[:2], SALE[2], SALE[7], SALE[8]], [placed(10, 1, 200, 3) | SOLD | ITEM]),
        (
            "q21",
            BIDS,
            [
                {
                    "auction": 12_345,
                    "bidder": 2,
                    "price": 2_000_000,
                    "channel": "channel-9",
                    "channel_id": "77",
                },
                {"auction": 3, "bidder": 2, "price": 2_000_000, "channel": "BAIDU", "channel_id": "3"},
            ],
        ),
        (
            "q22",
            [LOST, BARE],
            [
                {"auction": 3, "bidder": 2, "price": 60_000_000, "channel": "channel-8"}
                | {"dir1": "x", "dir2": "y", "dir3": "z"},
                {"auction": 3, "bidder": 2, "price": 2_000_000, "channel": "BAIDU"}
                | {"dir1": "x", "dir2": "", "dir3": ""},
            ],
        ),
    ],
)
def test_known_answers(tmp_path: Path, query: str, events: list[Event | str], rows: list[Any]) -> None:
    data = write_events(tmp_path / "data", events)
    result = write_rows(tmp_path / "result.jsonl", rows)
    agreement = check(query, data, result)
    assert agreement.agrees, str(agreement)
    assert check(query, data, write_rows(tmp_path / "less.jsonl", rows[1:])).missing == 1


def test_processing_time_windows_are_compared_as_far_as_they_can_be(tmp_path: Path) -> None:
    """How many bids of a bidder are in which window depends on the run; how many there are does not."""
    data = write_events(tmp_path / "data", [bid(0, 1, 5, 3), bid(1, 1, 5, 3)])
    good = {"bidder": 3, "bid_count": 2, "starttime": moment(10_000), "endtime": moment(20_000)}
    told = str(check("q12", data, write_rows(tmp_path / "good.jsonl", [good])))
    assert told == (
        "q12 agrees: 1 rows; all bids of each bidder are compared, because the windows depend on when they came"
    )
    less = check("q12", data, write_rows(tmp_path / "less.jsonl", [good | {"bid_count": 1}]))
    assert (less.missing, less.extra) == (1, 1)
    shifted = check(
        "q12", data, write_rows(tmp_path / "shifted.jsonl", [good | {"starttime": moment(10_001)}])
    )
    assert not shifted.agrees and "line 1 has another window" in str(shifted)
