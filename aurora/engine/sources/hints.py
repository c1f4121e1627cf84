"""What may be wrong although nothing is: fields that no line has."""

import json
from typing import Any

from aurora.algebra.tuples.schema import Schema
from aurora.engine.sources.text import Text

__all__ = ["missing_fields"]

# So many bytes and lines of JSON tell whether a field has a wrong name; not fewer if more may come.
BYTES, LINES, FEWEST = 1 << 18, 1000, 100


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
    return f"{fields}: not in the first {count} of {text.label}, which has {', '.join(there) or 'no fields'}"


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None
