"""What a box was given, as text: the same in every process as long as it is the same.

Functions count by their name, so a kernel may be mended between a run and its continuation; what they were given,
as fields, arguments or closed-over values, counts in full. A lambda, which has no name, counts by its code. Other
objects count as `pickle` would take them apart, and those that it cannot, by the name of their class alone.
"""

import copyreg
import dataclasses
import hashlib
import types
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.expressions import Expression
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import type_name

__all__ = ["describe", "feed_values"]

PLAIN = (type(None), bool, int, float, complex, str, bytes)


def describe(value: Any) -> str:
    """One line for an object and all that it holds.

    >>> from datetime import timedelta
    >>> describe({"size": 10, "by": ("Sid", len), "every": timedelta(seconds=3)})
    "{'size': 10, 'by': ('Sid', builtins:len), 'every': datetime:timedelta(0, 3, 0)}"
    """
    return _described(value, ())


def _described(value: Any, holders: tuple[int, ...]) -> str:
    if type(value) in PLAIN:
        return repr(value)
    if id(value) in holders:
        return "itself"
    found = _of_tuples(value)
    if found is None:
        holders = (*holders, id(value))
        found = _of_functions(value, holders) or _of_containers(value, holders) or _of_object(value, holders)
    return found


def _of_tuples(value: Any) -> str | None:
    """What belongs to streams: schemas, expressions, rows."""
    if isinstance(value, Schema):
        return f"({value})"
    if isinstance(value, Expression):
        return f"<{value.text}: {type_name(value.type)}>"
    if isinstance(value, pa.DataType):
        return f"<{value}>"
    if isinstance(value, pa.RecordBatch | pa.Table):
        digests = [f"{name} {_digest(value.column(name))}" for name in value.schema.names]
        return f"<{value.num_rows} rows: {', '.join(digests)}>"
    if isinstance(value, pa.Array | pa.ChunkedArray):
        return f"<{len(value)} values: {_digest(value)}>"
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return f"<{value.dtype} {value.shape}: {hashlib.sha256(value.tobytes()).hexdigest()}>"
    return None


def _of_functions(value: Any, holders: tuple[int, ...]) -> str | None:
    if isinstance(value, types.ModuleType):
        return value.__name__
    if isinstance(value, types.CodeType):
        own = (value.co_code, value.co_names, value.co_consts)
        return f"code {hashlib.sha256(_described(own, holders).encode()).hexdigest()}"
    if isinstance(value, types.MethodType):
        return f"{_described(value.__self__, holders)}.{value.__name__}"
    name = getattr(value, "__qualname__", None)
    owner = getattr(value, "__self__", None)
    # A method of an object of C is taken apart like any other object.
    if not isinstance(name, str) or not (owner is None or isinstance(owner, types.ModuleType)):
        return None
    parts = [f"{value.__module__}:{name}"]
    if isinstance(value, types.FunctionType):
        if name.endswith("<lambda>"):
            parts.append(_described(value.__code__, holders))
        cells = [_content(cell, holders) for cell in value.__closure__ or ()]
        given = [_described(each, holders) for each in (value.__defaults__, value.__kwdefaults__) if each]
        parts += [f"({', '.join([*cells, *given])})"] if cells or given else []
    return " ".join(parts)


def _content(cell: types.CellType, holders: tuple[int, ...]) -> str:
    try:
        return _described(cell.cell_contents, holders)
    except ValueError:
        return "empty"


def _of_containers(value: Any, holders: tuple[int, ...]) -> str | None:
    if type(value) in (dict, types.MappingProxyType):
        items = (f"{_described(key, holders)}: {_described(own, holders)}" for key, own in value.items())
        return f"{{{', '.join(items)}}}"
    if type(value) in (list, tuple):
        return f"({', '.join(_described(own, holders) for own in value)})"
    if type(value) in (set, frozenset):
        return f"{{{', '.join(sorted(_described(own, holders) for own in value))}}}"
    return None


def _of_object(value: Any, holders: tuple[int, ...]) -> str:
    kind = type(value)
    name = f"{kind.__module__}:{kind.__qualname__}"
    if dataclasses.is_dataclass(value):
        # Fields that do not make two objects different do not here either.
        fields = [(own.name, getattr(value, own.name)) for own in dataclasses.fields(value) if own.compare]
        return f"{name}({', '.join(f'{own}={_described(given, holders)}' for own, given in fields)})"
    try:
        reduce = copyreg.dispatch_table.get(kind)
        taken = value.__reduce_ex__(4) if reduce is None else reduce(value)
    except Exception:
        return name
    if isinstance(taken, str):
        return f"{name} {taken}"
    make, arguments, state, *items = (*taken, None)[: max(3, len(taken))]
    # Behind the state come the items of a list and of a dict, as iterators.
    held = [state, *(list(own) for own in items[:2] if own is not None)]
    given = [own for own in arguments if own is not kind]
    parts = [_described(own, holders) for own in (*given, *held) if own is not None]
    made = "" if make is kind or getattr(make, "__module__", None) == "copyreg" else _described(make, holders)
    return f"{made or name}({', '.join(parts)})"


def _digest(column: pa.Array | pa.ChunkedArray) -> str:
    mark = hashlib.sha256()
    feed_values(mark, column)
    return f"{column.type} {mark.hexdigest()}"


def feed_values(mark: Any, column: pa.Array | pa.ChunkedArray) -> None:
    """Adds the values; what lies under a null does not count."""
    kind = column.type
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    mark.update(np.asarray(pc.is_null(column).to_numpy(zero_copy_only=False)).tobytes())
    if pa.types.is_struct(kind):
        for own in column.flatten():
            feed_values(mark, own)
        return
    if pa.types.is_list(kind):
        mark.update(np.asarray(pc.fill_null(column.value_lengths(), 0)).tobytes())
        feed_values(mark, column.flatten())
        return
    if pa.types.is_string(kind):
        _feed_texts(mark, column.fill_null(""))
        return
    if pa.types.is_date32(kind):
        column = column.cast(pa.int32())
    elif pa.types.is_timestamp(kind):
        column = column.cast(pa.int64())
    if pa.types.is_boolean(kind) or pa.types.is_integer(column.type) or pa.types.is_floating(kind):
        values = column.fill_null(False if pa.types.is_boolean(kind) else 0)
        mark.update(np.asarray(values.to_numpy(zero_copy_only=False)).tobytes())
    else:
        mark.update(repr(column.to_pylist()).encode())


def _feed_texts(mark: Any, column: pa.Array) -> None:
    """The lengths in bytes, and all the bytes; of an array that is a part of another, only its own."""
    mark.update(np.asarray(pc.binary_length(column)).tobytes())
    _, offsets, data = column.buffers()
    if data is not None and len(column):
        ends = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
        mark.update(memoryview(data)[int(ends[0]) : int(ends[-1])])
