"""Queries 9 to 22 in Flink's SQL, after the suite in use for Flink, and giving the rows that this suite asks for.

- q9, q18 and q19: the suite's give a stream of changes, a new answer with every bid that counts. Here an interval join
  puts the bids to the auctions, which come in at the time of their expiry; a Top-N over the window of the one
  millisecond in which an auction closes then gives its rows once. An interval join wants a fixed interval: that of the
  longest auction. q20 has this join too, for the suite's keeps all bids for ever.
- q15, q16 and q17: the suite's give a stream of changes. A window of a day gives each row once, when the day is over.
- q13: the suite has a lookup join, but none of Flink's own connectors can look up. Of the joins that run, the temporal
  one does not keep the bids.
"""

__all__ = ["CLOSINGS", "EXTENSION", "PLACED", "SIDE"]

# The bids on auctions, from the opening to the expiry: a bid comes in at its time and an auction at its expiry.
PLACED = """CREATE VIEW placed AS
    SELECT B.auction, B.bidder, B.price, B.moment, A.seller, A.reserve, A.moment AS expires
    FROM (SELECT bid.auction, bid.bidder, bid.price, moment FROM events WHERE bid IS NOT NULL) AS B
    JOIN (SELECT auction.id, auction.seller, auction.reserve, auction.`dateTime` AS opened, moment
        FROM events WHERE auction IS NOT NULL) AS A
    ON B.auction = A.id AND A.moment BETWEEN B.moment AND B.moment + {longest} AND B.moment >= A.opened"""

SIDE = """CREATE TABLE side (key BIGINT, `value` STRING, since AS TIMESTAMP '1970-01-01 00:00:00.000',
        PRIMARY KEY (key) NOT ENFORCED, WATERMARK FOR since AS since
    ) WITH ('connector' = 'filesystem', 'path' = '{side}', 'format' = 'csv')"""

# Bids of auctions that close in one moment.
CLOSING = "TABLE(TUMBLE(TABLE placed, DESCRIPTOR(expires), INTERVAL '0.001' SECOND))"
DAY = "TABLE(TUMBLE(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '1' DAY))"
SESSION = "TABLE(SESSION(TABLE bid PARTITION BY bidder, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))"
TODAY = "DATE_FORMAT(window_start, 'yyyy-MM-dd')"
CHANNEL = "REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2)"

BID = "auction BIGINT, bidder BIGINT, price BIGINT"
TIMED_BID = f"{BID}, `dateTime` TIMESTAMP(3)"
RANKS = {
    "total": "",
    "rank1": " FILTER (WHERE price < 10000)",
    "rank2": " FILTER (WHERE price >= 10000 AND price < 1000000)",
    "rank3": " FILTER (WHERE price >= 1000000)",
}
COUNTS = {f"{rank}_bids": f"COUNT(*){which}" for rank, which in RANKS.items()}
DISTINCT = COUNTS | {
    f"{rank}_{name}s": f"COUNT(DISTINCT {name}){which}"
    for name in ("bidder", "auction")
    for rank, which in RANKS.items()
}


def _whole(names: dict[str, str]) -> str:
    return ", ".join(f"{name} BIGINT" for name in names)


