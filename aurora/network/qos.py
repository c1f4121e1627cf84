"""Quality of service: what an output is worth by its latency, by the share that is delivered, and by its values."""

import math
import sys
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import type_name
from aurora.errors import AuroraError, did_you_mean

__all__ = [
    "CAUSE",
    "OLDEST",
    "Graph",
    "Qos",
    "ValueGraph",
    "describe_qos",
    "find_zone",
    "read_latency_from",
    "read_qos",
]

FORMS = {
    "latency": "[[0, 1], [2, 1], [10, 0]]",
    "delivered": "[[100, 1], [50, 0.2], [0, 0]]",
    "value": "{of: Speed, graph: [[0, 1], [40, 0.1]]}",
}
# The same of a graph alone.
GRAPHS = {**FORMS, "value": "[[0, 1], [40, 0.1]]"}

# What the latency of a row counts from: the arrival that caused it, or the oldest of the tuples that it is made of.
CAUSE, OLDEST = LATENCY_FROM = ("cause", "oldest")
MOST_POINTS = 1000
# So much of a wrong value is shown.
SHOWN = 80
# The largest number of a graph.
MOST = sys.float_info.max


@dataclass(frozen=True)
class Graph:
    """A utility from 0 to 1, linear between its points and constant beyond the first and the last.

    >>> graph = Graph(((0.0, 1.0), (2.0, 1.0), (10.0, 0.0)))
    >>> graph.utility(6.0), graph.utility(11.0), graph.good_until
    (0.5, 0.0, 2.0)
    """

    points: tuple[tuple[float, float], ...]

    def utility(self, at: float) -> float:
        places = [x for x, _ in self.points]
        after = bisect_right(places, at)
        if after == 0:
            return self.points[0][1]
        if after == len(places):
            return self.points[-1][1]
        (x0, y0), (x1, y1) = self.points[after - 1], self.points[after]
        return y0 + (y1 - y0) * (at - x0) / (x1 - x0)

    def utilities(self, at: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        places, worth = zip(*self.points, strict=True)
        return np.asarray(np.interp(at, places, worth))

    @property
    def good_until(self) -> float:
        """Where the good zone ends: up to there the utility is what it is at the beginning."""
        first = self.points[0][1]
        return next((self.points[i - 1][0] for i, (_, y) in enumerate(self.points) if y < first), math.inf)


@dataclass(frozen=True)
class ValueGraph:
    """What tuples are worth by the value of a field."""

    of: str
    graph: Graph


@dataclass(frozen=True)
class Qos:
    """The graphs of one output: latency in seconds, delivered in percent of its tuples, value by a field."""

    latency: Graph | None = None
    delivered: Graph | None = None
    value: ValueGraph | None = None

    def utility(
        self, seconds: npt.NDArray[np.float64], weights: npt.NDArray[np.float64], share: float
    ) -> float:
        """The mean over tuples that took so many seconds, where a `share` from 0 to 1 was delivered: of all tuples, or
        of what they are worth by their values."""
        worth = share if self.value is not None else 1.0
        if self.delivered is not None:
            worth = self.delivered.utility(100 * share)
        if self.latency is not None and len(seconds):
            worth *= float(np.average(self.latency.utilities(seconds), weights=weights))
        return worth


def read_latency_from(given: Any, where: str) -> str:
    """Return what latencies count from, checked."""
    if given not in LATENCY_FROM:
        raise AuroraError(
            f"{where}: latency_from is cause (the arrival that caused a row) or oldest (the oldest tuple that the row "
            f"is made of), found '{_short(given)}'"
        )
    return str(given)


def find_zone(outputs: Iterable[Qos | None]) -> float:
    """The shortest good zone of several outputs, in seconds; infinite where none has one."""
    graphs = [qos.latency for qos in outputs if qos is not None and qos.latency is not None]
    return min((graph.good_until for graph in graphs), default=math.inf)


def read_qos(given: Any, schema: Schema, where: str) -> Qos:
    """The graphs as people write them, checked; `schema` is that of the output."""
    if isinstance(given, Mapping) and not given:
        raise AuroraError(
            f"{where}: qos is empty; give one or more of {', '.join(FORMS)}, for example "
            f"{{latency: {FORMS['latency']}}}"
        )
    if not isinstance(given, Mapping):
        raise AuroraError(f"{where}: qos is a mapping, for example {{latency: {FORMS['latency']}}}")
    for key in given:
        if key not in FORMS:
            raise AuroraError(
                f"{where}: qos has no '{key}'{did_you_mean(str(key), list(FORMS))}; it has {', '.join(FORMS)}"
            )
    latency = delivered = None
    if "latency" in given:
        latency = _read_graph(given["latency"], "latency", where)
        _check_falls(latency, "latency", where)
        if latency.points[0][0] < 0:
            raise AuroraError(f"{where}: qos latency: begins at {_plain(latency.points[0][0])} s; begin at 0")
        if not latency.good_until:
            raise AuroraError(
                f"{where}: qos latency: utility falls from 0 s on, and every row takes some time; begin with a good "
                f"zone, for example {FORMS['latency']}"
            )
    if "delivered" in given:
        delivered = _read_graph(given["delivered"], "delivered", where)
        _check_delivered(delivered, where)
    return Qos(latency, delivered, _read_value(given["value"], schema, where) if "value" in given else None)


def _read_value(given: Any, schema: Schema, where: str) -> ValueGraph:
    if not isinstance(given, Mapping) or set(given) != {"of", "graph"}:
        raise AuroraError(f"{where}: qos value: write {FORMS['value']}, found '{given}'")
    field = given["of"]
    if not isinstance(field, str):
        raise AuroraError(f"{where}: qos value: of is the name of one field, found '{field}'")
    if field not in schema:
        near = did_you_mean(str(field), list(schema.names))
        raise AuroraError(
            f"{where}: qos value: the output has no field {field}{near}; its fields are {', '.join(schema.names)}"
        )
    if not (pa.types.is_integer(schema[field]) or pa.types.is_floating(schema[field])):
        raise AuroraError(
            f"{where}: qos value: {field} is {type_name(schema[field])}; a value graph needs an integer, float or "
            "double field; cast it in a map"
        )
    return ValueGraph(str(field), _read_graph(given["graph"], "value", where))


def _read_graph(given: Any, kind: str, where: str) -> Graph:
    """Points in ascending order; a delivered graph may stand the other way round, as the paper draws it."""
    place = f"{where}: qos {kind}"
    given = _native(given)
    if not isinstance(given, list | tuple) or len(given) < 2:
        raise AuroraError(f"{place}: a graph is a list of two points or more, for example {GRAPHS[kind]}")
    if len(given) > MOST_POINTS:
        raise AuroraError(f"{place}: {len(given):,} points; {MOST_POINTS:,} are enough for any graph")
    points = []
    for point in map(_native, given):
        if isinstance(point, list | tuple):
            point = [_native(number) for number in point]
        if not isinstance(point, list | tuple) or len(point) != 2 or not all(map(_is_number, point)):
            raise AuroraError(f"{place}: a point is two numbers such as [2, 1], found '{_short(point)}'")
        x, y = float(point[0]), float(point[1])
        if not 0 <= y <= 1:
            raise AuroraError(f"{place}: utility {_plain(y)} at {_plain(x)} is outside 0 to 1")
        points.append((x, y))
    if kind == "delivered" and points[0][0] > points[-1][0]:
        points.reverse()
    for (before, _), (after, _) in pairwise(points):
        if before == after:
            raise AuroraError(f"{place}: x = {_plain(after)} appears twice; write each x once")
        if after < before:
            raise AuroraError(
                f"{place}: x = {_plain(after)} follows x = {_plain(before)}; write the points in ascending order, "
                "each x once"
            )
    return Graph(tuple(points))


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}.."


