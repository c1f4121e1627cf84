"""The functions on arrays, and those that make one."""

import pyarrow as pa

from aurora.algebra.expressions.coercion import INTEGERS, common_type, converted
from aurora.algebra.expressions.conversions import array_fix
from aurora.algebra.expressions.map_functions import map_element
from aurora.algebra.expressions.patterns import parse_pattern
from aurora.algebra.expressions.signature import Clash, Function, literal, names, need, same_type, text
from aurora.algebra.expressions.text_functions import regular_expression
from aurora.algebra.expressions.tree import Call, Constant, Node
from aurora.algebra.tuples.types import (
    BIGINT,
    BOOLEAN,
    INT,
    STRING,
    VOID,
    is_array,
    is_map,
    is_nested,
    type_name,
)

__all__ = ["ARRAYS"]


def array(name: str, node: Node) -> Node:
    if not is_array(node.type):
        raise Clash(f"{name} needs an array, found {type_name(node.type)}", array_fix(name, node))
    return node


def made(*args: Node) -> Node:
    args = same_type("array", args)
    if args[0].type == VOID:
        raise Clash("array of NULLs has no type: write CAST(NULL AS type)")
    return Call("array", args, pa.list_(args[0].type))


def element(node: Node, place: Node) -> Node:
    """a[i], counted from 0; m['key'] of a map."""
    if is_map(node.type):
        return map_element("[]", node, place)
    node = array("[]", node)
    place = converted(need("[]", place, (INT, *INTEGERS), "a whole number"), BIGINT)
    return Call("element", (node, place), node.type.value_type)


def element_at(node: Node, place: Node) -> Node:
    """Counted from 1, or from the end with a negative number; of a map, by its key."""
    if is_map(node.type):
        return map_element("element_at", node, place)
    node = array("element_at", node)
    if not isinstance(place, Constant):
        raise Clash("element_at needs a whole number written out here: for a computed one write a[i], from 0")
    number = literal("element_at", place, INT)
    if number == 0:
        raise Clash("element_at counts from 1, or from the end with -1; a[0] is the first element, too")
    return Call("element_at", (node, Constant(number, INT)), node.type.value_type)


def size(op: str) -> Function:
    def rule(node: Node) -> Node:
        if op == "size" and is_map(node.type):
            return Call("map_size", (node,), INT)
        return Call(op, (array(op, node),), INT)

    return Function(rule, 1, 1)


def contains(node: Node, value: Node) -> Node:
    node = array("array_contains", node)
    own = node.type.value_type
    if is_nested(own):
        raise Clash(f"array_contains cannot compare {type_name(own)}")
    if value.type == VOID or common_type(own, value.type) != own:
        raise Clash(
            f"array_contains cannot look for {names(value.type)} in {type_name(node.type)}: CAST the value"
        )
    return Call("array_contains", (node, converted(value, own)), BOOLEAN)


def joined(node: Node, between: Node, missing: Node | None = None) -> Node:
    node = array("array_join", node)
    if node.type.value_type != STRING:
        raise Clash(f"array_join needs an array<string>, found {type_name(node.type)}")
    given = (between,) if missing is None else (between, missing)
    fixed = tuple(Constant(literal("array_join", part, STRING), STRING) for part in given)
    return Call("array_join", (node, *fixed), STRING)


def split(node: Node, pattern: Node, limit: Node = Constant(-1, INT)) -> Node:  # noqa: B008
    expression = regular_expression("split", pattern)
    if parse_pattern(str(expression.value)).has_start:
        raise Clash(
            f"split cannot use the pattern {expression.value!r}: ^ and \\A hold at the start of the text alone; "
            "take that off with regexp_replace"
        )
    if parse_pattern(str(expression.value)).may_be_empty:
        raise Clash(
            f"split cannot use the pattern {expression.value!r}, which can match nothing: "
            "give the text between the parts, as in split(x, ',')"
        )
    number = Constant(literal("split", limit, INT), INT)
    return Call("split", (text("split", node), expression, number), pa.list_(STRING))


def exploded(*args: Node) -> Node:
    raise Clash(
        "explode gives many tuples for one, so it is a box: write each: {explode: tags, as: tag, from: ..}, and for a "
        "map as: [key, value]"
    )


ARRAYS: dict[str, Function] = {
    "array": Function(made, 1, None),
    "[]": Function(element, 2, 2),
    "element_at": Function(element_at, 2, 2),
    "size": size("size"),
    "cardinality": size("size"),
    "array_size": size("array_size"),
    "array_contains": Function(contains, 2, 2),
    "array_join": Function(joined, 2, 3),
    "split": Function(split, 2, 3),
    "explode": Function(exploded, 0, None),
}
