"""Inputs that arrive in the order of a field: what the field must be, and how long a silent input may hold others."""

from collections.abc import Iterable
from typing import Protocol

import pyarrow as pa

from aurora.algebra.ordering.values import comparable
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import type_name
from aurora.errors import AuroraError, did_you_mean
from aurora.network.amounts import duration

__all__ = ["read_input_order"]


class Ordered(Protocol):
    """An input of the network that is there already."""

    @property
    def name(self) -> str: ...

    @property
    def schema(self) -> Schema: ...

    @property
    def order(self) -> str | None: ...


def read_input_order(
    order: object, idle: object, schema: Schema, others: Iterable[Ordered], where: str
) -> int | None:
    """Return the milliseconds of `idle`; raise a fault unless inputs can be merged by the field."""
    if order is None:
        if idle is not None:
            raise AuroraError(
                f"{where}: idle says how long other inputs wait for this one in the order of a field; "
                "add order: Field, or leave idle out"
            )
        return None
    if not isinstance(order, str) or order not in schema:
        near = did_you_mean(order, schema.names) if isinstance(order, str) else ""
        raise AuroraError(
            f"{where}: order: there is no field {order}{near}; the fields are {', '.join(schema.names)}"
        )
    kind = schema[order]
    if not (pa.types.is_integer(kind) or pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        raise AuroraError(
            f"{where}: order: {order} is {type_name(kind)}; inputs are merged by a whole number, a date or a timestamp"
        )
    for other in others:
        if other.order is not None and not comparable(kind, other.schema[other.order]):
            raise AuroraError(
                f"{where}: order: {order} is {type_name(kind)}, and {other.order} of input {other.name} is "
                f"{type_name(other.schema[other.order])}: they cannot be compared; declare them alike"
            )
    held = None if idle is None else duration(idle, f"{where}: idle")
    if held == 0:
        raise AuroraError(
            f"{where}: idle: found '{idle}'; write a span above 0, such as 10s, or leave order out"
        )
    return held
