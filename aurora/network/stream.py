"""A stream of a network under construction, and the boxes that can be put behind it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from aurora.algebra.tuples.schema import Schema
from aurora.errors import AuroraError

if TYPE_CHECKING:
    from aurora.network.network import Network

__all__ = ["Port", "Stream"]


@dataclass(frozen=True)
class Port:
    """A stream: an output port of a box, or an input of the network (port "")."""

    box: str
    port: str = ""

    def __str__(self) -> str:
        return f"{self.box}.{self.port}" if self.port else self.box

    @property
    def reference(self) -> str:
        """The name from the top, which means the same inside every group."""
        return f".{self}"


@dataclass(frozen=True)
class Stream:
    """A stream of a network under construction; its methods add a box behind it and return the box's first port.

    A box without a name gets one from its kind: filter_1, filter_2, map_1.
    """

    network: "Network"
    port: Port

    @property
    def schema(self) -> Schema:
        """The fields of the stream and their types."""
        return self.network.schema(self.port)

    def __repr__(self) -> str:
        return f"<Stream {self.port}: {self.schema}>"

    def _repr_html_(self) -> str:
        return f"<b>{escape(str(self.port))}</b>{self.schema._repr_html_()}"

    def __getitem__(self, port: str) -> "Stream":
        """Another port of the same box: over["rest"]."""
        return self.network.stream(f".{self.port.box}.{port}")

    def filter(self, *predicates: str, name: str | None = None) -> "Stream":
        """Sends each tuple to the port of the first predicate that holds, "1", "2", .., or to "rest"."""
        return self.network.add(name, {"filter": list(predicates), "from": self.port.reference})

    def map(self, fields: Mapping[str, str], *, name: str | None = None) -> "Stream":
        """Computes the fields of the output from each tuple: {"Feet": "Pos * 3"}; "*" stands for all fields."""
        return self.network.add(name, {"map": dict(fields), "from": self.port.reference})

    def explode(
        self,
        array: str,
        as_: str | Sequence[str],
        *,
        name: str | None = None,
        at: str | None = None,
        outer: bool = False,
    ) -> "Stream":
        """A tuple for each element of an array: the element is the field `as_`, its position from 0 the field `at`.

        Of a map, `as_` names two fields: ["key", "value"].
        """
        options = {} if at is None else {"at": at}
        named = as_ if isinstance(as_, str) else list(as_)
        spec = {"explode": array, "as": named, "from": self.port.reference, **options}
        return self.network.add(name, {**spec, "outer": True} if outer else spec)

    def union(self, *others: "Stream", name: str | None = None) -> "Stream":
        """Merges this stream with others of the same schema, in the order of arrival."""
        return self.network.add(name, {"union": [self.network.own(s).reference for s in (self, *others)]})

    def bsort(self, order: Mapping[str, Any], *, name: str | None = None) -> "Stream":
        """Sorts with a buffer of slack + 1 tuples for each group; `order` as in {"on": "Time", "slack": 2}."""
        return self.network.add(name, {"bsort": {}, "from": self.port.reference, "order": dict(order)})

    def aggregate(
        self, functions: Any, *, order: Mapping[str, Any], name: str | None = None, **options: Any
    ) -> "Stream":
        """A row for each window, with `functions` over its tuples: SQL by name, or a WindowFunction.

        Options: size, advance, timeout, align; for sessions gap. For a row per tuple: size="all" covers its group
        so far; partial=True covers the last `size` tuples by "#". may_miss=True lets load be shed in front of
        size="all".
        """
        spec = {"aggregate": functions, "from": self.port.reference, "order": dict(order)}
        return self.network.add(name, {**spec, **options})

    def top(
        self,
        choice: Mapping[str, Any] | None = None,
        *,
        order: Mapping[str, Any] | None = None,
        size: Any = None,
        name: str | None = None,
        **options: Any,
    ) -> "Stream":
        """The best tuples of each window. `choice`: {"k": 3, "by": "Price DESC"}, and ties, rank, start.

        Options: advance, timeout, align.
        """
        if not isinstance(choice, Mapping) or order is None or size is None:
            raise AuroraError(
                f"box {name or 'top'}: write top({{'k': 3, 'by': 'Price DESC'}}, order={{'on': 'Time'}}, size='1m'): "
                "k and by are in one mapping, and order and size are beside it"
            )
        spec = {"top": dict(choice), "from": self.port.reference, "order": dict(order), "size": size}
        return self.network.add(name, {**spec, **options})

    def join(self, right: "Stream", predicate: str, *, name: str | None = None, **options: Any) -> "Stream":
        """The pairs of tuples for which the predicate, over left.Field and right.Field, holds.

        Options for a join of two streams: size or keep, left_order, right_order; or asof={"left": "At", "right":
        "Since"} for the latest right tuple by time, asof=True for the latest by arrival, with broadcast=True if
        every bucket should have the whole right side. A table needs none of them.

        For tuples without a partner: outer ("left", "right", "both") or anti ("left", "right"). may_miss=True lets load
        be shed in front of a side that is kept for good.
        """
        spec = {"join": predicate, "left": self.port.reference, "right": self.network.own(right).reference}
        return self.network.add(name, {**spec, **options})

    def resample(
        self,
        right: "Stream",
        functions: Any,
        *,
        left_order: Mapping[str, Any],
        right_order: Mapping[str, Any],
        name: str | None = None,
        **options: Any,
    ) -> "Stream":
        """For each tuple of this stream, `functions` over the right tuples near it.

        Options: size; or match and between, if the bounds come from the left tuples.
        """
        sides = {"left": self.port.reference, "right": self.network.own(right).reference}
        orders = {"left_order": dict(left_order), "right_order": dict(right_order)}
        return self.network.add(name, {"resample": functions, **sides, **orders, **options})

    def wait(
        self, on: str, *, until: "Stream", order: Mapping[str, Any], name: str | None = None
    ) -> "Stream":
        """Holds each tuple until the stream `until`, in the given order, has passed the tuple's value of `on`."""
        spec = {
            "wait": on,
            "from": self.port.reference,
            "for": self.network.own(until).reference,
            "order": dict(order),
        }
        return self.network.add(name, spec)
