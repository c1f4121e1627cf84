"""Arrow batches as CSV or JSON lines, column by column."""

import json
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.expressions.kernels.far_years import with_years
from aurora.algebra.tuples.lists import with_elements
from aurora.algebra.tuples.maps import as_lists, entries_of
from aurora.engine.sinks.times import time_text

__all__ = ["cell_texts", "csv_header", "json_lines", "to_csv", "to_json"]

# Batches are written in slices: Arrow counts the bytes of a string column in 32 bits, and memory that was used before
# need not be fetched anew.
SLICE = 50_000
# What JSON writes in another way inside a string.
ESCAPED = '["\\\\\\x00-\\x1f]'


def csv_header(schema: pa.Schema, delimiter: str = ",") -> bytes:
    names = pa.RecordBatch.from_arrays([pa.array([name]) for name in schema.names], names=schema.names)
    return to_csv(names, delimiter)


def to_csv(rows: pa.RecordBatch, delimiter: str = ",") -> bytes:
    """Lines without a header; null is empty, an empty string is two quotes, a struct is its JSON."""
    return b"".join(_csv_lines(part, delimiter).data for part in _slices(rows))


def to_json(rows: pa.RecordBatch) -> bytes:
    """An object a line with all fields; NaN and infinities, which JSON does not know, as null."""
    return json_lines(rows)


def json_lines(rows: pa.RecordBatch, digits: int | None = None, nulls: bool = True) -> bytes:
    """Rows as JSON, one object per line; times with this many digits after the point (None: as many as needed).

    Without `nulls`, fields that are null are left out, but not those inside a struct.
    """
    return b"".join(
        _bytes(pc.binary_join_element_wise(*_objects(part, digits, nulls), pa.scalar("\n"), "")).data
        for part in _slices(rows)
    )


def _objects(rows: pa.RecordBatch, digits: int | None, nulls: bool) -> list[pa.Array]:
    names = rows.schema.names
    if nulls or not names:
        return _object(names, rows.columns, rows.num_rows, digits)
    pieces = [pa.scalar("{")]
    begun = pa.repeat(False, rows.num_rows)
    for name, column in zip(names, rows.columns, strict=True):
        valid = pc.is_valid(column)
        label = json.dumps(name, ensure_ascii=False) + ": "
        before = pc.if_else(begun, ", " + label, label)
        cell = pc.binary_join_element_wise(before, _json_cells(column, digits), "")
        pieces.append(pc.if_else(valid, cell, ""))
        begun = pc.or_(begun, valid)
    return [*pieces, pa.scalar("}")]


