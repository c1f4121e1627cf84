"""A network of boxes and arrows: inputs, boxes in an order in which each follows what it takes, outputs."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from aurora.algebra.box.operator import Operator
from aurora.algebra.ordering.order import GROUP, STREAM, Clock
from aurora.algebra.ordering.values import comparable
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import type_name
from aurora.characters import check_characters, printable
from aurora.errors import AuroraError, did_you_mean
from aurora.network.boxes import (
    FORMS,
    clock_references,
    operator,
    read_may_miss,
    references,
    with_clocks,
    with_references,
)
from aurora.network.checks import Check, read_checks
from aurora.network.input_order import read_input_order
from aurora.network.points import Point, Stored, check_key, check_name, find_schema, make_point
from aurora.network.qos import CAUSE, Qos, read_latency_from, read_qos
from aurora.network.relations import check_relations
from aurora.network.stored import check_address, read_stored_schema
from aurora.network.stream import Port, Stream

__all__ = ["Box", "Input", "Network", "Output", "Port", "Stream", "check_dots"]


@dataclass(frozen=True)
class Input:
    """Where tuples come in; a static one is a table.

    `stored` says where a table lies; `point` is the connection point, or the stored set, whose tuples these are.
    `checks` are what its tuples must satisfy. Inputs with an `order` arrive merged by these fields; one that is live
    and silent holds the others back, but not for longer than `idle` milliseconds.
    """

    name: str
    schema: Schema
    static: bool = False
    stored: Stored | None = None
    point: str | None = None
    checks: tuple[Check, ...] = ()
    order: str | None = None
    idle: int | None = None


@dataclass(frozen=True)
class Output:
    """Where tuples leave the network: the stream that is given out under this name, and what it is worth."""

    name: str
    port: Port
    qos: Qos | None = None


@dataclass(frozen=True)
class Box:
    """Boxes are equal if they do the same, however they are described: a function, say, by itself or by its name."""

    name: str
    operator: Operator
    inputs: tuple[Port, ...]
    spec: Mapping[str, Any] = field(compare=False)
    # The streams whose progress it goes by, as the traits of its operator name them.
    clocks: tuple[Port, ...] = ()
    # The stream, if it was inserted to drop fields of one: whoever takes its tuples takes those of that stream.
    narrows: Port | None = field(default=None, compare=False)
    # Whether it may miss tuples under overload although it remembers them for good.
    may_miss: bool = False

    @property
    def kind(self) -> str:
        return next(key for key in self.spec if key in FORMS)

    @property
    def lasting(self) -> frozenset[int]:
        """The numbers of the inputs of which no tuple may be missing, because it counts in all later answers."""
        return frozenset() if self.may_miss else self.operator.traits.lasting


class Network:
    """Built by `input`, `table`, `stored`, the methods of streams, `user`, `point` and `output`.

    With `replace`, a definition replaces an earlier one of the same name, and the boxes after it are checked again.
    The latency of a row counts from the arrival that caused it, or with `latency_from="oldest"` from the oldest tuple
    that the row is made of.

    >>> net = Network("border watch")
    >>> reports = net.input("reports", "Sid int, Time int, Pos int")
    >>> over = reports.filter("Pos >= 30", name="over")
    >>> crowd = over.aggregate({"cnt": "count(*)"}, order={"on": "Time", "slack": 1}, size=1, name="crowd")
    >>> net.output("alarms", crowd)
    >>> str(crowd.schema)
    'Time int, cnt bigint'
    """

    def __init__(self, name: str, *, replace: bool = False, latency_from: str = CAUSE) -> None:
        check_characters(name, "network")
        self.name = name
        # What the latency of a row counts from.
        self.latency_from = read_latency_from(latency_from, f"network {name}")
        # Whether a definition takes the place of an earlier one of the same name, as in a notebook.
        self.replace = replace
        self._made: set[str] = set()
        self.inputs: dict[str, Input] = {}
        self.boxes: dict[str, Box] = {}
        self.outputs: dict[str, Output] = {}
        # Views among them: those that have the name of an output.
        self.points: dict[str, Point] = {}
        self._prefix = ""
        # The values of the parameters of its file, which are in their places already.
        self.parameters: dict[str, bool | int | float | str] = {}
        # The file that it was read from, if any: no run may write there.
        self.path: str | None = None

    def input(
        self,
        name: str,
        schema: str | Schema | None = None,
        *,
        point: str | None = None,
        check: Mapping[str, str] | None = None,
        order: str | None = None,
        idle: str | None = None,
    ) -> Stream:
        """An input; `point` is a connection point of the running network to attach to, or a stored set of this one.

        `check` are conditions that a tuple must satisfy, by the reasons for which others are rejected. Inputs with an
        `order` arrive as one stream that is merged by these fields. A live one that is silent holds the others back,
        for `idle` at most: "10s".
        """
        return self._input(name, schema, static=False, point=point, check=check, order=order, idle=idle)

    def table(self, name: str, schema: str | Schema | None = None, *, point: str | None = None) -> Stream:
        """A static table for joins: it is bound to a source like an input, and read whole."""
        return self._input(name, schema, static=True, point=point)

    def stored(
        self, name: str, address: str, key: str | Sequence[str] = (), schema: str | Schema | None = None
    ) -> Stream:
        """A table at a known address. Its schema comes from the Parquet file or the database, unless you give one."""
        where = f"point {name}"
        self._new_name(name, where, self.inputs)
        check_name(name, where)
        if name in self.outputs:
            raise AuroraError(f"{where}: there is an output of that name; rename the point")
        address = check_address(address, where)
        found = read_stored_schema(address, where) if schema is None else _parsed(schema, where)
        self._check_fields(found, where)
        return self._take(Input(name, found, True, Stored(address, check_key(key, found, where))))

    def _input(
        self,
        name: str,
        schema: str | Schema | None,
        static: bool,
        point: str | None,
        check: Mapping[str, str] | None = None,
        order: str | None = None,
        idle: str | None = None,
    ) -> Stream:
        where = f"input {name}"
        self._new_name(name, where, self.inputs)
        own = None if point is None else self._stored_set(point, where)
        if own is not None and static:
            raise AuroraError(
                f"{where}: {point} is a table already; take {point} itself, or leave static out"
            )
        if schema is not None:
            parsed = _parsed(schema, where)
        elif own is not None:
            parsed = own.schema
        else:
            needed = f"the schema of the point {point}" if point else "a schema, or the point that it takes"
            raise AuroraError(f"{where}: give {needed}")
        if own is not None:
            find_schema(own.name, parsed, {own.name: own.schema}, where)
        # A window by "#" gives a field of that name, which can come back by a point.
        self._check_fields(parsed, where, () if point is None else ("#",))
        checks = () if check is None else read_checks(check, parsed, where)
        if order is not None and point is not None:
            raise AuroraError(
                f"{where}: the tuples of {point} come in the order in which they arrived there; leave order out"
            )
        others = [entry for entry in self.inputs.values() if entry.name != name]
        held = read_input_order(order, idle, parsed, others, where)
        return self._take(Input(name, parsed, static, None, point, checks, order, held))

    def _take(self, entry: Input) -> Stream:
        if entry.name in self.inputs:
            from aurora.network.replacing import replace_input

            replace_input(self, entry)
        self.inputs[entry.name] = entry
        return Stream(self, Port(entry.name))

    def _stored_set(self, point: str, where: str) -> Input | None:
        """The stored set of this network that has the name, if there is one; its points cannot be its inputs."""
        if point in self.points:
            raise AuroraError(
                f"{where}: {point} is a point of this network; take its stream {self.points[point].port}"
            )
        own = self.inputs.get(point)
        return own if own is not None and own.stored is not None else None

    def _check_fields(self, schema: Schema, where: str, allowed: Sequence[str] = ()) -> None:
        for own in schema.names:
            if own.startswith("#") and own not in allowed:
                raise AuroraError(f"{where}: field {own}: names that begin with # are reserved; rename it")

    @contextmanager
    def group(self, name: str) -> Iterator[None]:
        """Boxes added inside the `with` block get dotted names that begin with the group's."""
        outer, self._prefix = self._prefix, f"{self._prefix}{name}."
        try:
            yield
        finally:
            self._prefix = outer

    def add(self, name: str | None, spec: Mapping[str, Any]) -> Stream:
        """Adds a box from its description; its inputs must exist already."""
        full = self._name_box(spec) if name is None else self._prefix + name
        where = f"box {full}"
        self._new_name(full, where, self.boxes)
        ports, schemas, static = [], [], []
        for slot, reference in references(spec, where):
            port = self.find(str(reference), f"{where}, {slot}")
            ports.append(port)
            schemas.append(self.schema(port))
            static.append(port.box in self.inputs and self.inputs[port.box].static)
        named = {
            reference: str(self.find(reference, f"{where}, clock", words=(GROUP, STREAM)))
            for reference in clock_references(spec, where)
        }
        described = with_clocks(with_references(spec, [str(port) for port in ports]), named)
        taken = ", ".join(
            f"{slot} {port}" for (slot, _), port in zip(references(spec, where), ports, strict=True)
        )
        if "join" not in spec:
            for port in ports:
                self._check_not_stored(port, f"{where} ({taken})")
        if name is None:
            there = self._find_alike(described, full)
            if there is not None:
                return there
            self._made.add(full)
        if full in self.boxes:
            from aurora.network.replacing import replace_box

            replace_box(self, full, described)
            self._made.discard(full)
            return Stream(self, Port(full, next(iter(self.boxes[full].operator.outputs))))
        made = operator(with_clocks(spec, named), schemas, static, f"{where} ({taken})")
        streams = [port for port, table in zip(ports, static, strict=True) if not table]
        clocks = tuple(self._clock(clock, streams, where) for clock in made.traits.clocks)
        may_miss = read_may_miss(spec, made, where)
        box = Box(full, made, tuple(ports), described, clocks, may_miss=may_miss)
        self.boxes[full] = box
        return Stream(self, Port(full, next(iter(box.operator.outputs))))

    def _name_box(self, spec: Mapping[str, Any]) -> str:
        """The first of its kind that nothing is called by yet, in any group: a name means one thing everywhere."""
        kind = next((key for key in spec if key in FORMS), "box")
        taken = {name.rpartition(".")[2] for name in (*self.inputs, *self.boxes, *self.points)}
        return self._prefix + next(name for n in count(1) if (name := f"{kind}_{n}") not in taken)

    def _find_alike(self, described: Mapping[str, Any], name: str) -> Stream | None:
        """A box without a name that says the same, where a definition may be given twice."""
        if not self.replace:
            return None
        group = name.rpartition(".")[0]
        alike = (
            box
            for box in self.boxes.values()
            if box.name in self._made and box.spec == described and box.name.rpartition(".")[0] == group
        )
        found = next(alike, None)
        return None if found is None else Stream(self, Port(found.name, next(iter(found.operator.outputs))))

    def _clock(self, clock: Clock, streams: list[Port], where: str) -> Port:
        """The stream of a clock, whose field must be like the one that is ordered by it."""
        if clock.stream is None:
            return streams[clock.input]
        port = self.find(f".{clock.stream}", f"{where}, clock")
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
        commutes: Sequence[str] | None = None,
        may_miss: bool = False,
        name: str | None = None,
    ) -> Stream:
        """A box with a kernel of your own, or with the one that the factory `kernel` makes from the arguments `with_`.

        Every bucket sees an input whose key is None as a whole. `keeps` names the key fields that the outputs, or each
        output, still hold unchanged. `commutes` says that a stateless box may change places with its neighbours, and
        names the fields that its kernel reads. `may_miss` says that a box with state may miss tuples under overload.
        """
        spec: dict[str, Any] = {
            "user": kernel,
            **({} if with_ is None else {"with": dict(with_)}),
            "inputs": {slot: self.own(stream).reference for slot, stream in inputs.items()},
            "outputs": dict(outputs),
        }
        if key:
            spec["key"] = {slot: fields and list(fields) for slot, fields in key.items()}
        if relations:
            spec["relations"] = list(relations)
        if stateless:
            spec["stateless"] = True
        if may_miss:
            spec["may_miss"] = True
        if isinstance(keeps, Mapping):
            spec["keeps"] = {port: _listed(fields) for port, fields in keeps.items()}
        elif keeps:
            spec["keeps"] = _listed(keeps)
        if commutes is not None:
            spec["commutes"] = _listed(commutes) if isinstance(commutes, Sequence) else commutes
        return self.add(name, spec)

    def output(
        self,
        name: str,
        stream: Stream,
        keep: Any = None,
        on: str | None = None,
        key: str | Sequence[str] = (),
        qos: Mapping[str, Any] | None = None,
    ) -> None:
        """An output; with `keep` it is a view, a point of that name that keeps its rows for later readers.

        `qos` has graphs of its utility: {"latency": [[0, 1], [2, 1], [10, 0]], "delivered": .., "value": ..}.
        """
        where = f"output {name}"
        if not name or name.startswith("#") or any(c.isspace() or c == "=" for c in name):
            raise AuroraError(
                f"{printable(where)}: a name must not contain spaces or '=', and must not begin with #"
            )
        check_characters(name, printable(where))
        _check_slashes(name, printable(where))
        if name in self.outputs:
            if not self.replace:
                raise AuroraError(f"{where}: the name is used twice")
            outputs, points = self.outputs, self.points
            self.outputs = {other: output for other, output in outputs.items() if other != name}
            self.points = {other: point for other, point in points.items() if other != name}
            try:
                self.output(name, stream, keep, on, key, qos)
            except AuroraError:
                self.outputs, self.points = outputs, points
                raise
            self.outputs = {other: self.outputs[other] for other in outputs}
            return
        if name in self.points or (name in self.inputs and self.inputs[name].stored is not None):
            raise AuroraError(f"{where}: there is a point of that name; rename the output")
        if keep is None and (on is not None or key):
            found = "key" if on is None else "on"
            raise AuroraError(f"{where}: {found} is for a view; add keep: 1h, or leave {found} out")
        port = self._passing(stream, where)
        if keep is not None:
            self._keep(name, port, {"keep": keep, "on": on, "key": key}, where)
        worth = None if qos is None else read_qos(qos, self.schema(port), where)
        self.outputs[name] = Output(name, port, worth)

    def point(
        self, name: str, stream: Stream, *, keep: Any, on: str | None = None, key: str | Sequence[str] = ()
    ) -> None:
        """A connection point: keeps what passes, for "2h" (of the field `on` or of arrival), 1000 tuples, or "all"."""
        where = f"point {name}"
        self._new_name(name, where, self.points)
        if name in self.outputs:
            raise AuroraError(
                f"{where}: there is an output of that name; give that keep, or rename the point"
            )
        self._keep(name, self._passing(stream, where), {"keep": keep, "on": on, "key": key}, where)

    def _keep(self, name: str, port: Port, given: Mapping[str, Any], where: str) -> None:
        check_name(name, where)
        taken = next((entry.name for entry in self.inputs.values() if entry.point == name), None)
        if taken is not None:
            raise AuroraError(
                f"{where}: input {taken} takes a point of that name from a running network; use another name here"
            )
        self.points[name] = make_point(name, port, self.schema(port), given, where)

    def _passing(self, stream: Stream, where: str) -> Port:
        """The port of a stream that is not a table."""
        port = self.own(stream)
        entry = self.inputs.get(port.box)
        self._check_not_stored(port, where)
        if entry is not None and entry.static:
            raise AuroraError(f"{where}: {port} is a table, not a stream")
        return port

    def _check_not_stored(self, port: Port, where: str) -> None:
        if port.box in self.inputs and self.inputs[port.box].stored is not None:
            raise AuroraError(
                f"{where}: {port} is a stored set, a table for joins; for a stream of its rows add the input "
                f"rows: {{point: {port}}} and take rows"
            )

    def point_schemas(self) -> dict[str, Schema]:
        """What a query can read of this network: its points, its views and its stored sets."""
        stored = {name: entry.schema for name, entry in self.inputs.items() if entry.stored is not None}
        return {name: self.schema(point.port) for name, point in self.points.items()} | stored

    def own(self, stream: Stream) -> Port:
        """The port of a stream, which must be one of this network."""
        if stream.network is not self:
            raise AuroraError(
                f"network {self.name}: stream {stream.port} belongs to network {stream.network.name}; "
                "add its boxes here"
            )
        return stream.port

    def stream(self, reference: str) -> Stream:
        """The stream of that name: an input, a box (its first port), or a port such as "over.rest"."""
        return Stream(self, self.find(reference, "network"))

    def schema(self, port: Port) -> Schema:
        """The fields of an input or of the output port of a box."""
        if port.port:
            return self.boxes[port.box].operator.outputs[port.port]
        return self.inputs[port.box].schema

    def find(self, reference: str, where: str, words: tuple[str, ...] = ()) -> Port:
        """`name`, `box.port`; inside a group also without the group's name, and `.name` for one outside of it.

        `words` could have stood there, too: one that is misspelt is suggested.
        """
        prefixes = ["" if reference.startswith(".") else self._prefix]
        reference = reference.removeprefix(".")
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
        near = did_you_mean(reference, [*known, *words])
        raise AuroraError(
            f"{where}: no input or box is called {reference}{near}; the inputs and boxes are {', '.join(known)}"
        )

    def _new_name(self, name: str, where: str, alike: Mapping[str, object]) -> None:
        """Raises a fault if a name cannot be given; where definitions replace, what is `alike` may have it."""
        if not name or any(c.isspace() or c == "=" for c in name):
            raise AuroraError(f"{printable(where)}: a name must not contain spaces or '='")
        where = printable(where)
        check_characters(name, where)
        _check_slashes(name, where)
        check_dots(name, where)
        point = name in self.points and name not in self.outputs
        if (name in self.inputs or name in self.boxes or point) and not (self.replace and name in alike):
            made = "; a box without a name has it: name that box" if name in self._made else ""
            raise AuroraError(f"{where}: the name is used twice{made}")

    def checked(self) -> "Network":
        """The network itself; an error if it has no input, no output or point, or a relation with several keys."""
        if not any(not entry.static for entry in self.inputs.values()):
            raise AuroraError(f"network {self.name} has no input")
        if not self.outputs and not self.points:
            raise AuroraError(f"network {self.name} has no output")
        check_relations((box.name, box.operator, self._schemas(box)) for box in self.boxes.values())
        return self

    def streams(self, box: Box) -> list[Port]:
        """The inputs of a box that are streams; a table is part of the box."""
        return [
            port for port in box.inputs if port.box not in self.inputs or not self.inputs[port.box].static
        ]

    def _schemas(self, box: Box) -> list[Schema]:
        return [self.schema(port) for port in self.streams(box)]

    def __repr__(self) -> str:
        parts = (
            (self.inputs, "input", "inputs"),
            (self.boxes, "box", "boxes"),
            (self.outputs, "output", "outputs"),
        )
        told = ", ".join(f"{len(part)} {one if len(part) == 1 else more}" for part, one, more in parts)
        return f"<Network {self.name}: {told}>"

    def svg(self) -> str:
        """A picture: boxes and arrows, with the fields of each stream."""
        from aurora.network.picture import draw_network

        return draw_network(self)

    def _repr_svg_(self) -> str:
        return self.svg()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Network) and self._parts() == other._parts()

    def _parts(self) -> tuple[object, ...]:
        return (
            self.name, self.latency_from, self.parameters, self.inputs, self.boxes, self.outputs, self.points,
        )  # fmt: skip

    __hash__ = None  # type: ignore[assignment]


def check_dots(name: str, where: str) -> None:
    """Raises a fault where a dot stands at an edge: inside a group, `.name` is the name outside of it."""
    if "" in name.split("."):
        raise AuroraError(
            f"{where}: a name must not begin or end with a dot, which stands between a group and a box"
        )


def _check_slashes(name: str, where: str) -> None:
    """Raise a fault for a name that would lead a file which is named after it to another folder."""
    if "/" in name:
        raise AuroraError(f"{where}: a name must not contain '/'; write '-' or '_' instead")


def _parsed(schema: str | Schema, where: str) -> Schema:
    try:
        return schema if isinstance(schema, Schema) else Schema.parse(schema)
    except AuroraError as fault:
        raise AuroraError(f"{where}: {fault}") from None


def _listed(names: Sequence[str]) -> list[str]:
    """A list of names; one alone needs no brackets."""
    return [names] if isinstance(names, str) else list(names)
