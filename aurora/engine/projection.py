"""Which fields of its inputs a network looks at, down to those inside structs: the rest is not read at all."""

from collections.abc import Iterable, Mapping

import pyarrow as pa

from aurora.algebra.aggregate import Aggregate
from aurora.algebra.bsort import BSort
from aurora.algebra.expressions import Expression
from aurora.algebra.filter import Filter
from aurora.algebra.join import Join
from aurora.algebra.lookup import Lookup
from aurora.algebra.map import Map
from aurora.algebra.operator import Operator
from aurora.algebra.ordering.order import ARRIVAL, Order
from aurora.algebra.ordering.pairs import joined_schema
from aurora.algebra.resample import Resample
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import is_struct
from aurora.algebra.union import Union
from aurora.algebra.wait import Wait
from aurora.algebra.windows.reducer import Reducer
from aurora.network.network import Network, Port

__all__ = ["narrowed", "needed", "projected"]

# The fields that are looked at, and inside each those of a struct; None for all of it, {} for its being there.
Needs = dict[str, "Needs | None"]


def projected(network: Network, outputs: Iterable[str]) -> Network:
    """The same network with inputs that have only the fields which lead to these outputs."""
    wanted = {name: network.outputs[name] for name in network.outputs if name in set(outputs)}
    needs = needed(network, [output.port for output in wanted.values()])
    smaller = Network(network.name)
    for name, entry in network.inputs.items():
        if entry.static:
            smaller.table(name, entry.schema)
        else:
            smaller.input(name, _schema(entry.schema, needs.get(Port(name), {})))
    for box in network.boxes.values():
        if any(Port(box.name, port) in needs for port in box.operator.outputs):
            smaller.add(box.name, box.spec)
    smaller.outputs.update(wanted)
    return smaller


def needed(network: Network, outputs: Iterable[Port]) -> dict[Port, Needs | None]:
    """What is looked at of each stream that leads to the outputs."""
    needs: dict[Port, Needs | None] = dict.fromkeys(outputs)
    for box in reversed(network.boxes.values()):
        given = [
            needs[Port(box.name, port)] for port in box.operator.outputs if Port(box.name, port) in needs
        ]
        if not given:
            continue
        mixed = isinstance(box.operator, Union) and len({_origin(network, port) for port in box.inputs}) > 1
        wants = [None] * len(box.inputs) if mixed else _wants(box.operator, _merged(*given), len(box.inputs))
        for port, want in zip(box.inputs, wants, strict=True):
            needs[port] = _merged(needs.get(port, {}), want)
    return needs


def _origin(network: Network, port: Port) -> Port:
    """Where the tuples of a stream got their fields: boxes that pass them on unchanged do not count."""
    while port.port and isinstance(network.boxes[port.box].operator, Filter | BSort | Wait):
        port = network.boxes[port.box].inputs[0]
    return port


def _wants(operator: Operator, given: Needs | None, inputs: int) -> list[Needs | None]:
    """What a box must get at each input, so that it can give what is looked at behind it."""
    match operator:
        case Filter():
            return [_merged(given, _used(operator.predicates))]
        case Map():
            return [_used(expression for _, expression in operator.fields)]
        case Union():
            return [given] * inputs
        case BSort():
            return [_merged(given, _ordered(operator.order))]
        case Wait():
            own = Order(operator.on, group_by=operator.order.group_by)
            return [_merged(given, _ordered(own)), _ordered(operator.order)]
        case Aggregate():
            opening = _used([operator.predicate] if operator.predicate else [])
            return [_merged(_reduced(operator.reducer), opening, _ordered(operator.order))]
        case Resample():
            right = _merged(_reduced(operator.reducer), _ordered(operator.right_order))
            return [_ordered(operator.left_order), right]
        case Join():
            left, right = _sides(operator.left, operator.right, operator.predicate, given)
            return [
                _merged(left, _ordered(operator.left_order)),
                _merged(right, _ordered(operator.right_order)),
            ]
        case Lookup(stream=stream, table=table, predicate=predicate, table_is_left=True):
            return [None, _sides(table, stream, predicate, given)[1]]
        case Lookup(stream=stream, table=table, predicate=predicate):
            return [_sides(stream, table, predicate, given)[0], None]
    # A kernel of the user's may look at everything.
    return [None] * inputs


def _used(expressions: Iterable[Expression], side: str | None = None) -> Needs:
    needs: Needs = {}
    for use in (use for expression in expressions for use in expression.uses if use.side == side):
        inside: Needs | None = None if use.whole else {}
        for name in reversed(use.path):
            inside = {name: inside}
        needs = _merged(needs, inside) or {}
    return needs


def _ordered(order: Order) -> Needs:
    return dict.fromkeys(name for name in (order.on, *order.group_by) if name != ARRIVAL)


def _reduced(reducer: Reducer) -> Needs | None:
    if reducer.user is not None:
        return None
    return _used(each for call in reducer.calls for each in (call.argument, call.order) if each is not None)


def _sides(
    left: Schema, right: Schema, predicate: Expression, given: Needs | None
) -> tuple[Needs | None, Needs | None]:
    """What a join wants of its sides. Fields that gave another one its new name must stay too."""
    if given is None:
        return None, None
    wants: tuple[Needs, Needs] = _used([predicate], "left"), _used([predicate], "right")
    for place, name in enumerate(joined_schema(left, right).names):
        if name not in given:
            continue
        side = 0 if place < len(left) else 1
        own = left.names[place] if side == 0 else right.names[place - len(left)]
        wants[side][own] = _merged(given[name], wants[side].get(own, {}))
        if own != name:
            for want, schema in zip(wants, (left, right), strict=True):
                want.update({other: want.get(other, {}) for other in schema if name.startswith(other)})
    return wants


def _merged(*needs: Needs | None) -> Needs | None:
    result: Needs = {}
    for need in needs:
        if need is None:
            return None
        for name, inside in need.items():
            result[name] = _merged(result[name], inside) if name in result else inside
    return result


def _schema(schema: Schema, needs: Needs | None) -> Schema:
    if needs is None:
        return schema
    # Rows are counted by their fields, so one stays.
    needs = needs or {schema.names[0]: {}}
    fields = ((name, _type(schema[name], needs[name])) for name in schema.names if name in needs)
    return Schema(fields, (path for path in schema.required if _needs(needs, path)))


def _needs(needs: Needs | None, path: tuple[str, ...]) -> bool:
    for name in path:
        if needs is None:
            return True
        if name not in needs:
            return False
        needs = needs[name]
    return True


def _type(kind: pa.DataType, needs: Needs | None) -> pa.DataType:
    if needs is None or not is_struct(kind):
        return kind
    return pa.struct(
        [field.with_type(_type(field.type, needs[field.name])) for field in kind if field.name in needs]
    )


def narrowed(rows: pa.RecordBatch, schema: Schema) -> pa.RecordBatch:
    """Rows of a source that reads more than it was asked for."""
    target = schema.arrow()
    if rows.schema.equals(target):
        return rows
    columns: Mapping[str, pa.Array] = {name: rows.column(name) for name in schema.names}
    cast = [column.cast(schema[name]) for name, column in columns.items()]
    return pa.RecordBatch.from_arrays(cast, schema=target)
