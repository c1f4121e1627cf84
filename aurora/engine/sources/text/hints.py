"""What may be wrong although nothing is: fields that no line has, lines that none can read."""

import json
from typing import Any

from aurora.algebra.tuples.schema import Schema
from aurora.engine.sources.text.lines import Form, cut_lines
from aurora.engine.sources.text.record_ends import scan
from aurora.engine.sources.text.suggested_fixes import nothing_fits
from aurora.engine.sources.text.text import Text
from aurora.errors import did_you_mean

__all__ = ["hints", "missing_fields", "unreadable"]

# So many bytes and lines of JSON tell whether a field has a wrong name; not fewer if more may come.
BYTES, LINES, FEWEST = 1 << 18, 1000, 100


def hints(text: Text, form: Form, start: int, line: int, schema: Schema, complete: bool) -> str:
    """What the user should know about the first lines; `start` and `line` are those of the first record."""
    told = unreadable(text, form, start, line, schema, complete)
    return told or (missing_fields(text, start, schema, complete) if form.csv is None else "")


def missing_fields(text: Text, start: int, schema: Schema, complete: bool) -> str:
    """A notice about the fields of the schema that none of the first lines has; empty if there are none such."""
    lines = text.read(start, start + BYTES).split(b"\n")
    records = [record for line in lines[:LINES] if (record := _object(line)) is not None]
    there = list(dict.fromkeys(name for record in records for name in record))
    missing = [name for name in schema.names if name not in there]
    if not records or not missing or (not complete and len(records) < FEWEST):
        return ""
    fields = f"field {missing[0]}" if len(missing) == 1 else f"fields {', '.join(missing)}"
    count = f"{len(records):,} lines" if len(records) > 1 else "line"
    others = [name for name in there if name not in schema]
    hint = did_you_mean(missing[0], others) if len(missing) == 1 else ""
    return f"{fields}: not in the first {count} of {text.label}, which has {', '.join(there) or 'no fields'}{hint}"


def unreadable(text: Text, form: Form, start: int, line: int, schema: Schema, complete: bool) -> str:
    """What is wrong and what to do if none of the first lines can be read; empty if some can."""
    size = min(text.size(), start + BYTES)
    found = scan(text, start, LINES, form.csv, complete and size == text.size(), size)
    if not len(found.ends) or (not complete and len(found.ends) < FEWEST):
        return ""
    pieces = cut_lines(text, form, found, start, line, 0, len(found.ends), schema)
    return nothing_fits(pieces[0].read(schema), text.label, schema, form.csv, text.read(0, 4))


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None
