"""The functions on maps, and those that make one."""

import re

import pyarrow as pa

from aurora.algebra.expressions.coercion import common_type, converted
from aurora.algebra.expressions.signature import Clash, Function, literal, names, same_type, text
from aurora.algebra.expressions.tree import Call, Constant, Node
from aurora.algebra.tuples.types import BOOLEAN, STRING, VOID, is_array, is_map, type_name

__all__ = ["MAPS", "map_element"]

SPECIAL = re.compile(r"[\\^$.|?*+(){}\[\]]")


def a_map(name: str, node: Node) -> Node:
    if not is_map(node.type):
        raise Clash(f"{name} needs a map, found {type_name(node.type)}")
    return node


def map_element(name: str, node: Node, key: Node) -> Node:
    """The value of a key, null where it is not there."""
    if common_type(STRING, key.type) != STRING:
        raise Clash(
            f"{name} needs a string as the key of {type_name(node.type)}, found {type_name(key.type)}"
        )
    return Call("map_element", (node, converted(key, STRING)), node.type.item_type)


def contains_key(node: Node, key: Node) -> Node:
    node = a_map("map_contains_key", node)
    return Call("map_contains_key", (node, text("map_contains_key", key)), BOOLEAN)


def part(op: str) -> Function:
    def rule(node: Node) -> Node:
        kind = a_map(op, node).type
        return Call(op, (node,), pa.list_(kind.key_type if op == "map_keys" else kind.item_type))

    return Function(rule, 1, 1)


def made(*args: Node) -> Node:
    if len(args) % 2:
        raise Clash(
            f"map takes keys and values in turn, as in map('a', 1, 'b', 2), found {len(args)} arguments"
        )
    keys = [literal("map", key, STRING) for key in args[::2]]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        raise Clash(f"map has the key '{twice}' twice")
    values = same_type("map", args[1::2])
    if values[0].type == VOID:
        raise Clash("map of NULLs has no type: write CAST(NULL AS type)")
    pairs = (each for key, value in zip(keys, values, strict=True) for each in (Constant(key, STRING), value))
    return Call("map", tuple(pairs), pa.map_(STRING, values[0].type))


def from_arrays(keys: Node, values: Node) -> Node:
    for node in (keys, values):
        if not is_array(node.type):
            raise Clash(f"map_from_arrays needs two arrays, found {names(keys.type, values.type)}")
    if keys.type.value_type != STRING:
        raise Clash(f"map_from_arrays needs keys of array<string>, found {type_name(keys.type)}")
    return Call("map_from_arrays", (keys, values), pa.map_(STRING, values.type.value_type))


def str_to_map(node: Node, pairs: Node = Constant(",", STRING), key: Node = Constant(":", STRING)) -> Node:  # noqa: B008
    between = [literal("str_to_map", each, STRING) for each in (pairs, key)]
    for each in between:
        if not each or SPECIAL.search(each):
            raise Clash(f"str_to_map needs plain characters between the parts, found {each!r}")
    return Call(
        "str_to_map",
        (text("str_to_map", node), *(Constant(each, STRING) for each in between)),
        pa.map_(STRING, STRING),
    )


MAPS: dict[str, Function] = {
    "map": Function(made, 2, None),
    "map_keys": part("map_keys"),
    "map_values": part("map_values"),
    "map_contains_key": Function(contains_key, 2, 2),
    "map_from_arrays": Function(from_arrays, 2, 2),
    "str_to_map": Function(str_to_map, 1, 3),
}
