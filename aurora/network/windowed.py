"""Boxes over windows from their descriptions: aggregates, sessions, running windows, tops."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from aurora.algebra.aggregate import Aggregate
from aurora.algebra.box.operator import Operator
from aurora.algebra.ordering.order import ARRIVAL
from aurora.algebra.top import Top
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.variants.running import Running
from aurora.algebra.variants.sessions import Sessions
from aurora.algebra.windows.reducer import WindowFunction
from aurora.errors import AuroraError
from aurora.network.amounts import distance, duration, is_span
from aurora.network.arguments import read_fields, read_functions, read_mapping, read_order, read_truth

__all__ = ["make_aggregate", "make_top"]

# The size of a window that holds a group's tuples so far.
ALL = "all"

# Each tuple is counted in size / advance windows.
MOST_WINDOWS = 100_000


def make_aggregate(
    spec: Mapping[str, Any], schemas: list[Schema], static: list[bool], where: str
) -> Operator:
    functions = read_functions(spec["aggregate"], f"{where}: aggregate")
    if "gap" in spec:
        return _sessions(functions, spec, schemas[0], where)
    if "size" not in spec:
        raise AuroraError(f"{where}: an aggregate needs 'size', or for sessions 'gap'")
    if spec["size"] == ALL or read_truth(spec, "partial", where):
        return _running(functions, spec, schemas[0], where)
    return _windowed(partial(Aggregate.of, functions), spec, schemas[0], where)


def _sessions(
    functions: Mapping[str, str] | WindowFunction, spec: Mapping[str, Any], schema: Schema, where: str
) -> Operator:
    for key in ("size", "advance", "align", "timeout", "partial"):
        if key in spec:
            raise AuroraError(f"{where}: a session ends with its gap; leave out '{key}', or the gap")
    order = read_order(spec["order"], schema, f"{where}: order")
    return Sessions.of(
        functions, order, distance(spec["gap"], order.type(schema), f"{where}: gap"), schema, where
    )


def make_top(spec: Mapping[str, Any], schemas: list[Schema], static: list[bool], where: str) -> Operator:
    given = read_mapping(spec["top"], f"{where}: top")
    unknown = [key for key in given if key not in ("k", "by", "ties", "rank", "start")]
    if unknown or "k" not in given or "by" not in given:
        problem = f"has no '{unknown[0]}'" if unknown else "needs k and by"
        raise AuroraError(f'{where}: top {problem}; write {{k: 3, by: "Field DESC", ties: true, rank: Name}}')
    k, by = given["k"], given["by"]
    if isinstance(k, bool) or not isinstance(k, int):
        raise AuroraError(f"{where}: top: k is how many tuples a window gives, 1 or more; found '{k}'")
    by = [by] if isinstance(by, str) else by
    if not isinstance(by, list | tuple) or not all(isinstance(text, str) for text in by):
        raise AuroraError(
            f"{where}: top: by is a text such as \"Field DESC\", or a list of them; found '{by}'"
        )
    if spec.get("size") == ALL:
        raise AuroraError(
            f"{where}: a top needs windows that end, found size: all; write a size such as 10 or 10s, or for the best "
            "of a group so far an aggregate with max_by(Field, Other)"
        )
    names = {key: given[key] for key in ("rank", "start") if key in given}
    for key, name in names.items():
        if not isinstance(name, str):
            raise AuroraError(f"{where}: top: {key} is the name of a field, found '{name}'")
    read_fields(dict.fromkeys(names.values(), ""), f"{where}: top")
    choice = partial(Top.best, k, by, ties=read_truth(given, "ties", f"{where}: top"), **names)
    return _windowed(choice, spec, schemas[0], where)


def _windowed(make: Callable[..., Operator], spec: Mapping[str, Any], schema: Schema, where: str) -> Operator:
    """The box that `make` makes of an order, windows and the schema."""
    order = read_order(spec["order"], schema, f"{where}: order")
    kind = order.type(schema)
    size = _above_0(spec["size"], kind, f"{where}: size")
    advance = spec.get("advance", spec["size"])
    if not isinstance(advance, str) or is_span(advance):
        advance = _above_0(advance, kind, f"{where}: advance")
        if 0 < advance * MOST_WINDOWS < size:
            raise AuroraError(
                f"{where}: size {spec['size']} and advance {spec['advance']} put each tuple into more than "
                f"{MOST_WINDOWS:,} windows; write a larger advance"
            )
    timeout = duration(spec["timeout"], f"{where}: timeout") if "timeout" in spec else None
    # The name of a time zone, or whether at all.
    align = spec["align"] if isinstance(spec.get("align"), str) else read_truth(spec, "align", where)
    return make(order, size, advance, schema, where, timeout, align)


def _above_0(amount: Any, kind: pa.DataType, where: str) -> int | float:
    """Return a distance, which must not be 0: a fault shows it as it is written."""
    found = distance(amount, kind, where)
    if found <= 0:
        raise AuroraError(f"{where} must be above 0, found {amount}")
    return found


def _running(
    functions: Mapping[str, str] | WindowFunction, spec: Mapping[str, Any], schema: Schema, where: str
) -> Operator:
    """A window for each tuple: size all, or the last n with those at the start that are not full."""
    order = read_order(spec["order"], schema, f"{where}: order")
    for key in ("timeout", "align"):
        if spec.get(key, False) is not False:
            raise AuroraError(f"{where}: a row for each tuple comes at once: leave '{key}' out")
    if spec["size"] == ALL:
        for key in ("advance", "partial"):
            if spec.get(key, False) is not False:
                raise AuroraError(f"{where}: size: all gives a row for each tuple: leave '{key}' out")
        return Running.of(functions, order, None, schema, where)
    advance = spec.get("advance", 1)
    if order.on != ARRIVAL or advance != 1 or advance is True:
        raise AuroraError(
            f"{where}: partial: true needs order on '#' and advance 1, found order on {order.on}, advance {advance}"
        )
    size = distance(spec["size"], order.type(schema), f"{where}: size")
    if int(size) != size:
        raise AuroraError(f"{where}: # counts in whole numbers, found size {size}")
    if size > MOST_WINDOWS:
        raise AuroraError(
            f"{where}: size {size} puts each tuple into more than {MOST_WINDOWS:,} windows; write a smaller one"
        )
    return Running.of(functions, order, int(size), schema, where)
