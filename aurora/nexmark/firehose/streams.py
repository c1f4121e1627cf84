"""One stream of several: the bids of one business object, or all events of other kinds."""

import numpy as np
from numpy.typing import NDArray

from aurora.errors import AuroraError
from aurora.nexmark.firehose.facts import BID, KIND, KINDS, STREAM, Facts
from aurora.nexmark.firehose.settings import Settings

__all__ = ["check_stream", "members"]


def check_stream(settings: Settings, stream: str) -> None:
    known = ("all", "rest", *KINDS, *(f"bid-{number}" for number in range(settings.bid_streams)))
    if stream not in known:
        raise AuroraError(f"there is no stream {stream!r}: there are {', '.join(known)}")


def members(facts: Facts, stream: str) -> NDArray[np.int64]:
    """Where the events of the stream stand among all of them."""
    if stream == "all":
        return np.arange(facts.shape[1])
    kind, _, number = stream.partition("-")
    if kind == "rest":
        chosen = facts[KIND] != BID
    else:
        chosen = facts[KIND] == KINDS.index(kind)
    if number:
        chosen = chosen & (facts[STREAM] == int(number))
    return np.flatnonzero(chosen)
