"""Reads the text format of Prometheus as strictly as it is defined: each metric once, help and type before samples."""

import math
import re
from dataclasses import dataclass, field

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')
ESCAPED = {r"\\": "\\", r"\"": '"', r"\n": "\n"}

Labels = frozenset[tuple[str, str]]


@dataclass
class Metric:
    kind: str = ""
    help: str = ""
    samples: dict[tuple[str, Labels], float] = field(default_factory=dict)

    def get(self, suffix: str = "", **labels: str) -> float:
        return self.samples[suffix, frozenset(labels.items())]


def parse(text: str) -> dict[str, Metric]:
    assert text.endswith("\n")
    found: dict[str, Metric] = {}
    current = ""
    for line in text.splitlines():
        if line.startswith("# HELP "):
            current, told = line.removeprefix("# HELP ").split(" ", 1)
            assert NAME.fullmatch(current) and current not in found, line
            found[current] = Metric(help=told)
        elif line.startswith("# TYPE "):
            name, kind = line.removeprefix("# TYPE ").split(" ")
            assert name == current and not found[name].kind and not found[name].samples, line
            assert kind in ("counter", "gauge", "histogram"), line
            found[name].kind = kind
        else:
            sample = SAMPLE.fullmatch(line)
            assert sample is not None and sample[1].startswith(current), line
            metric, suffix = found[current], sample[1].removeprefix(current)
            assert metric.kind and suffix in (
                ("_bucket", "_sum", "_count") if metric.kind == "histogram" else ("",)
            )
            key = suffix, _labels(sample[2] or "")
            assert key not in metric.samples, line
            metric.samples[key] = float(sample[3])
    for name, metric in found.items():
        _check(name, metric)
    return found


def _labels(text: str) -> Labels:
    pairs, place = [], 0
    while place < len(text):
        label = LABEL.match(text, place)
        assert label is not None, text
        pairs.append((label[1], re.sub(r"\\.", lambda match: ESCAPED[match[0]], label[2])))
        place = label.end()
    assert len(dict(pairs)) == len(pairs), text
    return frozenset(pairs)


def _check(name: str, metric: Metric) -> None:
    assert metric.samples, f"{name} has no sample"
    assert metric.help[0].isupper() and metric.help.endswith("."), name
    if metric.kind == "counter":
        assert name.endswith("_total"), name
    if metric.kind in ("counter", "histogram"):
        assert all(value >= 0 for value in metric.samples.values()), name
    if metric.kind == "histogram":
        buckets = sorted(
            (float(dict(labels)["le"]), value)
            for (suffix, labels), value in metric.samples.items()
            if suffix == "_bucket"
        )
        assert buckets[-1] == (math.inf, metric.get("_count")) and metric.get("_sum") >= 0
        assert [value for _, value in buckets] == sorted(value for _, value in buckets)
