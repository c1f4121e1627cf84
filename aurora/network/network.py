"""A network of boxes and arrows: inputs, boxes in an order in which each follows what it takes, outputs."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aurora.algebra.operator import Operator
from aurora.algebra.ordering.order import Clock
from aurora.algebra.ordering.values import comparable
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import type_name
from aurora.errors import AuroraError, did_you_mean
from aurora.network.boxes import (
    FORMS,
    clock_references,
    operator,
    references,
    with_clocks,
    with_references,
)
from aurora.network.relations import check_relations

__all__ = ["Box", "Input", "Network", "Output", "Port", "Stream"]


@dataclass(frozen=True)
class Input:
    """Where tuples come in; a static one is a table that is read whole before the run."""

    name: str
    schema: Schema
    static: bool = False


@dataclass(frozen=True)
class Port:
    """A stream: an output port of a box, or an input of the network (port "")."""

    box: str
    port: str = ""

    def __str__(self) -> str:
        return f"{self.box}.{self.port}" if self.port else self.box


@dataclass(frozen=True)
class Output:
    """Where tuples leave the network: the stream that is given out under this name."""

    name: str
    port: Port


@dataclass(frozen=True)
class Box:
    """Boxes are equal if they do the same, however they are described: a function, say, by itself or by its name."""

    name: str
    operator: Operator
    inputs: tuple[Port, ...]
    spec: Mapping[str, Any] = field(compare=False)
    # The streams whose progress it goes by, as the traits of its operator name them.
    clocks: tuple[Port, ...] = ()

    @property
    def kind(self) -> str:
        return next(key for key in self.spec if key in FORMS)


@dataclass(frozen=True)
class Stream:
    """A stream of a network under construction; its methods put a box behind it and give that box's first port."""

    network: "Network"
    port: Port

    @property
    def schema(self) -> Schema:
        return self.network.schema(self.port)

    def __getitem__(self, port: str) -> "Stream":
        """Another port of the same box: over["rest"]."""
        return self.network.stream(f"{self.port.box}.{port}")

    def filter(self, *predicates: str, name: str) -> "Stream":
        return self.network.add(name, {"filter": list(predicates), "from": str(self.port)})

    def map(self, fields: Mapping[str, str], *, name: str) -> "Stream":
        return self.network.add(name, {"map": dict(fields), "from": str(self.port)})

    def union(self, *others: "Stream", name: str) -> "Stream":
        return self.network.add(name, {"union": [str(self.network.own(s)) for s in (self, *others)]})

    def bsort(self, order: Mapping[str, Any], *, name: str) -> "Stream":
        return self.network.add(name, {"bsort": {}, "from": str(self.port), "order": dict(order)})

    def aggregate(self, functions: Any, *, order: Mapping[str, Any], name: str, **options: Any) -> "Stream":
        """`functions`: SQL by name, or a WindowFunction. Options: size, advance, timeout, align; for sessions gap.

        A row for each tuple: size="all", over its group so far; partial=True, over the last `size` by "#".
        """
        spec = {"aggregate": functions, "from": str(self.port), "order": dict(order)}
        return self.network.add(name, {**spec, **options})

    def top(
        self, choice: Mapping[str, Any], *, order: Mapping[str, Any], size: Any, name: str, **options: Any
    ) -> "Stream":
        """`choice`: {"k": 3, "by": "Price DESC"}, and ties, rank, start. Options: advance, timeout, align."""
        spec = {"top": dict(choice), "from": str(self.port), "order": dict(order), "size": size}
        return self.network.add(name, {**spec, **options})

    def join(self, right: "Stream", predicate: str, *, name: str, **options: Any) -> "Stream":
        """Options for a join of two streams: size or keep, left_order, right_order; or asof=True, with broadcast=True
        where every bucket is to have the whole right side; a table needs none.

        For what has no partner: outer ("left", "right", "both") or anti ("left", "right").
        """
        spec = {"join": predicate, "left": str(self.port), "right": str(self.network.own(right))}
        return self.network.add(name, {**spec, **options})

    def resample(
        self,
        right: "Stream",
        functions: Any,
        *,
        left_order: Mapping[str, Any],
        right_order: Mapping[str, Any],
        name: str,
        **options: Any,
    ) -> "Stream":
        """Options: size; or match and between, where the left tuples say how far they reach."""
        sides = {"left": str(self.port), "right": str(self.network.own(right))}
        orders = {"left_order": dict(left_order), "right_order": dict(right_order)}
        return self.network.add(name, {"resample": functions, **sides, **orders, **options})

    def wait(self, on: str, *, until: "Stream", order: Mapping[str, Any], name: str) -> "Stream":
        """Holds each tuple until `until`, which has the given order, has gone past the tuple's value of `on`."""
        spec = {"wait": on, "from": str(self.port), "for": str(self.network.own(until)), "order": dict(order)}
        return self.network.add(name, spec)


