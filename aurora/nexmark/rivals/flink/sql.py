"""Queries 0 to 8 in Flink's SQL, after the suite in use for Flink, and giving the rows that this suite asks for.

The suite's own q4 gives a new average with every bid that raises a price, as a stream of changes, and its q6 does not
run, because Flink takes no such stream into a window of rows. Here an auction comes in at the time of its expiry: a
window over its bids then gives its closing price once, when it closes, and what follows is a stream without changes.
"""

from typing import Any

from aurora.nexmark.check import Rules
from aurora.nexmark.rivals.flink import extension
from aurora.nexmark.rivals.system import ARRIVALS

__all__ = ["CLOSINGS", "IMPOSSIBLE", "QUERIES", "interval", "statements"]

EVENT = """
    person ROW<id BIGINT, name STRING, emailAddress STRING, creditCard STRING, city STRING, state STRING,
        `dateTime` TIMESTAMP(3), extra STRING>,
    auction ROW<id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT,
        `dateTime` TIMESTAMP(3), expires TIMESTAMP(3), seller BIGINT, category BIGINT, extra STRING>,
    bid ROW<auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING,
        `dateTime` TIMESTAMP(3), extra STRING>"""

VIEWS = (
    """CREATE VIEW person AS
    SELECT person.id, person.name, person.city, person.state, `dateTime` FROM events WHERE person IS NOT NULL""",
    """CREATE VIEW auction AS
    SELECT auction.id, auction.itemName, auction.initialBid, auction.reserve, auction.expires, auction.seller,
        auction.category, `dateTime`
    FROM events WHERE auction IS NOT NULL""",
    """CREATE VIEW bid AS
    SELECT bid.auction, bid.bidder, bid.price, bid.channel, bid.url, bid.extra, `dateTime`
    FROM events WHERE bid IS NOT NULL""",
)

# A bid comes in at its time and an auction at its expiry, so its row sees every bid up to then, the last included.
CLOSED = """
    SELECT id, category, seller, moment, price FROM (
        SELECT auction.id AS id, auction.category AS category, auction.seller AS seller, auction.reserve AS reserve,
            moment, MAX(bid.price) OVER (
                PARTITION BY COALESCE(bid.auction, auction.id)
                ORDER BY moment RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS price
        FROM events WHERE person IS NULL
    ) WHERE id IS NOT NULL AND price >= reserve"""

HOT = "TABLE(HOP(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '2' SECOND, INTERVAL '10' SECOND))"
FIXED = "TABLE(TUMBLE(TABLE {table}, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))"

