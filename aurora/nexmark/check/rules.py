"""What the queries' numbers are in each profile; written down again here, so that a wrong one is noticed."""

from dataclasses import dataclass

from aurora.errors import AuroraError

__all__ = ["Rules"]

SECOND = 1_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE


@dataclass(frozen=True)
class Rules:
    """The settings of a run as far as its results depend on them; lengths in milliseconds."""

    profile: str = "standard"
    dollars_to_euros: float = 0.908
    # Ordered queries leave out what is more than this behind the largest time that came before.
    lateness: int = 4 * SECOND

    def __post_init__(self) -> None:
        if self.profile not in ("draft", "standard"):
            raise AuroraError(f"there is no profile {self.profile!r}: give draft or standard")

    @property
    def draft(self) -> bool:
        return self.profile == "draft"

    @property
    def selected(self) -> str:
        """The auctions of q2."""
        return "auction IN (1007, 1020, 2001, 2019, 1087)" if self.draft else "auction % 123 = 0"

    @property
    def states(self) -> str:
        """Where the sellers of q3 live."""
        return "('OR')" if self.draft else "('OR', 'ID', 'CA')"

    @property
    def hot_items(self) -> tuple[int, int]:
        """The length and the step of q5's window."""
        return (60 * MINUTE, MINUTE) if self.draft else (10 * SECOND, 2 * SECOND)

    @property
    def highest_bid(self) -> int:
        """The length of q7's window."""
        return 10 * MINUTE if self.draft else 10 * SECOND

    @property
    def new_users(self) -> int:
        """The length of q8's window."""
        return 12 * HOUR if self.draft else 10 * SECOND
