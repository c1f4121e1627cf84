"""The fields of JSON lines, and their types."""

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from aurora.algebra.tuples.types import BIGINT, BOOLEAN, DATE, DOUBLE, STRING, TIMESTAMP
from aurora.engine.draft.text_types import type_of_texts
from aurora.errors import AuroraError

__all__ = ["find_fields", "read_objects"]

# Objects that have more names than this among them, none of which is in half of them, are maps.
FEW_NAMES = 10


def read_objects(data: bytes, label: str, purpose: str = "draft from") -> list[dict[str, Any]]:
    """The objects of the first lines; those that are none are passed over, as rejects will be."""
    found = []
    for line in data.decode("utf-8", "replace").splitlines():
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            found.append(value)
    if found:
        return found
    if data.lstrip().startswith(b"["):
        raise AuroraError(f"{label} is one list: convert it to an object per line, as with jq -c '.[]'")
    if not data.strip():
        raise AuroraError(f"{label} has no rows: there is nothing to {purpose}")
    if data.lstrip().startswith(b"{") and b"\n" in data.strip():
        raise AuroraError(
            f"{label} has its objects over several lines: convert it to an object per line, as with jq -c ."
        )
    raise AuroraError(f"{label} has no JSON objects, one per line: there is nothing to {purpose}")


def find_fields(objects: Iterable[dict[str, Any]]) -> tuple[dict[str, pa.DataType], list[str]]:
    """The types by name, and the names that have none: null everywhere, or values of several kinds."""
    values: dict[str, list[Any]] = {}
    for each in objects:
        for name, value in each.items():
            values.setdefault(name, []).append(value)
    types = {
        name: _type_of([value for value in own if value is not None]) for name, own in values.items() if name
    }
    return {name: kind for name, kind in types.items() if kind is not None}, [
        name for name, kind in types.items() if kind is None
    ]


def _type_of(values: list[Any]) -> pa.DataType | None:
    if not values:
        return None
    if all(isinstance(value, bool) for value in values):
        return BOOLEAN
    if any(isinstance(value, bool) for value in values):
        return None
    if all(isinstance(value, int) for value in values):
        return BIGINT if all(-(1 << 63) <= value < 1 << 63 for value in values) else None
    if all(isinstance(value, int | float) for value in values):
        return DOUBLE
    if all(isinstance(value, str) for value in values):
        kind = type_of_texts(values)
        return kind if kind in (DATE, TIMESTAMP) else STRING
    if all(isinstance(value, list) for value in values):
        element = _type_of([each for value in values for each in value if each is not None])
        return None if element is None else pa.list_(element)
    if all(isinstance(value, dict) for value in values):
        inside = [each for value in values for each in value.values() if each is not None]
        element = _type_of(inside) if _have_keys(values) else None
        if element is not None:
            return pa.map_(STRING, element)
        fields, _ = find_fields(values)
        return pa.struct(fields.items()) if fields else None
    return None


def _have_keys(objects: list[dict[str, Any]]) -> bool:
    """Whether their names are values rather than fields: many, and few of them in most objects."""
    names = Counter(name for each in objects for name in each)
    return len(names) > FEW_NAMES and 2 * max(names.values()) < len(objects)
