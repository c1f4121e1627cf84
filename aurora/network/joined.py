"""Boxes that bring two streams together from their descriptions: joins of all kinds, resamples, waits."""

from collections.abc import Mapping
from typing import Any

from aurora.algebra.box.operator import Operator
from aurora.algebra.box.unmatched import SIDES, Unmatched
from aurora.algebra.join import Join
from aurora.algebra.ordering.order import STREAM, Order
from aurora.algebra.resample import Resample
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.variants.asof import AsOf
from aurora.algebra.variants.asof_time import AsOfTime
from aurora.algebra.variants.gather import Gather
from aurora.algebra.variants.kept_join import KeptJoin
from aurora.algebra.variants.lookup import Lookup
from aurora.algebra.wait import Wait
from aurora.algebra.windows.reducer import WindowFunction
from aurora.errors import AuroraError
from aurora.network.amounts import is_span
from aurora.network.arguments import read_functions, read_mapping, read_order, read_reach, read_truth

__all__ = ["make_join", "make_resample", "make_wait"]


def make_join(spec: Mapping[str, Any], schemas: list[Schema], static: list[bool], where: str) -> Operator:
    if all(static):
        raise AuroraError(f"{where}: both sides are tables; one side must be a stream")
    by_time = isinstance(spec.get("asof"), Mapping)
    asof, predicate = by_time or read_truth(spec, "asof", where), str(spec["join"])
    left, right = schemas
    lone = spec.get("outer"), spec.get("anti")
    if any(static):
        table = static.index(True)
        if asof:
            raise AuroraError(
                f"{where}: asof is for two streams, and the {SIDES[table]} side is a table; leave asof out"
            )
        for key in ("keep", "broadcast"):
            if key in spec:
                raise AuroraError(
                    f"{where}: {key} is for two streams, and the {SIDES[table]} side is a table; leave {key} out"
                )
        unmatched = Unmatched.of(*lone, where, f"{SIDES[1 - table]} where the {SIDES[table]} side is a table")
        return Lookup.of(predicate, schemas[1 - table], schemas[table], table == 0, where, unmatched)
    reach = ("size", "left_order", "right_order")
    if asof:
        unmatched = Unmatched.of(*lone, where, "left with asof")
        broadcast = read_truth(spec, "broadcast", where)
        if by_time:
            orders = _asof_orders(spec, schemas, where)
            return AsOfTime.of(predicate, *orders, left, right, unmatched, where, broadcast)
        for key in (*reach, "keep"):
            if key in spec:
                raise AuroraError(
                    f"{where}: {key} does not go with asof: arrival order decides; leave {key} out"
                )
        return AsOf.of(predicate, left, right, unmatched, where, broadcast)
    if "broadcast" in spec:
        raise AuroraError(f"{where}: broadcast goes with asof: true; add that, or leave broadcast out")
    if "keep" in spec:
        for key in ("outer", "anti"):
            if key in spec:
                raise AuroraError(f"{where}: a join with keep has no '{key}'; write size in place of keep")
        return _kept_join(spec, schemas, where)
    for key in reach:
        if key not in spec:
            raise AuroraError(
                f"{where}: a join of two streams needs '{key}', or asof: {{left: Field, right: Field}}"
            )
    left_order, right_order, size = read_reach(spec, schemas, where)
    unmatched = Unmatched.of(*lone, where)
    return Join.of(predicate, size, left_order, right_order, left, right, where, unmatched)