# The fields of each result and the query; `closed` is the sorted stream of closed auctions.
QUERIES = {
    "q0": (EVENT, "SELECT person, auction, bid FROM events"),
    "q1": (
        "auction BIGINT, bidder BIGINT, price DOUBLE, `dateTime` TIMESTAMP(3)",
        "SELECT auction, bidder, CAST({rate} AS DOUBLE) * price, `dateTime` FROM bid",
    ),
    "q2": ("auction BIGINT, price BIGINT", "SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0"),
    "q3": (
        "name STRING, city STRING, state STRING, id BIGINT",
        """SELECT P.name, P.city, P.state, A.id FROM auction AS A JOIN person AS P ON A.seller = P.id
        WHERE A.category = 10 AND P.state IN ('OR', 'ID', 'CA') AND P.`dateTime` <= A.expires""",
    ),
    "q4": (
        "category BIGINT, `avg` DOUBLE, expires TIMESTAMP(3)",
        """SELECT category, AVG(CAST(price AS DOUBLE)) OVER (
            PARTITION BY category ORDER BY moment ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ), CAST(moment AS TIMESTAMP(3)) FROM closed""",
    ),
    "q5": (
        "auction BIGINT, num BIGINT, window_start TIMESTAMP(3), window_end TIMESTAMP(3)",
        f"""SELECT B.auction, B.num, B.window_start, B.window_end
        FROM (SELECT auction, COUNT(*) AS num, window_start, window_end FROM {HOT}
            GROUP BY auction, window_start, window_end) AS B
        JOIN (SELECT MAX(num) AS most, window_start, window_end
            FROM (SELECT COUNT(*) AS num, window_start, window_end FROM {HOT}
                GROUP BY auction, window_start, window_end)
            GROUP BY window_start, window_end) AS M
        ON B.window_start = M.window_start AND B.window_end = M.window_end AND B.num = M.most""",
    ),
    "q6": (
        "seller BIGINT, `avg` DOUBLE, expires TIMESTAMP(3)",
        """SELECT seller, AVG(CAST(price AS DOUBLE)) OVER (
            PARTITION BY seller ORDER BY moment ROWS BETWEEN 9 PRECEDING AND CURRENT ROW
        ), CAST(moment AS TIMESTAMP(3)) FROM closed""",
    ),
    "q7": (
        "auction BIGINT, bidder BIGINT, price BIGINT, `dateTime` TIMESTAMP(3), window_end TIMESTAMP(3)",
        f"""SELECT B.auction, B.bidder, B.price, B.`dateTime`, B.window_end
        FROM (SELECT * FROM {FIXED.format(table="bid")}) AS B
        JOIN (SELECT MAX(price) AS highest, window_start, window_end FROM {FIXED.format(table="bid")}
            GROUP BY window_start, window_end) AS M
        ON B.window_start = M.window_start AND B.window_end = M.window_end AND B.price = M.highest""",
    ),
    "q8": (
        "id BIGINT, name STRING, window_start TIMESTAMP(3)",
        f"""SELECT P.id, P.name, P.window_start
        FROM (SELECT id, name, window_start, window_end FROM {FIXED.format(table="person")}
            GROUP BY id, name, window_start, window_end) AS P
        JOIN (SELECT seller, window_start, window_end FROM {FIXED.format(table="auction")}
            GROUP BY seller, window_start, window_end) AS A
        ON P.id = A.seller AND P.window_start = A.window_start AND P.window_end = A.window_end""",
    ),
} | extension.EXTENSION
# In these an auction comes in at its expiry.
AVERAGES = ("q4", "q6")
CLOSINGS = (*AVERAGES, *extension.CLOSINGS)
IMPOSSIBLE = {"q12": ARRIVALS}


def statements(
    query: str, data: str, out: str, rules: Rules, *, side: str = "", longest: int = 0
) -> dict[str, Any]:
    """What the child carries out: tables and views, the closed auctions to sort if any, the query into its sink.

    `side` is the file of the side input, `longest` the milliseconds of the longest auction, for the queries with them.
    """
    fields, select = QUERIES[query]
    moment = "moment" if query in CLOSINGS else "`dateTime`"
    # Flink counts an event at the watermark as late already, hence the millisecond.
    source = f"""CREATE TABLE events ({EVENT},
        `dateTime` AS COALESCE(bid.`dateTime`, auction.`dateTime`, person.`dateTime`),
        moment AS COALESCE(bid.`dateTime`, auction.expires, person.`dateTime`),
        WATERMARK FOR {moment} AS `dateTime` - {interval(rules.lateness + 1)}
    ) WITH ('connector' = 'filesystem', 'path' = '{data}', 'format' = 'json',
        'json.timestamp-format.standard' = 'SQL')"""
    sink = f"""CREATE TABLE found ({fields}) WITH ('connector' = 'filesystem', 'path' = '{out}', 'format' = 'json',
        'json.timestamp-format.standard' = 'SQL', 'json.encode.ignore-null-fields' = 'true')"""
    values = {"rate": rules.dollars_to_euros, "longest": interval(longest), "side": side}
    return {
        "tables": [source, *(text.format(**values) for text in _between(query)), sink],
        "sorted": {"name": "closed", "query": CLOSED, "by": ["moment", "id"]} if query in AVERAGES else None,
        "insert": f"INSERT INTO found {select.format(**values)}",
    }


def _between(query: str) -> tuple[str, ...]:
    """The views and tables that the query reads."""
    if query in CLOSINGS:
        return () if query in AVERAGES else (extension.PLACED,)
    return (*VIEWS, extension.SIDE) if query == "q13" else VIEWS


def interval(milliseconds: int) -> str:
    """As a literal of SQL."""
    seconds, thousandths = divmod(milliseconds, 1000)
    clock = f"{seconds // 3600 % 24}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{thousandths:03d}"
    return f"INTERVAL '{seconds // 86_400} {clock}' DAY TO SECOND(3)"
