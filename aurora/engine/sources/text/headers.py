"""The first line of a CSV file: the names of its columns, or data, and never one taken for the other silently."""

import re

from aurora.algebra.tuples.schema import Schema
from aurora.engine.sources.text.csv_records import Csv
from aurora.errors import AuroraError, did_you_mean

__all__ = ["DELIMITER_LINE", "header_hint", "header_of", "tells_delimiter"]

VALUE = re.compile(r"\s*([-+.]?\d.*)?", re.DOTALL)

# Excel writes the delimiter into a line before the header.
DELIMITER_LINE = re.compile(rb"sep=([^\r\n])\r?\n?")


def tells_delimiter(record: bytes, csv: Csv, label: str) -> bool:
    """Whether the first line is `sep=;` or the like, which is no data. Raise a fault if the file is read otherwise."""
    found = DELIMITER_LINE.fullmatch(record)
    if found is None:
        return False
    delimiter = found[1].decode("latin1")
    if delimiter != csv.delimiter:
        shown = "tab" if delimiter == "\t" else delimiter
        raise AuroraError(f"{label}, line 1: 'sep={shown}' names another delimiter; add ?delimiter={shown}")
    return True


def header_of(
    record: bytes, schema: Schema, csv: Csv, label: str, declared: bool | None = None
) -> tuple[str, ...] | None:
    """The columns if the first record names all fields, in any order and case; nothing if it is data.

    `declared` is what the address says about it. A line that looks like a header and lacks a field is a fault.
    """
    names = _names(record, csv) if declared is not False else None
    if names is None:
        return None
    columns = _matched(names, schema)
    missing = [name for name in schema.names if name not in columns]
    found = len(schema) - len(missing)
    if declared or not missing or (found and _all_words(names)):
        for name in schema.names:
            if columns.count(name) > 1:
                raise AuroraError(
                    f"{label}, line 1: the header names field {name} twice; rename one of the two"
                )
        if missing:
            raise AuroraError(
                f"{label}: line 1 looks like a header but lacks field {', '.join(missing)}; "
                f"found {', '.join(names)}{_meant(missing, names, schema)}; rename the column, or add ?header=no if "
                "the line is data"
            )
        return tuple(name if name in schema else f"#{at}" for at, name in enumerate(columns))
    return None


def header_hint(record: bytes, schema: Schema, csv: Csv) -> str:
    """What to add to the reason why a first line cannot be read: it may be a header of other names."""
    names = _names(record, csv)
    if names is None or not _all_words(names):
        return ""
    return f"; if line 1 is a header, it must name all fields: {', '.join(schema.names)}"


def _names(record: bytes, csv: Csv) -> list[str] | None:
    try:
        return [cell.decode(csv.encoding).strip() for cell, _ in csv.cells(record)]
    except UnicodeDecodeError:
        return None


def _matched(names: list[str], schema: Schema) -> list[str]:
    """The names, as the schema writes them where it has them: in another case if that leaves no doubt."""
    folded: dict[str, list[str]] = {}
    for name in schema.names:
        folded.setdefault(name.casefold(), []).append(name)

    def match(name: str) -> str:
        alike = folded.get(name.casefold(), [])
        return alike[0] if name not in schema and len(alike) == 1 and alike[0] not in names else name

    return [match(name) for name in names]


def _meant(missing: list[str], names: list[str], schema: Schema) -> str:
    return did_you_mean(missing[0], [name for name in names if name and name not in schema])


def _all_words(names: list[str]) -> bool:
    return not any(VALUE.fullmatch(name) for name in names)
