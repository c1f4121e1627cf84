"""The histories as relations: DuckDB reads them, whichever system they are for."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa

from aurora.errors import AuroraError
from aurora.linear_road.rivals.rules import MEANS
from aurora.linear_road.stored_histories import SEGMENT_COLUMNS, TOLL_COLUMNS, Histories

__all__ = ["history_batches", "history_queries"]


def _files(path: Path) -> list[Path]:
    """The Parquet files, else the CSV files; what is hidden does not count."""
    if path.is_file():
        return [path]
    for ending in ("parquet", "csv"):
        found = [file for file in path.rglob(f"*.{ending}") if not file.name.startswith((".", "_"))]
        if found:
            return sorted(found)
    raise AuroraError(f"{path} holds neither Parquet nor CSV files: make it with linear-road history")


def _relation(path: Path, columns: dict[str, str]) -> str:
    files = _files(path)
    listed = "[" + ", ".join("'" + str(file).replace("'", "''") + "'" for file in files) + "]"
    if files[0].suffix == ".parquet":
        return f"read_parquet({listed})"
    with files[0].open() as file:
        header = file.read(1).isalpha()
    kinds = {"long": "bigint", "int": "integer"}
    types = ", ".join(f"'{name}': '{kinds.get(kind, kind)}'" for name, kind in columns.items())
    return f"read_csv({listed}, header = {header}, auto_detect = false, columns = {{{types}}})"


def history_queries(histories: Histories, today: int) -> dict[str, str]:
    """For each table of a history that there is, the query of DuckDB that fills it."""
    queries = {}
    histories.check_toll()
    if histories.toll is not None:
        source = _relation(histories.toll, TOLL_COLUMNS)
        queries["toll_history"] = f"select vid, day, xway, tolls from {source} order by vid, day"
    if histories.segment is not None:
        source = _relation(histories.segment, SEGMENT_COLUMNS)
        means = MEANS.format(today=today)
        queries["segment_means"] = f"with segment_history as (select * from {source}) {means}"
    return queries


def history_batches(histories: Histories, today: int) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows of the histories' tables, for systems that read no Parquet."""
    with duckdb.connect() as reader:
        for table, query in history_queries(histories, today).items():
            for batch in reader.sql(query).to_arrow_reader(200_000):
                yield table, batch
