"""Small artificial traffic with every corner case, for tests of the tools: no physics, only rules to break."""

import random
from dataclasses import dataclass, field

from tests.spec.linear_road import Query, Report

__all__ = ["Traffic", "corner_cases", "crowd", "histories"]


@dataclass
class Traffic:
    reports: list[Report] = field(default_factory=list)
    queries: list[Query] = field(default_factory=list)

    def car(
        self, vid: int, start: int, steps: list[tuple[int, int, int]], xway=0, dir=0, gap=30, feet=100
    ) -> int:
        """A car's reports, `gap` seconds apart, from (segment, lane, speed) steps; returns the last second."""
        time = start
        for number, (seg, lane, speed) in enumerate(steps):
            time = start + number * gap
            self.reports.append(Report(time, vid, speed, xway, lane, dir, seg, seg * 5280 + feet))
        return time

    def ask(self, kind: int, time: int, vid: int, **fields: int) -> None:
        self.queries.append(Query(kind, time, vid, len(self.queries), **fields))

    def __add__(self, other: "Traffic") -> "Traffic":
        shift = len(self.queries)
        moved = [Query(**{**q.__dict__, "qid": q.qid + shift}) for q in other.queries]
        return Traffic(self.reports + other.reports, self.queries + moved)

    def lines(self, xway: int | None = None) -> list[str]:
        """The input lines ordered by Time, reports before queries; of one expressway if asked."""
        homes = {r.vid: r.xway for r in self.reports}
        rows = []
        for r in self.reports:
            if xway in (None, r.xway):
                numbers = [0, r.time, r.vid, r.spd, r.xway, r.lane, r.dir, r.seg, r.pos]
                rows.append((r.time, 0, ",".join(map(str, numbers + [-1] * 6))))
        for q in self.queries:
            if xway in (None, homes[q.vid]):
                numbers = [q.kind, q.time, q.vid, -1, q.xway, -1, -1, -1, -1, q.qid]
                numbers += [q.sinit, q.send, q.dow, q.tod, q.day]
                rows.append((q.time, 1, ",".join(map(str, numbers))))
        return [line for *_, line in sorted(rows)]


