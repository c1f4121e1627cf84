"""Lines of text by a pattern: its named groups are the fields."""

import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.tuples.schema import Schema
from aurora.engine.sources.text.csv_records import UTF_8
from aurora.engine.sources.text.reasons import NOT_UTF8, Unreadable, csv_reason
from aurora.errors import AuroraError

__all__ = ["NO_MATCH", "PatternParser", "check_pattern", "read_groups"]

NO_MATCH = "the line does not match the pattern"


def check_pattern(where: str, pattern: str) -> tuple[str, ...]:
    """Return the names of the groups of a pattern; raise a fault if RE2 does not know it, or if it has none."""
    try:
        found = pc.extract_regex(pa.array([], pa.string()), pattern)
    except pa.ArrowInvalid as fault:
        told = str(fault).splitlines()[0].removeprefix("Invalid regular expression: ")
        raise AuroraError(
            f"{where}: RE2, which reads patterns in linear time, does not take '{pattern}': {told}; a pattern has "
            "named groups, such as (?P<level>[A-Z]+), no other groups than those and (?:..), and no look-around"
        ) from None
    names = tuple(field.name for field in found.type)
    if not names:
        raise AuroraError(f"{where}: the pattern '{pattern}' has no named groups, such as (?P<level>[A-Z]+)")
    return names


def read_groups(data: bytes, pattern: str) -> dict[str, list[str | None]]:
    """Return the texts of each group in the lines that match; those that are empty are None."""
    found = pc.extract_regex(
        pa.array(data.decode(UTF_8, "replace").splitlines(), pa.string()), pattern
    ).drop_null()
    return {
        field.name: [text or None for text in pc.struct_field(found, field.name).to_pylist()]
        for field in found.type
    }


class PatternParser:
    """Reads lines; a group that is empty or takes no part is null.

    The text of a group is read as a cell of CSV is. Groups of other names than the fields are passed over.
    """

    def __init__(self, schema: Schema, pattern: str) -> None:
        from aurora.engine.sources.text.parse import parse_csv

        self._schema = schema
        self._pattern = pattern
        self._cells = {
            name: parse_csv(Schema.of({name: schema[name]}))
            for name in schema.names
            if not pa.types.is_string(schema[name])
        }

    def __call__(self, data: bytes) -> pa.RecordBatch:
        lines = pa.array(self._lines(data), pa.string())
        found = pc.extract_regex(lines, self._pattern)
        if found.null_count:
            raise Unreadable(NO_MATCH)
        columns = [self._column(name, pc.struct_field(found, name)) for name in self._schema.names]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema.arrow())

    def explain(self, record: bytes) -> str:
        """Return why a line cannot be read."""
        from aurora.engine.sources.text.parse import FAULTS

        try:
            self(record)
        except FAULTS as fault:
            return str(fault) if isinstance(fault, Unreadable) else csv_reason(fault, (), self._schema)
        return ""

    def _lines(self, data: bytes) -> list[str]:
        try:
            text = data.decode(UTF_8)
        except UnicodeDecodeError:
            raise Unreadable(NOT_UTF8) from None
        lines = text.split("\n")
        return [line.removesuffix("\r") for line in (lines[:-1] if text.endswith("\n") else lines)]

    def _column(self, name: str, texts: pa.Array) -> pa.Array:
        texts = pc.if_else(pc.equal(texts, ""), None, texts)
        if name not in self._cells:
            return texts
        cells = pc.fill_null(pc.replace_substring(texts, '"', '""'), "").to_pylist()
        parser = self._cells[name]
        # One column: an empty line is a null.
        lines = [f'"{cell}"\n' if cell else "\n" for cell in cells]
        try:
            return parser("".join(lines).encode()).column(0)
        except (pa.ArrowException, ValueError):
            bad = next(
                (reason for line in lines if line != "\n" and (reason := parser.explain(line.encode()))), ""
            )
            raise Unreadable(bad or NO_MATCH) from None
