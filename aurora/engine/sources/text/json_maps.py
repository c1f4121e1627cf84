"""Maps in JSON: objects, which Arrow reads only as lists of entries, so the text is rewritten before."""

import json
import re
from collections.abc import Callable
from json.decoder import scanstring  # type: ignore[attr-defined]

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.tuples.lists import list_lengths, with_elements
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import is_array, is_map, is_struct, struct_fields
from aurora.engine.sources.text.reasons import Unreadable

__all__ = ["as_entries", "from_entries", "has_maps", "with_entries"]

BLANK = re.compile(r"[ \t\r\n]*")
scan = json.JSONDecoder().raw_decode

Fields = dict[str, pa.DataType]
# A member of an object: its key as written, its key, its value as written.
Member = tuple[str, str, str]


def has_maps(kind: pa.DataType) -> bool:
    """Whether it is a map, or holds some."""
    if is_array(kind):
        return has_maps(kind.value_type)
    return is_map(kind) or (is_struct(kind) and any(has_maps(field.type) for field in kind))


def as_entries(kind: pa.DataType) -> pa.DataType:
    """The type with lists of entries in place of maps."""
    if is_map(kind):
        return pa.list_(pa.struct([("key", kind.key_type), ("value", as_entries(kind.item_type))]))
    if is_array(kind):
        return pa.list_(as_entries(kind.value_type))
    if is_struct(kind):
        return pa.struct([(name, as_entries(inner)) for name, inner in struct_fields(kind).items()])
    return kind


def with_entries(data: bytes, schema: Schema) -> bytes:
    """The lines with [{"key": .., "value": ..}] for each object that is a map; numbers stay as they are written.

    >>> with_entries(b'{"m": {"a": 1.50}}', Schema.parse("m map<string, double>"))
    b'{"m":[{"key":"a","value":1.50}]}'
    """
    fields = {name: schema[name] for name in schema.names}
    lines = data.decode().split("\n")
    return "\n".join(_line(line, fields) if line.strip() else line for line in lines).encode()


def _line(line: str, fields: Fields) -> str:
    try:
        text, _ = _object(line, _past(line, 0), fields, "")
    except json.JSONDecodeError as fault:
        raise Unreadable(f"not valid JSON at character {fault.pos + 1}") from None
    except (IndexError, RecursionError):
        raise Unreadable(f"not valid JSON at character {len(line.rstrip()) + 1}") from None
    return text


def _value(text: str, at: int, kind: pa.DataType | None, path: str) -> tuple[str, int]:
    """The value at a place, rewritten, and where it ends."""
    if kind is not None and has_maps(kind):
        if is_map(kind) and text[at] == "{":
            return _entries(text, at, kind.item_type, path)
        if is_map(kind) and text[at] == "[":
            raise Unreadable(f"field {path}: found an array where a map is expected")
        if is_struct(kind) and text[at] == "{":
            return _object(text, at, struct_fields(kind), path + ".")
        if is_array(kind) and text[at] == "[":
            return _array(text, at, kind.value_type, path)
    _, end = scan(text, at)
    return text[at:end], end


def _object(text: str, at: int, fields: Fields, before: str) -> tuple[str, int]:
    found, end = _members(text, at, lambda name, place: _value(text, place, fields.get(name), before + name))
    return "{" + ",".join(f"{key}:{value}" for key, _, value in found) + "}", end


def _entries(text: str, at: int, kind: pa.DataType, path: str) -> tuple[str, int]:
    found, end = _members(text, at, lambda name, place: _value(text, place, kind, f"{path}.{name}"))
    names = [name for _, name, _ in found]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise Unreadable(f"field {path}: the key '{twice}' is there twice")
    return "[" + ",".join(f'{{"key":{key},"value":{value}}}' for key, _, value in found) + "]", end


def _array(text: str, at: int, kind: pa.DataType, path: str) -> tuple[str, int]:
    parts: list[str] = []
    at = _past(text, at + 1)
    while text[at] != "]":
        if parts:
            at = _past(text, _behind(text, at, ","))
        part, at = _value(text, at, kind, f"{path}.[]")
        parts.append(part)
        at = _past(text, at)
    return "[" + ",".join(parts) + "]", at + 1


def _members(text: str, at: int, read: Callable[[str, int], tuple[str, int]]) -> tuple[list[Member], int]:
    """The members of the object at a place, and where it ends."""
    found: list[Member] = []
    at = _past(text, _behind(text, at, "{"))
    while text[at] != "}":
        if found:
            at = _past(text, _behind(text, at, ","))
        start = _behind(text, at, '"')
        name, end = scanstring(text, start)
        value, behind = read(name, _past(text, _behind(text, _past(text, end), ":")))
        found.append((text[at:end], name, value))
        at = _past(text, behind)
    return found, at + 1


def _past(text: str, at: int) -> int:
    """Behind the blanks at a place."""
    blank = BLANK.match(text, at)
    assert blank is not None
    return blank.end()


def _behind(text: str, at: int, mark: str) -> int:
    if text[at] != mark:
        raise json.JSONDecodeError(f"Expecting {mark}", text, at)
    return at + 1


def from_entries(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """A column that was read as lists of entries, with its maps."""
    if not has_maps(kind):
        return column
    missing = pc.is_null(column) if column.null_count else None
    if is_map(kind):
        keys, items = column.flatten().flatten()
        ends = np.concatenate([[0], np.cumsum(list_lengths(column))]).astype(np.int32)
        return pa.MapArray.from_arrays(
            pa.array(ends), keys, from_entries(items, kind.item_type), mask=missing
        )
    if is_array(kind):
        return with_elements(column, from_entries(column.flatten(), kind.value_type))
    inner = [from_entries(own, field.type) for own, field in zip(column.flatten(), kind, strict=True)]
    return pa.StructArray.from_arrays(inner, [field.name for field in kind], mask=missing)
