"""The queries that the suites in use have added, with the same numbers."""

from collections.abc import Callable

from aurora.nexmark.check.answer import Answer, Totals
from aurora.nexmark.check.rules import Rules

__all__ = ["EXTENSION"]

SESSION = 10_000
BID = {"auction": "whole", "bidder": "whole", "price": "whole"}
TIMED_BID = BID | {"dateTime": "time"}
DAY = "strftime(make_timestamp_ms(stamp), '%Y-%m-%d')"
MINUTE = "strftime(make_timestamp_ms(stamp), '%H:%M')"

# The bids on auctions that are there, each placed from the opening to the expiry.
PLACED = """
    SELECT bid.*, auction.id, auction.reserve, auction.seller, auction.expiry
    FROM bids AS bid JOIN auctions AS auction ON bid.auction = auction.id
    WHERE bid.stamp BETWEEN auction.stamp AND auction.expiry AND NOT auction.late AND NOT bid.late
"""


def _winning_bids(rules: Rules) -> str:
    return f"""
        SELECT auction, bidder, price, stamp AS dateTime, seller, expiry AS expires FROM ({PLACED})
        WHERE price >= reserve
        QUALIFY row_number() OVER (PARTITION BY auction ORDER BY price DESC, stamp, arrival) = 1
    """


def _log(rules: Rules) -> str:
    return (
        f"SELECT auction, bidder, price, stamp AS dateTime, extra, {DAY} AS day, {MINUTE} AS minute FROM bids"
    )


def _sessions(rules: Rules) -> str:
    return f"""
        WITH marked AS (
            SELECT bidder, stamp, coalesce(stamp > lag(stamp) OVER turns + {SESSION}, true)::INTEGER AS starts
            FROM bids WHERE NOT late WINDOW turns AS (PARTITION BY bidder ORDER BY stamp)
        ), numbered AS (
            SELECT *, sum(starts) OVER (PARTITION BY bidder ORDER BY stamp RANGE UNBOUNDED PRECEDING) AS session
            FROM marked
        )
        SELECT bidder, count(*) AS bid_count, min(stamp) AS starttime, max(stamp) + {SESSION} AS endtime
        FROM numbered GROUP BY bidder, session
    """


def _arrival_windows(rules: Rules) -> str:
    return "SELECT bidder, count(*) AS bid_count FROM bids GROUP BY bidder"


def _side_input(rules: Rules) -> str:
    return "SELECT auction, bidder, price, stamp AS dateTime, (auction % 10000)::VARCHAR AS value FROM bids"


def _calculation(rules: Rules) -> str:
    return f"""
        SELECT auction, bidder, euros AS price, stamp AS dateTime, extra,
            CASE WHEN hour BETWEEN 8 AND 18 THEN 'dayTime' WHEN hour <= 6 OR hour >= 20 THEN 'nightTime'
                ELSE 'otherTime' END AS bidTimeType,
            length(regexp_replace(extra, '[^c]', '', 'g')) AS c_counts
        FROM (
            SELECT *, {rules.dollars_to_euros!r}::DOUBLE * price AS euros, stamp // 3600000 % 24 AS hour FROM bids
        )
        WHERE euros > 1000000 AND euros < 50000000
    """


RANKS = {
    "total": "true",
    "rank1": "price < 10000",
    "rank2": "price BETWEEN 10000 AND 999999",
    "rank3": "price > 999999",
}
COUNTS = {f"{rank}_bids": f"count(*) FILTER ({holds})" for rank, holds in RANKS.items()}
DISTINCT = COUNTS | {
    f"{rank}_{name}s": f"count(DISTINCT {name}) FILTER ({holds})"
    for name in ("bidder", "auction")
    for rank, holds in RANKS.items()
}
PRICES = {
    "min_price": "min(price)",
    "max_price": "max(price)",
    "avg_price": "avg(price)",
    "sum_price": "sum(price)",
}


def _statistics(keys: tuple[str, ...], values: dict[str, str]) -> Callable[[Rules], str]:
    columns = ", ".join([*keys, f"{DAY} AS day", *(f"{sql} AS {name}" for name, sql in values.items())])
    return lambda rules: f"SELECT {columns} FROM bids WHERE NOT late GROUP BY {', '.join([*keys, 'day'])}"


def _last_bids(rules: Rules) -> str:
    return f"""
        SELECT auction, bidder, price, stamp AS dateTime FROM ({PLACED})
        QUALIFY row_number() OVER (PARTITION BY auction, bidder ORDER BY stamp DESC, arrival DESC) = 1
    """


