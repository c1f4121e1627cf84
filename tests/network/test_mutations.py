"""A damaged network is a network, or has one fault of one line: nothing else ever comes of a text."""

from pathlib import Path
from random import Random

import pytest

from aurora import AuroraError, Network, from_text, to_text

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
KEPT = """network: kept
inputs:
  reports: {schema: "Sid int, Time int, At timestamp, Pos double"}
  rows: {point: people}
  past: {point: recent, schema: "Sid int, Time int"}
  levels: {point: levels, schema: "Sid int", static: true}
boxes:
  over: {filter: ["Pos >= 30"], from: reports}
  known: {join: "left.Sid = right.Sid", left: over, right: people}
points:
  people: {stored: "csv:people.csv", key: [Sid], schema: "Sid int, Name string"}
  hours: {from: over, keep: 2h, on: At, key: [Sid]}
  seconds: {from: over.rest, keep: 2h, on: Time}
  arrived: {from: reports, keep: 90m}
  some: {from: known, keep: 1000}
  ever: {from: rows, keep: all, key: Name}
outputs:
  crowded: {from: known, keep: latest, key: [Sid, Name]}
  near: {from: over.rest, keep: 1.5, on: Pos}
  all: {from: past, qos: {latency: [[0, 1], [2, 1], [10, 0]], delivered: [[100, 1], [0, 0]]}}
  fast: {from: over, qos: {value: {of: Pos, graph: [[0, 1], [9, 0.5]]}}}
"""
TEXTS = [
    KEPT,
    *(
        path.read_text()
        for path in [
            *sorted(EXAMPLES.glob("*/network.yaml")),
            EXAMPLES / "border.yaml",
            EXAMPLES / "border_run.yaml",
        ]
    ),
]
VALUES = """
2020-13-45|2020-01-01|2020-01-01T00:00:00+99:99|!!int x|!!int ""|!!timestamp x|!!bool maybe|!x y|1.5|-1|0|1e400|.nan
.inf|-.inf|null|~|true|{}|[]|{q: 1.5}|[[2020-01-01]]|[null]|{a: [b]}|""|" "|"#"|99999999999999999999999999|1:30|0x10
*x|&x [*x]|&x {a: *x}|<<: 1|{<<: [1]}|? a|'|"|`|%|@|10s|1ms|1e99d|99999999999999d|"count(*)"|"a.b.c"|"(((("|Pos|"Pos"
"CASE WHEN"|"1 +"|"x IN (1,,2)"|"INTERVAL 99999999999 YEARS"|math:pi|math:sqrt|os:|:|"os:path:x"|user|group|with|"a\tb"
all|latest|2h|keep|from|stored|point|points|key|people|recent|"parquet:x"|"parquet:."|"sqlite:x?table=y"|"csv:"|over|At|Time
"""
WORDS = [word for line in VALUES.strip().splitlines() for word in line.split("|")]
MARKS = list("{}[],:#&*!|>'\"%@`-?\n\t\\ \0\x07é\u2028\ud800")


def cut(text: str, random: Random) -> tuple[str, str]:
    """The text before and behind a word of it, a run of letters or a single mark."""
    start = random.randrange(len(text))
    end = start + 1
    while end < len(text) and text[end].isalnum() and text[start].isalnum():
        end += 1
    while start and text[start - 1].isalnum() and text[start].isalnum():
        start -= 1
    return text[:start], text[end:]


def damaged(text: str, random: Random) -> str:
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        before, behind = cut(text, random)
        kind = random.randrange(6)
        if kind == 0:
            text = before + random.choice(WORDS) + behind
        elif kind == 1:
            text = before + random.choice(MARKS) + behind
        elif kind == 2:
            text = before + behind
        elif kind == 3:
            # A whole value, which words of its own may stand in.
            lines = text.splitlines(keepends=True)
            place = random.randrange(len(lines))
            name, colon, _ = lines[place].partition(": ")
            lines[place] = f"{name}{colon}{random.choice(WORDS)}\n"
            text = "".join(lines)
        elif kind == 4:
            lines = text.splitlines(keepends=True)
            random.shuffle(lines)
            text = "".join(lines) if random.random() < 0.2 else text + random.choice(lines)
        else:
            at = random.randrange(len(text))
            text = (
                text[:at] + chr(random.choice([random.randrange(128), random.randrange(0x3000)])) + text[at:]
            )
    return text


@pytest.mark.parametrize("seed", range(4))
def test_a_damaged_network_is_a_network_or_a_fault_of_one_line(seed: int) -> None:
    random = Random(seed)
    read = 0
    for _ in range(300):
        read += survives(damaged(random.choice(TEXTS), random))
    assert 0 < read < 300


def survives(text: str) -> bool:
    """Whether the text is that of a network; a fault of one line if it is not."""
    try:
        network = from_text(text)
    except AuroraError as fault:
        assert "\n" not in str(fault) and len(str(fault)) < 1000, text
        return False
    assert isinstance(network, Network), text
    assert from_text(to_text(network)) == network, text
    return True


@pytest.mark.parametrize("seed", range(2))
def test_damaged_points_are_points_or_a_fault_of_one_line(seed: int) -> None:
    random = Random(seed)
    assert 0 < sum(survives(damaged(KEPT, random)) for _ in range(300)) < 300