def _asof_orders(spec: Mapping[str, Any], schemas: list[Schema], where: str) -> tuple[Order, Order]:
    """Return the orders of both sides: the fields that `asof` names, by the clocks of their streams if nothing else."""
    for key in ("size", "keep"):
        if key in spec:
            raise AuroraError(
                f"{where}: {key} does not go with asof: each left tuple meets the latest right one; leave {key} out"
            )
    fields = spec["asof"]
    if set(fields) != set(SIDES) or not all(isinstance(field, str) for field in fields.values()):
        raise AuroraError(
            f"{where}: write asof: {{left: At, right: Since}}, or asof: true; found {dict(fields)}"
        )
    orders = []
    for side, schema in zip(SIDES, schemas, strict=True):
        key = f"{side}_order"
        given = read_mapping(spec.get(key, {}), f"{where}: {key}")
        if given.get("on", fields[side]) != fields[side]:
            raise AuroraError(
                f"{where}: asof goes by {fields[side]} on the {side}, {key} by {given['on']}; leave on out of {key}"
            )
        orders.append(read_order({"on": fields[side], "clock": STREAM, **given}, schema, f"{where}: {key}"))
    return orders[0], orders[1]


def _kept_join(spec: Mapping[str, Any], schemas: list[Schema], where: str) -> Operator:
    if "size" in spec:
        raise AuroraError(f"{where}: a join has 'size' or 'keep', not both")
    for key in ("left_order", "right_order"):
        if key not in spec:
            raise AuroraError(f"{where}: a join with keep needs '{key}'")
    keep = spec["keep"]
    if not isinstance(keep, Mapping) or set(keep) != {"left", "right"}:
        raise AuroraError(f"{where}: write keep: {{left: Field, right: all}}, found {keep}")
    for side, limit in keep.items():
        if is_span(limit):
            raise AuroraError(
                f"{where}: keep: {side} is a field or an expression, the last value for which a tuple is kept; "
                f"write for example Ends, or Time + 5; found '{limit}'"
            )
    left, right = (None if keep[side] == "all" else str(keep[side]) for side in ("left", "right"))
    orders = [
        read_order(spec[f"{side}_order"], schema, f"{where}: {side}_order")
        for side, schema in zip(("left", "right"), schemas, strict=True)
    ]
    return KeptJoin.of(str(spec["join"]), (left, right), orders[0], orders[1], schemas[0], schemas[1], where)


def make_resample(spec: Mapping[str, Any], schemas: list[Schema], static: list[bool], where: str) -> Operator:
    functions = read_functions(spec["resample"], f"{where}: resample")
    if "between" in spec:
        return _gather(spec, functions, schemas, where)
    if "outer" in spec:
        raise AuroraError(f"{where}: outer goes with between; leave outer out")
    if "match" in spec or "size" not in spec:
        raise AuroraError(f"{where}: a resample needs 'size', or 'match' together with 'between'")
    left_order, right_order, size = read_reach(spec, schemas, where)
    return Resample.of(functions, size, left_order, right_order, schemas[0], schemas[1], where)


def _gather(
    spec: Mapping[str, Any], functions: Mapping[str, str] | WindowFunction, schemas: list[Schema], where: str
) -> Operator:
    if "size" in spec:
        raise AuroraError(f"{where}: a resample has 'size' or 'between', not both")
    if "match" not in spec:
        raise AuroraError(f'{where}: between needs match: "left.Field = right.Field"')
    if isinstance(functions, WindowFunction):
        raise AuroraError(f"{where}: between needs SQL functions, not {spec['resample']}")
    between = spec["between"]
    if not isinstance(between, list | tuple) or len(between) != 2:
        raise AuroraError(
            f'{where}: between has two bounds; write ["left.Begin", "left.End"], found {between}'
        )
    orders = [
        read_order(spec[f"{side}_order"], schema, f"{where}: {side}_order")
        for side, schema in zip(("left", "right"), schemas, strict=True)
    ]
    left, right = schemas
    if spec.get("outer", "left") != "left":
        raise AuroraError(f"{where}: with between, outer can only be left; found '{spec['outer']}'")
    outer = "outer" in spec
    bounds = [str(text) for text in between]
    return Gather.of(functions, str(spec["match"]), bounds, orders[0], orders[1], left, right, where, outer)


def make_wait(spec: Mapping[str, Any], schemas: list[Schema], static: list[bool], where: str) -> Operator:
    order = read_order(spec["order"], schemas[1], f"{where}: order")
    return Wait.of(str(spec["wait"]), order, schemas[0], schemas[1], where)