def _native(value: Any) -> Any:
    """A number or an array of NumPy's as Python's own."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _is_number(value: Any) -> bool:
    # Whole numbers have no end, and NaN is within no bounds.
    return isinstance(value, int | float) and not isinstance(value, bool) and -MOST <= value <= MOST


def _check_falls(graph: Graph, kind: str, where: str) -> None:
    for (x0, y0), (x1, y1) in pairwise(graph.points):
        if y1 > y0:
            raise AuroraError(
                f"{where}: qos {kind}: utility rises from {_plain(y0)} at {_plain(x0)} to {_plain(y1)} "
                f"at {_plain(x1)}; a longer latency is never worth more"
            )


def _check_delivered(graph: Graph, where: str) -> None:
    if graph.points[-1][0] <= 1:
        raise AuroraError(
            f"{where}: qos delivered: shares are percent: the graph ends at {_plain(graph.points[-1][0])}%; "
            "write 100 for all"
        )
    if graph.points[0][0] < 0 or graph.points[-1][0] > 100:
        raise AuroraError(f"{where}: qos delivered: shares are percent from 0 to 100")
    for (x0, y0), (x1, y1) in pairwise(graph.points):
        if y1 < y0:
            raise AuroraError(
                f"{where}: qos delivered: utility falls from {_plain(y0)} at {_plain(x0)}% to {_plain(y1)} "
                f"at {_plain(x1)}%; more tuples are never worth less"
            )


def describe_qos(qos: Qos) -> dict[str, Any]:
    """The graphs as the text has them."""
    told: dict[str, Any] = {}
    if qos.latency is not None:
        told["latency"] = _describe(qos.latency)
    if qos.delivered is not None:
        told["delivered"] = _describe(qos.delivered)[::-1]
    if qos.value is not None:
        told["value"] = {"of": qos.value.of, "graph": _describe(qos.value.graph)}
    return told


def _describe(graph: Graph) -> list[list[float]]:
    return [[_plain(x), _plain(y)] for x, y in graph.points]


def _plain(number: float) -> float:
    return int(number) if number == int(number) else number
