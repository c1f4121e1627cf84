"""The stream of events as the queries read it, and what distinguishes the two profiles."""

from dataclasses import dataclass

from aurora import Network, Stream
from aurora.errors import AuroraError

__all__ = ["LATENESS", "MILLISECOND", "PROFILES", "Rules", "event_stream"]

PERSON = "id bigint, name string, emailAddress string, creditCard string, city string, state string"
AUCTION = "id bigint, itemName string, description string, initialBid bigint, reserve bigint"
BID = "auction bigint, bidder bigint, price bigint, channel string, url string"
KINDS = {
    "person": f"{PERSON}, dateTime timestamp, extra string",
    "auction": f"{AUCTION}, dateTime timestamp, expires timestamp, seller bigint, category bigint, extra string",
    "bid": f"{BID}, dateTime timestamp, extra string",
}
# In the draft's profile a closing is told too; `buyer` is null where nobody bought.
CLOSED = "closed_auction struct<auction: bigint NOT NULL, buyer: bigint, dateTime: timestamp NOT NULL>"

PROFILES = ("draft", "standard")
# Times are in microseconds.
MILLISECOND = 1_000
SECOND = 1_000 * MILLISECOND
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
# Milliseconds by which an event may be behind, unless the data folder says how late its events are.
LATENESS = 4_000


@dataclass(frozen=True)
class Rules:
    """What a query's result depends on beside its events; `lateness` is in milliseconds."""

    profile: str = "standard"
    dollars_to_euros: float = 0.908
    lateness: int = LATENESS

    def __post_init__(self) -> None:
        if self.profile not in PROFILES:
            raise AuroraError(f"there is no profile {self.profile!r}: give {' or '.join(PROFILES)}")
        if self.lateness < 0:
            raise AuroraError(f"the lateness must be 0 or more, found {self.lateness} ms")

    @property
    def draft(self) -> bool:
        return self.profile == "draft"

    @property
    def bound(self) -> int:
        """The lateness in the unit of the times."""
        return self.lateness * MILLISECOND

    @property
    def selected(self) -> str:
        """The bids of q2."""
        return "bid.auction IN (1007, 1020, 2001, 2019, 1087)" if self.draft else "bid.auction % 123 = 0"

    @property
    def states(self) -> tuple[str, ...]:
        """Where the sellers of q3 live."""
        return ("OR",) if self.draft else ("OR", "ID", "CA")

    @property
    def hot_items(self) -> tuple[int, int]:
        """The size and the advance of q5's window."""
        return (60 * MINUTE, MINUTE) if self.draft else (10 * SECOND, 2 * SECOND)

    @property
    def highest_bid(self) -> int:
        """The size of q7's window."""
        return 10 * MINUTE if self.draft else 10 * SECOND

    @property
    def new_users(self) -> int:
        """The size of q8's window."""
        return 12 * HOUR if self.draft else 10 * SECOND


def event_stream(network: Network, rules: Rules) -> Stream:
    """The input `events`: of each event one field is there, the others are null."""
    kinds = [f"{kind} struct<{_required(fields)}>" for kind, fields in KINDS.items()]
    return network.input("events", ", ".join([*kinds, CLOSED] if rules.draft else kinds))


def _required(fields: str) -> str:
    """An event that lacks a field is none."""
    return ", ".join(f"{field.strip().replace(' ', ': ', 1)} NOT NULL" for field in fields.split(","))
