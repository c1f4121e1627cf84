"""Reading the data of a run: which files, a survey of them (order, rejects, seconds), and Spark frames."""

import mmap
import os
import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from aurora.errors import AuroraError
from aurora.linear_road.records import DEFINED, FIELDS, Reject, Replication, Rows, parse_input, replication

__all__ = [
    "Block",
    "FileSurvey",
    "Survey",
    "check_apart",
    "cut_blocks",
    "input_files",
    "map_file",
    "read_types",
    "survey",
]

Array = np.ndarray[Any, Any]
BLOCK = 8 << 20
_BLOCKS_A_TASK = 4
# No file has more lines.
_LINE_BITS = 40


@dataclass(frozen=True)
class Block:
    """Whole lines of a file: the bytes start..end, the first of them line `line` (counted from 1)."""

    path: str
    start: int
    end: int
    line: int = 1

    def bytes(self) -> Array:
        return np.fromfile(self.path, np.uint8, self.end - self.start, offset=self.start)


@dataclass(frozen=True)
class FileSurvey:
    """One input file: its blocks, and where each second begins (`offsets` has one more: the end)."""

    path: Path
    blocks: tuple[Block, ...]
    seconds: Array
    offsets: Array
    rejects: tuple[Reject, ...]
    counts: dict[int, int]
    largest: dict[str, int]


@dataclass(frozen=True)
class Survey:
    files: tuple[FileSurvey, ...]

    @property
    def rejects(self) -> tuple[Reject, ...]:
        return tuple(reject for file in self.files for reject in file.rejects)

    @property
    def counts(self) -> dict[int, int]:
        return {kind: sum(file.counts[kind] for file in self.files) for kind in DEFINED}

    @property
    def first_second(self) -> int:
        return min(int(file.seconds[0]) for file in self.files)

    @property
    def last_second(self) -> int:
        return max(int(file.seconds[-1]) for file in self.files)

    def largest(self, field: str) -> int:
        return max(file.largest[field] for file in self.files)

    def replication(self, copies: int) -> Replication:
        if copies < 1:
            raise AuroraError(f"--replicate is {copies}: give 1 (the data as they are) or more")
        return replication(copies, self.largest("XWay"), self.largest("VID"), self.largest("QID"))


def input_files(data: Path) -> list[Path]:
    """The input files of a folder (xway-N.csv, else its only CSV) or the file itself."""
    if data.is_file():
        return [data]
    if not data.is_dir():
        raise AuroraError(f"no data at {data}: give a folder with xway-N.csv files, or one CSV file")
    numbered = {
        int(match[1]): path
        for path in data.iterdir()
        if (match := re.fullmatch(r"xway-(\d+)\.csv", path.name))
    }
    if numbered:
        return [numbered[number] for number in sorted(numbered)]
    others = sorted(data.glob("*.csv"))
    if len(others) != 1:
        found = ", ".join(path.name for path in others[:5]) or "no CSV file"
        raise AuroraError(f"{data} has no xway-N.csv but {found}: give the input file itself with --data")
    return others


def check_apart(what: str, path: Path, read: Iterable[Path]) -> None:
    """Raises a fault if what is to be written is a file that is read, by whatever name."""
    for file in read:
        if path.exists() and file.exists() and path.samefile(file):
            raise AuroraError(f"{what} would go to {path}, which is read: choose another path with --report")


def map_file(path: Path) -> Array:
    """The bytes of a file, mapped, not read."""
    try:
        if path.stat().st_size == 0:
            return np.empty(0, np.uint8)
        with path.open("rb") as file:
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
    except OSError as fault:
        raise AuroraError(f"cannot read {path}: {fault.strerror}") from None


def cut_blocks(path: Path, size: int = BLOCK) -> list[Block]:
    """Cuts a file at line ends into blocks of about `size` bytes."""
    data = map_file(path)
    blocks = []
    start, line = 0, 1
    while start < len(data):
        end = min(start + size, len(data))
        # A line longer than a block stays in one piece.
        while end < len(data):
            newlines = np.flatnonzero(data[max(start, end - 4096) : end] == 10)
            if len(newlines):
                end = max(start, end - 4096) + int(newlines[-1]) + 1
                break
            end = min(end + 4096, len(data))
        blocks.append(Block(str(path), start, end, line))
        line += int(np.count_nonzero(data[start:end] == 10))
        start = end
    return blocks


@dataclass(frozen=True)
class _BlockSurvey:
    first: int
    last: int
    seconds: Array
    offsets: Array
    rejects: list[Reject]
    counts: dict[int, int]
    largest: dict[str, int]


