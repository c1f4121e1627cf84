"""One box from its description: the same mapping that the text form holds and that the Python methods make."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from aurora.algebra.aggregate import Aggregate
from aurora.algebra.asof import AsOf
from aurora.algebra.bsort import BSort
from aurora.algebra.filter import Filter
from aurora.algebra.gather import Gather
from aurora.algebra.join import Join
from aurora.algebra.kept_join import KeptJoin
from aurora.algebra.lookup import Lookup
from aurora.algebra.map import Map
from aurora.algebra.operator import Operator
from aurora.algebra.ordering.order import ARRIVAL, GROUP, STREAM, Order
from aurora.algebra.resample import Resample
from aurora.algebra.running import Running
from aurora.algebra.sessions import Sessions
from aurora.algebra.top import Top
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.union import Union
from aurora.algebra.unmatched import SIDES, Unmatched
from aurora.algebra.user import UserBox
from aurora.algebra.wait import Wait
from aurora.algebra.windows.reducer import WindowFunction
from aurora.errors import AuroraError, did_you_mean
from aurora.network.amounts import distance, duration, is_span, slack
from aurora.network.kernels import described_kernel, imported, kernel_of
from aurora.network.relations import check_keys

__all__ = ["FORMS", "clock_references", "operator", "references", "with_clocks", "with_references"]

# The size of a window that holds a group's tuples so far.
ALL = "all"

# Each tuple is counted in size / advance windows.
MOST_WINDOWS = 100_000

# The keys of each kind of box: what must be there, and what may be.
FORMS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "filter": (frozenset({"from"}), frozenset()),
    "map": (frozenset({"from"}), frozenset()),
    "union": (frozenset(), frozenset()),
    "bsort": (frozenset({"from", "order"}), frozenset()),
    "aggregate": (
        frozenset({"from", "order"}),
        frozenset({"size", "gap", "advance", "timeout", "align", "partial"}),
    ),
    "top": (frozenset({"from", "order", "size"}), frozenset({"advance", "timeout", "align"})),
    "join": (
        frozenset({"left", "right"}),
        frozenset({"size", "keep", "left_order", "right_order", "asof", "broadcast", "outer", "anti"}),
    ),
    "resample": (
        frozenset({"left", "right", "left_order", "right_order"}),
        frozenset({"size", "match", "between", "outer"}),
    ),
    "wait": (frozenset({"from", "for", "order"}), frozenset()),
    "user": (frozenset({"inputs", "outputs"}), frozenset({"key", "relations", "stateless", "with", "keeps"})),
}


def kind_of(spec: Mapping[str, Any], where: str) -> str:
    """Which operator a description means; a fault where keys are missing or unknown."""
    if not isinstance(spec, Mapping):
        raise AuroraError(f"{where}: a box is a mapping such as {{filter: [..], from: ..}}, found '{spec}'")
    kinds = [key for key in spec if key in FORMS]
    if len(kinds) != 1:
        found = ", ".join(f"{key}{did_you_mean(key, FORMS) if not kinds else ''}" for key in spec)
        raise AuroraError(f"{where}: needs one operator of {', '.join(FORMS)}; found {found or 'nothing'}")
    needed, allowed = FORMS[kinds[0]]
    missing = [key for key in sorted(needed) if key not in spec]
    unknown = [key for key in spec if key not in needed | allowed | {kinds[0]}]
    for key in unknown:
        # One that is misspelt says more than that the right one is not there.
        near = did_you_mean(key, [name for name in sorted(needed | allowed) if name not in spec])
        if near or not missing:
            known = ", ".join(sorted(needed | allowed))
            raise AuroraError(f"{where}: {_a(kinds[0])} has no '{key}'{near}; it has {known}")
    if missing:
        raise AuroraError(f"{where}: {_a(kinds[0])} needs '{missing[0]}'")
    return kinds[0]


def _a(kind: str) -> str:
    return f"an {kind}" if kind == "aggregate" else f"a {kind}"


def references(spec: Mapping[str, Any], where: str) -> list[tuple[str, str]]:
    """The streams that a box takes, as (port of the box, reference)."""
    kind = kind_of(spec, where)
    if kind == "union":
        return [(str(i + 1), ref) for i, ref in enumerate(_listed(spec["union"], f"{where}: union"))]
    if kind in ("join", "resample"):
        return [("left", spec["left"]), ("right", spec["right"])]
    if kind == "wait":
        return [("from", spec["from"]), ("for", spec["for"])]
    if kind == "user":
        return list(_mapping(spec["inputs"], f"{where}: inputs").items())
    return [("from", spec["from"])]


def with_references(spec: Mapping[str, Any], ports: list[str]) -> dict[str, Any]:
    """The description with the full names of what it takes, which hold outside of any group too."""
    kind = kind_of(spec, "box")
    if kind == "union":
        return {"union": ports}
    if kind == "user":
        return {
            **described_kernel(spec),
            **_rest(spec),
            "inputs": dict(zip(spec["inputs"], ports, strict=True)),
        }
    slots = {"join": ("left", "right"), "resample": ("left", "right"), "wait": ("from", "for")}
    return {**spec, **dict(zip(slots.get(kind, ("from",)), ports, strict=True))}


# Where a box may say what its clock is.
ORDERS = ("order", "left_order", "right_order")


def clock_references(spec: Mapping[str, Any], where: str) -> list[str]:
    """The other streams whose clocks a box goes by."""
    orders = (spec[key] for key in ORDERS if isinstance(spec.get(key), Mapping))
    named = [order["clock"] for order in orders if "clock" in order]
    for clock in named:
        if not isinstance(clock, str) or not clock:
            raise AuroraError(f"{where}: clock is group, stream or the name of a stream, found '{clock}'")
    return [clock for clock in named if clock not in (GROUP, STREAM)]


def with_clocks(spec: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """The description with the full names of those streams."""
    orders = {
        key: {**spec[key], "clock": names[spec[key]["clock"]]}
        for key in ORDERS
        if isinstance(spec.get(key), Mapping) and spec[key].get("clock") in names
    }
    return {**spec, **orders}


def _rest(spec: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in spec.items() if key not in ("user", "with")}


def operator(spec: Mapping[str, Any], schemas: list[Schema], static: list[bool], where: str) -> Operator:
    """Binds the description to the schemas of its inputs; `static` tells which of them are tables."""
    kind = kind_of(spec, where)
    if any(static) and kind != "join":
        raise AuroraError(f"{where}: a table can be a side of a join, not the input of {_a(kind)}")
    return BUILDERS[kind](spec, schemas, static, where)


def _filter(spec: Mapping[str, Any], schemas: list[Schema], static: list[bool], where: str) -> Operator:
    return Filter.of([str(text) for text in _listed(spec["filter"], f"{where}: filter")], schemas[0], where)


def _map(spec: Mapping[str, Any], schemas: list[Schema], static: list[bool], where: str) -> Operator:
    return Map.of(_named(spec["map"], f"{where}: map"), schemas[0], where)


def _union(spec: Mapping[str, Any], schemas: list[Schema], static: list[bool], where: str) -> Operator:
    return Union.of(schemas, where)


def _bsort(spec: Mapping[str, Any], schemas: list[Schema], static: list[bool], where: str) -> Operator:
    if _mapping(spec["bsort"], f"{where}: bsort"):
        raise AuroraError(f"{where}: bsort is {{}}, all that it needs is in order; found {spec['bsort']}")
    return BSort.of(_order(spec["order"], schemas[0], f"{where}: order"), schemas[0], where)


def _aggregate(spec: Mapping[str, Any], schemas: list[Schema], static: list[bool], where: str) -> Operator:
    functions = _functions(spec["aggregate"], f"{where}: aggregate")
    if "gap" in spec:
        return _sessions(functions, spec, schemas[0], where)
    if "size" not in spec:
        raise AuroraError(f"{where}: an aggregate needs 'size', or for sessions 'gap'")
    if spec["size"] == ALL or _truth(spec, "partial", where):
        return _running(functions, spec, schemas[0], where)
    return _windowed(partial(Aggregate.of, functions), spec, schemas[0], where)


def _sessions(
    functions: Mapping[str, str] | WindowFunction, spec: Mapping[str, Any], schema: Schema, where: str
) -> Operator:
    for key in ("size", "advance", "align", "timeout", "partial"):
        if key in spec:
            raise AuroraError(f"{where}: a session ends by its gap; leave out '{key}', or the gap")
    order = _order(spec["order"], schema, f"{where}: order")
    return Sessions.of(
        functions, order, distance(spec["gap"], order.type(schema), f"{where}: gap"), schema, where
    )


def _top(spec: Mapping[str, Any], schemas: list[Schema], static: list[bool], where: str) -> Operator:
    given = _mapping(spec["top"], f"{where}: top")
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
        raise AuroraError(f"{where}: a top needs windows that end; write a size such as 10 or 10s, found all")
    names = {key: given[key] for key in ("rank", "start") if key in given}
    for key, name in names.items():
        if not isinstance(name, str):
            raise AuroraError(f"{where}: top: {key} is the name of a field, found '{name}'")
    _named(dict.fromkeys(names.values(), ""), f"{where}: top")
    choice = partial(Top.best, k, by, ties=_truth(given, "ties", f"{where}: top"), **names)
    return _windowed(choice, spec, schemas[0], where)


def _windowed(make: Callable[..., Operator], spec: Mapping[str, Any], schema: Schema, where: str) -> Operator:
    """The box that `make` makes of an order, windows and the schema."""
    order = _order(spec["order"], schema, f"{where}: order")
    kind = order.type(schema)
    size = distance(spec["size"], kind, f"{where}: size")
    advance = spec.get("advance", spec["size"])
    if not isinstance(advance, str) or is_span(advance):
        advance = distance(advance, kind, f"{where}: advance")
        if 0 < advance * MOST_WINDOWS < size:
            raise AuroraError(
                f"{where}: size {spec['size']} and advance {spec['advance']} put each tuple into more than "
                f"{MOST_WINDOWS:,} windows; write a larger advance"
            )
    timeout = duration(spec["timeout"], f"{where}: timeout") if "timeout" in spec else None
    align = _truth(spec, "align", where)
    return make(order, size, advance, schema, where, timeout, align)


def _running(
    functions: Mapping[str, str] | WindowFunction, spec: Mapping[str, Any], schema: Schema, where: str
) -> Operator:
    """A window for each tuple: size all, or the last n with those at the start that are not full."""
    order = _order(spec["order"], schema, f"{where}: order")
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


def _join(spec: Mapping[str, Any], schemas: list[Schema], static: list[bool], where: str) -> Operator:
    if all(static):
        raise AuroraError(f"{where}: both sides are tables; one side must be a stream")
    asof, predicate, (left, right) = _truth(spec, "asof", where), str(spec["join"]), schemas
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
        for key in (*reach, "keep"):
            if key in spec:
                raise AuroraError(f"{where}: {key} with asof, where arrival order decides; leave {key} out")
        unmatched = Unmatched.of(*lone, where, "left with asof")
        return AsOf.of(predicate, left, right, unmatched, where, _truth(spec, "broadcast", where))
    if "broadcast" in spec:
        raise AuroraError(f"{where}: broadcast goes with asof: true; add that, or leave broadcast out")
    if "keep" in spec:
        for key in ("outer", "anti"):
            if key in spec:
                raise AuroraError(f"{where}: a join with keep has no '{key}'; write size in place of keep")
        return _kept_join(spec, schemas, where)
    for key in reach:
        if key not in spec:
            raise AuroraError(f"{where}: a join of two streams needs '{key}', or asof: true")
    left_order, right_order, size = _reach(spec, schemas, where)
    unmatched = Unmatched.of(*lone, where)
    return Join.of(predicate, size, left_order, right_order, left, right, where, unmatched)


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
        _order(spec[f"{side}_order"], schema, f"{where}: {side}_order")
        for side, schema in zip(("left", "right"), schemas, strict=True)
    ]
    return KeptJoin.of(str(spec["join"]), (left, right), orders[0], orders[1], schemas[0], schemas[1], where)


def _resample(spec: Mapping[str, Any], schemas: list[Schema], static: list[bool], where: str) -> Operator:
    functions = _functions(spec["resample"], f"{where}: resample")
    if "between" in spec:
        return _gather(spec, functions, schemas, where)
    if "outer" in spec:
        raise AuroraError(f"{where}: outer goes with between; leave outer out")
    if "match" in spec or "size" not in spec:
        raise AuroraError(f"{where}: a resample needs 'size', or 'match' together with 'between'")
    left_order, right_order, size = _reach(spec, schemas, where)
    for side, order in (("left", left_order), ("right", right_order)):
        if order.clocked:
            raise AuroraError(
                f"{where}: a resample with size goes by its groups; leave clock: {order.clock} out of {side}_order, "
                "or write match and between in place of size"
            )
    return Resample.of(functions, size, left_order, right_order, schemas[0], schemas[1], where)


def _gather(
    spec: Mapping[str, Any], functions: Mapping[str, str] | WindowFunction, schemas: list[Schema], where: str
) -> Operator:
    if "size" in spec:
        raise AuroraError(f"{where}: a resample has 'size' or 'between', not both")
    if "match" not in spec:
        raise AuroraError(f'{where}: between needs match: "left.Field = right.Field"')
    if isinstance(functions, WindowFunction):
        raise AuroraError(f"{where}: between takes functions of SQL, not {spec['resample']}")
    between = spec["between"]
    if not isinstance(between, list | tuple) or len(between) != 2:
        raise AuroraError(
            f'{where}: between has two bounds; write ["left.Begin", "left.End"], found {between}'
        )
    orders = [
        _order(spec[f"{side}_order"], schema, f"{where}: {side}_order")
        for side, schema in zip(("left", "right"), schemas, strict=True)
    ]
    left, right = schemas
    if spec.get("outer", "left") != "left":
        raise AuroraError(f"{where}: outer is left with between, found '{spec['outer']}'")
    outer = "outer" in spec
    bounds = [str(text) for text in between]
    return Gather.of(functions, str(spec["match"]), bounds, orders[0], orders[1], left, right, where, outer)


def _wait(spec: Mapping[str, Any], schemas: list[Schema], static: list[bool], where: str) -> Operator:
    order = _order(spec["order"], schemas[1], f"{where}: order")
    if order.clocked:
        raise AuroraError(
            f"{where}: a wait goes by the tuples of 'for'; leave clock: {order.clock} out of its order"
        )
    return Wait.of(str(spec["wait"]), order, schemas[0], schemas[1], where)


def _user(spec: Mapping[str, Any], schemas: list[Schema], static: list[bool], where: str) -> Operator:
    names = list(_mapping(spec["inputs"], f"{where}: inputs"))
    outputs = {
        str(port): _declared(schema, f"{where}: output {port}")
        for port, schema in _mapping(spec["outputs"], f"{where}: outputs").items()
    }
    key = {
        name: None if given is None else _fields(given, f"{where}: key of input {name}")
        for name, given in _mapping(spec.get("key", {}), f"{where}: key").items()
    }
    for name in key:
        if name not in names:
            raise AuroraError(f"{where}: key names the input {name}; inputs are {', '.join(names)}")
    kernel = kernel_of(spec, where)
    relations = _fields(spec.get("relations", ()), f"{where}: relations")
    stateless = _truth(spec, "stateless", where)
    inputs = dict(zip(names, schemas, strict=True))
    keeps = _keeps(spec.get("keeps", []), f"{where}: keeps")
    box = UserBox.of(kernel, inputs, outputs, key, relations, stateless, where, keeps)
    check_keys(box, where)
    return box


def _truth(spec: Mapping[str, Any], key: str, where: str) -> bool:
    given = spec.get(key, False)
    if not isinstance(given, bool):
        raise AuroraError(f"{where}: {key} is true or false, found '{given}'")
    return given


def _keeps(given: Any, where: str) -> Mapping[str, tuple[str, ...]] | tuple[str, ...]:
    """Fields of all outputs, or of each."""
    if isinstance(given, Mapping):
        return {str(port): _fields(fields, f"{where} of {port}") for port, fields in given.items()}
    return _fields(given, where)


def _declared(schema: Any, where: str) -> Schema:
    try:
        parsed = schema if isinstance(schema, Schema) else Schema.parse(str(schema))
    except AuroraError as fault:
        raise AuroraError(f"{where}: {fault}") from None
    _named(dict.fromkeys(parsed.names, ""), where)
    return parsed


Builder = Callable[[Mapping[str, Any], list[Schema], list[bool], str], Operator]
BUILDERS: dict[str, Builder] = {
    "filter": _filter,
    "map": _map,
    "union": _union,
    "bsort": _bsort,
    "aggregate": _aggregate,
    "top": _top,
    "join": _join,
    "resample": _resample,
    "wait": _wait,
    "user": _user,
}


def _order(given: Any, schema: Schema, where: str) -> Order:
    given = _mapping(given, where)
    unknown = set(given) - {"on", "slack", "group_by", "clock"}
    if unknown or "on" not in given:
        raise AuroraError(
            f"{where}: write {{on: Field, slack: 2, group_by: [Field], clock: stream}}, found {dict(given)}"
        )
    on = str(given["on"])
    groups = _fields(given.get("group_by", []), f"{where}: group_by")
    clock = str(given.get("clock", GROUP))
    order = Order(on, group_by=groups, clock=clock)
    order.check(schema, where)
    if order.clocked:
        amount = given.get("slack", 0)
        number = isinstance(amount, int | float) and not isinstance(amount, bool)
        # All that is ordered by one clock lags behind it by a distance.
        _, span = slack({"value": amount} if number and amount else amount, order.type(schema), where)
        return Order(on, 0, span, groups, clock)
    tuples, span = slack(given.get("slack", 0), order.type(schema), where)
    if on == ARRIVAL and span is not None:
        raise AuroraError(f"{where}: slack as a span needs an order field, not '#'")
    return Order(on, tuples, span, groups)


def _reach(spec: Mapping[str, Any], schemas: list[Schema], where: str) -> tuple[Order, Order, int | float]:
    left = _order(spec["left_order"], schemas[0], f"{where}: left_order")
    right = _order(spec["right_order"], schemas[1], f"{where}: right_order")
    return left, right, distance(spec["size"], left.type(schemas[0]), f"{where}: size")


def _functions(given: Any, where: str) -> Mapping[str, str] | WindowFunction:
    if isinstance(given, str | WindowFunction):
        function = imported(given, where)
        if not isinstance(function, WindowFunction):
            raise AuroraError(f"{where}: {given} is not a WindowFunction, found {function!r}")
        _named(dict.fromkeys(function.fields.names, ""), where)
        return function
    return _named(given, where)


def _named(given: Any, where: str) -> dict[str, str]:
    """Fields of a result with their expressions; names that begin with # belong to the hidden fields."""
    named = {str(name): str(text) for name, text in _mapping(given, where).items()}
    for name in named:
        if not name or (name.startswith("#") and name != "#"):
            raise AuroraError(
                f"{where}: field '{name}': a name is not empty and does not begin with #; rename it"
            )
    return named


def _fields(given: Any, where: str) -> tuple[str, ...]:
    """A list of names; one alone needs no brackets."""
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise AuroraError(f"{where}: expects a list of names, found '{given}'")
    return tuple(names)


def _listed(given: Any, where: str) -> list[Any]:
    if not isinstance(given, list | tuple) or not given:
        raise AuroraError(f"{where}: expects a list, found '{given}'")
    return list(given)


def _mapping(given: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise AuroraError(f"{where}: expects a mapping, found '{given}'")
    for name in given:
        if not isinstance(name, str):
            raise AuroraError(f"{where}: '{name}' is not a name; put it in quotes")
    return given
