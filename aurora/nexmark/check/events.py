"""The event files as tables of DuckDB: numbered by arrival, with what is too late marked."""

from collections.abc import Collection
from pathlib import Path

import duckdb

from aurora.errors import AuroraError
from aurora.nexmark.check.rules import Rules

__all__ = ["EVENT", "FIELDS", "load", "quoted"]

TIMES = ("dateTime", "expires")
NUMBERS = ("id", "initialBid", "reserve", "seller", "category", "auction", "bidder", "price")
FIELDS = {
    "person": ("id", "name", "emailAddress", "creditCard", "city", "state", "dateTime", "extra"),
    "auction": (
        *("id", "itemName", "description", "initialBid", "reserve"),
        *("dateTime", "expires", "seller", "category", "extra"),
    ),
    "bid": ("auction", "bidder", "price", "channel", "url", "dateTime", "extra"),
}


def _type(field: str) -> str:
    return "TIMESTAMP" if field in TIMES else "BIGINT" if field in NUMBERS else "VARCHAR"


# The columns of a file of events, as DuckDB's readers and casts take them.
EVENT = {
    kind: "STRUCT(" + ", ".join(f'"{field}" {_type(field)}' for field in fields) + ")"
    for kind, fields in FIELDS.items()
}


def load(base: duckdb.DuckDBPyConnection, data: Path, rules: Rules, fields: Collection[str]) -> None:
    """Makes the table `arrived` of whole events and a view of each kind, with these fields and the following.

    `arrival` is the event's number in the order of the files; `stamp` is its dateTime in milliseconds, `expiry` the
    auction's expires; `late` says that it is more than the allowed lateness behind the largest time before it.
    """
    columns = ", ".join(f"{_kept(kind, fields)} AS {kind}" for kind in FIELDS)
    base.execute(f"""
        CREATE TABLE arrived AS
        SELECT *, coalesce(stamp < max(stamp) OVER before - {rules.lateness}, false) AS late
        FROM (
            SELECT *, epoch_ms(coalesce(bid.dateTime, auction.dateTime, person.dateTime)) AS stamp
            FROM (SELECT row_number() OVER () AS arrival, {columns} FROM {_reader(data)})
        )
        WINDOW before AS (ORDER BY arrival ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
    """)
    for kind in FIELDS:
        until = ", epoch_ms(auction.expires) AS expiry" if kind == "auction" else ""
        base.execute(f"""
            CREATE VIEW {kind}s AS
            SELECT arrival, stamp, late{until}, {kind}.* FROM arrived WHERE {kind} IS NOT NULL
        """)


def _kept(kind: str, fields: Collection[str]) -> str:
    """The event with these fields of it and its times, if nothing is missing in it and it is of no other kind too."""
    whole = [f'{kind}."{field}" IS NOT NULL' for field in FIELDS[kind]]
    alone = [f"{other} IS NULL" for other in FIELDS if other != kind]
    kept = [f'"{field}": {kind}."{field}"' for field in FIELDS[kind] if field in (*fields, *TIMES)]
    return f"CASE WHEN {' AND '.join(whole + alone)} THEN {{{', '.join(kept)}}} END"


def _reader(data: Path) -> str:
    """The files of a data folder, in the order of their names."""
    for suffix in ("jsonl", "parquet"):
        files = sorted(str(path) for path in data.glob(f"events-*.{suffix}"))
        if files:
            names = ", ".join(quoted(name) for name in files)
            if suffix == "parquet":
                return f"read_parquet([{names}])"
            columns = ", ".join(f"{kind}: {quoted(struct)}" for kind, struct in EVENT.items())
            return f"read_json([{names}], format = 'newline_delimited', ignore_errors = true, columns = {{{columns}}})"
    raise AuroraError(f"{data} has no events-NNNNN.jsonl or .parquet: make them with aurora nexmark generate")


def quoted(text: str) -> str:
    """A string of SQL."""
    return "'" + text.replace("'", "''") + "'"
