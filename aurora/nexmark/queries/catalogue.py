"""The queries by their numbers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from aurora import Memory, Network
from aurora.errors import AuroraError
from aurora.nexmark.queries.events import Rules
from aurora.nexmark.queries.q0_pass_through import pass_through
from aurora.nexmark.queries.q1_currency import currency
from aurora.nexmark.queries.q2_selection import selection
from aurora.nexmark.queries.q3_local_items import local_items
from aurora.nexmark.queries.q4_average_price import average_price
from aurora.nexmark.queries.q5_hot_items import hot_items
from aurora.nexmark.queries.q6_selling_price import selling_price
from aurora.nexmark.queries.q7_highest_bid import highest_bid
from aurora.nexmark.queries.q8_new_users import new_users
from aurora.nexmark.queries.q9_winning_bids import winning_bids
from aurora.nexmark.queries.q10_log import log
from aurora.nexmark.queries.q11_sessions import sessions
from aurora.nexmark.queries.q12_arrival_windows import arrival_windows
from aurora.nexmark.queries.q13_side_input import side_input, side_rows
from aurora.nexmark.queries.q14_calculation import calculation
from aurora.nexmark.queries.q18_last_bids import last_bids
from aurora.nexmark.queries.q19_top_bids import top_bids
from aurora.nexmark.queries.q20_expanded_bids import expanded_bids
from aurora.nexmark.queries.q21_channels import channels
from aurora.nexmark.queries.q22_directories import directories
from aurora.nexmark.queries.statistics import auction_statistics, bidding_statistics, channel_statistics

__all__ = ["QUERIES", "Measure", "Query", "query_network"]


@dataclass(frozen=True)
class Measure:
    """What the current result of a query is, so that two of them can be compared.

    `numeric`: the latest `value` of each `key`. `set`: the values of the latest key, a window. `rows`: all rows so far.
    """

    kind: str = "rows"
    key: str | None = None
    value: str | None = None


ROWS = Measure()


@dataclass(frozen=True)
class Query:
    """A query by its title, and the network that answers it; its input is `events`, its output `result`."""

    title: str
    network: Callable[[Rules], Network]
    measure: Measure = ROWS
    # The sources of its tables, by name.
    tables: Callable[[], Mapping[str, Memory]] = dict


QUERIES = {
    "q0": Query("pass-through", pass_through),
    "q1": Query("currency conversion", currency),
    "q2": Query("selection", selection),
    "q3": Query("local item suggestion", local_items),
    "q4": Query("average price for a category", average_price, Measure("numeric", "category", "avg")),
    "q5": Query("hot items", hot_items, Measure("set", "window_start", "auction")),
    "q6": Query("average selling price by seller", selling_price, Measure("numeric", "seller", "avg")),
    "q7": Query("highest bid", highest_bid, Measure("numeric", None, "price")),
    "q8": Query("monitor new users", new_users, Measure("set", "window_start", "id")),
    "q9": Query("winning bids", winning_bids),
    "q10": Query("log", log),
    "q11": Query("user sessions", sessions),
    "q12": Query("processing time windows", arrival_windows),
    "q13": Query("bounded side input", side_input, tables=lambda: {"side": side_rows()}),
    "q14": Query("calculation", calculation),
    "q15": Query("bidding statistics", bidding_statistics),
    "q16": Query("channel statistics", channel_statistics),
    "q17": Query("auction statistics", auction_statistics),
    "q18": Query("last bids", last_bids),
    "q19": Query("top bids", top_bids),
    "q20": Query("expanded bids", expanded_bids),
    "q21": Query("channels", channels),
    "q22": Query("directories", directories),
}


def query_network(query: str, rules: Rules | None = None) -> Network:
    if query not in QUERIES:
        raise AuroraError(f"there is no query {query!r}: there are {', '.join(QUERIES)}")
    rules = rules or Rules()
    network = QUERIES[query].network(rules)
    # A run that was killed goes on only as what it was.
    network.name += f" ({rules.profile}, {rules.lateness} ms late, {rules.dollars_to_euros} euros a dollar)"
    return network
