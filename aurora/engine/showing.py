"""The first rows of a table, for people: as text, and as HTML for a notebook."""

from html import escape
from typing import Any

import pyarrow as pa

from aurora.algebra.tuples.python_values import python_rows
from aurora.algebra.tuples.types import type_name

__all__ = ["html_rows", "html_table", "text_rows"]

# So many rows are shown, and so many letters of a value.
HTML, TEXT, LONGEST = 10, 5, 60


def text_rows(title: str, table: pa.Table) -> str:
    """
    >>> print(text_rows("<Rows alarms: 1 row>", pa.table({"Time": [1], "Cnt": [20]})))
    <Rows alarms: 1 row>
    Time  Cnt
    1     20
    """
    names, rows = list(table.column_names), _first(table, TEXT)
    widths = [max(len(row[column]) for row in [names, *rows]) for column in range(len(names))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in [names, *rows]
    ]
    more = [".."] if table.num_rows > len(rows) else []
    return "\n".join([title, *(line.rstrip() for line in lines), *more])


def html_rows(title: str, table: pa.Table) -> str:
    """The first rows, with the type of each field below its name."""
    rows = _first(table, HTML)
    heads = [
        f"{escape(field.name)}<br><small>{escape(type_name(field.type))}</small>" for field in table.schema
    ]
    left = table.num_rows - len(rows)
    more = f"<p>and {left:,} more {'row' if left == 1 else 'rows'}</p>" if left else ""
    return f"<b>{escape(title)}</b>{html_table(heads, rows)}{more}"


def html_table(heads: list[str], rows: list[list[str]]) -> str:
    """A table; `heads` are HTML already."""
    head = "".join(f"<th>{each}</th>" for each in heads)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _first(table: pa.Table, rows: int) -> list[list[str]]:
    shown = python_rows(table.slice(0, rows))
    return [[_text(row[name]) for name in table.column_names] for row in shown]


def _text(value: Any) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 2]}.."
