"""The queries in DuckDB's SQL, over the tables of `events`: whole inputs at once, nothing incremental."""

from aurora.errors import AuroraError
from aurora.nexmark.check.answer import Answer
from aurora.nexmark.check.events import FIELDS, kinds
from aurora.nexmark.check.extension import EXTENSION
from aurora.nexmark.check.rules import Rules

__all__ = ["ANSWERS", "answer_of"]


def _pass_through(rules: Rules) -> str:
    event = ", ".join(f"{kind}: {kind}" for kind in kinds(rules))
    return f"SELECT to_json({{{event}}})::VARCHAR AS event FROM arrived WHERE whole"


def _currency(rules: Rules) -> str:
    return f"SELECT auction, bidder, {rules.dollars_to_euros!r}::DOUBLE * price AS price, stamp AS dateTime FROM bids"


def _selection(rules: Rules) -> str:
    return f"SELECT auction, price FROM bids WHERE {rules.selected}"


def _local_items(rules: Rules) -> str:
    return f"""
        SELECT person.name, person.city, person.state, auction.id
        FROM auctions AS auction JOIN persons AS person ON auction.seller = person.id
        WHERE auction.category = 10 AND person.state IN {rules.states} AND auction.expiry >= person.stamp
            AND NOT auction.late AND NOT person.late
    """


# One row for each auction that was sold.
CLOSINGS = """
    SELECT auction.id, auction.category, auction.seller, auction.expiry AS expires, max(bid.price) AS price
    FROM auctions AS auction JOIN bids AS bid ON bid.auction = auction.id
    WHERE bid.stamp BETWEEN auction.stamp AND auction.expiry AND bid.price >= auction.reserve
        AND NOT auction.late AND NOT bid.late
    GROUP BY ALL
"""


def _average_price(rules: Rules) -> str:
    return f"""
        SELECT category, avg(price) OVER closed AS avg, expires, id FROM ({CLOSINGS})
        WINDOW closed AS (PARTITION BY category ORDER BY expires, id ROWS UNBOUNDED PRECEDING)
    """


def _hot_items(rules: Rules) -> str:
    length, step = rules.hot_items
    return f"""
        WITH counted AS (
            SELECT auction, stamp // {step} AS pane, count(*) AS num FROM bids WHERE NOT late GROUP BY ALL
        ), summed AS (
            SELECT auction, (pane - back.range) * {step} AS start, sum(num)::BIGINT AS num
            FROM counted, range({length // step}) AS back GROUP BY ALL
        )
        SELECT auction, num, start AS window_start, start + {length} AS window_end FROM summed
        QUALIFY num = max(num) OVER (PARTITION BY start)
    """


def _selling_price(rules: Rules) -> str:
    return f"""
        SELECT seller, avg(price) OVER closed AS avg, expires, id FROM ({CLOSINGS})
        WINDOW closed AS (PARTITION BY seller ORDER BY expires, id ROWS 9 PRECEDING)
    """


def _highest_bid(rules: Rules) -> str:
    length = rules.highest_bid
    return f"""
        SELECT auction, bidder, price, stamp AS dateTime, (stamp // {length} + 1) * {length} AS window_end
        FROM bids WHERE NOT late
        QUALIFY price = max(price) OVER (PARTITION BY stamp // {length})
    """


def _new_users(rules: Rules) -> str:
    """In the draft the window begins when the person registers."""
    length = rules.new_users
    start = "person.stamp" if rules.draft else f"person.stamp // {length} * {length}"
    within = (
        f"auction.stamp BETWEEN person.stamp AND person.stamp + {length}"
        if rules.draft
        else f"person.stamp // {length} = auction.stamp // {length}"
    )
    return f"""
        SELECT DISTINCT person.id, person.name, {start} AS window_start
        FROM persons AS person JOIN auctions AS auction ON auction.seller = person.id
        WHERE {within} AND NOT person.late AND NOT auction.late
    """


CLOSING = ("id", "reserve", "category", "seller", "auction", "price")
ANSWERS = {
    "q0": Answer({"event": "event"}, _pass_through, sum(FIELDS.values(), ()), ordered=False),
    "q1": Answer(
        {"auction": "whole", "bidder": "whole", "price": "real", "dateTime": "time"},
        _currency,
        ("auction", "bidder", "price"),
        ordered=False,
    ),
    "q2": Answer({"auction": "whole", "price": "whole"}, _selection, ("auction", "price"), ordered=False),
    "q3": Answer(
        {"name": "text", "city": "text", "state": "text", "id": "whole"},
        _local_items,
        ("id", "name", "city", "state", "seller", "category"),
    ),
    "q4": Answer(
        {"category": "whole", "avg": "real", "expires": "time"}, _average_price, CLOSING, ("expires", "id")
    ),
    "q5": Answer(
        {"auction": "whole", "num": "whole", "window_start": "time", "window_end": "time"},
        _hot_items,
        ("auction",),
    ),
    "q6": Answer(
        {"seller": "whole", "avg": "real", "expires": "time"}, _selling_price, CLOSING, ("expires", "id")
    ),
    "q7": Answer(
        {"auction": "whole", "bidder": "whole", "price": "whole", "dateTime": "time", "window_end": "time"},
        _highest_bid,
        ("auction", "bidder", "price"),
    ),
    "q8": Answer(
        {"id": "whole", "name": "text", "window_start": "time"}, _new_users, ("id", "name", "seller")
    ),
} | EXTENSION


def answer_of(query: str) -> Answer:
    if query not in ANSWERS:
        raise AuroraError(f"there is no check for {query!r}: there are {', '.join(ANSWERS)}")
    return ANSWERS[query]
