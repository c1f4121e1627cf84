"""How a CSV file is written, from its first lines: delimiter, header, encoding, texts that stand for null."""

import codecs
import re
from collections import Counter

from aurora.algebra.tuples.types import STRING
from aurora.engine.draft.text_types import FEW as FEW_ODD
from aurora.engine.draft.text_types import type_of_texts
from aurora.engine.sources.text.csv_records import UTF_8, Csv
from aurora.engine.sources.text.headers import DELIMITER_LINE
from aurora.engine.sources.text.lines import Style
from aurora.errors import AuroraError

__all__ = ["DRAFT", "Cells", "read_style"]

# What is to be done with a sample; the other purpose is to show it.
DRAFT = "draft from"
DELIMITERS = (",", ";", "\t", "|")
NULLS = ("NA", "N/A", "n/a", "null", "NULL", "None", "nan", "NaN", "-", "?", "\\N")
# A number with a comma before its fraction, and one whose comma may as well stand before its thousands.
COMMA = re.compile(r"[+-]?\d+,\d+")
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
POINT = re.compile(r"[+-]?\d+\.\d+")
WHOLE = re.compile(r"[+-]?\d+")
VALUE = re.compile(r"\s*([-+.]?\d.*)?", re.DOTALL)
FALLBACK = "cp1252"
# So many records are looked at, and so few to find the delimiter.
MOST, FEW, FEW_BYTES = 10_000, 200, 1 << 16

# The cells of each column, None where one is empty and not in quotes.
Cells = dict[str, list[str | None]]


def read_style(
    data: bytes, label: str, given: Style | None = None, purpose: str = DRAFT
) -> tuple[Style, Cells]:
    """The style and the columns of whole records; what the address of the file says holds."""
    encoding = given.encoding if given is not None and given.encoding != UTF_8 else _encoding(data)
    text = data.decode(encoding, "replace").removeprefix("\ufeff").encode()
    excel = DELIMITER_LINE.match(text)
    if excel is not None:
        text = text[excel.end() :]
    if given is not None and given.delimiter != ",":
        delimiter = given.delimiter
    else:
        delimiter = excel[1].decode("latin1") if excel is not None else _delimiter(text)
    records = _records(text, Csv(delimiter))
    if not records:
        raise AuroraError(f"{label} has no rows: there is nothing to {purpose}")
    header = given.header if given is not None and given.header is not None else _has_header(records)
    names = _names(records[0], label) if header else [f"c{place + 1}" for place in range(len(records[0]))]
    rows = records[1:] if header else records
    if not rows and purpose == DRAFT:
        raise AuroraError(
            f"{label} has a header and no rows, so nothing tells the types of {', '.join(names)}; give a file with rows"
        )
    rows = [row for row in rows if len(row) == len(names)]
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names) if name}
    decimal = given.decimal if given is not None and given.decimal != "." else _decimal(columns, delimiter)
    if decimal == ",":
        columns = {name: _with_points(cells) for name, cells in columns.items()}
    nulls = given.nulls if given is not None and given.nulls else _nulls(columns)
    columns = {name: [None if cell in nulls else cell for cell in cells] for name, cells in columns.items()}
    # A header is told from data by the reader, too, unless all might be text.
    return Style("csv", delimiter, None if header else False, encoding, nulls, decimal=decimal), columns


def _encoding(data: bytes) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    try:
        codecs.getincrementaldecoder(UTF_8)().decode(data)
    except UnicodeDecodeError:
        return FALLBACK
    return UTF_8


def _delimiter(text: bytes) -> str:
    """Return the one that cuts most lines into the same number of cells, and into the most of them.

    The comma may stand in numbers: another that cuts all lines comes first if no other cell has a comma.
    """

    def score(delimiter: str) -> tuple[float, int]:
        widths = Counter(len(record) for record in _records(text[:FEW_BYTES], Csv(delimiter), FEW))
        if not widths:
            return 0.0, 0
        width, count = max(widths.items(), key=lambda pair: (pair[1], pair[0]))
        return (count / widths.total() if width > 1 else 0.0), width

    other = max(DELIMITERS[1:], key=score)
    if score(other)[0] == 1.0:
        cells = {cell for record in _records(text[:FEW_BYTES], Csv(other), FEW) for cell in record if cell}
        commas = [cell for cell in cells if "," in cell]
        if commas and all(COMMA.fullmatch(cell.strip()) for cell in commas):
            return other
    return max(DELIMITERS, key=score)


def _decimal(columns: Cells, delimiter: str) -> str:
    """Return what stands before the fraction of numbers: a comma if a column has it there, and none has a point.

    A column in which all commas may stand before thousands proves nothing.
    """
    if delimiter == ",":
        return "."
    texts = [[cell.strip() for cell in cells if cell is not None] for cells in columns.values()]
    if any(POINT.fullmatch(text) for own in texts if type_of_texts(own) != STRING for text in own):
        return "."
    sure = any(
        _has_commas(own) and not all(THOUSANDS.fullmatch(text) for text in own if "," in text)
        for own in texts
    )
    return "," if sure else "."


def _has_commas(texts: list[str]) -> bool:
    """Whether texts are numbers with a comma before their fractions, but for nulls and a few slips."""
    known = [text for text in texts if text not in NULLS]
    numbers = [text for text in known if COMMA.fullmatch(text) or WHOLE.fullmatch(text)]
    return any("," in text for text in numbers) and len(known) - len(numbers) <= len(known) // FEW_ODD


def _with_points(cells: list[str | None]) -> list[str | None]:
    """Return the cells of a column with points in its numbers, as everybody who tells types knows them."""
    if not _has_commas([cell.strip() for cell in cells if cell is not None]):
        return cells
    return [cell.replace(",", ".") if cell and COMMA.fullmatch(cell.strip()) else cell for cell in cells]


def _records(text: bytes, csv: Csv, most: int = MOST) -> list[list[str | None]]:
    found = csv.split(text, True)
    ends = found.ends[:most].tolist()
    records = []
    for start, end, bad in zip([0, *ends], ends, found.bad.tolist(), strict=False):
        if not bad and text[start:end].strip():
            cells = csv.cells(text[start:end])
            records.append([None if not cell and not quoted else cell.decode() for cell, quoted in cells])
    return records


def _has_header(records: list[list[str | None]]) -> bool:
    first = [cell or "" for cell in records[0]]
    if (
        any(cell and VALUE.fullmatch(cell) for cell in first)
        or len(set(first)) < len(first)
        or not any(first)
    ):
        return False
    if len(records) == 1:
        return True
    types = [
        type_of_texts([row[place] or "" for row in records[1:] if len(row) > place and row[place]])
        for place in range(len(first))
    ]
    # Where all columns are text a header shows by its words coming nowhere else.
    return any(kind != STRING for kind in types) or not any(
        row[place] == first[place] for row in records[1:] for place in range(min(len(row), len(first)))
    )


def _names(record: list[str | None], label: str) -> list[str]:
    names = [(cell or "").strip() for cell in record]
    folded = Counter(name.casefold() for name in names if name)
    for name in names:
        if folded[name.casefold()] > 1:
            raise AuroraError(f"{label}: the header names {name} twice; rename one of the two")
    return names


def _nulls(columns: Cells) -> tuple[str, ...]:
    """Words without which a column of text would be one of numbers or times."""
    found: dict[str, None] = {}
    for cells in columns.values():
        texts = [cell for cell in cells if cell is not None]
        words = [word for word in NULLS if word in texts]
        others = [text for text in texts if text not in words]
        if words and others and type_of_texts(others) != STRING:
            found.update(dict.fromkeys(words))
    return tuple(found)