def _survey_block(block: Block) -> _BlockSurvey:
    data = block.bytes()
    rows = parse_input(data)
    rejects = [
        Reject(os.path.basename(block.path), block.line + at, reason, _text(data, rows, at))
        for at, reason in rows.reasons.items()
    ]
    types = rows.column("Type")
    counts = {kind: int(np.count_nonzero(types == kind)) for kind in DEFINED}
    largest = {"XWay": -1, "VID": -1, "QID": -1}
    for name in largest:
        for kind, defined in DEFINED.items():
            if name in defined and counts[kind]:
                largest[name] = max(largest[name], int(rows.column(name)[types == kind].max()))
    times = rows.column("Time")
    falls = np.flatnonzero(np.diff(times) < 0)
    lines = np.flatnonzero(rows.good)
    if len(falls):
        before, at = times[falls[0]], falls[0] + 1
        raise _unordered(block.path, block.line + int(lines[at]), int(times[at]), int(before))
    begins = np.flatnonzero(np.diff(times, prepend=-1))
    # A rejected line goes with the good one before it, so that a second is one range of bytes.
    return _BlockSurvey(
        int(lines[0]) + block.line if len(lines) else block.line,
        int(times[-1]) if len(times) else -1,
        times[begins],
        rows.starts[lines[begins]] + block.start,
        rejects,
        counts,
        largest,
    )


def _text(data: Array, rows: Rows, at: int) -> str:
    line = data[rows.starts[at] : min(rows.starts[at + 1], rows.starts[at] + 200)].tobytes()
    return line.decode("utf-8", "replace").rstrip("\r\n")


def _unordered(path: str, line: int, time: int, before: int) -> AuroraError:
    return AuroraError(
        f"{path} is not ordered by Time: line {line} has Time {time} after {before}; "
        "sort it first (sort -s -t, -k2,2n)"
    )


def _survey_file(path: Path, parts: Iterable[_BlockSurvey], blocks: list[Block], size: int) -> FileSurvey:
    seconds: list[int] = []
    offsets: list[int] = []
    rejects: list[Reject] = []
    counts = dict.fromkeys(DEFINED, 0)
    largest = {"XWay": -1, "VID": -1, "QID": -1}
    for part in parts:
        if seconds and len(part.seconds) and part.seconds[0] < seconds[-1]:
            raise _unordered(str(path), part.first, int(part.seconds[0]), seconds[-1])
        fresh = 1 if seconds and len(part.seconds) and part.seconds[0] == seconds[-1] else 0
        seconds.extend(part.seconds[fresh:].tolist())
        offsets.extend(part.offsets[fresh:].tolist())
        rejects.extend(part.rejects)
        counts = {kind: counts[kind] + part.counts[kind] for kind in counts}
        largest = {name: max(largest[name], part.largest[name]) for name in largest}
    if not seconds:
        found = f"line {rejects[0].line}: {rejects[0].reason}" if rejects else "it is empty"
        raise AuroraError(f"no tuple in {path}: {found}; see docs/linear-road.md for the format")
    offsets[0] = 0
    return FileSurvey(
        path,
        tuple(blocks),
        np.array(seconds, np.int64),
        np.array([*offsets, size], np.int64),
        tuple(rejects),
        counts,
        largest,
    )


def survey(data: Path, progress: Callable[[float], None] | None = None) -> Survey:
    """Reads all of the data once: rejects, order, seconds, the largest numbers. Says what cannot be used."""
    paths = input_files(data)
    cut = [cut_blocks(path) for path in paths]
    total = sum(len(blocks) for blocks in cut) or 1
    done = 0

    def counted(parts: Iterable[_BlockSurvey]) -> Iterator[_BlockSurvey]:
        nonlocal done
        for part in parts:
            done += 1
            if progress:
                progress(done / total)
            yield part

    files = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, blocks in zip(paths, cut, strict=True):
            parts = counted(pool.map(_survey_block, blocks))
            files.append(_survey_file(path, parts, blocks, path.stat().st_size))
    return Survey(tuple(files))


def read_types(
    spark: SparkSession,
    found: Survey,
    types: tuple[int, ...],
    columns: dict[str, str],
    distinct: bool = False,
) -> DataFrame:
    """The good tuples of these types as a frame with these columns (name and Spark type).

    The column "line" numbers them as they stand in their file, file after file. `distinct` drops what repeats within a
    block, before it reaches Spark.
    """
    blocks = [(block, at << _LINE_BITS) for at, file in enumerate(found.files) for block in file.blocks]
    tasks = max(spark.sparkContext.defaultParallelism, -(-len(blocks) // _BLOCKS_A_TASK))
    rows = [(block.path, block.start, block.end, before + block.line) for block, before in blocks]
    source = spark.createDataFrame(rows, "path string, start long, end long, line long").repartition(tasks)
    arrow_types = {"byte": pa.int8(), "short": pa.int16(), "int": pa.int32(), "long": pa.int64()}
    schema = pa.schema([(name, arrow_types[kind]) for name, kind in columns.items()])

    def parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                values = parse_input(Block(row["path"], row["start"], row["end"]).bytes())
                chosen = values.good & np.isin(values.values[:, 0], types)
                taken = values.values[chosen]
                numbers = {name: taken[:, FIELDS.index(name)] for name in columns if name != "line"}
                if "line" in columns:
                    numbers["line"] = np.flatnonzero(chosen) + row["line"]
                arrays = [
                    pa.array(numbers[name].astype(schema.field(name).type.to_pandas_dtype()))
                    for name in columns
                ]
                whole = pa.Table.from_arrays(arrays, schema=schema)
                if distinct:
                    whole = whole.group_by(list(columns)).aggregate([])
                yield from whole.to_batches(max_chunksize=50_000)

    return source.mapInArrow(parse, ", ".join(f"{name} {kind}" for name, kind in columns.items()))
