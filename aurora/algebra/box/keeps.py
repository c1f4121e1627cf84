"""Which fields of its inputs a box of the user's keeps and reads: those that it declares, and no others."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from aurora.algebra.box.operator import Keeps, Partition
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import type_name
from aurora.errors import AuroraError

__all__ = ["Declared", "check_reads", "declare", "keeps_declared", "keeps_fields"]

# The output ports with the fields that they keep.
Declared = tuple[tuple[str, tuple[str, ...]], ...]
Inputs = tuple[tuple[str, Schema], ...]


def keeps_fields(fields: Sequence[str]) -> Mapping[str, str]:
    """Fields that keep their names."""
    return {name: name for name in fields}


def declare(
    given: Mapping[str, Sequence[str]] | Sequence[str],
    inputs: Mapping[str, Schema],
    outputs: Mapping[str, Schema],
    key: Partition | None,
    where: str,
) -> Declared:
    """The declaration by output port, checked; a list of fields is meant for all ports. No key: a stateless box."""
    ports = given if isinstance(given, Mapping) else dict.fromkeys(outputs, tuple(given))
    declared = []
    for port, fields in ports.items():
        if port not in outputs:
            raise AuroraError(f"{where}: keeps names the output {port}; outputs are {', '.join(outputs)}")
        for name in fields:
            if name not in outputs[port]:
                raise AuroraError(
                    f"{where}: keeps: output {port} has no field {name}; its fields are "
                    f"{', '.join(outputs[port].names)}; write keeps by output: {{port: [field]}}"
                )
            for kind in _kinds(name, tuple(inputs.items()), key, where):
                if not _alike(kind, outputs[port][name]):
                    raise AuroraError(
                        f"{where}: keeps: field {name} is {type_name(kind)} in an input and "
                        f"{type_name(outputs[port][name])} in output {port}"
                    )
        if fields:
            declared.append((port, tuple(fields)))
    return tuple(declared)


def check_reads(
    fields: Sequence[str], inputs: Mapping[str, Schema], stateless: bool, where: str
) -> tuple[str, ...]:
    """The fields that a box says it reads, with which it may change places with others."""
    if not stateless or len(inputs) != 1:
        found = "has a state" if not stateless else f"has {len(inputs)} inputs"
        raise AuroraError(f"{where}: commutes is for a stateless box with one input; this one {found}")
    ((name, schema),) = inputs.items()
    for own in fields:
        if own not in schema:
            raise AuroraError(
                f"{where}: commutes: input {name} has no field {own}; its fields are {', '.join(schema.names)}"
            )
    return tuple(fields)


def keeps_declared(declared: Declared, port: str, inputs: Inputs, key: Partition | None) -> Keeps:
    """Keys meet by position, so a field stands for the key field of every input at its place."""
    fields = dict(declared).get(port, ())
    if key is None:
        return tuple(keeps_fields(fields) for _ in inputs)
    return tuple({} if own is None else {own[_place(name, key)]: name for name in fields} for own in key)


def _kinds(name: str, inputs: Inputs, key: Partition | None, where: str) -> list[pa.DataType]:
    """The types that a kept field has in the inputs."""
    if key is None:
        for own, schema in inputs:
            if name not in schema:
                raise AuroraError(f"{where}: keeps: input {own} has no field {name}")
        return [schema[name] for _, schema in inputs]
    places = {fields.index(name) for fields in key if fields is not None and name in fields}
    if len(places) != 1:
        keys = "; ".join(
            f"{own}: {', '.join(fields) or 'none'}"
            for (own, _), fields in zip(inputs, key, strict=True)
            if fields is not None
        )
        problem = "is not a field of the key" if not places else "appears twice in the key"
        raise AuroraError(f"{where}: keeps: {name} {problem} ({keys})")
    (place,) = places
    return [
        schema[fields[place]] for (_, schema), fields in zip(inputs, key, strict=True) if fields is not None
    ]


def _place(name: str, key: Partition) -> int:
    return next(fields.index(name) for fields in key if fields is not None and name in fields)


def _alike(one: pa.DataType, other: pa.DataType) -> bool:
    """Whole numbers of any width go to the same bucket, other types only with their own."""
    return bool(one == other or (pa.types.is_integer(one) and pa.types.is_integer(other)))