def _slices(rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    for start in range(0, rows.num_rows, SLICE):
        yield rows.slice(start, SLICE)


def _csv_lines(rows: pa.RecordBatch, delimiter: str) -> npt.NDArray[np.uint8]:
    """The bytes of the file: the last cell of each row ends its line."""
    *cells, last = [_csv_cells(column, delimiter) for column in rows.columns]
    empty = {"null_handling": "replace", "null_replacement": ""}
    ended = pc.binary_join_element_wise(last, "\n", "", **empty)
    return _bytes(pc.binary_join_element_wise(*cells, ended, delimiter, **empty) if cells else ended)


def _bytes(strings: pa.Array) -> npt.NDArray[np.uint8]:
    """The bytes of all strings, one after the other."""
    _, offsets, text = strings.buffers()
    if not len(strings) or text is None:
        return np.empty(0, np.uint8)
    ends = np.frombuffer(offsets, np.int32)[strings.offset : strings.offset + len(strings) + 1]
    return np.frombuffer(text, np.uint8)[ends[0] : ends[-1]]


def cell_texts(column: pa.Array) -> pa.Array:
    """Values as text, nothing quoted: a struct or array as JSON, null as null."""
    if pa.types.is_nested(column.type):
        return pc.if_else(pc.is_valid(column), _json_cells(column), pa.scalar(None, pa.string()))
    return column if pa.types.is_string(column.type) else _plain(column)


def _csv_cells(column: pa.Array, delimiter: str) -> pa.Array:
    # With another delimiter numbers and times may have it in them.
    plain = delimiter == "," and not (pa.types.is_string(column.type) or pa.types.is_nested(column.type))
    column = cell_texts(column)
    if plain:
        return column
    apart = rf'[\x{{{ord(delimiter):x}}}"\n\r]'
    special = pc.fill_null(pc.or_(pc.match_substring_regex(column, apart), pc.equal(column, "")), False)
    if not pc.any(special).as_py():
        return column
    quoted = pc.binary_join_element_wise('"', pc.replace_substring(column, '"', '""'), '"', "")
    return pc.if_else(special, quoted, column)


def _object(names: list[str], columns: list[pa.Array], rows: int, digits: int | None) -> list[pa.Array]:
    """The pieces that one after the other make an object."""
    if not names:
        return [pa.repeat("{}", rows)]
    pieces, text = [], "{"
    for name, column in zip(names, columns, strict=True):
        first, inner, last = _cells_between(column, digits)
        pieces += [pa.scalar(text + json.dumps(name, ensure_ascii=False) + ": " + first), *inner]
        text = last + ", "
    return [*pieces, pa.scalar(last + "}")]


def _cells_between(column: pa.Array, digits: int | None) -> tuple[str, list[pa.Array], str]:
    """The pieces of the cells of a column, and the text before and after each: what is the same in all is not copied
    into each of them first."""
    if pa.types.is_struct(column.type) and not column.null_count and column.type.num_fields:
        first, *inner, last = _object(
            [field.name for field in column.type], column.flatten(), len(column), digits
        )
        return first.as_py(), inner, last.as_py()
    bare = _bare_cells(column, digits)
    return ("", [_json_cells(column, digits)], "") if bare is None else ('"', [bare], '"')


def _bare_cells(column: pa.Array, digits: int | None) -> pa.Array | None:
    """The texts of a column whose cells are all in quotes, without these; None if some are not, or hold quotes."""
    if column.null_count:
        return None
    if pa.types.is_string(column.type) and not _has_special(column):
        return column
    return _plain(column, digits) if pa.types.is_temporal(column.type) else None


def _json_cells(column: pa.Array, digits: int | None = None) -> pa.Array:
    if pa.types.is_map(column.type):
        return _json_maps(column, digits)
    if pa.types.is_list(column.type):
        return _json_lists(column, digits)
    if pa.types.is_struct(column.type):
        if column.null_count:
            valid = pc.is_valid(column)
            text = _json_cells(column.filter(valid), digits)
            return pc.replace_with_mask(pa.repeat("null", len(column)), valid, text)
        pieces = _object([field.name for field in column.type], column.flatten(), len(column), digits)
        return pc.binary_join_element_wise(*pieces, "")
    if pa.types.is_string(column.type):
        return _or_null(_json_strings(column))
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_finite(column), column, pa.scalar(None, column.type))
    text = _plain(column, digits)
    if pa.types.is_temporal(column.type):
        text = pc.binary_join_element_wise('"', text, '"', "")
    return _or_null(text)


def _or_null(text: pa.Array) -> pa.Array:
    return pc.fill_null(text, "null") if text.null_count else text


def _json_lists(column: pa.Array, digits: int | None) -> pa.Array:
    """The elements between brackets."""
    texts = with_elements(column, _json_cells(column.flatten(), digits))
    return pc.fill_null(pc.binary_join_element_wise("[", pc.binary_join(texts, ", "), "]", ""), "null")


def _json_maps(column: pa.Array, digits: int | None) -> pa.Array:
    """The entries between braces."""
    entries = entries_of(column)
    cells = pc.binary_join_element_wise(_json_cells(entries.keys), _json_cells(entries.items, digits), ": ")
    texts = with_elements(as_lists(column), cells)
    return pc.fill_null(pc.binary_join_element_wise("{", pc.binary_join(texts, ", "), "}", ""), "null")


def _json_strings(column: pa.Array) -> pa.Array:
    """In quotes; only what holds special characters takes the long way."""
    quoted = pc.binary_join_element_wise('"', column, '"', "")
    if not _has_special(column):
        return quoted
    special = pc.fill_null(pc.match_substring_regex(column, ESCAPED), False)
    if not pc.any(special).as_py():
        return quoted
    words = [json.dumps(word, ensure_ascii=False) for word in column.filter(special).to_pylist()]
    return pc.replace_with_mask(quoted, special, pa.array(words, pa.string()))


def _has_special(column: pa.Array) -> bool:
    """Whether there may be a character that JSON writes in another way."""
    text = _bytes(column)
    return bool(((text < ord(" ")) | (text == ord('"')) | (text == ord("\\"))).any())


def _plain(column: pa.Array, digits: int | None = None) -> pa.Array:
    """Numbers, truth values and times as text: doubles with a point, times without a zone, which is UTC."""
    if pa.types.is_timestamp(column.type):
        return time_text(column, digits)
    if pa.types.is_date32(column.type):
        return with_years(column, lambda near: near.cast(pa.string()))
    text = column.cast(pa.string())
    if pa.types.is_floating(column.type):
        # Whole numbers come without a point; from 1e10 on they come in powers of ten.
        whole = pc.and_(pc.equal(pc.floor(column), column), pc.less(pc.abs(column), 1e10))
        return pc.if_else(whole, pc.binary_join_element_wise(text, ".0", ""), text)
    return text
