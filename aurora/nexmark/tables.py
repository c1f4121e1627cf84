"""The tables of queries as files, for networks that are run by hand."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow.csv as csv

from aurora import Memory

__all__ = ["write_tables"]


def write_tables(tables: Mapping[str, Memory], folder: Path) -> None:
    """Each as NAME.csv with a header."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        csv.write_csv(table.rows, str(folder / f"{name}.csv"))
