"""The ten weeks before the run: where TollHistory and SegmentHistory are, and reading them."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
from pyspark.sql import DataFrame, SparkSession

from aurora.errors import AuroraError

__all__ = ["SEGMENT_COLUMNS", "TOLL_COLUMNS", "TOLL_KEY", "Histories", "dataset_of", "find_histories"]

# By which a row is found.
TOLL_KEY = ("VID", "Day", "XWay")
TOLL_COLUMNS = {"VID": "long", "Day": "int", "XWay": "int", "Tolls": "int"}
SEGMENT_COLUMNS = {
    "Day": "int",
    "Min": "int",
    "XWay": "int",
    "Dir": "int",
    "Seg": "int",
    "Lav": "double",
    "Cnt": "double",
    "Toll": "double",
}
_NAMES = {"toll": ("toll_history", TOLL_COLUMNS), "segment": ("segment_history", SEGMENT_COLUMNS)}


@dataclass(frozen=True)
class Histories:
    """The two histories; None stands for an empty one."""

    toll: Path | None = None
    segment: Path | None = None

    def note(self) -> str | None:
        """What the user should know about histories that are not there."""
        if self.toll is None and self.segment is None:
            return "no history: expenditures are 0, travel runs at the free speed"
        if self.toll is None:
            return "no toll history: expenditures are 0"
        return "no segment history: travel runs at the free speed" if self.segment is None else None

    def toll_address(self) -> str | None:
        """The toll history as a network names a stored set."""
        if self.toll is None:
            return None
        form = "parquet" if _is_parquet(self.toll) else "csv"
        files = _stored(self.toll, f".{form}")
        if self.toll.is_file():
            return f"{form}:{self.toll.absolute()}"
        depths = {len(file.relative_to(self.toll).parts) for file in files}
        if len(depths) > 1:
            raise AuroraError(f"{self.toll} has files at several depths: put them all into one folder")
        return f"{form}:{self.toll.absolute()}/{'*/' * (depths.pop() - 1)}*.{form}"

    def check_toll(self) -> None:
        """Raise a fault if the toll history has two rows for a car, a day and an expressway: which counts, is not said.

        It may have a hundred million rows: of each a number of eight bytes is sorted, and the rows of equal numbers are
        looked at.
        """
        if self.toll is None:
            return
        keys = list(TOLL_KEY)
        try:
            source = dataset_of(self.toll, TOLL_COLUMNS)
            marks = [_mark(batch) for batch in source.to_batches(columns=keys)]
        except (pa.ArrowException, OSError):
            # Whoever reads all of it says what is wrong with it.
            return
        ordered = np.sort(np.concatenate([np.empty(0, np.uint64), *marks]))
        doubtful = ordered[1:][ordered[1:] == ordered[:-1]]
        if len(doubtful) == 0:
            return
        seen: set[tuple[int, ...]] = set()
        for batch in source.to_batches(columns=keys):
            chosen = np.flatnonzero(np.isin(_mark(batch), doubtful))
            for row in batch.take(pa.array(chosen)).to_pylist():
                key = tuple(row[name] for name in keys)
                if key in seen:
                    vid, day, xway = key
                    raise AuroraError(
                        f"{self.toll} has two rows for car {vid}, day {day} and expressway {xway}; "
                        "keep one of them, or add them up"
                    )
                seen.add(key)

    def read_toll(self, spark: SparkSession) -> DataFrame | None:
        return None if self.toll is None else _read(spark, self.toll, TOLL_COLUMNS)

    def segments_as_parquet(self, spark: SparkSession, scratch: Path) -> str | None:
        """A Parquet folder with the SegmentHistory; made in `scratch` where it is stored as CSV."""
        if self.segment is None:
            return None
        frame = _read(spark, self.segment, SEGMENT_COLUMNS)
        if _is_parquet(self.segment):
            return str(self.segment)
        copy = Path(tempfile.mkdtemp(dir=scratch))
        # Each task writes what it reads: sorted by expressway, a query of one reads little of the others.
        frame.sortWithinPartitions("XWay").write.mode("overwrite").parquet(str(copy))
        return str(copy)


def dataset_of(path: Path, columns: dict[str, str]) -> ds.Dataset:
    """The files of a history, Parquet or CSV with or without a header."""
    stored = [path] if path.is_file() else list(path.rglob("*"))
    if any(file.suffix == ".parquet" for file in stored):
        return ds.dataset(str(path), format="parquet")
    files = [str(file) for file in stored if file.suffix == ".csv" and not file.name.startswith((".", "_"))]
    with open(files[0]) as file:
        header = file.read(1).isalpha()
    names = None if header else list(columns)
    style = ds.CsvFileFormat(read_options=pa.csv.ReadOptions(column_names=names))
    return ds.dataset(sorted(files), format=style)


def _mark(batch: pa.RecordBatch) -> npt.NDArray[np.uint64]:
    """A number for each row by its key; few keys share one."""
    mark = np.zeros(batch.num_rows, np.uint64)
    for name in TOLL_KEY:
        values = batch.column(name).cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
        mark = (mark ^ values.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mark ^= mark >> np.uint64(29)
    return mark


def _is_parquet(path: Path) -> bool:
    return bool(_stored(path, ".parquet"))


def _stored(path: Path, ending: str) -> list[Path]:
    if path.is_file():
        return [path] if path.suffix == ending else []
    return sorted(
        file
        for file in path.rglob(f"*{ending}")
        if not any(part.startswith((".", "_")) for part in file.relative_to(path).parts)
    )


def _read(spark: SparkSession, path: Path, columns: dict[str, str]) -> DataFrame:
    if _is_parquet(path):
        frame = spark.read.parquet(str(path))
    else:
        with _stored(path, ".csv")[0].open() as file:
            header = file.read(1).isalpha()
        schema = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        frame = spark.read.csv(str(path), schema=schema, header=header, mode="FAILFAST")
    lacking = [name for name in columns if name not in frame.columns]
    if lacking:
        raise AuroraError(f"{path} lacks {', '.join(lacking)}: it needs the columns {', '.join(columns)}")
    return frame


def _find(folder: Path, name: str) -> Path | None:
    for path in (folder / name, folder / f"{name}.parquet", folder / f"{name}.csv"):
        if path.exists():
            if not _stored(path, ".parquet") and not _stored(path, ".csv"):
                raise AuroraError(
                    f"{path} holds neither Parquet nor CSV files: make it with linear-road history"
                )
            return path
    return None


def find_histories(data: Path, history: Path | None) -> Histories:
    """The histories in the folder `history`, where given, else those in the data folder, else none."""
    folder = history or (data if data.is_dir() else data.parent)
    found = {key: _find(folder, name) for key, (name, _) in _NAMES.items()}
    if history is not None:
        lacking = [name for key, (name, _) in _NAMES.items() if found[key] is None]
        if lacking:
            raise AuroraError(
                f"no {' and no '.join(lacking)} in {history}: make them with aurora linear-road history, "
                "or leave --history out to run without"
            )
    return Histories(found["toll"], found["segment"])
