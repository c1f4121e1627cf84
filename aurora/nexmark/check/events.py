"""The event files as tables of DuckDB: numbered by arrival, with what is too late marked."""

from collections.abc import Collection
from pathlib import Path

import duckdb

from aurora.errors import AuroraError
from aurora.nexmark.check.rules import Rules

__all__ = ["FIELDS", "event_type", "kinds", "load", "quote_text"]

TIMES = ("dateTime", "expires")
NUMBERS = ("id", "initialBid", "reserve", "seller", "category", "auction", "bidder", "price", "buyer")
FIELDS = {
    "person": ("id", "name", "emailAddress", "creditCard", "city", "state", "dateTime", "extra"),
    "auction": (
        *("id", "itemName", "description", "initialBid", "reserve"),
        *("dateTime", "expires", "seller", "category", "extra"),
    ),
    "bid": ("auction", "bidder", "price", "channel", "url", "dateTime", "extra"),
    "closed_auction": ("auction", "buyer", "dateTime"),
}
# Nobody may have bought.
OPTIONAL = ("buyer",)
# Whose times drive the clock; that an auction has closed is told in the draft alone.
CLOCK = ("person", "auction", "bid")


def kinds(rules: Rules) -> tuple[str, ...]:
    """The kinds of events in the profile."""
    return tuple(FIELDS) if rules.draft else CLOCK


def event_type(kind: str) -> str:
    """The type of a kind of event in DuckDB."""
    fields = (f'"{field}" {_type(field)}' for field in FIELDS[kind])
    return f"STRUCT({', '.join(fields)})"


def _type(field: str) -> str:
    return "TIMESTAMP" if field in TIMES else "BIGINT" if field in NUMBERS else "VARCHAR"


def load(
    base: duckdb.DuckDBPyConnection,
    data: Path,
    rules: Rules,
    fields: Collection[str],
    *,
    ordered: bool = True,
) -> None:
    """Makes the table `arrived` of all lines and a view of each kind of event, with these fields and the following.

    `arrival` is the line's number in the order of the files, `whole` says that it is an event; `stamp` is its dateTime
    in milliseconds and `expiry` the auction's expires; `late` says that the event is more than the allowed lateness
    behind the largest time before it; if not `ordered`, nothing is.
    """
    columns = ", ".join(f"{_kept(kind, rules, fields)} AS {kind}" for kind in kinds(rules))
    whole = " OR ".join(f"{kind} IS NOT NULL" for kind in kinds(rules))
    times = ", ".join(f"{kind}.dateTime" for kind in CLOCK)
    late = f"coalesce(stamp < max(stamp) OVER before - {rules.lateness}, false)" if ordered else "false"
    base.execute(f"""
        CREATE TABLE arrived AS
        SELECT *, {whole} AS whole, {late} AS late
        FROM (
            SELECT *, epoch_ms(coalesce({times})) AS stamp
            FROM (SELECT row_number() OVER () AS arrival, {columns} FROM {_reader(data, rules)})
        )
        WINDOW before AS (ORDER BY arrival ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
    """)
    for kind in CLOCK:
        expiry = ", epoch_ms(auction.expires) AS expiry" if kind == "auction" else ""
        base.execute(f"""
            CREATE VIEW {kind}s AS
            SELECT arrival, stamp, late{expiry}, {kind}.* FROM arrived WHERE {kind} IS NOT NULL
        """)


def _kept(kind: str, rules: Rules, fields: Collection[str]) -> str:
    """The event with these fields of it and its times, if nothing is missing in it and it is of no other kind too."""
    whole = [f'{kind}."{field}" IS NOT NULL' for field in FIELDS[kind] if field not in OPTIONAL]
    alone = [f"{other} IS NULL" for other in kinds(rules) if other != kind]
    kept = [f'"{field}": {kind}."{field}"' for field in FIELDS[kind] if field in (*fields, *TIMES)]
    return f"CASE WHEN {' AND '.join(whole + alone)} THEN {{{', '.join(kept)}}} END"


def _reader(data: Path, rules: Rules) -> str:
    """The files of a data folder, in the order of their names."""
    for suffix in ("jsonl", "parquet"):
        files = sorted(str(path) for path in data.glob(f"events-*.{suffix}"))
        if not files:
            continue
        names = ", ".join(quote_text(name) for name in files)
        if suffix == "parquet":
            columns = ", ".join(f"{kind}::{event_type(kind)} AS {kind}" for kind in kinds(rules))
            return f"(SELECT {columns} FROM read_parquet([{names}]))"
        columns = ", ".join(f"{kind}: {quote_text(event_type(kind))}" for kind in kinds(rules))
        return f"""read_json(
            [{names}], format = 'newline_delimited', ignore_errors = true, columns = {{{columns}}}
        )"""
    raise AuroraError(f"{data} has no events-NNNNN.jsonl or .parquet: make them with aurora nexmark generate")


def quote_text(text: str) -> str:
    """A string of SQL."""
    return "'" + text.replace("'", "''") + "'"
