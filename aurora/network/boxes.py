"""One box from its description: the same mapping that the text form holds and that the Python methods make."""

from collections.abc import Callable, Mapping
from typing import Any

from aurora.algebra.box.operator import Operator
from aurora.algebra.bsort import BSort
from aurora.algebra.explode import Explode
from aurora.algebra.filter import Filter
from aurora.algebra.map import Map
from aurora.algebra.ordering.order import GROUP, STREAM
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.union import Union
from aurora.algebra.user import UserBox
from aurora.characters import check_characters
from aurora.errors import AuroraError, did_you_mean
from aurora.network.arguments import (
    read_fields,
    read_list,
    read_mapping,
    read_names,
    read_order,
    read_schema,
    read_truth,
)
from aurora.network.joined import make_join, make_resample, make_wait
from aurora.network.kernels import described_kernel, kernel_of
from aurora.network.relations import check_keys
from aurora.network.windowed import make_aggregate, make_top

__all__ = [
    "FORMS",
    "clock_references",
    "operator",
    "read_may_miss",
    "references",
    "with_clocks",
    "with_references",
]

# Says that a box which remembers its tuples for good may miss some of them under overload.
MAY_MISS = "may_miss"

# The keys of each kind of box: what must be there, and what may be.
FORMS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "filter": (frozenset({"from"}), frozenset()),
    "map": (frozenset({"from"}), frozenset()),
    "explode": (frozenset({"from", "as"}), frozenset({"at", "outer"})),
    "union": (frozenset(), frozenset()),
    "bsort": (frozenset({"from", "order"}), frozenset()),
    "aggregate": (
        frozenset({"from", "order"}),
        frozenset({"size", "gap", "advance", "timeout", "align", "partial", MAY_MISS}),
    ),
    "top": (frozenset({"from", "order", "size"}), frozenset({"advance", "timeout", "align"})),
    "join": (
        frozenset({"left", "right"}),
        frozenset(
            {"size", "keep", "left_order", "right_order", "asof", "broadcast", "outer", "anti", MAY_MISS}
        ),
    ),
    "resample": (
        frozenset({"left", "right", "left_order", "right_order"}),
        frozenset({"size", "match", "between", "outer"}),
    ),
    "wait": (frozenset({"from", "for", "order"}), frozenset()),
    "user": (
        frozenset({"inputs", "outputs"}),
        frozenset({"key", "relations", "stateless", "with", "keeps", "commutes", MAY_MISS}),
    ),
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
        raise AuroraError(f"{where}: {_a(kinds[0])} needs '{missing[0]}'{_form(missing[0], kinds[0])}")
    return kinds[0]


def _form(key: str, kind: str) -> str:
    """How an order is written; what other keys take is said where they are read."""
    if key == "order":
        return "; write order: {on: Field}" if kind == "wait" else "; write order: {on: Field, clock: stream}"
    return ""


def _a(kind: str) -> str:
    return f"an {kind}" if kind[0] in "ae" else f"a {kind}"


def references(spec: Mapping[str, Any], where: str) -> list[tuple[str, str]]:
    """The streams that a box takes, as (port of the box, reference)."""
    kind = kind_of(spec, where)
    if kind == "union":
        return [(str(i + 1), ref) for i, ref in enumerate(read_list(spec["union"], f"{where}: union"))]
    if kind in ("join", "resample"):
        return [("left", spec["left"]), ("right", spec["right"])]
    if kind == "wait":
        return [("from", spec["from"]), ("for", spec["for"])]
    if kind == "user":
        return list(read_mapping(spec["inputs"], f"{where}: inputs").items())
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
    return Filter.of([str(text) for text in read_list(spec["filter"], f"{where}: filter")], schemas[0], where)


def _map(spec: Mapping[str, Any], schemas: list[Schema], static: list[bool], where: str) -> Operator:
    return Map.of(read_fields(spec["map"], f"{where}: map"), schemas[0], where)


def _explode(spec: Mapping[str, Any], schemas: list[Schema], static: list[bool], where: str) -> Operator:
    given = spec["as"]
    elements = tuple(given) if isinstance(given, list) else (given,)
    named = [*(("as", name) for name in elements), *([("at", spec["at"])] if "at" in spec else [])]
    for key, name in named:
        if not isinstance(name, str) or not name:
            raise AuroraError(f"{where}: {key} is the name of a field, found '{name}'")
    outer = read_truth(spec, "outer", where)
    return Explode.of(str(spec["explode"]), elements, schemas[0], spec.get("at"), outer, where)


def _union(spec: Mapping[str, Any], schemas: list[Schema], static: list[bool], where: str) -> Operator:
    return Union.of(schemas, where)


def _bsort(spec: Mapping[str, Any], schemas: list[Schema], static: list[bool], where: str) -> Operator:
    if read_mapping(spec["bsort"], f"{where}: bsort"):
        raise AuroraError(f"{where}: bsort is {{}}, all that it needs is in order; found {spec['bsort']}")
    return BSort.of(read_order(spec["order"], schemas[0], f"{where}: order"), schemas[0], where)


def _user(spec: Mapping[str, Any], schemas: list[Schema], static: list[bool], where: str) -> Operator:
    names = list(read_mapping(spec["inputs"], f"{where}: inputs"))
    for name in (*names, *read_mapping(spec["outputs"], f"{where}: outputs")):
        check_characters(name, where)
    outputs = {
        str(port): read_schema(schema, f"{where}: output {port}")
        for port, schema in read_mapping(spec["outputs"], f"{where}: outputs").items()
    }
    key = {
        name: None if given is None else read_names(given, f"{where}: key of input {name}")
        for name, given in read_mapping(spec.get("key", {}), f"{where}: key").items()
    }
    for name in key:
        if name not in names:
            raise AuroraError(f"{where}: key names the input {name}; inputs are {', '.join(names)}")
    kernel = kernel_of(spec, where)
    relations = read_names(spec.get("relations", ()), f"{where}: relations")
    stateless = read_truth(spec, "stateless", where)
    inputs = dict(zip(names, schemas, strict=True))
    keeps = _keeps(spec.get("keeps", []), f"{where}: keeps")
    commutes = None if "commutes" not in spec else read_names(spec["commutes"], f"{where}: commutes")
    box = UserBox.of(kernel, inputs, outputs, key, relations, stateless, where, keeps, commutes)
    check_keys(box, where)
    return box


def _keeps(given: Any, where: str) -> Mapping[str, tuple[str, ...]] | tuple[str, ...]:
    """Fields of all outputs, or of each."""
    if isinstance(given, Mapping):
        return {str(port): read_names(fields, f"{where} of {port}") for port, fields in given.items()}
    return read_names(given, where)


def read_may_miss(spec: Mapping[str, Any], made: Operator, where: str) -> bool:
    """Return whether the box may miss tuples under overload; a fault if it may anyway."""
    given = read_truth(spec, MAY_MISS, where)
    if given and not made.traits.lasting:
        raise AuroraError(
            f"{where}: {MAY_MISS} is for boxes that remember their tuples for good; load may be shed in front of this "
            "one as it is: leave it out"
        )
    return given


Builder = Callable[[Mapping[str, Any], list[Schema], list[bool], str], Operator]
BUILDERS: dict[str, Builder] = {
    "filter": _filter,
    "map": _map,
    "explode": _explode,
    "union": _union,
    "bsort": _bsort,
    "aggregate": make_aggregate,
    "top": make_top,
    "join": make_join,
    "resample": make_resample,
    "wait": make_wait,
    "user": _user,
}
