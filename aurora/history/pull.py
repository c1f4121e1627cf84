"""Pull by key: what a query or a look wants of a connection point, where its conditions name the storage key."""

from itertools import product

import numpy as np
import pyarrow as pa

from aurora.algebra.expressions.constants import find_constants
from aurora.algebra.expressions.expression import Expression
from aurora.algebra.tuples.hashing import Hashes, hash_rows
from aurora.algebra.tuples.schema import Schema
from aurora.network.network import Box, Network, Port

__all__ = ["find_named", "find_wanted"]

# More keys than these are not looked up one by one.
MOST = 10_000


def find_wanted(network: Network, input: str, key: tuple[str, ...], schema: Schema) -> Hashes | None:
    """The hashes, in order, of the only keys that the boxes behind an input let through; None if they may take all."""
    port = Port(input)
    if not key or any(output.port == port for output in network.outputs.values()):
        return None
    wanted: set[tuple[pa.Scalar, ...]] = set()
    for box in network.boxes.values():
        if port in box.clocks:
            return None
        if port in box.inputs:
            keys = _keys_of(network, box, key)
            if keys is None:
                return None
            wanted |= keys
    return _hash_keys(wanted, key, schema)


def find_named(condition: Expression, key: tuple[str, ...], schema: Schema) -> Hashes | None:
    """The hashes, in order, of the only keys for which a condition can hold; None if it may for all."""
    keys = _keys_for(condition, key) if key else None
    return None if keys is None else _hash_keys(keys, key, schema)


def _hash_keys(wanted: set[tuple[pa.Scalar, ...]], key: tuple[str, ...], schema: Schema) -> Hashes | None:
    if len(wanted) > MOST:
        return None
    columns = [
        pa.array([values[place].as_py() for values in wanted], schema[name]) for place, name in enumerate(key)
    ]
    return np.unique(hash_rows(columns, len(wanted)))


def _keys_of(network: Network, box: Box, key: tuple[str, ...]) -> set[tuple[pa.Scalar, ...]] | None:
    """The keys that the used outputs of a box may have, if it passes tuples on as they are."""
    traits = box.operator.traits
    found: set[tuple[pa.Scalar, ...]] = set()
    for name in box.operator.outputs if traits.passes else ():
        if not _is_used(network, Port(box.name, name)):
            continue
        keys = _keys_for(traits.conditions[name], key) if name in traits.conditions else None
        if keys is None:
            return None
        found |= keys
    return found if traits.passes else None


def _keys_for(condition: Expression, key: tuple[str, ...]) -> set[tuple[pa.Scalar, ...]] | None:
    constants = find_constants(condition)
    if any(field not in constants for field in key):
        return None
    if np.prod([len(constants[field]) for field in key]) > MOST:
        return None
    return set(product(*(constants[field] for field in key)))


def _is_used(network: Network, port: Port) -> bool:
    taken = any(port in box.inputs or port in box.clocks for box in network.boxes.values())
    return taken or any(output.port == port for output in network.outputs.values())
