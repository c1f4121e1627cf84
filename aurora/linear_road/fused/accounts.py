"""The accounts box: tolls charged when a car reaches the next segment, and balances (rules 9 and 10)."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from aurora import Groups, Train, Turn, caused
from aurora.linear_road.edition import EDITION_2004
from aurora.linear_road.fused.charging import charge
from aurora.linear_road.network.numbers import Array, numbers

__all__ = ["OUTPUTS", "accounts"]

OUTPUTS = {"balances": "Time int, ResultTime int, QID bigint, Bal bigint"}


def accounts(inputs: Mapping[str, Train], turn: Turn) -> Mapping[str, Train]:
    """Inputs: quotes, requests; of one arrival the quotes come first. The relation: `accounts`, one for each car."""
    quotes, requests = inputs["quotes"], inputs["requests"]
    groups = turn.relations.groups("accounts", ["VID"], quotes.rows, requests.rows)
    balance, pending = _load(groups)
    answers = np.empty(len(requests), np.int64)
    lane, toll, begins = (numbers(quotes.rows, name) for name in ("Lane", "Toll", "Begins"))
    charge(
        (quotes.keys[0], groups.numbers[0], lane, toll, begins),
        (requests.keys[0], groups.numbers[1], answers),
        (balance, pending),
        EDITION_2004.exit_lane,
    )
    _store(groups, balance, pending)
    when = requests.rows["Time"]
    rows = pa.record_batch(
        [when, when, requests.rows["QID"], pa.array(answers)], names=["Time", "ResultTime", "QID", "Bal"]
    )
    return {"balances": caused(requests, rows, np.arange(len(requests)))}


def _load(groups: Groups) -> tuple[Array, Array]:
    """What each car owes, and the toll that is due when it reaches the next segment."""
    balance, pending = np.zeros(len(groups), np.int64), np.zeros(len(groups), np.int64)
    found = groups.rows("account")
    if found is not None:
        car, rows = found
        balance[car], pending[car] = numbers(rows, "Balance"), numbers(rows, "Pending")
    return balance, pending


def _store(groups: Groups, balance: Array, pending: Array) -> None:
    touched = np.zeros(len(groups), bool)
    touched[groups.numbers[0]] = True
    worth = np.flatnonzero((balance != 0) | (pending != 0))
    rows = pa.record_batch({"Balance": balance[worth], "Pending": pending[worth]})
    groups.put("account", worth, rows, touched)
