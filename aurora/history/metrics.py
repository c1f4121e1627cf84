"""The figures of a network in the text format of Prometheus."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from aurora.engine.drops import SHED

__all__ = ["BatchTimes", "describe_metrics"]

STATES = ("starting", "running", "paused", "stopped")
# What takes a batch, in seconds: a fifth is the least that Spark needs, ten a long one.
BOUNDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

# Labels and a value.
Sample = tuple[dict[str, str], float | int | None]


@dataclass(frozen=True)
class BatchTimes:
    """How long the batches of this run took: how many up to each bound, and all of them together."""

    counts: tuple[int, ...] = (0,) * (len(BOUNDS) + 1)
    seconds: float = 0.0

    def add(self, seconds: float) -> "BatchTimes":
        """
        >>> BatchTimes().add(0.3).add(0.25).add(99).counts
        (0, 1, 1, 0, 0, 0, 0, 0, 1)
        """
        place = bisect_left(BOUNDS, seconds)
        counts = tuple(count + (place == index) for index, count in enumerate(self.counts))
        return replace(self, counts=counts, seconds=self.seconds + seconds)


def describe_metrics(status: Mapping[str, Any], times: BatchTimes, labels: Mapping[str, str]) -> str:
    """What `aurora status --json` has, as text; what is not known is left out. `labels` say what this is.

    >>> text = describe_metrics({"state": "running", "batch": 3}, BatchTimes(), {"network": "border"})
    >>> print("\\n".join(line for line in text.splitlines() if "aurora_batches" in line or "_info" in line))
    # HELP aurora_info What runs here; the value is always 1.
    # TYPE aurora_info gauge
    aurora_info{network="border"} 1
    # HELP aurora_batches_total Batches since the beginning, including earlier runs.
    # TYPE aurora_batches_total counter
    aurora_batches_total 3
    """
    lines: list[str] = []
    for name, kind, text, samples in _all(status, labels):
        known = [(labels, value) for labels, value in samples if value is not None]
        if known:
            lines += _head(name, kind, text)
            lines += [f"{name}{_labels(labels)} {_number(value)}" for labels, value in known]
    return "\n".join([*lines, *_histogram(times)]) + "\n"


def _all(
    status: Mapping[str, Any], labels: Mapping[str, str]
) -> Iterator[tuple[str, str, str, Iterable[Sample]]]:
    """Name, type, help and samples of each metric."""
    state = status["state"]
    up = int(state in ("running", "paused"))
    yield "aurora_info", "gauge", "What runs here; the value is always 1.", [(dict(labels), 1)]
    yield "aurora_up", "gauge", "Whether the network runs or is paused.", [({}, up)]
    yield (
        "aurora_state",
        "gauge",
        "The state of the network: 1 for the one in which it is.",
        [({"state": each}, int(each == state)) for each in STATES],
    )
    for name, kind, text, key in (
        ("seconds", "gauge", "Seconds since this run started.", "seconds"),
        ("batches_total", "counter", "Batches since the beginning, including earlier runs.", "batch"),
        ("rejected_rows_total", "counter", "Rows of the inputs that could not be read.", "rejected"),
        (
            "capacity_rows_per_second",
            "gauge",
            "Rows per second that the network can sustain, about.",
            "capacity",
        ),
    ):
        yield f"aurora_{name}", kind, text, [({}, status.get(key))]
    yield (
        "aurora_troubles",
        "gauge",
        "Outputs outside their good zone and inputs that fall behind.",
        [({}, len(status.get("troubles", [])))],
    )
    for group, what, name, kind, text, key in FIGURES:
        found = status.get(group, {})
        yield (
            f"aurora_{what}_{name}",
            kind,
            text,
            [({what: each}, figures.get(key)) for each, figures in found.items()],
        )
    yield (
        "aurora_output_latency_seconds",
        "gauge",
        "Seconds that rows of the last ten seconds were under way.",
        [
            ({"output": each, "quantile": quantile}, figures.get(key))
            for each, figures in status.get("outputs", {}).items()
            for quantile, key in (("0.5", "latency_p50"), ("0.99", "latency_p99"))
        ],
    )
    yield (
        "aurora_box_cost_seconds",
        "gauge",
        "Seconds of one core for each tuple that a box takes.",
        [
            ({"box": each}, _seconds(figures.get("cost_us")))
            for each, figures in status.get("boxes", {}).items()
        ],
    )
    left_out = [
        (place, reason, number)
        for place, reasons in status.get("discarded", {}).items()
        for reason, number in reasons.items()
    ]
    yield (
        "aurora_box_discarded_tuples_total",
        "counter",
        "Tuples that a box left out, by the reason.",
        [({"box": box, "reason": reason}, number) for box, reason, number in left_out if reason != SHED],
    )
    yield (
        "aurora_stream_shed_tuples_total",
        "counter",
        "Tuples that were shed under overload, by the stream.",
        [({"stream": stream}, number) for stream, reason, number in left_out if reason == SHED],
    )
    yield (
        "aurora_query_up",
        "gauge",
        "Whether an attached query runs.",
        [({"query": each}, int(figures["state"] == "running")) for each, figures in status.get("queries", {}).items()],
    )  # fmt: skip


# The group of figures, the label, the rest of the name, the type, the help, and the key of the figure.
FIGURES = (
    ("inputs", "input", "rows_total", "counter", "Rows read, including rejected ones.", "rows"),
    ("inputs", "input", "rows_per_second", "gauge", "Rows read a second, of the last ten seconds.", "rate"),
    ("inputs", "input", "waiting_rows", "gauge", "Rows that have come and are not read yet.", "waiting"),
    ("boxes", "box", "taken_tuples_total", "counter", "Tuples that a box has taken.", "taken"),
    ("boxes", "box", "given_tuples_total", "counter", "Tuples that a box has given, at all ports.", "given"),
    ("boxes", "box", "state_bytes", "gauge", "Bytes of state that a box keeps.", "state_bytes"),
    ("boxes", "box", "waiting_tuples", "gauge", "Tuples that wait in front of a box.", "waiting"),
    ("outputs", "output", "rows_total", "counter", "Rows that an output has given.", "rows"),
    ("outputs", "output", "rows_per_second", "gauge", "Rows a second, of the last ten seconds.", "rate"),
    ("outputs", "output", "utility", "gauge", "What the rows are worth now by their graphs, 0 to 1.", "utility"),
    ("outputs", "output", "delivered_ratio", "gauge", "The share of the tuples that is not shed now.", "delivered"),
    ("outputs", "output", "shed_tuples_total", "counter", "Tuples shed on the way to an output.", "shed"),
    ("arcs", "arc", "waiting_tuples", "gauge", "Tuples that wait on an arc until there is time.", "waiting"),
    ("points", "point", "rows", "gauge", "Rows that a connection point or view holds.", "rows"),
    ("points", "point", "passed_rows_total", "counter", "Rows that have passed a point or view.", "passed"),
    ("points", "point", "bytes", "gauge", "Bytes that a point or view takes on the disk.", "bytes"),
    ("queries", "query", "taken_rows_total", "counter", "Rows that an attached query has taken.", "taken"),
    ("queries", "query", "behind_rows", "gauge", "Rows that an attached query has not taken yet.", "behind"),
)  # fmt: skip


def _histogram(times: BatchTimes) -> list[str]:
    name, lines, total = "aurora_batch_seconds", [], 0
    for bound, count in zip((*map(str, BOUNDS), "+Inf"), times.counts, strict=True):
        total += count
        lines.append(f'{name}_bucket{{le="{bound}"}} {total}')
    sums = [f"{name}_sum {_number(times.seconds)}", f"{name}_count {total}"]
    return [*_head(name, "histogram", "How long the batches of this run took."), *lines, *sums]


def _head(name: str, kind: str, text: str) -> list[str]:
    return [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]


def _labels(labels: Mapping[str, str]) -> str:
    written = ",".join(f'{name}="{_escape(value)}"' for name, value in labels.items())
    return f"{{{written}}}" if written else ""


def _escape(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _seconds(microseconds: float | None) -> float | None:
    return None if microseconds is None else microseconds / 1e6


def _number(value: Any) -> str:
    return repr(float(value)) if isinstance(value, float) else str(int(value))
