"""Networks and data for the tests of the engine."""

import random
from typing import Any

from aurora.network.network import Network
from aurora.network.text import from_text

ALL_BOXES = """
network: all boxes
inputs:
  reports: {schema: "Sid int, Time int, Pos int, Name string"}
  beats: {schema: "Time int"}
  zones: {schema: "Low int, High int, Zone string", static: true}
boxes:
  over: {filter: ["Pos >= 30", "Pos >= 10"], from: reports}
  feet: {map: {Sid: "Sid", Time: "Time", Feet: "Pos * 3.5", Name: "upper(Name)"}, from: over.1}
  both: {union: [over.2, over.1, over.rest]}
  sorted: {bsort: {}, from: both, order: {on: Time, slack: 2, group_by: [Sid]}}
  crowd: {aggregate: {cnt: "count(*)", far: "max(Pos)", mean: "avg(Pos)"}, from: over.1, size: 5,
          order: {on: Time, slack: 1}}
  busy: {aggregate: {most: "max(cnt)"}, from: crowd, order: {on: "#"}, size: 2, advance: 1}
  each: {aggregate: {n: "count(Pos)", last: "last(Name)"}, from: sorted, size: 10, advance: 4,
         order: {on: Time, group_by: [Sid, Name]}}
  again: {aggregate: {total: "sum(n)"}, from: each, order: {on: Time, slack: 3, group_by: [Sid]}, size: 20}
  pairs: {join: "left.Pos = right.Pos and left.Sid <> right.Sid", left: over.1, right: both, size: 3,
          left_order: {on: Time, slack: 3}, right_order: {on: Time, slack: 9}}
  own: {join: "left.Sid = right.Sid", left: over.1, right: over.2, size: 4,
        left_order: {on: Time, slack: 3, group_by: [Sid]}, right_order: {on: Time, slack: 2, group_by: [Sid]}}
  alone: {join: "left.Pos = right.Pos", left: over.1, right: over.2, size: 3, outer: both,
          left_order: {on: Time, slack: 3}, right_order: {on: Time, slack: 9}}
  latest: {join: "left.Sid = right.Sid", left: over.1, right: over.2, asof: true, outer: left}
  known: {join: "left.Sid = right.Sid", left: over.1, right: over.2, asof: {left: Time, right: Time}, outer: left,
          left_order: {slack: 3}, right_order: {slack: 9, clock: reports}}
  at: {resample: {pos: "avg(Pos)", n: "count(*)"}, left: beats, right: reports, size: 6,
       left_order: {on: Time}, right_order: {on: Time, slack: 1, group_by: [Sid]}}
  held: {wait: Time, from: reports, for: crowd, order: {on: Time}}
  zoned: {join: "left.Pos >= right.Low and left.Pos < right.High", left: reports, right: zones}
outputs: {feet: feet, both: both, sorted: sorted, crowd: crowd, busy: busy, each: each, again: again, pairs: pairs,
          own: own, alone: alone, latest: latest, known: known, at: at, held: held, zoned: zoned}
"""

ZONES = "Low,High,Zone\n0,20,near\n15,40,far\n"


def all_boxes() -> Network:
    return from_text(ALL_BOXES)


def reports(count: int, seed: int, groups: int = 5) -> str:
    """Lines of CSV with disorder, ties, nulls and quotes; without a header."""
    chance = random.Random(seed)
    lines = []
    for i in range(count):
        time = "" if chance.random() < 0.02 else str(i // 3 - chance.choice([0, 0, 0, 1, 2, 7]))
        pos = "" if chance.random() < 0.05 else str(chance.randrange(-5, 50))
        name = chance.choice(['"a,b"', "x", "", '""', '"say ""hi"""', "über"])
        lines.append(f"{chance.randrange(groups)},{time},{pos},{name}")
    return "\n".join(lines) + "\n"


def beats(count: int) -> str:
    return "Time\n" + "".join(f"{5 * i}\n" for i in range(count))


def written(folder: Any) -> dict[str, bytes]:
    """All result files of a folder by name."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}
