"""Boxes meet their tuples, and share relations, by key: keys that are compared must be of one kind."""

from collections.abc import Iterable

import pyarrow as pa

from aurora.algebra.box.operator import Operator
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import type_name
from aurora.algebra.user import UserBox
from aurora.errors import AuroraError

__all__ = ["check_keys", "check_relations"]


def check_keys(box: UserBox, where: str) -> None:
    """Raises a fault if two inputs have keys that never meet."""
    keyed = [
        (*entry, fields) for entry, fields in zip(box.inputs, box.key, strict=True) if fields is not None
    ]
    first = _types(keyed[0][1], keyed[0][2]) if keyed else ()
    for name, schema, fields in keyed:
        own = _types(schema, fields)
        if not _alike(first, own):
            raise AuroraError(
                f"{where}: input {keyed[0][0]} has the key ({_names(first)}), input {name} the key "
                f"({_names(own)}); cast one with a map"
            )


def check_relations(boxes: Iterable[tuple[str, Operator, list[Schema]]]) -> None:
    """Raises a fault if boxes that share a relation have different keys; each with the schemas of its inputs."""
    owners: dict[str, tuple[str, tuple[pa.DataType, ...]]] = {}
    for name, operator, schemas in boxes:
        keyed = zip(schemas, operator.partition or (None,) * len(schemas), strict=True)
        own = next((_types(schema, fields) for schema, fields in keyed if fields is not None), ())
        for relation in operator.traits.relations:
            owner, key = owners.setdefault(relation, (name, own))
            if not _alike(key, own):
                raise AuroraError(
                    f"relation {relation}: box {owner} has the key ({_names(key)}), box {name} the key "
                    f"({_names(own)}); boxes that share a relation have one key"
                )


def _types(schema: Schema, fields: tuple[str, ...]) -> tuple[pa.DataType, ...]:
    return tuple(schema[name] for name in fields)


def _alike(one: tuple[pa.DataType, ...], other: tuple[pa.DataType, ...]) -> bool:
    """Whole numbers of any width meet, other types only their own."""
    return len(one) == len(other) and all(
        left == right or (pa.types.is_integer(left) and pa.types.is_integer(right))
        for left, right in zip(one, other, strict=True)
    )


def _names(types: tuple[pa.DataType, ...]) -> str:
    return ", ".join(type_name(kind) for kind in types)
