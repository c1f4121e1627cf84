"""What the traffic came to, for simulation.json."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from aurora.linear_road.simulator.direction import Direction
from aurora.linear_road.simulator.returning import Numbered
from aurora.linear_road.simulator.settings import Settings
from aurora.linear_road.simulator.write import Written, file_name

__all__ = ["summary"]

EARLY, LATE = 10, 30


def _mean(total: float, count: float) -> float | None:
    return round(float(total / count), 2) if count else None


def _traffic(directions: Sequence[Direction]) -> dict[str, Any]:
    reports = sum(each.lane_reports for each in directions)
    speeds = sum(each.lane_speeds for each in directions)
    assert isinstance(reports, np.ndarray) and isinstance(speeds, np.ndarray)
    travel = slice(1, 4)
    late_reports, late_speeds = reports[-LATE:], speeds[-LATE:]
    return {
        "top_speed": max(each.top_speed for each in directions),
        "entrance_speed_first_minutes": _mean(speeds[:EARLY, 0].sum(), reports[:EARLY, 0].sum()),
        "travel_speed_first_minutes": _mean(speeds[:EARLY, travel].sum(), reports[:EARLY, travel].sum()),
        "mean_speed_last_half_hour": _mean(late_speeds.sum(), late_reports.sum()),
        "mean_speed": _mean(speeds.sum(), reports.sum()),
        "lane_shares_first_minutes": [
            _mean(count, reports[:EARLY].sum()) for count in reports[:EARLY].sum(axis=0)
        ],
        "lane_shares": [_mean(count, reports.sum()) for count in reports.sum(axis=0)],
        "cars_on_the_road": round(float(reports.sum() / (2 * len(reports)))),
        "cars_on_the_road_at_the_end": round(float(reports[-1].sum() / 2)),
    }


def summary(
    settings: Settings, directions: Sequence[Direction], written: Sequence[Written], numbered: Numbered
) -> dict[str, Any]:
    """Times are those of the files: with --last they count from the first kept second."""
    shift = settings.first_kept
    expressways: list[dict[str, Any]] = []
    for one in written:
        mine = [each for each in directions if each.expressway == one.expressway]
        expressways.append(
            {
                "file": file_name(one.expressway),
                "reports": int(sum(each.reports.sum() for each in mine)),
                "cars": numbered.cars[one.expressway],
                "trips": sum(each.trips for each in mine),
                "queries": {str(kind): count for kind, count in one.queries.items()},
                "traffic": _traffic(mine),
            }
        )
    accidents = sorted(accident for each in directions for accident in each.accidents)
    return {
        "seed": settings.seed,
        "settings": {
            "expressways": settings.expressways,
            "minutes": settings.minutes,
            "last": settings.last,
            "queries": settings.queries,
        },
        "counts": {
            "reports": sum(each["reports"] for each in expressways),
            "cars": sum(numbered.cars),
            "trips": sum(each["trips"] for each in expressways),
            "returning_cars": numbered.returning,
            "queries": {kind: sum(each["queries"][kind] for each in expressways) for kind in ("2", "3", "4")},
        },
        "traffic": _traffic(directions),
        "accidents": [
            {
                **accident._asdict(),
                **{
                    name: _moved(getattr(accident, name), shift)
                    for name in ("happened", "detected", "cleared")
                },
            }
            for accident in accidents
            if accident.cleared < 0 or accident.cleared >= shift
        ],
        "expressways": expressways,
    }


def _moved(second: int, shift: int) -> int | None:
    return None if second < 0 else second - shift
