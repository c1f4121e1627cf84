"""Order specifications: the field that orders a stream, its groups, and the disorder that is allowed."""

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from aurora.algebra.ordering.values import comparable, orderable
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import is_map, is_nested, is_struct, type_name
from aurora.errors import AuroraError

__all__ = ["ARRIVAL", "GROUP", "STREAM", "Clock", "Order", "check_reach"]

# `on: "#"` orders by the count of tuples in the group (the paper's Tup#).
ARRIVAL = "#"
# Clocks: a group goes by its own tuples (the paper), or by those of the whole stream, or of another one.
GROUP, STREAM = "group", "stream"


@dataclass(frozen=True)
class Clock:
    """What a box goes by: a field of one of its inputs, or of another stream of the network."""

    input: int
    field: str
    stream: str | None = None


@dataclass(frozen=True)
class Order:
    """Order(On, Slack, GroupBy). `span` is slack as a distance of values instead of a number of tuples.

    `clock` says whose tuples decide how far it has come: those of the group, of the stream, or of the stream so named.
    """

    on: str
    slack: int = 0
    span: int | float | None = None
    group_by: tuple[str, ...] = ()
    clock: str = GROUP

    @property
    def clocked(self) -> bool:
        """Whether it goes by the tuples of a whole stream."""
        return self.clock != GROUP

    def clocks(self, number: int = 0) -> tuple[Clock, ...]:
        """The clocks of the order of the input with this number."""
        if not self.clocked:
            return ()
        return (Clock(number, self.on, None if self.clock == STREAM else self.clock),)

    def check(self, schema: Schema, where: str) -> None:
        """Raises a fault unless the fields exist, can be ordered, and fit together."""
        for name in self.group_by:
            if name not in schema:
                raise AuroraError(
                    f"{where}: group_by has no field {name}; fields are {', '.join(schema.names)}"
                )
            if is_nested(schema[name]):
                what = "a struct; take its fields" if is_struct(schema[name]) else "an array; take an element"
                what = "a map<..>; take a value" if is_map(schema[name]) else what
                raise AuroraError(f"{where}: group_by {name} is {what} out with a map")
        if len(set(self.group_by)) < len(self.group_by):
            raise AuroraError(f"{where}: group_by names a field twice: {', '.join(self.group_by)}")
        if self.slack < 0 or (self.span is not None and self.span < 0):
            raise AuroraError(f"{where}: slack must be 0 or more, found {min(self.slack, self.span or 0)}")
        if self.clocked and self.on == ARRIVAL:
            raise AuroraError(
                f"{where}: clock: {self.clock} needs an order field, not '#'; leave the clock out"
            )
        if self.clocked and self.slack:
            raise AuroraError(
                f"{where}: with clock: {self.clock} slack is a distance, not a number of tuples"
            )
        if self.on == ARRIVAL:
            if self.span is not None:
                raise AuroraError(f"{where}: slack as a span needs an order field, not '#'")
            return
        if self.on not in schema:
            raise AuroraError(
                f"{where}: order on {self.on}: no such field; fields are {', '.join(schema.names)}"
            )
        if self.on in self.group_by:
            raise AuroraError(f"{where}: {self.on} cannot be both the order field and a group field")
        if not orderable(schema[self.on]):
            raise AuroraError(
                f"{where}: order on {self.on}: {type_name(schema[self.on])} is neither a number nor a time"
            )

    def type(self, schema: Schema) -> pa.DataType:
        return pa.int64() if self.on == ARRIVAL else schema[self.on]


def check_reach(size: Any, left: tuple[Order, Schema], right: tuple[Order, Schema], where: str) -> None:
    """Raises a fault unless the order fields of both sides can be compared and `size` measures their distance."""
    if ARRIVAL in (left[0].on, right[0].on):
        raise AuroraError(f"{where}: needs order fields that can be compared, not '#'")
    one, two = (order.type(schema) for order, schema in (left, right))
    if not comparable(one, two):
        raise AuroraError(
            f"{where}: left order {left[0].on} is {type_name(one)}, right order {right[0].on} is "
            f"{type_name(two)}: they cannot be compared; cast one with a map"
        )
    if size < 0:
        raise AuroraError(f"{where}: size must be 0 or more, found {size}")
    if int(size) != size and not pa.types.is_floating(one):
        raise AuroraError(f"{where}: {left[0].on} counts in whole numbers, found size {size}")
