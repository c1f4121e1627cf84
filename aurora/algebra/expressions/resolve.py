"""From the bare syntax tree to the typed one: fields looked up, functions chosen, casts put in."""

from collections.abc import Callable, Mapping

import pyarrow as pa
from sqlglot import exp

from aurora.algebra.expressions.aggregates import AGGREGATES, ALIASES
from aurora.algebra.expressions.coercion import INTEGERS, can_cast, converted
from aurora.algebra.expressions.compile import fold
from aurora.algebra.expressions.dialect import Positive, source
from aurora.algebra.expressions.hints import clause_hint, function_hint, unit_hint
from aurora.algebra.expressions.literals import (
    adds_interval,
    fraction,
    holds_interval,
    interval_text,
    is_short_literal,
    whole_number,
)
from aurora.algebra.expressions.operators import conditional
from aurora.algebra.expressions.rules import FUNCTIONS
from aurora.algebra.expressions.signature import Clash, same_type
from aurora.algebra.expressions.time_functions import interval, later
from aurora.algebra.expressions.tree import ARRIVED, INSIDE, Call, Constant, Field, Node
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import (
    BOOLEAN,
    STRING,
    TIMESTAMP,
    VOID,
    is_array,
    is_map,
    is_struct,
    parse_type,
    struct_fields,
    type_name,
)
from aurora.errors import AuroraError, did_you_mean, raise_if

__all__ = ["Resolver"]

OPERATORS: dict[type[exp.Expression], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.IntDiv: "div",
    exp.Mod: "%",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
    exp.And: "and",
    exp.Or: "or",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "^",
    exp.BitwiseLeftShift: "shiftleft",
    exp.BitwiseRightShift: "shiftright",
    exp.DPipe: "concat",
    exp.RegexpLike: "rlike",
}
# An aggregate call found on the way: gives the column that holds its result, None if it is not one.
AggregateCalls = Callable[[str, exp.Expression], Node | None]
# A field outside of them, with its text: gives what stands for it.
BareFields = Callable[[Node, str], Node]


CHANGING = {
    "current_date", "current_time", "localtimestamp", "curdate", "rand", "random", "randn", "uuid", "shuffle",
    "monotonically_increasing_id", "getdate", "sysdate", "today", "curtime", "newid", "gen_random_uuid",
}  # fmt: skip
# A run that is repeated must give the same: what time it is, is the time at which the tuple came.
NOW = ("arrival_time", "current_timestamp", "now")


def check_the_same(name: str) -> None:
    """A run that is repeated or goes on after a kill must give the same again."""
    if name.lower() in CHANGING:
        raise AuroraError(
            f"{name.lower()} gives a different result in every run: use a field of the input, or, in a map, "
            "current_timestamp, the time at which a tuple arrived"
        )


