"""The text form of a network: YAML with SQL expressions. Reading and writing are inverse to each other."""

import inspect
import io
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.windows.reducer import WindowFunction
from aurora.errors import AuroraError, did_you_mean
from aurora.network.boxes import clock_references, references
from aurora.network.ends import (
    add_input,
    add_output,
    add_point,
    add_stored,
    check_points,
    describe_ends,
    sort_points,
)
from aurora.network.kernels import import_function, place_of
from aurora.network.modules import modules_beside
from aurora.network.network import Network, check_dots
from aurora.network.parameters import fill_parameters
from aurora.network.plain_yaml import LONGEST as LONGEST_FILE
from aurora.network.plain_yaml import dump_yaml, load_yaml
from aurora.network.qos import CAUSE, read_latency_from
from aurora.network.rooted import describe_box, from_the_top
from aurora.network.wants import Opening, Wants, files_below, find_wants

__all__ = [
    "add_boxes",
    "from_text",
    "is_function",
    "read_network",
    "read_text",
    "read_wants",
    "to_text",
    "write_network",
]

KEYS = ("network", "inputs", "boxes", "points", "outputs", "latency_from", "parameters")
PARTS = "network, inputs, boxes, points and outputs"
# A fault that shows what it found is cut here.
LONGEST = 600


def read_network(
    path: str | Path,
    points: Mapping[str, Schema] | None = None,
    *,
    parameters: Mapping[str, Any] | None = None,
    files: Sequence[str | Path] | None = None,
    tell: Callable[[Wants], None] | None = None,
) -> Network:
    """The network in a file, or the one that the function `module:name` makes.

    Modules of your own functions may lie beside the file. `points` are those of the running network to which this one
    will be attached, if any; `parameters` are values for those that the file declares. A stored set without a schema is
    opened for its fields; with `files`, only below the folder of the network and these. `tell` hears what the file asks
    for before anything is imported or opened.
    """
    if is_function(path):
        if parameters:
            raise AuroraError(
                f"{path} is a function: parameters are for network files; give {next(iter(parameters))} a value there"
            )
        network = _called(str(path))
        if points is not None:
            check_points(network, points)
        return network
    text = read_text(path)
    folder = Path(path).resolve().parent
    opening = None if files is None else files_below(folder, files)
    with modules_beside(folder):
        network = _read(text, str(path), points, parameters, opening, tell)
    network.path = os.path.abspath(path)
    return network


def is_function(path: str | Path) -> bool:
    """Whether `module:name` of a function that makes a network is meant, and no file."""
    return re.fullmatch(r"[\w.]+:\w+", str(path)) is not None and not Path(path).exists()


def read_text(path: str | Path, what: str = "network") -> str:
    """Return the text of a network file; `what` names it in a fault."""
    try:
        with open(path, "rb") as file:
            content = file.read(LONGEST_FILE + 1)
        if len(content) > LONGEST_FILE:
            raise AuroraError(
                f"cannot read {what} {path}: it has more than {LONGEST_FILE:,} bytes, which is too long for a network"
            )
        return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8").read()
    except (OSError, UnicodeDecodeError) as fault:
        reason = fault.strerror if isinstance(fault, OSError) else "it is not UTF-8 text"
        raise AuroraError(f"cannot read {what} {path}: {reason}") from None


def read_wants(path: str | Path, parameters: Mapping[str, Any] | None = None) -> Wants:
    """Return what a network file asks for, without importing or opening anything besides the file.

    `parameters` are values in the place of their defaults.
    """
    content, _ = fill_parameters(load_yaml(read_text(path), str(path)), parameters or {}, str(path))
    return find_wants(content, Path(path).resolve().parent)


