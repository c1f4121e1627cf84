"""What answers are worth: tolls and alerts by their deadlines; requests can wait and, at worst, be left out."""

from typing import Any

from aurora.linear_road.edition import EDITION_2004 as EDITION

__all__ = ["GRAPHS"]

# A request that is answered within half a minute is as good as one answered at once; one in ten may be left out
# before anybody minds much.
_URGENT = {
    "latency": [[0, 1], [EDITION.deadlines[0], 1], [2 * EDITION.deadlines[0], 0]],
}
_PATIENT = {
    "latency": [[0, 1], [30, 1], [60, 0]],
    "delivered": [[100, 1], [90, 0.9], [0, 0]],
}
GRAPHS: dict[str, dict[str, Any]] = {
    "tolls": _URGENT,
    "alerts": _URGENT,
    "balances": _PATIENT,
    "expenditures": _PATIENT,
    "journeys": _PATIENT,
}