class Resolver:
    """Resolves the expressions of one box: `sides` has one schema under None, or one for each side."""

    def __init__(
        self,
        sides: Mapping[str | None, Schema],
        aggregate: AggregateCalls | None = None,
        bare: BareFields | None = None,
        arrival: bool = False,
    ) -> None:
        self.sides = sides
        self.aggregate = aggregate
        self.bare = bare
        self.arrival = arrival

    def resolve(self, node: exp.Expression) -> Node:
        """The typed tree; operators one behind the other are taken in a loop, from the left."""
        behind = []
        while type(node) in OPERATORS and not adds_interval(node):
            behind.append(node)
            node = node.this
        result = self.resolve_one(node)
        for outer in reversed(behind):
            args = [result, self.resolve(outer.expression)]
            result = self.negated(outer, self.apply(OPERATORS[type(outer)], outer, args))
        return result

    def resolve_one(self, node: exp.Expression) -> Node:
        if isinstance(node, exp.Add | exp.Sub) and holds_interval(node.expression):
            return self.shifted(node, node.this, node.expression, -1 if isinstance(node, exp.Sub) else 1)
        if isinstance(node, exp.Add) and holds_interval(node.this):
            return self.shifted(node, node.expression, node.this, 1)
        method = getattr(self, "on_" + type(node).__name__.lower(), None)
        if method is None:
            raise AuroraError(clause_hint(node, source(node)))
        result: Node = method(node)
        return result

    def call(self, name: str, node: exp.Expression, args: list[exp.Expression]) -> Node:
        return self.apply(name, node, [self.resolve(argument) for argument in args])

    def apply(self, name: str, node: exp.Expression, args: list[Node]) -> Node:
        try:
            return FUNCTIONS[name](name, args)
        except Clash as clash:
            raise AuroraError(clash.at(source(node))) from None

    def negated(self, node: exp.Expression, result: Node) -> Node:
        return Call("not", (result,), BOOLEAN) if node.args.get("negate") else result

    def shifted(self, node: exp.Expression, moment: exp.Expression, by: exp.Expression, sign: int) -> Node:
        """A moment plus or minus an interval; several units in a row come as a sum of intervals."""
        try:
            amounts = interval(interval_text(by))
            return later(self.resolve(moment), amounts, sign)
        except Clash as clash:
            raise AuroraError(clash.at(source(node))) from None

    def on_interval(self, node: exp.Interval) -> Node:
        raise AuroraError(f"'{source(node)}' stands alone: add it to a date or timestamp")

    def on_bitwisenot(self, node: exp.BitwiseNot) -> Node:
        return self.call("~", node, [node.this])

    def on_like(self, node: exp.Like) -> Node:
        return self.negated(node, self.call("like", node, [node.this, node.expression]))

    def on_trim(self, node: exp.Trim) -> Node:
        position = str(node.args.get("position") or "BOTH")
        if node.expression is None:
            plain = {"BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}
            return self.call(plain[position], node, [node.this])
        chosen = {"BOTH": "btrim", "LEADING": "trim leading", "TRAILING": "trim trailing"}
        return self.call(chosen[position], node, [node.this, node.expression])

    def on_positive(self, node: Positive) -> Node:
        return self.call("positive", node, [node.this])

    def on_column(self, node: exp.Column) -> Node:
        """side.field.inside, where the side and what is inside may be missing."""
        names = [part.name for part in node.parts]
        # LEFT and RIGHT are words of SQL, so their case is free.
        side = next((key for key in (names[0], names[0].lower()) if key in self.sides), None)
        if side is not None and len(names) > 1 and names[1] in self.sides[side]:
            return self.inside(Field(names[1], side, self.sides[side][names[1]]), names[2:], node)
        name = names[0]
        found = [
            key
            for key, schema in self.sides.items()
            if name in schema and (side is None or len(names) == 1 or is_struct(schema[name]))
        ]
        if found and self.aggregate is not None and self.bare is None:
            raise AuroraError(f"field '{name}' is outside an aggregate: write last({source(node)})")
        if len(found) == 1:
            value = self.inside(Field(name, found[0], self.sides[found[0]][name]), names[1:], node)
            return value if self.bare is None else self.bare(value, source(node))
        if found:
            choices = " or ".join(f"{key}.{name}" for key in found)
            raise AuroraError(f"field '{name}' is on both sides: write {choices}")
        if len(names) == 1 and name.lower() == "current_timestamp":
            return self.arrival_time("current_timestamp", node)
        check_the_same(name)
        near = did_you_mean(name, [each for schema in self.sides.values() for each in schema.names])
        raise AuroraError(f"unknown field '{source(node)}'{near}: {self.fields()}")

    def on_dot(self, node: exp.Dot) -> Node:
        if not isinstance(node.expression, exp.Identifier):
            raise AuroraError(
                f"'{source(node)}' is not part of the language: only the name of a field can follow a dot"
            )
        return self.inside(self.resolve(node.this), [node.expression.name], node)

    def on_bracket(self, node: exp.Bracket) -> Node:
        """a[0] of an array; m['key'] of a map; s['name'] of a struct."""
        value = self.resolve(node.this)
        first = node.expressions[0] if len(node.expressions) == 1 else None
        if is_struct(value.type) and isinstance(first, exp.Literal) and first.is_string:
            return self.inside(value, [str(first.this)], node)
        if first is None or not (is_array(value.type) or is_map(value.type)):
            raise AuroraError(
                f"{type_name(value.type)} has no elements, in '{source(node)}': only arrays have, as in tags[0]"
            )
        return self.apply("[]", node, [value, self.resolve(first)])

    def inside(self, value: Node, names: list[str], node: exp.Expression) -> Node:
        """The field inside a struct that the names lead to."""
        for name in names:
            if not is_struct(value.type):
                hint = ": take an element first, as in a[0].b" if is_array(value.type) else ""
                hint = f": write ['{name}'] behind a map" if is_map(value.type) else hint
                raise AuroraError(
                    f"{type_name(value.type)} has no field '{name}' inside, in '{source(node)}'{hint}"
                )
            fields = struct_fields(value.type)
            if name not in fields:
                raise AuroraError(f"unknown field '{name}' in '{source(node)}': it has {', '.join(fields)}")
            value = Call(INSIDE, (value, Constant(name, STRING)), fields[name])
        return value

    def fields(self) -> str:
        parts = [
            f"the fields{'' if side is None else ' of ' + side} are {', '.join(schema.names) or 'none'}"
            for side, schema in self.sides.items()
        ]
        return "; ".join(parts)

    def on_paren(self, node: exp.Paren) -> Node:
        return self.resolve(node.this)

    def on_literal(self, node: exp.Literal) -> Node:
        text = str(node.this)
        if node.is_string:
            return Constant(text, STRING)
        if not text.isdigit():
            return fraction(text)
        return whole_number(int(text))

    def on_rawstring(self, node: exp.RawString) -> Node:
        return Constant(str(node.this), STRING)

    def on_concat(self, node: exp.Concat) -> Node:
        # Strings that stand next to each other are one string; the function concat comes as any other.
        return Constant("".join(str(part.this) for part in node.expressions), STRING)

    def on_boolean(self, node: exp.Boolean) -> Node:
        return Constant(bool(node.this), BOOLEAN)

    def on_null(self, node: exp.Null) -> Node:
        return Constant(None, VOID)

    def on_neg(self, node: exp.Neg) -> Node:
        inner = node.this
        if isinstance(inner, exp.Literal) and not inner.is_string:
            text = str(inner.this)
            return whole_number(-int(text)) if text.isdigit() else fraction("-" + text)
        if is_short_literal(inner):
            return self.short_literal(inner, -1)
        return self.call("negate", node, [inner])

    def on_not(self, node: exp.Not) -> Node:
        return self.call("not", node, [node.this])

    def on_is(self, node: exp.Is) -> Node:
        value = self.resolve(node.this)
        if isinstance(node.expression, exp.Null):
            return self.apply("isnull", node, [value])
        if not isinstance(node.expression, exp.Boolean):
            raise AuroraError(f"'{source(node)}': IS goes with NULL, TRUE or FALSE; write = instead")
        if value.type not in (BOOLEAN, VOID):
            raise AuroraError(f"IS needs a boolean, found {type_name(value.type)} in '{source(node)}'")
        return self.apply("<=>", node, [value, self.resolve(node.expression)])

    def on_nullsafeneq(self, node: exp.NullSafeNEQ) -> Node:
        return Call("not", (self.call("<=>", node, [node.this, node.expression]),), BOOLEAN)

    def on_in(self, node: exp.In) -> Node:
        if not node.expressions:
            raise AuroraError(
                f"'{source(node)}': IN needs a list of values in brackets; "
                "to look a value up in another stream, use a join"
            )
        return self.call("in", node, [node.this, *node.expressions])

    def on_between(self, node: exp.Between) -> Node:
        value = self.resolve(node.this)
        low = self.apply(">=", node, [value, self.resolve(node.args["low"])])
        high = self.apply("<=", node, [value, self.resolve(node.args["high"])])
        return self.apply("and", node, [low, high])

    def on_if(self, node: exp.If) -> Node:
        otherwise = node.args.get("false") or exp.Null()
        return self.call("if", node, [node.this, node.args["true"], otherwise])

    def on_case(self, node: exp.Case) -> Node:
        subject = self.resolve(node.this) if node.this is not None else None
        conditions: list[Node] = []
        values: list[Node] = []
        for branch in node.args["ifs"]:
            condition = self.resolve(branch.this)
            if subject is not None:
                condition = self.apply("=", node, [subject, condition])
            conditions.append(condition)
            values.append(self.resolve(branch.args["true"]))
        default = node.args.get("default")
        values.append(self.resolve(default) if default is not None else Constant(None, VOID))
        try:
            *branches, result = same_type("CASE", values)
            for condition, value in zip(reversed(conditions), reversed(branches), strict=True):
                result = conditional(condition, value, result)
        except Clash as clash:
            raise AuroraError(clash.at(source(node))) from None
        return result

    def on_cast(self, node: exp.Cast) -> Node:
        if type(node) is exp.Cast:
            return self.moment(node)
        if is_short_literal(node):
            return self.short_literal(node, 1)
        value, target = self.resolve(node.this), self.target(node.args["to"])
        if not can_cast(value.type, target):
            raise AuroraError(
                f"CAST cannot make {type_name(target)} of {type_name(value.type)} in '{source(node)}'"
            )
        if node.args.get("safe") and value.type != target:
            return Call("try_cast", (value,), target)
        if (
            isinstance(value, Constant)
            and value.value is not None
            and value.type in INTEGERS
            and target in INTEGERS
        ):
            # No longer a number as it is written, which beside a decimal has the digits that are written.
            return Call("cast", (value,), target)
        return converted(value, target)

    def short_literal(self, node: exp.Cast, sign: int) -> Node:
        """300Y, a literal, which has to fit; -128Y does."""
        target, value = self.target(node.args["to"]), sign * int(str(node.this.this))
        bits = target.bit_width - 1
        if not -(1 << bits) <= value < 1 << bits:
            limits = f"{-(1 << bits)} to {(1 << bits) - 1}"
            raise AuroraError(f"{value} does not fit a {type_name(target)}, which holds {limits}")
        return Constant(value, target)

    def moment(self, node: exp.Cast) -> Node:
        """TIMESTAMP '..' and DATE '..', which are literals and so have to be right."""
        target = self.target(node.args["to"])
        value = fold(Call("cast", (self.resolve(node.this),), target))
        if not value.is_valid:
            raise AuroraError(
                f"'{node.this.this}' is not a {type_name(target)}: write it as 2004-08-31 12:30:00"
            )
        return Constant(value.value, target)

    on_trycast = on_cast

    def target(self, node: exp.DataType) -> pa.DataType:
        return parse_type(source(node))

    def on_anonymous(self, node: exp.Anonymous) -> Node:
        name = str(node.this).lower()
        check_the_same(name)
        if name in NOW:
            return self.arrival_time(name, node)
        if self.aggregate is not None:
            column = self.aggregate(name, node)
            if column is not None:
                return column
        if ALIASES.get(name, name) in AGGREGATES:
            raise AuroraError(
                f"'{source(node)}' is an aggregate: an expression over a single tuple cannot use it; "
                "compute it in the box aggregate"
            )
        if name not in FUNCTIONS or not name.replace("_", "").isalnum() or name == "negate":
            hint = function_hint(name, self.aggregate is not None)
            raise AuroraError(f"unknown function '{name}' in '{source(node)}'{hint}")
        raise_if(unit_hint(name, node, source(node)))
        return self.call(name, node, node.expressions)

    def arrival_time(self, name: str, node: exp.Expression) -> Node:
        if node.args.get("expressions"):
            raise AuroraError(f"{name} takes no arguments in '{source(node)}'")
        if not self.arrival:
            raise AuroraError(f"'{name}()' works only in a map: make a field with it there")
        return Field(ARRIVED, None, TIMESTAMP)
