"""Functions that put texts together and take them apart."""

from aurora.algebra.expressions.coercion import converted
from aurora.algebra.expressions.signature import Clash, Function, literal, text
from aurora.algebra.expressions.tree import Call, Constant, Node
from aurora.algebra.tuples.types import INT, STRING, is_nested, type_name

__all__ = ["TEXT_PARTS"]

# A text that is filled up is not longer than that.
LONGEST = 10_000


def concat_ws(between: Node, *args: Node) -> Node:
    for node in args:
        if is_nested(node.type):
            raise Clash(
                f"concat_ws cannot take {type_name(node.type)}: array_join puts the elements of one together"
            )
    fixed = Constant(literal("concat_ws", between, STRING), STRING)
    return Call("concat_ws", (fixed, *(converted(node, STRING) for node in args)), STRING)


def padded(op: str) -> Function:
    def rule(node: Node, length: Node, fill: Node = Constant(" ", STRING)) -> Node:  # noqa: B008
        count = literal(op, length, INT)
        if count > LONGEST:
            raise Clash(f"{op} fills up to {LONGEST:,} characters at most, found {count:,}")
        args = (text(op, node), Constant(count, INT), Constant(literal(op, fill, STRING), STRING))
        return Call(op, args, STRING)

    return Function(rule, 2, 3)


def instr(node: Node, part: Node) -> Node:
    return Call("instr", (text("instr", node), Constant(literal("instr", part, STRING), STRING)), INT)


def locate(part: Node, node: Node) -> Node:
    return instr(node, part)


def reversed_text(node: Node) -> Node:
    return Call("reverse", (text("reverse", node),), STRING)


def repeated(node: Node, count: Node) -> Node:
    number = literal("repeat", count, INT)
    if number > LONGEST:
        raise Clash(f"repeat takes {LONGEST:,} times at most, found {number:,}")
    return Call("repeat", (text("repeat", node), Constant(number, INT)), STRING)


def split_part(node: Node, between: Node, place: Node) -> Node:
    number = literal("split_part", place, INT)
    if number == 0:
        raise Clash("split_part counts from 1, or from the end with -1")
    fixed = Constant(literal("split_part", between, STRING), STRING)
    return Call("split_part", (text("split_part", node), fixed, Constant(number, INT)), STRING)


TEXT_PARTS: dict[str, Function] = {
    "concat_ws": Function(concat_ws, 2, None),
    "lpad": padded("lpad"),
    "rpad": padded("rpad"),
    "instr": Function(instr, 2, 2),
    "locate": Function(locate, 2, 2),
    "reverse": Function(reversed_text, 1, 1),
    "repeat": Function(repeated, 2, 2),
    "split_part": Function(split_part, 3, 3),
}
