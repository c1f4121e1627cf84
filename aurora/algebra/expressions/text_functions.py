"""The functions on strings."""

import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.expressions.coercion import converted
from aurora.algebra.expressions.conversions import conversion
from aurora.algebra.expressions.kernels.json_paths import PATH
from aurora.algebra.expressions.patterns import parse_pattern
from aurora.algebra.expressions.signature import Clash, Function, literal, text
from aurora.algebra.expressions.tree import Call, Constant, Node
from aurora.algebra.tuples.types import BIGINT, BOOLEAN, INT, STRING, is_array, is_nested, type_name
from aurora.errors import AuroraError

__all__ = ["TEXT"]


def of_text(op: str, count: int = 1, result: pa.DataType = STRING) -> Function:
    def rule(*args: Node) -> Node:
        return Call(op, tuple(text(op, node) for node in args), result)

    return Function(rule, count, count)


def changed_case(op: str) -> Function:
    def rule(node: Node) -> Node:
        node = text(op, node)
        if isinstance(node, Call) and node.op in ("upper", "lower"):
            # Spark's optimiser looks at the outer one only, so lower(upper('ß')) is ß.
            node = node.args[0]
        return Call(op, (node,), STRING)

    return Function(rule, 1, 1)


def trimmed(op: str) -> Function:
    def rule(node: Node, characters: Node) -> Node:
        return Call(op, (text("trim", node), Constant(literal("trim", characters, STRING), STRING)), STRING)

    return Function(rule, 2, 2)


def substring(node: Node, start: Node, length: Node | None = None) -> Node:
    args = [text("substring", node), Constant(literal("substring", start, INT), INT)]
    if length is not None:
        args.append(Constant(literal("substring", length, INT), INT))
    return Call("substring", tuple(args), STRING)


def left(node: Node, length: Node) -> Node:
    return substring(node, Constant(1, INT), length)


def right(node: Node, length: Node) -> Node:
    count = literal("right", length, INT)
    return substring(node, Constant(-max(count, 0), INT), Constant(max(count, 0), INT))


def concat(*args: Node) -> Node:
    """Numbers and times become their text, as in Spark."""
    for node in args:
        if is_nested(node.type):
            kind = type_name(node.type)
            fix = conversion(node, (STRING,))
            raise Clash(f"concat cannot take {'an' if is_array(node.type) else 'a'} {kind}", fix)
    return Call("concat", tuple(converted(node, STRING) for node in args), STRING)


def replace(node: Node, search: Node, replacement: Node = Constant("", STRING)) -> Node:  # noqa: B008
    fixed = (Constant(literal("replace", part, STRING), STRING) for part in (search, replacement))
    return Call("replace", (text("replace", node), *fixed), STRING)


def like(node: Node, pattern: Node) -> Node:
    pattern_text = literal("LIKE", pattern, STRING)
    if ends_in_escape(pattern_text):
        raise Clash(f"the LIKE pattern {pattern_text!r} ends in its escape character")
    return Call("like", (text("LIKE", node), Constant(pattern_text, STRING)), BOOLEAN)


def ends_in_escape(pattern: str) -> bool:
    return (len(pattern) - len(pattern.rstrip("\\"))) % 2 == 1


def rlike(node: Node, pattern: Node) -> Node:
    return Call("rlike", (text("RLIKE", node), regular_expression("RLIKE", pattern)), BOOLEAN)


def regexp_extract(node: Node, pattern: Node, group: Node = Constant(1, INT)) -> Node:  # noqa: B008
    expression = regular_expression("regexp_extract", pattern)
    number = literal("regexp_extract", group, INT)
    groups = parse_pattern(str(expression.value)).groups
    if not 0 <= number <= groups:
        raise Clash(f"regexp_extract asks for group {number}, and the pattern has {groups}")
    args = (text("regexp_extract", node), expression, Constant(number, INT))
    return Call("regexp_extract", args, STRING)


def regexp_replace(node: Node, pattern: Node, replacement: Node) -> Node:
    expression = regular_expression("regexp_replace", pattern)
    parsed = parse_pattern(str(expression.value))
    if parsed.may_be_empty:
        raise Clash(
            f"regexp_replace cannot use the pattern {expression.value!r}: it can match the empty text; "
            "use a+ instead of a*"
        )
    by = literal("regexp_replace", replacement, STRING)
    try:
        parsed.replacement(by)
    except AuroraError as fault:
        raise Clash(f"regexp_replace cannot use the replacement {by!r}: {fault}") from None
    return Call("regexp_replace", (text("regexp_replace", node), expression, Constant(by, STRING)), STRING)


def sha2(node: Node, bits: Node) -> Node:
    number = literal("sha2", bits, INT)
    if number not in (0, 224, 256, 384, 512):
        raise Clash(f"sha2 has 224, 256, 384 or 512 bits, found {number}")
    return Call("sha2", (text("sha2", node), Constant(number or 256, INT)), STRING)


def get_json_object(node: Node, path: Node) -> Node:
    steps = literal("get_json_object", path, STRING)
    if PATH.fullmatch(steps) is None:
        raise Clash(
            f"get_json_object cannot use the path {steps!r}: write it as $.name.inner[0] or $.name[*].inner"
        )
    return Call("get_json_object", (text("get_json_object", node), Constant(steps, STRING)), STRING)


def regular_expression(name: str, node: Node) -> Constant:
    pattern = literal(name, node, STRING)
    try:
        pc.match_substring_regex(pa.array([""]), parse_pattern(pattern).re2())
    except (AuroraError, pa.ArrowInvalid) as fault:
        reason = str(fault).removeprefix("Invalid regular expression: ")
        raise Clash(f"{name} cannot use the pattern {pattern!r}: {reason}") from None
    return Constant(pattern, STRING)


TEXT: dict[str, Function] = {
    "length": of_text("length", result=INT),
    "char_length": of_text("length", result=INT),
    "character_length": of_text("length", result=INT),
    "upper": changed_case("upper"),
    "ucase": changed_case("upper"),
    "lower": changed_case("lower"),
    "lcase": changed_case("lower"),
    "trim": of_text("trim"),
    "ltrim": of_text("ltrim"),
    "rtrim": of_text("rtrim"),
    "btrim": trimmed("btrim"),
    "trim leading": trimmed("trim leading"),
    "trim trailing": trimmed("trim trailing"),
    "substring": Function(substring, 2, 3),
    "substr": Function(substring, 2, 3),
    "left": Function(left, 2, 2),
    "right": Function(right, 2, 2),
    "concat": Function(concat, 1, None),
    "replace": Function(replace, 2, 3),
    "startswith": of_text("startswith", 2, BOOLEAN),
    "endswith": of_text("endswith", 2, BOOLEAN),
    "contains": of_text("contains", 2, BOOLEAN),
    "like": Function(like, 2, 2),
    "rlike": Function(rlike, 2, 2),
    "regexp_like": Function(rlike, 2, 2),
    "regexp_extract": Function(regexp_extract, 2, 3),
    "regexp_replace": Function(regexp_replace, 3, 3),
    "md5": of_text("md5"),
    "sha": of_text("sha1"),
    "sha1": of_text("sha1"),
    "sha2": Function(sha2, 2, 2),
    "crc32": of_text("crc32", result=BIGINT),
    "get_json_object": Function(get_json_object, 2, 2),
}
