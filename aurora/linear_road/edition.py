"""What an edition of the benchmark fixes: constants, the toll, the deadlines. The rules elsewhere ask here."""

from dataclasses import dataclass, field

__all__ = ["EDITION_2004", "EDITIONS", "Edition"]


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

    def toll(self, lav: float, cars: float) -> float:
        """The toll of a segment without an accident nearby (rule 5)."""
        return 2 * (cars - self.toll_cars) ** 2 if lav < self.toll_speed and cars > self.toll_cars else 0


EDITION_2004 = Edition("2004")
EDITIONS = {EDITION_2004.name: EDITION_2004}
