"""What some systems need beside the events; made before a query starts."""

from pathlib import Path

import duckdb

from aurora.nexmark.check.events import quote_text
from aurora.nexmark.rivals.system import Job, event_files

__all__ = ["longest_auction", "write_side"]

# As many as the suites have.
KEYS = 10_000
# The queries in which bids wait for auctions, and no longer than one may run.
JOINED = ("q9", "q18", "q19", "q20")


def write_side(folder: Path) -> Path:
    """The side input of q13 as side.csv without a header: a key and its value in each line."""
    path = folder / "side.csv"
    path.write_text("".join(f"{key},{key}\n" for key in range(KEYS)))
    return path


def longest_auction(job: Job) -> int:
    """Milliseconds from opening to expiry, if the query needs them: a house knows how long it lets auctions run."""
    if job.query not in JOINED:
        return 0
    names = ", ".join(quote_text(str(path)) for path in event_files(job.data))
    kind = quote_text('STRUCT("dateTime" TIMESTAMP, expires TIMESTAMP)')
    events = f"read_json([{names}], columns = {{auction: {kind}}}, format = 'newline_delimited', ignore_errors = true)"
    length = 'epoch_ms(auction.expires) - epoch_ms(auction."dateTime")'
    with duckdb.connect() as base:
        ((longest,),) = base.execute(f"SELECT coalesce(max({length}), 0) FROM {events}").fetchall()
    return int(longest)
