"""The ends of a network in the text form: its inputs, its connection points, its outputs."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from aurora.algebra.tuples.schema import Schema
from aurora.errors import AuroraError, did_you_mean
from aurora.network.arguments import read_names, read_schema, read_truth
from aurora.network.network import Input, Network, Output
from aurora.network.points import find_schema
from aurora.network.qos import describe_qos
from aurora.network.stored import check_address, files_opened

__all__ = [
    "add_input",
    "add_output",
    "add_point",
    "add_stored",
    "check_points",
    "describe_ends",
    "sort_points",
]

Entries = list[tuple[str, Mapping[str, Any]]]
INPUT = ("schema", "static", "point", "check", "order", "idle")
KEPT = "{from: box, keep: 2h}"
STORED = '{stored: "parquet:PATH", key: [Field]}'


def add_input(network: Network, name: str, entry: Any, points: Mapping[str, Schema] | None) -> None:
    where = f"input {name}"
    unknown = [str(key) for key in entry if key not in INPUT] if isinstance(entry, Mapping) else []
    if unknown:
        raise AuroraError(
            f"{where}: an input has no '{unknown[0]}'{did_you_mean(unknown[0], INPUT)}; it has {', '.join(INPUT)}"
        )
    if not isinstance(entry, Mapping) or not {"schema", "point"} & set(entry):
        raise AuroraError(
            f'{where}: write {{schema: "Field type, .."}}, with static: true for a table, or check: '
            "{reason: condition} for what every tuple must satisfy, or order: Field for inputs that arrive merged by "
            "it; or {point: NAME}"
        )
    static, point = read_truth(entry, "static", where), entry.get("point")
    more: dict[str, Any] = {"check": entry["check"] or {}} if "check" in entry else {}
    for key in ("order", "idle"):
        if key in entry:
            if static:
                raise AuroraError(f"{where}: a table is read whole before all else; leave {key} out")
            more[key] = entry[key]
    if static and more:
        raise AuroraError(
            f"{where}: a table has no check, for every answer may depend on each of its rows; leave it out"
        )
    add = network.table if static else network.input
    if "point" not in entry:
        add(name, str(entry["schema"]), **more)
        return
    if not isinstance(point, str):
        raise AuroraError(f"{where}: point is the name of a connection point, found '{point}'")
    schema = read_schema(entry["schema"], where) if "schema" in entry else None
    own = network.inputs.get(point)
    if own is None or own.stored is None:
        if points is not None:
            schema = find_schema(point, schema, points, where)
        elif schema is None:
            raise AuroraError(
                f"{where}: this network is a query that takes the point {point} of a running one; "
                f'attach it with aurora attach DIR QUERY, or give the schema: "Field type, .."'
            )
    add(name, schema, point=point, **more)


def check_points(network: Network, points: Mapping[str, Schema]) -> None:
    """Raises a fault unless the points that the network takes are there, with the fields that it expects."""
    for name, entry in network.inputs.items():
        own = network.inputs.get(entry.point or "")
        if entry.point is not None and (own is None or own.stored is None):
            find_schema(entry.point, entry.schema, points, f"input {name}")


def sort_points(entries: Iterable[tuple[Any, Any]]) -> tuple[Entries, Entries]:
    """The points that are stored sets, and those on arcs."""
    stored: Entries = []
    kept: Entries = []
    for name, entry in entries:
        where = f"point {name}"
        if not isinstance(entry, Mapping) or not {"from", "stored"} & set(entry):
            raise AuroraError(f"{where}: write {KEPT} or {STORED}, found '{entry}'")
        if "from" in entry and "stored" in entry:
            raise AuroraError(f"{where}: has from and stored; write {KEPT} or {STORED}")
        (kept if "from" in entry else stored).append((str(name), entry))
    return stored, kept


def add_stored(
    network: Network, name: str, entry: Mapping[str, Any], opening: Callable[[str, str], None] | None = None
) -> None:
    """Add a stored set; `opening` may refuse to open one that gives no schema."""
    where = f"point {name}"
    if "keep" in entry:
        raise AuroraError(f"{where}: a stored set is permanent; leave keep out")
    _check_keys(entry, ("stored", "key", "schema"), "a stored set", where)
    schema = read_schema(entry["schema"], where) if "schema" in entry else None
    key = read_names(entry.get("key", ()), f"{where}: key")
    if schema is None and opening is not None:
        # The folder or pattern first: what lies outside is not even listed.
        for path in files_opened(check_address(entry["stored"], where), where):
            opening(path, where)
    network.stored(name, entry["stored"], key, schema)
    made = network.inputs[name]
    assert made.stored is not None
    network.inputs[name] = replace(made, stored=replace(made.stored, by_file=True))


def add_point(network: Network, name: str, entry: Mapping[str, Any]) -> None:
    where = f"point {name}"
    _check_keys(entry, ("from", "keep", "on", "key"), "a point", where)
    if "keep" not in entry:
        raise AuroraError(f"{where}: needs keep: a span of time such as 2h, a number of tuples, or all")
    port = network.find(str(entry["from"]), where)
    network.point(name, network.stream(str(port)), **_kept(entry))


def add_output(network: Network, name: str, entry: Any) -> None:
    where = f"output {name}"
    reference = entry.get("from") if isinstance(entry, Mapping) else entry
    if reference is None:
        raise AuroraError(f"{where}: write {{from: box}}, found '{entry}'")
    view: dict[str, Any] = {}
    if isinstance(entry, Mapping):
        _check_keys(entry, ("from", "keep", "on", "key", "qos"), "an output", where)
        if "keep" in entry and entry["keep"] is None:
            raise AuroraError(f"{where}: keep is empty; write keep: 1h, or leave it out")
        view = _kept(entry)
        if "qos" in entry:
            view["qos"] = {} if entry["qos"] is None else entry["qos"]
    port = network.find(str(reference), where)
    network.output(name, network.stream(str(port)), **view)


def _kept(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: entry[key] for key in ("keep", "on", "key") if key in entry}


def _check_keys(entry: Mapping[str, Any], known: tuple[str, ...], what: str, where: str) -> None:
    for key in entry:
        if key not in known:
            raise AuroraError(
                f"{where}: {what} has no '{key}'{did_you_mean(key, known)}; it has {', '.join(known)}"
            )


def describe_ends(network: Network) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Inputs, points and outputs as the text has them."""
    inputs = {name: _input(entry) for name, entry in network.inputs.items() if entry.stored is None}
    points = {name: _stored(entry) for name, entry in network.inputs.items() if entry.stored is not None}
    for name, point in network.points.items():
        if name not in network.outputs:
            points[name] = dict(point.spec)
    outputs = {name: _output(network, output) for name, output in network.outputs.items()}
    return inputs, points, outputs


def _output(network: Network, output: Output) -> dict[str, Any]:
    view = network.points.get(output.name)
    told: dict[str, Any] = {"from": str(output.port)} if view is None else dict(view.spec)
    return told if output.qos is None else {**told, "qos": describe_qos(output.qos)}


def _input(entry: Input) -> dict[str, Any]:
    told: dict[str, Any] = {} if entry.point is None else {"point": entry.point}
    told["schema"] = str(entry.schema)
    if entry.checks:
        told["check"] = {check.reason: check.condition.text for check in entry.checks}
    if entry.order is not None:
        told["order"] = entry.order
    if entry.idle is not None:
        told["idle"] = f"{entry.idle}ms"
    return told | ({"static": True} if entry.static else {})


def _stored(entry: Input) -> dict[str, Any]:
    assert entry.stored is not None
    key = {"key": list(entry.stored.key)} if entry.stored.key else {}
    return {"stored": entry.stored.address, **key, "schema": str(entry.schema)}