def _top_bids(rules: Rules) -> str:
    return f"""
        SELECT auction, bidder, price, stamp AS dateTime,
            row_number() OVER (PARTITION BY auction ORDER BY price DESC, stamp, arrival) AS rank_number
        FROM ({PLACED}) QUALIFY rank_number <= 10
    """


def _expanded_bids(rules: Rules) -> str:
    return """
        SELECT bid.auction, bid.bidder, bid.price, bid.channel, bid.url, bid.stamp AS dateTime, auction.itemName,
            auction.initialBid, auction.reserve, auction.expiry AS expires, auction.seller
        FROM bids AS bid JOIN auctions AS auction ON bid.auction = auction.id
        WHERE auction.category = 10 AND bid.stamp BETWEEN auction.stamp AND auction.expiry
            AND NOT auction.late AND NOT bid.late
    """


def _channels(rules: Rules) -> str:
    return """
        SELECT auction, bidder, price, channel,
            coalesce((list_position(['apple', 'google', 'facebook', 'baidu'], lower(channel)) - 1)::VARCHAR, id)
                AS channel_id
        FROM (SELECT *, nullif(regexp_extract(url, '(&|^)channel_id=([^&]*)', 2), '') AS id FROM bids)
        WHERE channel_id IS NOT NULL
    """


def _directories(rules: Rules) -> str:
    parts = ", ".join(f"split_part(url, '/', {number + 3}) AS dir{number}" for number in (1, 2, 3))
    return f"SELECT auction, bidder, price, channel, {parts} FROM bids"


CLOSED = ("id", "reserve", "seller", "auction", "bidder", "price")
DAILY = {"day": "text"}
EXTENSION = {
    "q9": Answer(TIMED_BID | {"seller": "whole", "expires": "time"}, _winning_bids, CLOSED),
    "q10": Answer(
        TIMED_BID | {"extra": "text", "day": "text", "minute": "text"}, _log, (*BID, "extra"), ordered=False
    ),
    "q11": Answer(
        {"bidder": "whole", "bid_count": "whole", "starttime": "time", "endtime": "time"},
        _sessions,
        ("bidder",),
    ),
    "q12": Answer(
        {"bidder": "whole", "bid_count": "whole", "starttime": "time", "endtime": "time"},
        _arrival_windows,
        ("bidder",),
        ordered=False,
        totals=Totals(
            {"bidder": "whole", "bid_count": "whole"},
            "SELECT bidder, sum(bid_count)::BIGINT AS bid_count FROM rows GROUP BY bidder",
            f"starttime % {SESSION} = 0 AND endtime = starttime + {SESSION}",
            "all bids of each bidder are compared, because the windows depend on when they came",
        ),
    ),
    "q13": Answer(TIMED_BID | {"value": "text"}, _side_input, tuple(BID), ordered=False),
    "q14": Answer(
        TIMED_BID | {"price": "real", "bidTimeType": "text", "extra": "text", "c_counts": "whole"},
        _calculation,
        (*BID, "extra"),
        ordered=False,
    ),
    "q15": Answer(DAILY | dict.fromkeys(DISTINCT, "whole"), _statistics((), DISTINCT), tuple(BID)),
    "q16": Answer(
        {"channel": "text"} | DAILY | dict.fromkeys(DISTINCT, "whole") | {"minute": "text"},
        _statistics(("channel",), DISTINCT | {"minute": f"max({MINUTE})"}),
        (*BID, "channel"),
    ),
    "q17": Answer(
        {"auction": "whole"} | DAILY | dict.fromkeys(COUNTS | PRICES, "whole") | {"avg_price": "real"},
        _statistics(("auction",), COUNTS | PRICES),
        tuple(BID),
    ),
    "q18": Answer(TIMED_BID, _last_bids, CLOSED),
    "q19": Answer(TIMED_BID | {"rank_number": "whole"}, _top_bids, CLOSED),
    "q20": Answer(
        TIMED_BID
        | {"channel": "text", "url": "text", "itemName": "text", "initialBid": "whole", "reserve": "whole"}
        | {"expires": "time", "seller": "whole"},
        _expanded_bids,
        (*CLOSED, "channel", "url", "itemName", "initialBid", "category"),
    ),
    "q21": Answer(
        BID | {"channel": "text", "channel_id": "text"}, _channels, (*BID, "channel", "url"), ordered=False
    ),
    "q22": Answer(
        BID | {"channel": "text", "dir1": "text", "dir2": "text", "dir3": "text"},
        _directories,
        (*BID, "channel", "url"),
        ordered=False,
    ),
}
