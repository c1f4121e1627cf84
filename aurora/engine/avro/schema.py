"""What an Avro schema says: the kinds of values in a record, in their order."""

import json
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import type_name
from aurora.errors import AuroraError

__all__ = ["Kind", "parse_schema", "schema_of"]

# A schema has so many parts at most, a record that is used twice counted twice, and so many inside one another; a
# fixed value has so many bytes, a decimal so many digits behind its point.
MOST_PARTS, DEEPEST, WIDEST, SCALE = 10_000, 100, 1 << 30, 38
PLAIN = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
WIDTHS = {"null": 0, "boolean": 1, "float": 4, "double": 8}
# Fields of an output, and what they are in Avro.
WRITTEN: dict[pa.DataType, Any] = {
    pa.bool_(): "boolean",
    pa.int8(): "int",
    pa.int16(): "int",
    pa.int32(): "int",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.date32(): {"type": "int", "logicalType": "date"},
    pa.timestamp("us", tz="UTC"): {"type": "long", "logicalType": "timestamp-micros"},
}


@dataclass(frozen=True)
class Kind:
    """A type of Avro. `inner` are the branches of a union, the fields of a record, the items of an array or map."""

    name: str
    inner: tuple["Kind", ...] = ()
    names: tuple[str, ...] = ()
    logical: str = ""
    size: int = 0
    scale: int = 0
    # How many parts it has, and how many of them are inside one another; the bytes of each value, None if they differ.
    parts: int = field(init=False, compare=False, repr=False)
    depth: int = field(init=False, compare=False, repr=False)
    width: int | None = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", 1 + sum(inner.parts for inner in self.inner))
        object.__setattr__(self, "depth", 1 + max((inner.depth for inner in self.inner), default=0))
        object.__setattr__(self, "width", self._find_width())
        if self.parts > MOST_PARTS:
            raise ValueError(f"it has more than {MOST_PARTS:,} parts")
        if self.depth > DEEPEST:
            raise ValueError(f"more than {DEEPEST} of its parts are inside one another")
        if not 0 <= self.size <= WIDEST:
            raise ValueError(f"a fixed value has 0 to {WIDEST:,} bytes, found {self.size}")
        if not 0 <= self.scale <= SCALE:
            raise ValueError(f"a decimal has a scale of 0 to {SCALE}, found {self.scale}")

    def _find_width(self) -> int | None:
        if self.name == "record":
            widths = [inner.width for inner in self.inner]
            known = [width for width in widths if width is not None]
            return sum(known) if len(known) == len(widths) else None
        return {**WIDTHS, "fixed": self.size}.get(self.name)

    def __str__(self) -> str:
        return f"union of {' and '.join(map(str, self.inner))}" if self.name == "union" else self.name


def parse_schema(text: str, where: str) -> Kind:
    """The schema of a record; `where` it is from is for messages.

    >>> kind = parse_schema('{"type": "record", "name": "r", "fields": [{"name": "a", "type": ["null", "int"]}]}', "x")
    >>> kind.names, str(kind.inner[0])
    (('a',), 'union of null and int')
    """
    try:
        found = _Parser(where).read(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as fault:
        raise AuroraError(f"{where} is not an Avro schema: {fault}") from None
    except RecursionError:
        raise AuroraError(f"{where} is not an Avro schema: too many parts are inside one another") from None
    if found.name != "record":
        raise AuroraError(f"{where}: a record is expected, found {found}")
    return found


@dataclass
class _Parser:
    where: str
    known: dict[str, Kind] = field(default_factory=dict)
    open: set[str] = field(default_factory=set)

    def read(self, told: Any) -> Kind:
        if isinstance(told, list):
            return Kind("union", tuple(self.read(each) for each in told))
        if isinstance(told, str):
            return self._named(told)
        name = told["type"]
        if isinstance(name, (dict, list)):
            return self.read(name)
        if name in ("record", "error"):
            return self._record(told)
        if name == "enum":
            return self._keep(told, Kind("enum", names=tuple(map(str, told["symbols"]))))
        if name == "fixed":
            logical, scale = str(told.get("logicalType", "")), int(told.get("scale", 0))
            return self._keep(told, Kind("fixed", size=int(told["size"]), logical=logical, scale=scale))
        if name in ("array", "map"):
            return Kind(name, (self.read(told["items" if name == "array" else "values"]),))
        logical, scale = str(told.get("logicalType", "")), int(told.get("scale", 0))
        return Kind(name, logical=logical, scale=scale) if name in PLAIN else self._named(name)

    def _named(self, name: str) -> Kind:
        if name in PLAIN:
            return Kind(name)
        short = name.rpartition(".")[2]
        if short in self.open:
            raise AuroraError(f"{self.where}: record {name} holds itself, which is not read")
        return self.known[short]

    def _record(self, told: dict[str, Any]) -> Kind:
        name = str(told["name"]).rpartition(".")[2]
        self.open.add(name)
        fields = told["fields"]
        kinds = tuple(self.read(each["type"]) for each in fields)
        self.open.discard(name)
        return self._keep(told, Kind("record", kinds, tuple(str(each["name"]) for each in fields)))

    def _keep(self, told: dict[str, Any], kind: Kind) -> Kind:
        self.known[str(told["name"]).rpartition(".")[2]] = kind
        return kind


def schema_of(schema: Schema, topic: str, what: str) -> dict[str, Any]:
    """The Avro schema for the rows of an output, as JSON data; every field may be null unless it cannot be."""
    fields = []
    for name in schema.names:
        kind = WRITTEN.get(schema[name])
        if kind is None:
            raise AuroraError(
                f"{what}: field {name} is {type_name(schema[name])}, which is not written as Avro; cast it in a map "
                "before, or use format=json"
            )
        needed = (name,) in schema.required
        fields.append(
            {"name": name, "type": kind}
            if needed
            else {"name": name, "type": ["null", kind], "default": None}
        )
    safe = "".join(letter if letter.isalnum() else "_" for letter in topic)
    return {"type": "record", "name": safe if safe[:1].isalpha() else f"_{safe}", "fields": fields}
