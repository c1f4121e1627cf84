"""What a firehose is asked for."""

from dataclasses import asdict, dataclass
from typing import Any

from aurora.errors import AuroraError
from aurora.nexmark.firehose.pace import Pace

__all__ = ["PROFILES", "SCALES", "Scale", "Settings"]

PROFILES = ("draft", "standard")
MOST_EVENTS = 10**13
MOST_LATE = 0.5
DEFAULT_PACE = Pace.constant(10_000)


@dataclass(frozen=True)
class Scale:
    """A scale level of the draft: the static file, the bid streams, all their bids a second, and how long."""

    categories: int
    bid_streams: int
    bids: int
    minutes: int


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
    pace: Pace = DEFAULT_PACE
    # The share of the events that come late, and by how many seconds at most.
    late: float = 0.0
    late_by: float = 3.0
    # The draft alone: how many bid streams, and the size of its static file.
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
            raise AuroraError(
                "--bid-streams is of the draft: the standard profile has one stream of all events"
            )
        if not 11 <= self.categories <= 10_000_000:
            raise AuroraError(f"--categories must be between 11 and 10,000,000, not {self.categories}")

    def described(self) -> dict[str, Any]:
        """For generation.json."""
        return asdict(self) | {"pace": str(self.pace)}
