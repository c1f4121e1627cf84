"""What an edition of the benchmark fixes: constants, the toll, the deadlines. The rules elsewhere ask here."""

from dataclasses import dataclass, field
from typing import Any

__all__ = ["EDITIONS", "EDITION_2004", "Edition"]


@dataclass(frozen=True)
class Edition:
    name: str
    segments: int = 100
    segment_length: int = 5280
    report_interval: int = 30
    lav_minutes: int = 5
    accident_reach: int = 4
    stopped_reports: int = 4
    toll_speed: int = 40
    toll_cars: int = 50
    free_speed: int = 100
    exit_lane: int = 4
    travel_lanes: tuple[int, ...] = (1, 2, 3)
    history_days: int = 70
    balance_window: int = 60
    travel_tolerance: float = 0.05
    deadlines: dict[int, float] = field(default_factory=lambda: {0: 5.0, 1: 5.0, 2: 5.0, 3: 10.0, 4: 30.0})

    def tolled(self, lav: Any, cars: Any) -> Any:
        """Whether a segment without an accident nearby has a toll (rule 5): for numbers, arrays and Spark columns."""
        return (lav < self.toll_speed) & (cars > self.toll_cars)

    def toll(self, cars: Any) -> Any:
        """What is asked for where a segment has a toll."""
        return 2 * (cars - self.toll_cars) * (cars - self.toll_cars)


EDITION_2004 = Edition("2004")
EDITIONS = {EDITION_2004.name: EDITION_2004}