def _called(place: str) -> Network:
    function = import_function(place, "network")
    if not callable(function):
        raise AuroraError(f"{place} is not a function that makes a network, found {function!r}")
    try:
        inspect.signature(function).bind()
    except TypeError as fault:
        raise AuroraError(
            f"{place} cannot be called without arguments ({fault}); give each a default"
        ) from None
    except ValueError:
        pass  # Some functions that are not written in Python cannot tell what they take.
    network = function()
    if not isinstance(network, Network):
        raise AuroraError(f"{place} does not return a network, found {network!r}")
    return network


def from_text(
    text: str,
    source: str = "network",
    points: Mapping[str, Schema] | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Network:
    """The network that a text describes; an error is one line, whatever the text contains.

    `points` are those of the running network to which this one will be attached, if any; `parameters` are values for
    those that the text declares.
    """
    return _read(text, source, points, parameters, None, None)


def _read(
    text: str,
    source: str,
    points: Mapping[str, Schema] | None,
    parameters: Mapping[str, Any] | None,
    opening: Opening | None,
    tell: Callable[[Wants], None] | None,
) -> Network:
    try:
        written = load_yaml(text, source)
        _check_keys(written, source)
        content, values = fill_parameters(written, parameters or {}, source)
        if tell is not None:
            tell(find_wants(content, Path(source).resolve().parent))
        network = _network(content, source, points, opening)
        network.parameters = values
        return network
    except AuroraError as fault:
        line = " ".join(str(fault).split())
        raise AuroraError(line if len(line) <= LONGEST else f"{line[:LONGEST]} ..") from fault.__cause__


def _check_keys(content: Any, source: str) -> None:
    """Raise a fault if a network has a part that there is not."""
    for key in content if isinstance(content, Mapping) else ():
        if key not in KEYS:
            raise AuroraError(
                f"{source}: unknown key '{key}'{did_you_mean(key, KEYS)}; the keys are {', '.join(KEYS)}"
            )


def _network(
    content: Any, source: str, points: Mapping[str, Schema] | None, opening: Opening | None
) -> Network:
    if not isinstance(content, Mapping):
        raise AuroraError(f"{source}: a network is a mapping with {PARTS}")
    latency_from = read_latency_from(content.get("latency_from", CAUSE), source)
    network = Network(str(content.get("network", Path(source).stem)), latency_from=latency_from)
    stored, kept = sort_points(_entries(content, "points", source))
    for name, entry in stored:
        add_stored(network, name, entry, opening)
    for name, entry in _entries(content, "inputs", source):
        add_input(network, str(name), entry, points)
    boxes = dict(_flat(content.get("boxes") or {}, "", source))
    for name in boxes:
        if name in network.inputs:
            what = "a point" if network.inputs[name].stored else "an input"
            raise AuroraError(f"box {name}: the name is used twice, there is {what} {name}")
        _add_box(network, name, boxes)
    for name, entry in _entries(content, "outputs", source):
        add_output(network, str(name), entry)
    for name, entry in kept:
        add_point(network, name, entry)
    return network


def add_boxes(network: Network, boxes: Mapping[str, Any]) -> None:
    """Adds boxes by their whole names, which their references have too, each behind what it takes."""
    rooted = {name: from_the_top(spec, f"box {name}") for name, spec in boxes.items()}
    for name in rooted:
        _add_box(network, name, rooted)


def _add_box(network: Network, name: str, boxes: Mapping[str, Any]) -> None:
    """Adds what the box takes first, wherever it stands in the file."""
    # The boxes that wait for what they take, innermost last, each with what is still to be looked at.
    waiting: dict[str, Iterator[str]] = {}
    wanted: str | None = name
    while wanted is not None:
        if wanted in waiting:
            circle = [*list(waiting)[list(waiting).index(wanted) :], wanted]
            short = wanted.rpartition(".")[2]
            outside = f"; for the {short} outside of the group write .{short}" if short != wanted else ""
            raise AuroraError(f"box {wanted}: the boxes form a loop: {' -> '.join(circle)}{outside}")
        if wanted not in network.boxes:
            waiting[wanted] = _taken(wanted, boxes)
        wanted = _next(network, boxes, waiting)


def _next(network: Network, boxes: Mapping[str, Any], waiting: dict[str, Iterator[str]]) -> str | None:
    """Adds the innermost boxes that wait for nothing more; gives the next one that must be there before."""
    while waiting:
        name, needed = next(reversed(waiting.items()))
        before = next(needed, None)
        if before is not None:
            return before
        group, _, short = name.rpartition(".")
        with network.group(group) if group else nullcontext():
            network.add(short, boxes[name])
        del waiting[name]
    return None


def _taken(name: str, boxes: Mapping[str, Any]) -> Iterator[str]:
    """The boxes whose streams a box takes."""
    group = name.rpartition(".")[0]
    spec, where = boxes[name], f"box {name}"
    for reference in [*(taken for _, taken in references(spec, where)), *clock_references(spec, where)]:
        needed = _box_of(str(reference), group, boxes)
        if needed is not None:
            yield needed


def _box_of(reference: str, group: str, boxes: Mapping[str, Any]) -> str | None:
    if reference.startswith("."):
        reference, group = reference[1:], ""
    while True:
        full = f"{group}.{reference}" if group else reference
        if full in boxes:
            return full
        if full.rpartition(".")[0] in boxes:
            return full.rpartition(".")[0]
        if not group:
            return None
        group = group.rpartition(".")[0]


def _flat(boxes: Any, prefix: str, source: str) -> Iterator[tuple[str, Any]]:
    """Boxes with dotted names, out of nested `group:` mappings."""
    if not isinstance(boxes, Mapping) or (prefix and not boxes):
        what = f"group {prefix[:-1]}" if prefix else f"{source}: boxes"
        raise AuroraError(f"{what} is a mapping of names to boxes, found '{boxes}'")
    for name, spec in boxes.items():
        check_dots(str(name), f"box {prefix}{name}")
        if isinstance(spec, Mapping) and set(spec) == {"group"}:
            yield from _flat(spec["group"], f"{prefix}{name}.", source)
        else:
            yield f"{prefix}{name}", spec


def _entries(content: Mapping[str, Any], key: str, source: str) -> list[tuple[Any, Any]]:
    entries = content.get(key) or {}
    if not isinstance(entries, Mapping):
        raise AuroraError(f"{source}: {key} is a mapping of names, found '{entries}'")
    return list(entries.items())


def to_text(network: Network) -> str:
    """The text of a network; `from_text` makes an equal network from it."""
    boxes = {}
    for name, box in network.boxes.items():
        told = describe_box(network, box)
        boxes[name] = {key: _plain(value, f"box {name}") for key, value in told.items()}
    inputs, points, outputs = describe_ends(network)
    content = {
        "network": network.name,
        "inputs": inputs,
        "boxes": boxes,
        "points": points,
        "outputs": outputs,
    }
    if network.parameters:
        content = {"network": network.name, "parameters": dict(network.parameters), **content}
    if network.latency_from != CAUSE:
        content["latency_from"] = network.latency_from
    return dump_yaml({key: entry for key, entry in content.items() if key != "points" or entry})


def write_network(network: Network, path: str | Path) -> None:
    """Writes the text of a network to a file."""
    Path(path).write_text(to_text(network), encoding="utf-8")


def _plain(value: Any, where: str) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(entry, where) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry, where) for entry in value]
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    if isinstance(value, Schema):
        return str(value)
    place = _window_function_place(value) if isinstance(value, WindowFunction) else place_of(value)
    if place is None:
        shown = getattr(value, "__qualname__", type(value).__name__)
        raise AuroraError(
            f"{where}: {shown} cannot be imported by its name; define it at the top of a module, as a function or "
            "as a frozen dataclass with plain fields"
        )
    return place


def _window_function_place(function: WindowFunction) -> str | None:
    """An object does not know its name: it is looked for where its functions are defined."""
    module: str = function.incr.__module__
    names = [name for name, found in vars(sys.modules[module]).items() if found is function]
    return f"{module}:{names[0]}" if names and module != "__main__" else None
