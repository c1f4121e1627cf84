"""Networks without order-sensitive boxes as plain Spark columns: DataFrames in, DataFrames out, batch or streaming."""

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import broadcast, coalesce, col, expr, lit

from aurora.algebra.explode import Explode
from aurora.algebra.filter import Filter
from aurora.algebra.map import Map
from aurora.algebra.tuples.types import type_name
from aurora.algebra.union import Union
from aurora.algebra.variants.lookup import Lookup
from aurora.errors import AuroraError
from aurora.network.network import Box, Network, Port

__all__ = ["columns"]


def columns(network: Network, inputs: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
    """The outputs of a network of Filter, Map, Explode, Union and joins with tables, for use inside a Spark job.

    Rows carry no arrival number here, so their order is Spark's.
    """
    network.checked()
    streams: dict[Port, DataFrame] = {}
    for name, entry in network.inputs.items():
        if name not in inputs:
            raise AuroraError(f"input {name} has no DataFrame; given are {', '.join(inputs)}")
        missing = [field for field in entry.schema.names if field not in inputs[name].columns]
        if missing:
            raise AuroraError(f"input {name}: the DataFrame has no column {missing[0]}")
        streams[Port(name)] = inputs[name].select(
            *(
                col(_quoted(field)).cast(type_name(entry.schema[field])).alias(field)
                for field in entry.schema.names
            )
        )
    for box in network.boxes.values():
        streams |= _applied(box, [streams[port] for port in box.inputs])
    return {name: streams[output.port] for name, output in network.outputs.items()}


def _applied(box: Box, frames: list[DataFrame]) -> dict[Port, DataFrame]:
    translate = TRANSLATIONS.get(type(box.operator))
    if translate is None:
        raise AuroraError(
            f"box {box.name}: its kind, {box.kind}, needs arrival order; run the network with aurora.run instead"
        )
    return {Port(box.name, port): frame for port, frame in translate(box.operator, frames).items()}


def _routed(operator: Filter, frames: list[DataFrame]) -> dict[str, DataFrame]:
    """First match wins; null does not match."""
    (frame,) = frames
    routed = {}
    left: Column | None = None
    for port, predicate in zip(operator.ports, operator.predicates, strict=False):
        holds = coalesce(expr(predicate.spark_sql()), lit(False))
        routed[port] = frame.filter(holds if left is None else left & holds)
        left = ~holds if left is None else left & ~holds
    assert left is not None
    routed["rest"] = frame.filter(left)
    return routed


def _mapped(operator: Map, frames: list[DataFrame]) -> dict[str, DataFrame]:
    fields = [expr(expression.spark_sql()).alias(name) for name, expression in operator.fields]
    return {"1": frames[0].select(*fields)}


def _exploded(operator: Explode, frames: list[DataFrame]) -> dict[str, DataFrame]:
    (frame,) = frames
    explode = "posexplode_outer" if operator.outer else "posexplode"
    own: dict[str | None, str] = {operator.place: "#place"}
    own |= {name: f"#{number}" for number, name in enumerate(operator.elements)}
    names = ", ".join(_quoted(name) for name in own.values())
    made = frame.select("*", expr(f"{explode}({operator.array.spark_sql()}) AS ({names})"))
    return {
        "1": made.select(*(col(_quoted(own.get(name, name))).alias(name) for name in operator.outputs["1"]))
    }


def _united(operator: Union, frames: list[DataFrame]) -> dict[str, DataFrame]:
    return {"1": reduce(lambda one, two: one.unionAll(two), frames)}


def _joined(operator: Lookup, frames: list[DataFrame]) -> dict[str, DataFrame]:
    left, right = frames
    left, right = (broadcast(left), right) if operator.table_is_left else (left, broadcast(right))
    left, right = left.alias("left"), right.alias("right")
    names = iter(operator.outputs["1"].names)
    sides = [("left", frames[0].columns), ("right", frames[1].columns)]
    holds, stream = expr(operator.predicate.spark_sql()), int(operator.table_is_left)
    if operator.unmatched.alone:
        joined = (left, right)[stream].join((right, left)[stream], holds, "left_anti")
        sides = [sides[stream]]
    else:
        joined = left.join(right, holds, ("left", "right")[stream] if operator.unmatched.sides else "inner")
    fields = (col(f"{side}.{_quoted(name)}").alias(next(names)) for side, own in sides for name in own)
    return {"1": joined.select(*fields)}


# The boxes that Spark has columns for: what they do to their inputs, by output port.
TRANSLATIONS: dict[type[Any], Callable[[Any, list[DataFrame]], dict[str, DataFrame]]] = {
    Filter: _routed,
    Map: _mapped,
    Explode: _exploded,
    Union: _united,
    Lookup: _joined,
}


def _quoted(name: str) -> str:
    return f"`{name}`"
