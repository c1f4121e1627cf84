"""A stream of a network under construction, and the boxes that can be put behind it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from aurora.algebra.tuples.schema import Schema

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
        return self.network.schema(self.port)

    def __repr__(self) -> str:
        return f"<Stream {self.port}: {self.schema}>"

    def _repr_html_(self) -> str:
        return f"<b>{escape(str(self.port))}</b>{self.schema._repr_html_()}"

    def __getitem__(self, port: str) -> "Stream":
        """Another port of the same box: over["rest"]."""
        return self.network.stream(f".{self.port.box}.{port}")

    def filter(self, *predicates: str, name: str | None = None) -> "Stream":
        return self.network.add(name, {"filter": list(predicates), "from": self.port.reference})

    def map(self, fields: Mapping[str, str], *, name: str | None = None) -> "Stream":
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
        return self.network.add(name, {"union": [self.network.own(s).reference for s in (self, *others)]})

    def bsort(self, order: Mapping[str, Any], *, name: str | None = None) -> "Stream":
        return self.network.add(name, {"bsort": {}, "from": self.port.reference, "order": dict(order)})

    def aggregate(
        self, functions: Any, *, order: Mapping[str, Any], name: str | None = None, **options: Any
    ) -> "Stream":
        """`functions`: SQL by name, or a WindowFunction. Options: size, advance, timeout, align; for sessions gap.

        For a row per tuple: size="all" covers its group so far; partial=True covers the last `size` tuples by "#".
        """
        spec = {"aggregate": functions, "from": self.port.reference, "order": dict(order)}
        return self.network.add(name, {**spec, **options})

    def top(
        self,
        choice: Mapping[str, Any],
        *,
        order: Mapping[str, Any],
        size: Any,
        name: str | None = None,
        **options: Any,
    ) -> "Stream":
        """`choice`: {"k": 3, "by": "Price DESC"}, and ties, rank, start. Options: advance, timeout, align."""
        spec = {"top": dict(choice), "from": self.port.reference, "order": dict(order), "size": size}
        return self.network.add(name, {**spec, **options})

    def join(self, right: "Stream", predicate: str, *, name: str | None = None, **options: Any) -> "Stream":
        """Options for a join of two streams: size or keep, left_order, right_order; or asof=True, with broadcast=True
        if every bucket should have the whole right side. A table needs none of them.

        For tuples without a partner: outer ("left", "right", "both") or anti ("left", "right").
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
        """Options: size; or match and between, if the left tuples say how far they reach."""
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
