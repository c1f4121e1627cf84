"""The rules of Linear Road (2004) in plain Python, as they are written: slow and obviously right."""

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from math import floor

__all__ = ["Answers", "Query", "Report", "answers", "output_lines"]


@dataclass(frozen=True)
class Report:
    time: int
    vid: int
    spd: int
    xway: int
    lane: int
    dir: int
    seg: int
    pos: int


@dataclass(frozen=True)
class Query:
    kind: int
    time: int
    vid: int
    qid: int
    xway: int = -1
    sinit: int = -1
    send: int = -1
    dow: int = -1
    tod: int = -1
    day: int = -1


@dataclass
class Answers:
    tolls: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    alerts: dict[tuple[int, int], int] = field(default_factory=dict)
    # Table 4 of the paper asks for an accident within reach, not for the nearest.
    near: dict[tuple[int, int], set[int]] = field(default_factory=dict)
    charges: dict[int, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    queries: list[Query] = field(default_factory=list)
    expenditures: dict[int, int] = field(default_factory=dict)
    journeys: dict[int, tuple[int, int]] = field(default_factory=dict)

    def balance(self, vid: int, at: int) -> int:
        return sum(toll for time, toll in self.charges[vid] if time <= at)


def minute(time: int) -> int:
    return time // 60 + 1


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def place(report: Report) -> tuple[int, int, int, int]:
    return report.xway, report.lane, report.pos, report.dir


def _statistics(reports: list[Report]) -> dict[tuple[int, int, int, int], tuple[int, float]]:
    speeds: dict[tuple[int, int, int, int], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for r in reports:
        speeds[minute(r.time), r.xway, r.seg, r.dir][r.vid].append(r.spd)
    return {key: (len(cars), mean([mean(s) for s in cars.values()])) for key, cars in speeds.items()}


def _accidents(cars: dict[int, list[Report]]) -> set[tuple[int, int, int, int]]:
    stopped = defaultdict(set)
    for vid, reports in cars.items():
        for i in range(3, len(reports)):
            last_four = reports[i - 3 : i + 1]
            one_trip = all(b.time - a.time == 30 for a, b in pairwise(last_four))
            if not one_trip or len({place(r) for r in last_four}) > 1:
                continue
            here = reports[i]
            for second in range(here.time, here.time + 30):
                if any(here.time < r.time <= second and place(r) != place(here) for r in reports):
                    break
                stopped[place(here), second].add(vid)
    found = set()
    for ((xway, lane, pos, way), second), vids in stopped.items():
        if lane in (1, 2, 3) and len(vids) > 1:
            found.add((minute(second), xway, pos // 5280, way))
    return found


def answers(
    reports: list[Report], queries: list[Query], tolls=None, segments=None, today: int = 2
) -> Answers:
    """All right answers; tolls {(vid, day, xway): toll}, segments [(day, min, xway, dir, seg, lav, cnt)]."""
    result = Answers(queries=list(queries))
    cars: dict[int, list[Report]] = defaultdict(list)
    for r in sorted(reports, key=lambda r: r.time):
        cars[r.vid].append(r)
    statistics = _statistics(reports)
    accidents = _accidents(cars)

    def lav(m: int, xway: int, seg: int, way: int) -> int:
        means = [
            statistics[k, xway, seg, way][1] for k in range(m - 5, m) if (k, xway, seg, way) in statistics
        ]
        return floor(mean(means) + 1e-9) if means else -1

    def accidents_ahead(m: int, xway: int, seg: int, way: int) -> list[int]:
        reached = [min(seg + i, 99) if way == 0 else max(seg - i, 0) for i in range(5)]
        return [there for there in reached if (m - 1, xway, there, way) in accidents]

    for vid, own in cars.items():
        quoted = 0
        for before, r in zip([None, *own], own, strict=False):
            same_trip = before is not None and r.time - before.time == 30
            if same_trip and r.seg == before.seg:
                continue
            if same_trip and quoted:
                result.charges[vid].append((r.time, quoted))
            quoted = 0
            if r.lane == 4:
                continue
            here = minute(r.time), r.xway, r.seg, r.dir
            count = statistics.get((here[0] - 1, *here[1:]), (0, 0))[0]
            ahead = accidents_ahead(*here)
            if lav(*here) < 40 and count > 50 and not ahead:
                quoted = 2 * (count - 50) ** 2
            result.tolls[vid, r.time] = lav(*here), quoted
            if ahead:
                result.alerts[vid, r.time] = ahead[0]
                result.near[vid, r.time] = set(ahead)

    history = defaultdict(list)
    for day, at, xway, way, seg, speed, count in segments or []:
        if speed > 0:
            history[xway, (today - 1 - day) % 7 + 1, at, way, seg].append((speed, count))
    for q in queries:
        if q.kind == 3:
            result.expenditures[q.qid] = (tolls or {}).get((q.vid, q.day, q.xway), 0)
        if q.kind == 4:
            result.journeys[q.qid] = _journey(q, history)
    return result


def _journey(q: Query, history) -> tuple[int, int]:
    way = 0 if q.send >= q.sinit else 1
    seconds = toll = 0.0
    for seg in range(q.sinit, q.send, 1 if way == 0 else -1):
        at = int((q.tod - 1) * 60 + seconds) // 60 % 1440 + 1
        days = history.get((q.xway, q.dow, at, way, seg))
        speed = mean([lav for lav, _ in days]) if days else 100
        count = mean([cnt for _, cnt in days]) if days else 0
        if speed < 40 and count > 50:
            toll += 2 * (count - 50) ** 2
        seconds += 3600 / speed
    return floor(seconds + 0.5), floor(toll + 0.5)


def output_lines(result: Answers, delay: float = 0.25) -> list[str]:
    """A right output in the native dialect, every row `delay` seconds after its Time."""
    rows = []
    for (vid, time), (speed, toll) in result.tolls.items():
        rows.append((time, f"0,{vid},{time},{time + delay:.3f},{speed},{toll}"))
    for (vid, time), seg in result.alerts.items():
        rows.append((time, f"1,{time},{time + delay:.3f},{vid},{seg}"))
    for q in result.queries:
        start = f"{q.kind},{q.time},{q.time + delay:.3f}"
        if q.kind == 2:
            rows.append((q.time, f"{start},{q.time},{q.qid},{result.balance(q.vid, q.time)}"))
        elif q.kind == 3:
            rows.append((q.time, f"{start},{q.qid},{result.expenditures[q.qid]}"))
        else:
            rows.append((q.time, "{},{},{},{}".format(start, q.qid, *result.journeys[q.qid])))
    return [line for _, line in sorted(rows)]
