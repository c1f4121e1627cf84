"""The query of the past about daily expenditure (rule 11), answered where it is read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from aurora import Train, Turn
from aurora.linear_road.edition import EDITION_2004
from aurora.linear_road.network.numbers import numbers
from aurora.linear_road.network.past import answer_requests
from aurora.linear_road.network.prepared import Prepared

__all__ = ["EXPENDITURES", "expenditure"]

EXPENDITURES = {"answers": "Time int, QID bigint, Bal bigint"}


def expenditure(**prepared: Any) -> "Expenditure":
    """The kernel on the histories that `Prepared(**prepared)` has."""
    return Expenditure(Prepared(**prepared))


@dataclass(frozen=True)
class Expenditure:
    """What a car paid on a day and expressway: the entry of the toll history, 0 where there is none."""

    prepared: Prepared

    def __call__(self, inputs: Mapping[str, Train], turn: Turn) -> Mapping[str, Train]:
        requests = inputs["requests"]
        vid, day, xway = (numbers(requests.rows, name).astype(np.int64) for name in ("VID", "Day", "XWay"))
        paid = np.zeros(len(requests), np.int64)
        stored = self.prepared.tolls()
        if stored is not None and len(requests):
            keys, tolls, xways = stored
            xway, vid = self.prepared.original(xway, vid)
            wanted = (vid * (EDITION_2004.history_days + 1) + day) * xways + xway
            at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            found = (keys[at] == wanted) & (xway < xways)
            paid[found] = tolls[at[found]]
        return answer_requests(requests, {"Bal": paid})