def crowd(seed: int, cars: int = 500, xways: int = 2, seconds: int = 1200, first_car: int = 0) -> Traffic:
    """Cars that jump between a few places: jams, stops of all lengths, broken trips, exits in mid trip.

    Segments 49..52 are full of cars that seldom meet; at both ends a few stop in the same places all the time.
    """
    rng = random.Random(seed)
    traffic = Traffic()
    for vid in range(first_car, first_car + cars):
        jam = rng.random() < 0.75
        xway, way, seg = rng.randrange(xways), int(rng.random() < 0.15), rng.choice([0, 1, 2, 97, 98, 99])
        low, high = (49, 52) if jam else (0, 99)
        feet = 10 * (vid - first_car) if jam and vid % 40 else 1000
        time, lane, slow = rng.randrange(seconds // 2), 0, rng.random() < 0.9
        first = True
        while time < seconds:
            if first or rng.random() < 0.4:
                seg = min(high, max(low, seg + rng.choice([-1, 0, 0, 1])))
                lane = 0 if first else rng.choice([0, 1, 1, 2, 2, 3, 4])
            pos = seg * 5280 + feet
            traffic.reports.append(
                Report(time, vid, rng.randrange(45 if slow else 101), xway, lane, way, seg, pos)
            )
            if rng.random() < 0.03:
                _ask_something(traffic, rng, time, vid, xways)
            first = rng.random() < 0.04
            if first and rng.random() < 0.3:
                xway = rng.randrange(xways)
            time += rng.choice([10, 20, 31, 60, 90, 200]) if first else 30
    return traffic


def _ask_something(traffic: Traffic, rng: random.Random, time: int, vid: int, xways: int) -> None:
    kind = rng.choice([2, 2, 3, 4])
    if kind == 2:
        traffic.ask(2, time, vid)
    elif kind == 3:
        traffic.ask(3, time, vid, xway=rng.randrange(xways), day=rng.randint(1, 69))
    else:
        traffic.ask(
            4,
            time,
            vid,
            xway=rng.randrange(xways),
            sinit=rng.randrange(100),
            send=rng.randrange(100),
            dow=rng.randint(1, 7),
            tod=rng.choice([1, 480, 1439, 1440, rng.randint(1, 1440)]),
        )


def corner_cases() -> Traffic:
    """Expressway 5: each corner of the rules once, with the cars 1000 and up."""
    t, jam = Traffic(), 30
    # Sixty slow cars keep segment 50 tolled, eastbound, from minute 2 on.
    for i in range(60):
        t.car(1000 + i, i % 30, [(50, 0, 10)] + [(50, 1, 10 + i % jam)] * 30, xway=5, feet=10 * i)
    # Charged on leaving 50; then straight into the exit lane of 51 (no notification); then never of 52.
    t.car(1100, 131, [(49, 0, 30), (50, 2, 30), (51, 4, 30)], xway=5)
    # Leaves by the exit of the tolled segment itself: no charge.
    t.car(1101, 132, [(49, 0, 30), (50, 2, 30), (50, 4, 30)], xway=5)
    # Returns: after 60 s (a new trip in the same segment), after 20 s, and on the other direction.
    t.car(1102, 133, [(50, 0, 30), (50, 1, 30)], xway=5)
    t.car(1102, 133 + 90, [(50, 0, 30), (51, 1, 30)], xway=5)
    t.car(1102, 133 + 140, [(52, 0, 30), (51, 1, 30)], xway=5, dir=1)
    # First and last second of a car, and the minute's edges around a charge.
    last = t.car(1103, 141, [(49, 0, 30), (50, 1, 30), (51, 1, 30), (52, 4, 30)], xway=5)
    for time in (141, 171, 200, 201, *[202] * 8, last):
        t.ask(2, time, 1103)
    t.ask(3, 141, 1103, xway=5, day=1)
    t.ask(3, last, 1103, xway=5, day=69)
    t.ask(4, last, 1103, xway=5, sinit=10, send=10, dow=1, tod=1440)
    # Accidents: (segment, direction, first second of each car, reports of each car, lane).
    crashes = [
        (0, 0, (60, 75), (12, 9), 1),
        (0, 1, (60, 75), (12, 9), 2),
        (99, 0, (90, 90), (5, 5), 3),
        (99, 1, (91, 95), (6, 8), 1),
        (30, 0, (60, 62), (8, 14), 1),
        (32, 0, (120, 122), (14, 8), 2),
        (70, 1, (60, 60), (4, 4), 1),
        (72, 1, (66, 80), (5, 4), 1),
        (80, 0, (60, 60), (10, 10), 0),
        (82, 0, (60, 180), (4, 8), 1),
    ]
    for number, (seg, way, starts, counts, lane) in enumerate(crashes):
        for which in (0, 1):
            stand = [(seg, lane, 0)] * counts[which]
            t.car(1200 + 2 * number + which, starts[which], stand, xway=5, dir=way, feet=2000)
        # Cars that pass by every minute, from six segments before to one after.
        for lap in range(12):
            way_there = [(min(99, max(0, seg + (i - 6) * (1 - 2 * way))), 1, 60) for i in range(8)]
            t.car(1300 + 20 * number + lap, 5 + 47 * lap, way_there, xway=5, dir=way, feet=300)
    # One report, then minutes without any car in segment 10, then another within and one beyond five minutes.
    for start in (10, 250, 700):
        t.car(1600 + start, start, [(10, 0, 20)], xway=5)
    return t


def histories(seed: int, vids: list[int], xways: list[int]):
    """Patchy histories: {(vid, day, xway): toll} and rows (day, min, xway, dir, seg, lav, cnt)."""
    rng = random.Random(seed)
    tolls = {
        (vid, rng.randint(1, 69), rng.choice(xways)): rng.randrange(99) for vid in vids for _ in range(30)
    }
    segments = []
    for xway in xways:
        for day in range(1, 71, 5):
            for at in (*range(1, 8), *range(470, 500), *range(1425, 1441)):
                for way in (0, 1):
                    for seg in range(0, 100, 2):
                        quiet = rng.random() < 0.1
                        lav = rng.choice([0, -1]) if quiet else rng.choice([20, 30, 39, 41, 80])
                        segments.append((day, at, xway, way, seg, lav, rng.randrange(40, 80)))
    return tolls, segments