class Network:
    """Built by `input`, `table`, the methods of streams, `user`, and `output`.

    >>> net = Network("border watch")
    >>> reports = net.input("reports", "Sid int, Time int, Pos int")
    >>> over = reports.filter("Pos >= 30", name="over")
    >>> crowd = over.aggregate({"cnt": "count(*)"}, order={"on": "Time", "slack": 1}, size=1, name="crowd")
    >>> net.output("alarms", crowd)
    >>> str(crowd.schema)
    'Time int, cnt bigint'
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.inputs: dict[str, Input] = {}
        self.boxes: dict[str, Box] = {}
        self.outputs: dict[str, Output] = {}
        self._prefix = ""
        # The file that it was read from, if any: no run may write there.
        self.path: str | None = None

    def input(self, name: str, schema: str | Schema) -> Stream:
        return self._input(name, schema, static=False)

    def table(self, name: str, schema: str | Schema) -> Stream:
        """A static table: bound to a source like an input, read whole, and a side of joins."""
        return self._input(name, schema, static=True)

    def _input(self, name: str, schema: str | Schema, static: bool) -> Stream:
        self._new_name(name, f"input {name}")
        try:
            parsed = schema if isinstance(schema, Schema) else Schema.parse(schema)
        except AuroraError as fault:
            raise AuroraError(f"input {name}: {fault}") from None
        for own in parsed.names:
            if own.startswith("#"):
                raise AuroraError(f"input {name}: field {own}: names that begin with # are taken; rename it")
        self.inputs[name] = Input(name, parsed, static)
        return Stream(self, Port(name))

    @contextmanager
    def group(self, name: str) -> Iterator[None]:
        """Boxes added inside have dotted names that begin with the group's."""
        outer, self._prefix = self._prefix, f"{self._prefix}{name}."
        try:
            yield
        finally:
            self._prefix = outer

    def add(self, name: str, spec: Mapping[str, Any]) -> Stream:
        """Adds a box from its description; what it takes must be there already."""
        full = self._prefix + name
        where = f"box {full}"
        self._new_name(full, where)
        ports, schemas, static = [], [], []
        for slot, reference in references(spec, where):
            port = self.find(str(reference), f"{where}, {slot}")
            ports.append(port)
            schemas.append(self.schema(port))
            static.append(port.box in self.inputs and self.inputs[port.box].static)
        named = {
            reference: str(self.find(reference, f"{where}, clock"))
            for reference in clock_references(spec, where)
        }
        described = with_clocks(with_references(spec, [str(port) for port in ports]), named)
        taken = ", ".join(
            f"{slot} {port}" for (slot, _), port in zip(references(spec, where), ports, strict=True)
        )
        made = operator(with_clocks(spec, named), schemas, static, f"{where} ({taken})")
        streams = [port for port, table in zip(ports, static, strict=True) if not table]
        clocks = tuple(self._clock(clock, streams, where) for clock in made.traits.clocks)
        box = Box(full, made, tuple(ports), described, clocks)
        self.boxes[full] = box
        return Stream(self, Port(full, next(iter(box.operator.outputs))))

    def _clock(self, clock: Clock, streams: list[Port], where: str) -> Port:
        """The stream of a clock, whose field must be like the one that is ordered by it."""
        if clock.stream is None:
            return streams[clock.input]
        port = self.find(clock.stream, f"{where}, clock")
        if port.box in self.inputs and self.inputs[port.box].static:
            raise AuroraError(f"{where}: clock {port} is a table; name a stream")
        schema, own = self.schema(port), self.schema(streams[clock.input])[clock.field]
        if clock.field not in schema:
            raise AuroraError(
                f"{where}: clock {port} has no field {clock.field}; its fields are {', '.join(schema.names)}"
            )
        if not comparable(schema[clock.field], own):
            raise AuroraError(
                f"{where}: clock {port}: {clock.field} is {type_name(schema[clock.field])} there and "
                f"{type_name(own)} here; cast one with a map"
            )
        return port

    def user(
        self,
        kernel: Any,
        *,
        with_: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Stream],
        outputs: Mapping[str, str],
        key: Mapping[str, Sequence[str] | None] | None = None,
        relations: Sequence[str] = (),
        stateless: bool = False,
        keeps: Mapping[str, Sequence[str]] | Sequence[str] = (),
        name: str,
    ) -> Stream:
        """A box with the user's own kernel, or with what the factory `kernel` makes of the arguments `with_`.

        An input whose key is None is seen whole by every bucket. `keeps` names the key fields that the outputs, or
        each output, still hold as they were.
        """
        spec: dict[str, Any] = {
            "user": kernel,
            **({} if with_ is None else {"with": dict(with_)}),
            "inputs": {slot: str(self.own(stream)) for slot, stream in inputs.items()},
            "outputs": dict(outputs),
        }
        if key:
            spec["key"] = {slot: fields and list(fields) for slot, fields in key.items()}
        if relations:
            spec["relations"] = list(relations)
        if stateless:
            spec["stateless"] = True
        if isinstance(keeps, Mapping):
            spec["keeps"] = {port: _listed(fields) for port, fields in keeps.items()}
        elif keeps:
            spec["keeps"] = _listed(keeps)
        return self.add(name, spec)

    def output(self, name: str, stream: Stream) -> None:
        if not name or name.startswith("#") or any(c.isspace() or c == "=" for c in name):
            raise AuroraError(f"output {name}: a name has no spaces and no '=', and does not begin with #")
        if name in self.outputs:
            raise AuroraError(f"output {name}: the name is used twice")
        if stream.port.box in self.inputs and self.inputs[stream.port.box].static:
            raise AuroraError(f"output {name}: {stream.port} is a table, not a stream")
        self.outputs[name] = Output(name, self.own(stream))

    def own(self, stream: Stream) -> Port:
        """The port of a stream, which must be one of this network."""
        if stream.network is not self:
            raise AuroraError(
                f"network {self.name}: stream {stream.port} belongs to network {stream.network.name}; "
                "add its boxes here"
            )
        return stream.port

    def stream(self, reference: str) -> Stream:
        return Stream(self, self.find(reference, "network"))

    def schema(self, port: Port) -> Schema:
        if port.port:
            return self.boxes[port.box].operator.outputs[port.port]
        return self.inputs[port.box].schema

    def find(self, reference: str, where: str) -> Port:
        """`name`, `box.port`; inside a group also without the group's name."""
        prefixes = [self._prefix]
        while prefixes[-1]:
            prefixes.append(prefixes[-1][: prefixes[-1][:-1].rfind(".") + 1])
        for prefix in prefixes:
            full = prefix + reference
            if full in self.boxes:
                return Port(full, next(iter(self.boxes[full].operator.outputs)))
            if full in self.inputs:
                return Port(full)
            box, _, port = full.rpartition(".")
            if box in self.boxes:
                ports = self.boxes[box].operator.outputs
                if port in ports:
                    return Port(box, port)
                raise AuroraError(f"{where}: box {box} has no port {port}; ports are {', '.join(ports)}")
        known = [*self.inputs, *self.boxes]
        near = did_you_mean(reference, known)
        raise AuroraError(
            f"{where}: no input or box is called {reference}{near}; there are {', '.join(known)}"
        )

    def _new_name(self, name: str, where: str) -> None:
        if not name or any(c.isspace() or c == "=" for c in name):
            raise AuroraError(f"{where}: a name has no spaces and no '='")
        if name in self.inputs or name in self.boxes:
            raise AuroraError(f"{where}: the name is used twice")

    def checked(self) -> "Network":
        """The network, if it can run: it has an input and an output, and boxes share relations by one key."""
        if not any(not entry.static for entry in self.inputs.values()):
            raise AuroraError(f"network {self.name}: has no input")
        if not self.outputs:
            raise AuroraError(f"network {self.name}: has no output")
        check_relations((box.name, box.operator, self._schemas(box)) for box in self.boxes.values())
        return self

    def streams(self, box: Box) -> list[Port]:
        """The inputs of a box that are streams; a table is part of the box."""
        return [
            port for port in box.inputs if port.box not in self.inputs or not self.inputs[port.box].static
        ]

    def _schemas(self, box: Box) -> list[Schema]:
        return [self.schema(port) for port in self.streams(box)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Network) and (self.name, self.inputs, self.boxes, self.outputs) == (
            other.name,
            other.inputs,
            other.boxes,
            other.outputs,
        )

    __hash__ = None  # type: ignore[assignment]


def _listed(names: Sequence[str]) -> list[str]:
    """A list of names; one alone needs no brackets."""
    return [names] if isinstance(names, str) else list(names)
