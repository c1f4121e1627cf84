"""What a network tells of itself while it runs: the figures of `aurora status`."""

from collections.abc import Mapping
from typing import Any

from aurora.engine.statistics import Statistics
from aurora.network.qos import Qos

__all__ = ["describe_run"]


def describe_run(
    seen: Statistics,
    boxes: list[str],
    outputs: Mapping[str, Qos | None],
    points: dict[str, Any],
    queries: dict[str, Any],
) -> dict[str, Any]:
    """Plain data, as `aurora status --json` prints it; what is not known is null.

    `outputs` are those that have a sink or are views, with their graphs; without them the utility is not known.
    """
    return {
        "state": seen.state,
        "batch": seen.batches,
        "seconds": round(seen.seconds, 3),
        "rejected": seen.rejected,
        "inputs": {
            name: {"rate": round(rate, 1), "waiting": None} for name, rate in seen.input_rates.items()
        },
        "boxes": {name: _describe_box(name, seen) for name in boxes},
        "outputs": {name: _describe_output(name, qos, seen) for name, qos in outputs.items()},
        "points": points,
        "queries": queries,
        "controls": seen.controls.to_json(),
    }


def _describe_box(name: str, seen: Statistics) -> dict[str, Any]:
    taken, given = seen.taken.get(name, 0), seen.given.get(name, 0)
    return {
        "taken": taken,
        "given": given,
        "cost_us": round(seen.nanoseconds.get(name, 0) / taken / 1000, 4) if taken else None,
        "selectivity": round(given / taken, 6) if taken else None,
        "state_bytes": seen.states.get(name, 0),
        "waiting": 0,
    }


def _describe_output(name: str, qos: Qos | None, seen: Statistics) -> dict[str, Any]:
    median, most = seen.latency.get(name, (None, None))
    utility = None
    if qos is not None and name in seen.delays:
        utility = round(qos.utility(*seen.delays[name], share=1.0), 4)
    return {
        "rows": seen.rows.get(name, 0),
        "rate": round(seen.output_rates.get(name, 0.0), 1),
        "latency_p50": median,
        "latency_p99": most,
        "delivered": 1.0,
        "shed": 0,
        "utility": utility,
    }
