"""What a network tells of itself while it runs: the figures of `aurora status`."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from aurora.adapt.deferral import ARC
from aurora.adapt.figures import BoxFigures, Figures, LaterFigures
from aurora.adapt.shedding import Shedding
from aurora.engine.statistics import Statistics
from aurora.engine.waits import waits
from aurora.network.qos import Qos

__all__ = ["add_figures", "add_shedding", "add_sums", "add_waiting", "describe_run"]

# Shorter batches do not tell how many rows could come.
FEW = 1000


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
        "rejects": None,
        "discarded": {},
        "inputs": {
            name: {"rate": round(rate, 1), "waiting": None} for name, rate in seen.input_rates.items()
        },
        "boxes": {name: _describe_box(name, seen) for name in boxes},
        "outputs": {name: _describe_output(name, qos, seen) for name, qos in outputs.items()},
        "points": points,
        "queries": queries,
        "controls": seen.controls.to_json(),
        "arcs": {},
        "overhead": {"batch_ms": None, "row_us": None},
        "cores": None,
        "capacity": None,
        "troubles": [],
        "waits": [{"for": each.what, "since": round(each.since, 3)} for each in waits.lasting()],
        "changes": [asdict(change) for change in seen.changes],
    }


def add_sums(
    told: dict[str, Any],
    places: Mapping[str, Mapping[str, Any]],
    rejects: str | None,
    discarded: Mapping[str, Mapping[str, int]],
) -> dict[str, Any]:
    """The same with the rows of each input so far, what was left out of the streams, by box and reason, and the file of
    rejects."""
    read = {name: int(place["row"]) for name, place in places.items()}
    unknown = {"rate": 0.0, "waiting": None}
    names = [*told["inputs"], *(name for name in read if name not in told["inputs"])]
    inputs = {name: {"rows": read.get(name, 0), **told["inputs"].get(name, unknown)} for name in names}
    left_out = {place.removeprefix(ARC): dict(reasons) for place, reasons in discarded.items() if reasons}
    return {**told, "inputs": inputs, "discarded": left_out, "rejects": rejects}


def add_shedding(
    told: dict[str, Any],
    graphs: Mapping[str, Qos | None],
    seen: Statistics,
    shedding: Shedding,
    shed: Mapping[str, int],
) -> dict[str, Any]:
    """The same with what is left out now, what was so far, and what that leaves of the utility."""
    outputs = {}
    for name, output in told["outputs"].items():
        qos, utility = graphs.get(name), output["utility"]
        if qos is not None and name in seen.delays:
            utility = round(qos.utility(*seen.delays[name], share=shedding.delivered.get(name, 1.0)), 4)
        kept = round(shedding.kept.get(name, 1.0), 4)
        outputs[name] = {**output, "delivered": kept, "shed": shed.get(name, 0), "utility": utility}
    return {**told, "outputs": outputs}


def add_waiting(
    told: dict[str, Any], waiting: Mapping[str, int], before: Mapping[str, int]
) -> dict[str, Any]:
    """The same with the tuples that wait at arcs, by the stream, and before boxes."""
    arcs = {
        name: {**arc, "waiting": arc["waiting"] + waiting.get(name, 0)} for name, arc in told["arcs"].items()
    }
    boxes = {name: {**box, "waiting": before.get(name, 0)} for name, box in told["boxes"].items()}
    return {**told, "boxes": boxes, "arcs": arcs}


def add_figures(told: dict[str, Any], figures: Figures, troubles: list[str]) -> dict[str, Any]:
    """The same with the moving averages: of boxes, inputs, arcs, and of what belongs to no box."""
    known = {name: box for name, box in figures.boxes.items() if name in told["boxes"]}
    measured = figures.fixed > 0 or figures.per_row > 0
    return {
        **told,
        "boxes": {**told["boxes"], **{name: told["boxes"][name] | _box(box) for name, box in known.items()}},
        "inputs": {
            name: {
                **told["inputs"].get(name, {}),
                "rate": told["inputs"].get(name, {}).get("rate", 0.0),
                "waiting": read.waiting,
                "growth": round(read.growth, 1),
                "cost_us": _micro(read.cost),
            }
            for name, read in figures.inputs.items()
        },
        "arcs": {
            **{name: {"rate": round(read.rate, 1), "waiting": 0} for name, read in figures.inputs.items()},
            **{
                f"{name}.{port}": {"rate": round(box.gives(port), 1), "waiting": 0}
                for name, box in known.items()
                for port in box.selectivity
            },
        },
        "overhead": {
            "batch_ms": round(figures.fixed * 1000, 1) if measured else None,
            "row_us": _micro(figures.per_row) if measured else None,
            **_overhead_of_later(figures.later),
        },
        "cores": figures.cores,
        "capacity": round(figures.capacity)
        if figures.train >= FEW and figures.rate * figures.row_cost > 0
        else None,
        "troubles": troubles,
    }


def _overhead_of_later(later: LaterFigures | None) -> dict[str, Any]:
    """What belongs to no box in the part that may wait, in a network that has one."""
    if later is None:
        return {}
    return {
        "later_batch_ms": round(later.fixed * 1000, 1),
        "later_row_us": _micro(later.per_row),
        "later_rows": round(later.rows, 1),
    }


def _box(box: BoxFigures) -> dict[str, Any]:
    return {
        "cost_us": _micro(box.cost),
        "selectivity": round(sum(box.selectivity.values()), 6),
        "ports": {port: round(share, 6) for port, share in box.selectivity.items()},
        "rate": round(box.rate, 1),
    }


def _micro(seconds: float) -> float:
    return round(seconds * 1e6, 4)


def _describe_box(name: str, seen: Statistics) -> dict[str, Any]:
    taken, given = seen.taken.get(name, 0), seen.given.get(name, 0)
    return {
        "taken": taken,
        "given": given,
        "cost_us": round(seen.nanoseconds.get(name, 0) / taken / 1000, 4) if taken else None,
        "selectivity": round(given / taken, 6) if taken else None,
        "ports": {},
        "rate": 0.0,
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
