"""What a firehose is asked for."""

from dataclasses import asdict, dataclass
from typing import Any

from aurora.errors import AuroraError
from aurora.nexmark.firehose.pace import Pace

__all__ = ["PROFILES", "SCALES", "Scale", "Settings"]

# Events for each 100 bids, or so: what bids/s are as events/s.
PROFILES = {"draft": 121 / 100, "standard": 50 / 46}
MOST_LATE = 0.5
DEFAULT_PACE = Pace.constant(10_000)


@dataclass(frozen=True)
class Scale:
    """A level of the draft: the static file, the bid streams, their bids a second in all, and how long."""

    categories: int
    bid_streams: int
    bids: int
    minutes: int

    def pace(self, profile: str) -> Pace:
        return Pace.constant(round(self.bids * PROFILES.get(profile, 1)))

    def events(self, profile: str) -> int:
        return self.pace(profile).rates[0] * self.minutes * 60


SCALES = {
    "small": Scale(300, 1, 10_000, 1),
    "medium": Scale(3_000, 4, 100_000, 10),
    "large": Scale(30_000, 16, 1_000_000, 60),
}


@dataclass(frozen=True)
class Settings:
    """Two firehoses with the same settings give the same events, wherever and in whatever order they are made."""

    profile: str = "standard"
    seed: int = 1
    # When events happen; and when they come, if they come live.
    pace: Pace = DEFAULT_PACE
    # The share of the events that come late, and by how many seconds at most.
    late: float = 0.0
    late_by: float = 3.0
    # Of the draft alone.
    bid_streams: int = 1
    categories: int = SCALES["small"].categories

    def __post_init__(self) -> None:
        if self.profile not in PROFILES:
            raise AuroraError(f"there is no profile {self.profile!r}: give {' or '.join(PROFILES)}")
        if not 0 <= self.seed < 2**63:
            raise AuroraError(f"--seed must be between 0 and 2^63 - 1, not {self.seed}")
        if not 0 <= self.late <= MOST_LATE:
            raise AuroraError(f"--late is a share of the events between 0 and {MOST_LATE}, not {self.late:g}")
        if not 0.001 <= self.late_by <= 1_000_000:
            raise AuroraError(f"--late-by must be between 0.001 and 1,000,000 seconds, not {self.late_by:g}")
        if not 1 <= self.bid_streams <= 100:
            raise AuroraError(f"--bid-streams must be between 1 and 100, not {self.bid_streams}")
        if self.bid_streams > 1 and self.profile != "draft":
            raise AuroraError("--bid-streams is for --profile draft: the standard one is a single stream")
        if not 11 <= self.categories <= 1_000_000:
            raise AuroraError(f"--categories must be between 11 and 1,000,000, not {self.categories}")

    @property
    def streams(self) -> tuple[str, ...]:
        """What comes apart from each other: everything, or each bid stream and the rest."""
        if self.bid_streams == 1:
            return ("all",)
        return ("rest", *(f"bid-{number}" for number in range(self.bid_streams)))

    def described(self) -> dict[str, Any]:
        """For generation.json."""
        return asdict(self) | {"pace": str(self.pace)}
