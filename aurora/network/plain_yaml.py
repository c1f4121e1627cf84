"""YAML of mappings, lists, texts, numbers, true, false and null: nothing else that YAML has."""

import re
from typing import Any

import yaml

from aurora.errors import AuroraError

__all__ = ["LONGEST", "dump_yaml", "load_yaml", "read_scalar"]

SURROGATE = re.compile("[\ud800-\udfff]")

# An alias stands for all that it names, so a short text can be a very large one.
MOST_NODES = 100_000
DEEPEST = 50
# The longest text of a network, in characters; a file has as many bytes at most.
LONGEST = 1 << 20


def load_yaml(text: str, source: str) -> Any:
    """What a text says; a fault names the source and the line."""
    try:
        if len(text) > LONGEST:
            raise AuroraError(
                f"{source}: {len(text):,} characters are too many for a network: {LONGEST:,} at most"
            )
        loader = _Reader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            _count(node, {}, set())
            return loader.construct_document(node)
        finally:
            loader.dispose()
    except yaml.reader.ReaderError as fault:
        raise AuroraError(f"{source}: not valid YAML: {fault.reason} at position {fault.position}") from None
    except yaml.YAMLError as fault:
        mark = getattr(fault, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark else ""
        raise AuroraError(f"{source}{place}: not valid YAML: {getattr(fault, 'problem', fault)}") from None


def read_scalar(text: str) -> Any:
    """Return a number, a truth value or null where YAML would see one in a word without quotes; else the text."""
    loader = _Reader("")
    try:
        tag: str = loader.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
        found = loader.construct_object(yaml.ScalarNode(tag, text)) if "merge" not in tag else text
    finally:
        loader.dispose()
    return found


def dump_yaml(content: Any) -> str:
    return str(yaml.dump(content, Dumper=_Writer, sort_keys=False, default_flow_style=None, width=120))


def _fault(problem: str, mark: Any) -> yaml.YAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, mark)


def _count(node: yaml.Node, sizes: dict[yaml.Node, int], around: set[yaml.Node]) -> int:
    """How many nodes there are with every alias written out, each looked at once."""
    if node in around:
        raise _fault("an alias contains itself", node.start_mark)
    if node in sizes:
        return sizes[node]
    size = 1
    if not isinstance(node, yaml.ScalarNode):
        around.add(node)
        entries = (
            node.value if isinstance(node, yaml.SequenceNode) else [n for pair in node.value for n in pair]
        )
        size += sum(_count(entry, sizes, around) for entry in entries)
        around.remove(node)
    if size > MOST_NODES:
        raise _fault(f"more than {MOST_NODES:,} values, with its aliases written out", node.start_mark)
    sizes[node] = size
    return size


class _Reader(yaml.SafeLoader):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0
        self._nodes = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        tag = getattr(event, "tag", None)
        if tag is not None and not isinstance(event, yaml.AliasEvent):
            raise _fault(
                f"'{tag.replace('tag:yaml.org,2002:', '!!')}': tags are not allowed", event.start_mark
            )
        if self._depth == DEEPEST:
            raise _fault(f"nested more than {DEEPEST} levels deep", event.start_mark)
        self._nodes += 1
        if self._nodes > MOST_NODES:
            raise _fault(f"more than {MOST_NODES:,} values", event.start_mark)
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        if isinstance(node, yaml.ScalarNode) and (half := SURROGATE.search(node.value)) is not None:
            raise _fault(f"{half[0]!r} is half of a character", node.start_mark)
        return node

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        """YAML keeps the last of two equal keys; a box that vanishes so is a fault."""
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                braces = isinstance(key, yaml.MappingNode)
                hint = '; a parameter is written in quotes: "{{rate}}"' if braces else ""
                raise _fault(f"a name is one word{hint}", key.start_mark)
            if key.value in seen:
                raise _fault(f"'{key.value}' appears twice", key.start_mark)
            seen.add(key.value)
        return dict(super().construct_mapping(node, deep))


class _Writer(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


# An order has a key `on`, which old YAML takes for a truth value, and 1:30 or 2020-01-01 is a text here.
_WORDS = (
    ("bool", r"true|false", "tf"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", r"[-+]?(?:0|[1-9][0-9]{0,99})", "-+0123456789"),
    (
        "float",
        r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+|[-+]?\.inf|\.nan",
        "-+0123456789.",
    ),
    ("merge", r"<<", "<"),
)
for _style in (_Reader, _Writer):
    _style.yaml_implicit_resolvers = {}
    for _kind, _pattern, _first in _WORDS:
        _style.add_implicit_resolver(
            f"tag:yaml.org,2002:{_kind}", re.compile(f"^(?:{_pattern})$"), list(_first)
        )
