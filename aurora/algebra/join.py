"""Join(P, Size s, Left Assuming O1, Right Assuming O2): pairs of tuples near each other that satisfy P."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from aurora.algebra.expressions import Expression
from aurora.algebra.expressions.tree import Call, Field, Node
from aurora.algebra.groups import encode, expand, first_not_before, value_order
from aurora.algebra.operator import Partition
from aurora.algebra.order import ARRIVAL, Admitted, Order, admit, to_values
from aurora.algebra.schema import Schema
from aurora.algebra.train import Ints, Mask, Train, Values
from aurora.algebra.turn import Turn
from aurora.algebra.types import type_name
from aurora.errors import AuroraError

__all__ = [
    "Join",
    "beyond",
    "check_reach",
    "equal_fields",
    "joined_schema",
    "matching",
    "pair_predicate",
    "shift",
]


@dataclass(frozen=True)
class Join:
    """For tuples in order, t of the left and u of the right: t ++ u where |t.A - u.B| <= size and P.

    A pair comes out when the later of the two arrives. `equal` are the fields that P wants equal; a tuple is
    forgotten when no tuple of the other side that may still come can be near it.
    """

    left: Schema
    right: Schema
    predicate: Expression
    size: Any
    left_order: Order
    right_order: Order

    @classmethod
    def of(
        cls,
        predicate: str,
        size: Any,
        left_order: Order,
        right_order: Order,
        left: Schema,
        right: Schema,
        where: str = "join",
    ) -> "Join":
        left_order.check(left, f"{where}, left")
        right_order.check(right, f"{where}, right")
        check_reach(size, (left_order, left), (right_order, right), where)
        return cls(left, right, pair_predicate(predicate, left, right, where), size, left_order, right_order)

    @cached_property
    def outputs(self) -> dict[str, Schema]:
        return {"1": joined_schema(self.left, self.right)}

    @cached_property
    def equal(self) -> tuple[tuple[str, str], ...]:
        return equal_fields(self.predicate)

    @property
    def partition(self) -> Partition | None:
        pairs = [
            (left, right)
            for left, right in self.equal
            if left in self.left_order.group_by and right in self.right_order.group_by
        ]
        return tuple(left for left, _ in pairs), tuple(right for _, right in pairs)

    def depth(self, inputs: tuple[int, ...]) -> int:
        return max(inputs) + 2

    def call(self, inputs: tuple[Train, ...], turn: Turn) -> dict[str, Train]:
        depth = max(train.depth for train in inputs)
        lefts = admit(self.left_order, inputs[0].at_input(0, depth), turn, "left ")
        rights = admit(self.right_order, inputs[1].at_input(1, depth), turn, "right ")
        old_left, new_left = _kept(turn, "left", self.left, lefts)
        old_right, new_right = _kept(turn, "right", self.right, rights)
        left, right = Train.concat([old_left, new_left]), Train.concat([old_right, new_right])
        found = Train.concat([self._pairs(new_left, right), self._pairs(old_left, new_right)])
        self._store(turn, "left", left, len(old_left), self.left_order, rights, self._fields(0))
        self._store(turn, "right", right, len(old_right), self.right_order, lefts, self._fields(1))
        return {"1": found.arranged()}

    def _pairs(self, left: Train, right: Train) -> Train:
        """All matches, each at the place of the one that came later, then of the other."""
        i, j = matching(
            left.rows,
            right.rows,
            self.equal,
            (
                to_values(left.rows.column(self.left_order.on)),
                to_values(right.rows.column(self.right_order.on)),
            ),
            self.size,
        )
        rows_left, rows_right = left.rows.take(pa.array(i)), right.rows.take(pa.array(j))
        if len(i):
            fits = self.predicate.matches_pairs(rows_left, rows_right)
            if not fits.all():
                good = np.flatnonzero(fits)
                i, j = i[good], j[good]
                rows_left, rows_right = rows_left.take(pa.array(good)), rows_right.take(pa.array(good))
        rows = pa.RecordBatch.from_arrays(
            [*rows_left.columns, *rows_right.columns], schema=self.outputs["1"].arrow()
        )
        # Of one arrival, the left tuples come before the right ones.
        later = left.keys[0, i] > right.keys[0, j]
        cause = np.where(later, left.keys[:-1, i], right.keys[:-1, j])
        other = np.where(later, right.keys[-1, j], left.keys[-1, i])
        arrived = np.minimum(left.arrived[i], right.arrived[j])
        return Train(rows, arrived, np.concatenate([cause, other[None]]))

    def _fields(self, side: int) -> tuple[str, ...] | None:
        """The fields of this side that name the group of the other, where P fixes all of them."""
        other = (self.right_order, self.left_order)[side].group_by
        named = {pair[1 - side]: pair[side] for pair in self.equal}
        return tuple(named[field] for field in other) if all(field in named for field in other) else None

    def _store(
        self,
        turn: Turn,
        name: str,
        train: Train,
        old: int,
        order: Order,
        other: Admitted,
        fields: tuple[str, ...] | None,
    ) -> None:
        """Keeps the tuples that a later tuple of the other side could still match."""
        if turn.moment.end:
            turn.state.put(name, None)
            return
        alive = np.ones(len(train), bool)
        if fields is not None and len(train):
            group = other.groups.find(train.rows, fields)
            bound, known = other.after
            if len(bound):
                passed = (group >= 0) & known[group]
                value = to_values(train.rows.column(order.on))
                alive = ~passed | ~beyond(bound[group], value, self.size)
        if len(train) > old or not alive.all():
            numbered = Train(train.rows, train.arrived, train.keys[-1:])
            turn.state.put(name, numbered.filter(alive).packed())


def check_reach(size: Any, left: tuple[Order, Schema], right: tuple[Order, Schema], where: str) -> None:
    """Raises a fault unless the order fields of both sides can be compared and `size` measures their distance."""
    if ARRIVAL in (left[0].on, right[0].on):
        raise AuroraError(f"{where}: needs order fields that can be compared, not '#'")
    one, two = (order.type(schema) for order, schema in (left, right))
    if one != two and not (pa.types.is_integer(one) and pa.types.is_integer(two)):
        raise AuroraError(
            f"{where}: left order {left[0].on} is {type_name(one)}, right order {right[0].on} is "
            f"{type_name(two)}: they cannot be compared; cast one with a map"
        )
    if size < 0:
        raise AuroraError(f"{where}: size must be 0 or more, found {size}")
    if int(size) != size and not pa.types.is_floating(one):
        raise AuroraError(f"{where}: {left[0].on} counts in whole numbers, found size {size}")


def pair_predicate(text: str, left: Schema, right: Schema, where: str) -> Expression:
    predicate = Expression.parse(text, {"left": left, "right": right}, where)
    if predicate.type != pa.bool_():
        raise AuroraError(f"{where}: '{text}' is {type_name(predicate.type)}, a predicate must be boolean")
    return predicate


def joined_schema(left: Schema, right: Schema) -> Schema:
    """The left fields, then the right ones; a right name that the left has too gets `_right`."""
    fields = {name: left[name] for name in left.names}
    for name in right.names:
        new = name
        while new in fields:
            new += "_right"
        fields[new] = right[name]
    return Schema.of(fields)


def equal_fields(predicate: Expression) -> tuple[tuple[str, str], ...]:
    """Pairs of fields, left and right, of one kind, that must be equal for the predicate to hold."""
    pairs: list[tuple[str, str]] = []
    pending: list[Node] = [predicate.tree]
    while pending:
        node = pending.pop(0)
        if isinstance(node, Call) and node.op == "and":
            pending = [*node.args, *pending]
        elif isinstance(node, Call) and node.op == "=":
            sides = {field.side: field for field in map(_plain_field, node.args) if field is not None}
            if len(sides) == 2 and _one_kind(sides["left"].type, sides["right"].type):
                pairs.append((sides["left"].name, sides["right"].name))
    return tuple(dict.fromkeys(pairs))


def _plain_field(node: Node) -> Field | None:
    while isinstance(node, Call) and node.op == "cast":
        (node,) = node.args
    return node if isinstance(node, Field) else None


def _one_kind(left: pa.DataType, right: pa.DataType) -> bool:
    return bool(left == right or (pa.types.is_integer(left) and pa.types.is_integer(right)))


def matching(
    left: pa.RecordBatch,
    right: pa.RecordBatch,
    equal: tuple[tuple[str, str], ...],
    values: tuple[Values, Values] | None,
    size: Any,
) -> tuple[Ints, Ints]:
    """Positions of the pairs with equal fields (null equals nothing) and values not further apart than `size`."""
    if left.num_rows == 0 or right.num_rows == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    codes = np.zeros(left.num_rows + right.num_rows, np.int64)
    complete = np.ones(len(codes), bool)
    if equal:
        columns = []
        for left_name, right_name in equal:
            one, two = left.column(left_name), right.column(right_name)
            if one.type != two.type:
                one, two = one.cast(pa.int64()), two.cast(pa.int64())
            column = pa.concat_arrays([one, two])
            complete &= column.is_valid().to_numpy(zero_copy_only=False)
            columns.append(column)
        codes = encode(columns)
    here = np.flatnonzero(complete[: left.num_rows])
    there = np.flatnonzero(complete[left.num_rows :])
    code_left, code_right = codes[here], codes[left.num_rows + there]
    if values is None:
        order = np.argsort(code_right, kind="stable")
        low = np.searchsorted(code_right[order], code_left, side="left")
        high = np.searchsorted(code_right[order], code_left, side="right")
    else:
        value_left, value_right = values[0][here], values[1][there]
        order = value_order(code_right, value_right)
        by_code, by_value = code_right[order], value_right[order]
        start = np.searchsorted(by_code, code_left, side="left")
        stop = np.searchsorted(by_code, code_left, side="right")
        low = first_not_before(by_value, start, stop, shift(value_left, -size))
        high = first_not_before(by_value, start, stop, shift(value_left, size), after=True)
    place, owner = expand(low, high)
    return here[owner], there[order[place]]


def shift(values: Values, by: Any) -> Values:
    """values + by, held at the ends of the bigints."""
    moved: Values = values + values.dtype.type(by)
    if values.dtype.kind == "i":
        if by >= 0:
            moved = np.where(moved < values, np.iinfo(np.int64).max, moved)
        else:
            moved = np.where(moved > values, np.iinfo(np.int64).min, moved)
    return moved


def beyond(bound: Values, value: Values, size: Any) -> Mask:
    """Whether the bound lies more than `size` above the value."""
    limit = shift(value, size)
    unreachable = (limit == np.iinfo(np.int64).max) if value.dtype.kind == "i" else np.zeros(len(value), bool)
    return np.asarray((bound > limit) & ~unreachable)


def _kept(turn: Turn, name: str, schema: Schema, admitted: Admitted) -> tuple[Train, Train]:
    """The tuples of one side, stored and new.

    A line behind their keys tells which of them came first. It is all that is stored: what came in an earlier turn
    is never the later of a pair.
    """
    batch = turn.state.get(name)
    old = Train.empty(schema.arrow()) if batch is None else Train.unpacked(batch)
    new = admitted.train
    long_ago = np.full((new.depth, len(old)), np.iinfo(np.int64).min)
    numbers = old.keys[0].max(initial=-1) + 1 + admitted.place
    return (
        Train(old.rows, old.arrived, np.concatenate([long_ago, old.keys])),
        Train(new.rows, new.arrived, np.concatenate([new.keys, numbers[None]])),
    )
