"""The text form of a network: YAML with SQL expressions. Reading and writing are inverse to each other."""

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.windows.reducer import WindowFunction
from aurora.errors import AuroraError
from aurora.network.boxes import imported, references
from aurora.network.network import Network

__all__ = ["from_text", "read_network", "to_text", "write_network"]


def read_network(path: str | Path) -> Network:
    """The network in a file, or the one that the function `module:name` makes.

    User-defined functions of a file are looked for beside it too.
    """
    if re.fullmatch(r"[\w.]+:\w+", str(path)) and not Path(path).exists():
        network = imported(str(path), "network")()
        if not isinstance(network, Network):
            raise AuroraError(f"{path} gives no network, found {network!r}")
        return network
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        reason = fault.strerror if isinstance(fault, OSError) else "it is not UTF-8 text"
        raise AuroraError(f"cannot read network {path}: {reason}") from None
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return from_text(text, str(path))


def from_text(text: str, source: str = "network") -> Network:
    try:
        content = yaml.load(text, _Reader)
    except yaml.YAMLError as fault:
        mark = getattr(fault, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark else ""
        raise AuroraError(f"{source}{place}: no valid YAML: {getattr(fault, 'problem', fault)}") from None
    if not isinstance(content, Mapping):
        raise AuroraError(f"{source}: a network is a mapping with network, inputs, boxes and outputs")
    for key in content:
        if key not in ("network", "inputs", "boxes", "outputs"):
            raise AuroraError(f"{source}: unknown key '{key}'; there are network, inputs, boxes and outputs")
    network = Network(str(content.get("network", Path(source).stem)))
    for name, entry in _entries(content, "inputs", source):
        _add_input(network, str(name), entry)
    boxes = dict(_flat(content.get("boxes") or {}, "", source))
    for name in boxes:
        if name in network.inputs:
            raise AuroraError(f"box {name}: the name is used twice, there is an input {name}")
        _add_box(network, name, boxes, ())
    for name, entry in _entries(content, "outputs", source):
        reference = entry.get("from") if isinstance(entry, Mapping) else entry
        if reference is None or (isinstance(entry, Mapping) and set(entry) != {"from"}):
            raise AuroraError(f"output {name}: write {{from: box}}, found '{entry}'")
        port = network.find(str(reference), f"output {name}")
        network.output(str(name), network.stream(str(port)))
    return network


def _add_input(network: Network, name: str, entry: Any) -> None:
    if not isinstance(entry, Mapping) or "schema" not in entry or set(entry) - {"schema", "static"}:
        raise AuroraError(f'input {name}: write {{schema: "Field type, .."}} (and static: true for a table)')
    static = entry.get("static", False)
    if not isinstance(static, bool):
        raise AuroraError(f"input {name}: static is true or false, found '{static}'")
    if static:
        network.table(name, str(entry["schema"]))
    else:
        network.input(name, str(entry["schema"]))


def _add_box(network: Network, name: str, boxes: Mapping[str, Any], on_the_way: tuple[str, ...]) -> None:
    """Adds what the box takes first, wherever it stands in the file."""
    if name in network.boxes:
        return
    if name in on_the_way:
        circle = [*on_the_way[on_the_way.index(name) :], name]
        raise AuroraError(f"box {name}: the boxes form a loop: {' -> '.join(circle)}")
    group = name.rpartition(".")[0]
    for _, reference in references(boxes[name], f"box {name}"):
        needed = _box_of(str(reference), group, boxes)
        if needed is not None:
            _add_box(network, needed, boxes, (*on_the_way, name))
    with network.group(group) if group else _nothing():
        network.add(name[len(group) + 1 :] if group else name, boxes[name])


def _box_of(reference: str, group: str, boxes: Mapping[str, Any]) -> str | None:
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
    """The text of which `from_text` makes an equal network."""
    inputs = {
        name: {"schema": str(entry.schema), **({"static": True} if entry.static else {})}
        for name, entry in network.inputs.items()
    }
    boxes = {}
    for name, box in network.boxes.items():
        boxes[name] = {key: _plain(value, f"box {name}") for key, value in box.spec.items()}
    outputs = {name: {"from": str(output.port)} for name, output in network.outputs.items()}
    content = {"network": network.name, "inputs": inputs, "boxes": boxes, "outputs": outputs}
    return str(yaml.dump(content, Dumper=_Writer, sort_keys=False, default_flow_style=None, width=120))


def write_network(network: Network, path: str | Path) -> None:
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
    module, name = _place(value)
    if name is None or "<" in name or module == "__main__":
        shown = getattr(value, "__qualname__", type(value).__name__)
        raise AuroraError(
            f"{where}: {shown} cannot be imported by its name; define it at the top of a module"
        )
    return f"{module}:{name}"


def _place(value: Any) -> tuple[str, str | None]:
    """The module of a user's function, and its name there."""
    if not isinstance(value, WindowFunction):
        return value.__module__, getattr(value, "__qualname__", None)
    # An object does not know its name: it is looked for where its functions are defined.
    module: str = value.incr.__module__
    names = [name for name, found in vars(sys.modules[module]).items() if found is value]
    return module, names[0] if names else None


class _Reader(yaml.SafeLoader):
    """YAML keeps the last of two equal keys; a box that vanishes so is a fault."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(None, None, "a name is one word", key.start_mark)
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"'{key.value}' is there twice", key.start_mark
                )
            seen.add(key.value)
        return dict(super().construct_mapping(node, deep))


class _Writer(yaml.SafeDumper):
    pass


# An order has a key `on`, which only old YAML takes for a truth value: here true and false alone are.
for _style in (_Reader, _Writer):
    _style.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:bool"]
        for first, resolvers in _style.yaml_implicit_resolvers.items()
    }
    _style.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), list("tf"))


class _nothing:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...
