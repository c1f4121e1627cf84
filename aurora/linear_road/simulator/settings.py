"""What a simulation is asked for."""

from dataclasses import dataclass

from aurora.errors import AuroraError

__all__ = ["Settings"]

# For each report: more would be a benchmark of something else.
MOST_QUERIES = 10


@dataclass(frozen=True)
class Settings:
    expressways: int
    minutes: int
    seed: int
    # Keep only so many minutes, the last ones; all of them by default.
    last: int | None = None
    # How many queries of the same car follow a report, on average.
    queries: float = 0.01

    def __post_init__(self) -> None:
        if self.expressways < 1:
            raise AuroraError(f"--expressways must be at least 1, not {self.expressways}")
        if self.minutes < 1:
            raise AuroraError(f"--minutes must be at least 1, not {self.minutes}")
        if self.seed < 0:
            raise AuroraError(f"--seed must be 0 or more, not {self.seed}")
        if self.last is not None and not 1 <= self.last <= self.minutes:
            raise AuroraError(f"--last must be between 1 and --minutes ({self.minutes}), not {self.last}")
        if not 0 <= self.queries <= MOST_QUERIES:
            raise AuroraError(f"--queries must be between 0 and {MOST_QUERIES}, not {self.queries:g}")

    @property
    def seconds(self) -> int:
        return self.minutes * 60

    @property
    def first_kept(self) -> int:
        """The second that becomes 0 in the files."""
        return 0 if self.last is None else (self.minutes - self.last) * 60

    @property
    def kept_minutes(self) -> range:
        return range(self.first_kept // 60, self.minutes)
