"""Which constants a predicate wants fields to equal: what an index on those fields can look up."""

from collections.abc import Iterator

import pyarrow as pa

from aurora.algebra.expressions.expression import Expression
from aurora.algebra.expressions.tree import Call, Constant, Field, Node

__all__ = ["find_constants"]


def find_constants(predicate: Expression) -> dict[str, list[pa.Scalar]]:
    """For each field that must equal one of some constants, if the predicate is to hold, those constants.

    >>> from aurora.algebra.tuples.schema import Schema
    >>> schema = Schema.parse("Sid int, Zone string, Pos int")
    >>> found = find_constants(Expression.parse("Sid IN (1, 2) AND Zone = 'b' AND Pos > 3", schema))
    >>> {name: [value.as_py() for value in values] for name, values in found.items()}
    {'Sid': [1, 2], 'Zone': ['b']}
    """
    found: dict[str, list[pa.Scalar]] = {}
    for part in _conjuncts(predicate.tree):
        named = _alternatives(part)
        if named is not None and named[0] not in found:
            found[named[0]] = named[1]
    return found


def _conjuncts(tree: Node) -> Iterator[Node]:
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, Call) and node.op == "and":
            pending.extend(reversed(node.args))
        else:
            yield node


def _alternatives(node: Node) -> tuple[str, list[pa.Scalar]] | None:
    """A field and the constants, one of which it must be: a = 1, 1 = a, a IN (1, 2), a = 1 OR a = 2."""
    if not isinstance(node, Call):
        return None
    if node.op == "or":
        sides = [_alternatives(argument) for argument in node.args]
        if any(side is None for side in sides) or len({side[0] for side in sides if side}) > 1:
            return None
        return next(side[0] for side in sides if side), [value for side in sides if side for value in side[1]]
    if node.op not in ("=", "in"):
        return None
    fields = [argument for argument in node.args if isinstance(argument, Field)]
    constants = [argument for argument in node.args if isinstance(argument, Constant)]
    if len(fields) != 1 or len(constants) != len(node.args) - 1:
        return None
    if any(constant.type != fields[0].type for constant in constants):
        return None
    # Null equals nothing.
    return fields[0].name, [constant.scalar() for constant in constants if constant.value is not None]
