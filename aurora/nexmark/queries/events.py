"""The stream of events as the queries read it, and what distinguishes the two profiles."""

from dataclasses import dataclass, replace
from typing import Any

from aurora import Network, Stream
from aurora.errors import AuroraError

__all__ = [
    "LATENESS",
    "PROFILES",
    "TIMES",
    "Rules",
    "auction_stream",
    "bid_stream",
    "event_stream",
    "person_stream",
    "time_stream",
]

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
# The stream of the times of all events, which is the clock.
TIMES = "times"
TIME = "coalesce(bid.dateTime, auction.dateTime, person.dateTime)"
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

    def but(self, profile: str | None, lateness: float | None, dollars_to_euros: float) -> "Rules":
        """With what is given instead; `lateness` is in seconds here."""
        allowed = self.lateness if lateness is None else round(lateness * 1000)
        return replace(
            self, profile=profile or self.profile, dollars_to_euros=dollars_to_euros, lateness=allowed
        )

    @property
    def draft(self) -> bool:
        return self.profile == "draft"

    def order(self, *group_by: str, on: str = "dateTime", clock: str = TIMES) -> dict[str, Any]:
        """By event time, as late as is allowed: how far all events have come decides, of whatever kind they are."""
        groups = {"group_by": list(group_by)} if group_by else {}
        return {"on": on, "slack": f"{self.lateness}ms", **groups, "clock": clock}

    @property
    def selected(self) -> str:
        """The bids of q2."""
        return "bid.auction IN (1007, 1020, 2001, 2019, 1087)" if self.draft else "bid.auction % 123 = 0"

    @property
    def states(self) -> tuple[str, ...]:
        """Where the sellers of q3 live."""
        return ("OR",) if self.draft else ("OR", "ID", "CA")

    @property
    def hot_items(self) -> tuple[str, str]:
        """The size and the advance of q5's window."""
        return ("60 minutes", "1 minute") if self.draft else ("10 seconds", "2 seconds")

    @property
    def highest_bid(self) -> str:
        """The size of q7's window."""
        return "10 minutes" if self.draft else "10 seconds"

    @property
    def new_users(self) -> str:
        """The size of q8's window."""
        return "12 hours" if self.draft else "10 seconds"


def event_stream(network: Network, rules: Rules) -> Stream:
    """The input `events`: of each event one field is there, the others are null."""
    kinds = [f"{kind} struct<{_required(fields)}>" for kind, fields in KINDS.items()]
    return network.input("events", ", ".join([*kinds, CLOSED] if rules.draft else kinds))


def time_stream(events: Stream, *names: str) -> Stream:
    """The times of all events, under the names of the fields that go by them."""
    return events.map(dict.fromkeys(names or ("dateTime",), TIME), name=TIMES)


def bid_stream(events: Stream, *fields: str) -> Stream:
    """The bids, with these fields and their times."""
    bids = events.filter("bid IS NOT NULL", name="bid_events")
    return bids.map({name: f"bid.{name}" for name in (*fields, "dateTime")}, name="bids")


def auction_stream(events: Stream, *fields: str, where: str = "auction IS NOT NULL") -> Stream:
    """The auctions, with their ids, these fields, and the times at which they open and close."""
    auctions = events.filter(where, name="auction_events")
    return auctions.map(
        {name: f"auction.{name}" for name in ("id", *fields, "dateTime", "expires")}, name="auctions"
    )


def person_stream(events: Stream, *fields: str, where: str = "person IS NOT NULL") -> Stream:
    """The persons, with their ids, these fields and their times."""
    persons = events.filter(where, name="person_events")
    return persons.map({name: f"person.{name}" for name in ("id", *fields, "dateTime")}, name="persons")


def _required(fields: str) -> str:
    """An event that lacks a field is none."""
    return ", ".join(f"{field.strip().replace(' ', ': ', 1)} NOT NULL" for field in fields.split(","))