# The fields of each result and the query.
EXTENSION = {
    "q9": (
        f"{TIMED_BID}, seller BIGINT, expires TIMESTAMP(3)",
        f"""SELECT auction, bidder, price, CAST(moment AS TIMESTAMP(3)), seller, CAST(expires AS TIMESTAMP(3))
        FROM (SELECT *, ROW_NUMBER() OVER (
                PARTITION BY window_start, window_end, auction ORDER BY price DESC, moment
            ) AS nth FROM {CLOSING} WHERE price >= reserve)
        WHERE nth <= 1""",
    ),
    "q10": (
        f"{TIMED_BID}, extra STRING, `day` STRING, `minute` STRING",
        """SELECT auction, bidder, price, `dateTime`, extra,
            DATE_FORMAT(`dateTime`, 'yyyy-MM-dd'), DATE_FORMAT(`dateTime`, 'HH:mm') FROM bid""",
    ),
    "q11": (
        "bidder BIGINT, bid_count BIGINT, starttime TIMESTAMP(3), endtime TIMESTAMP(3)",
        f"""SELECT bidder, COUNT(*), window_start, window_end FROM {SESSION}
        GROUP BY bidder, window_start, window_end""",
    ),
    "q13": (
        f"{TIMED_BID}, `value` STRING",
        """SELECT B.auction, B.bidder, B.price, B.`dateTime`, S.`value`
        FROM (SELECT *, MOD(auction, 10000) AS side FROM bid) AS B
        JOIN side FOR SYSTEM_TIME AS OF B.`dateTime` AS S ON B.side = S.key""",
    ),
    "q14": (
        """auction BIGINT, bidder BIGINT, price DOUBLE, bidTimeType STRING, `dateTime` TIMESTAMP(3), extra STRING,
        c_counts BIGINT""",
        """SELECT auction, bidder, euros,
            CASE WHEN HOUR(`dateTime`) >= 8 AND HOUR(`dateTime`) <= 18 THEN 'dayTime'
                WHEN HOUR(`dateTime`) <= 6 OR HOUR(`dateTime`) >= 20 THEN 'nightTime' ELSE 'otherTime' END,
            `dateTime`, extra, CHAR_LENGTH(extra) - CHAR_LENGTH(REPLACE(extra, 'c', ''))
        FROM (SELECT *, CAST({rate} AS DOUBLE) * price AS euros FROM bid)
        WHERE euros > 1000000 AND euros < 50000000""",
    ),
    "q15": (
        f"`day` STRING, {_whole(DISTINCT)}",
        f"SELECT {TODAY}, {', '.join(DISTINCT.values())} FROM {DAY} GROUP BY window_start, window_end",
    ),
    "q16": (
        f"channel STRING, `day` STRING, {_whole(DISTINCT)}, `minute` STRING",
        f"""SELECT channel, {TODAY}, {", ".join(DISTINCT.values())}, DATE_FORMAT(MAX(`dateTime`), 'HH:mm')
        FROM {DAY} GROUP BY channel, window_start, window_end""",
    ),
    "q17": (
        f"""auction BIGINT, `day` STRING, {_whole(COUNTS)}, min_price BIGINT, max_price BIGINT, avg_price DOUBLE,
        sum_price BIGINT""",
        f"""SELECT auction, {TODAY}, {", ".join(COUNTS.values())},
            MIN(price), MAX(price), AVG(CAST(price AS DOUBLE)), SUM(price)
        FROM {DAY} GROUP BY auction, window_start, window_end""",
    ),
    "q18": (
        TIMED_BID,
        f"""SELECT auction, bidder, price, CAST(moment AS TIMESTAMP(3))
        FROM (SELECT *, ROW_NUMBER() OVER (
                PARTITION BY window_start, window_end, auction, bidder ORDER BY moment DESC
            ) AS nth FROM {CLOSING})
        WHERE nth <= 1""",
    ),
    "q19": (
        f"{TIMED_BID}, rank_number BIGINT",
        f"""SELECT auction, bidder, price, CAST(moment AS TIMESTAMP(3)), nth
        FROM (SELECT *, ROW_NUMBER() OVER (
                PARTITION BY window_start, window_end, auction ORDER BY price DESC, moment
            ) AS nth FROM {CLOSING})
        WHERE nth <= 10""",
    ),
    "q20": (
        f"""{BID}, channel STRING, url STRING, `dateTime` TIMESTAMP(3), itemName STRING, initialBid BIGINT,
        reserve BIGINT, expires TIMESTAMP(3), seller BIGINT""",
        """SELECT B.auction, B.bidder, B.price, B.channel, B.url, B.`dateTime`, A.itemName, A.initialBid,
            A.reserve, A.expires, A.seller
        FROM bid AS B JOIN auction AS A ON B.auction = A.id
            AND B.`dateTime` BETWEEN A.`dateTime` AND A.`dateTime` + {longest} AND B.`dateTime` <= A.expires
        WHERE A.category = 10""",
    ),
    "q21": (
        f"{BID}, channel STRING, channel_id STRING",
        f"""SELECT auction, bidder, price, channel,
            CASE LOWER(channel) WHEN 'apple' THEN '0' WHEN 'google' THEN '1' WHEN 'facebook' THEN '2'
                WHEN 'baidu' THEN '3' ELSE {CHANNEL} END
        FROM bid WHERE LOWER(channel) IN ('apple', 'google', 'facebook', 'baidu') OR {CHANNEL} <> ''""",
    ),
    "q22": (
        f"{BID}, channel STRING, dir1 STRING, dir2 STRING, dir3 STRING",
        """SELECT auction, bidder, price, channel,
            SPLIT_INDEX(url, '/', 3), SPLIT_INDEX(url, '/', 4), SPLIT_INDEX(url, '/', 5) FROM bid""",
    ),
}
CLOSINGS = ("q9", "q18", "q19")
