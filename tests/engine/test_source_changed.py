"""Files that change between the plan of a batch and its reading: a fault, never other rows."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from aurora import AuroraError, Schema
from aurora.engine.sources.files.line_files import LineFiles
from aurora.engine.sources.files.parquet import ParquetFiles

SCHEMA = Schema.parse("K int")


def lines(folder: Path, number: int, rows: range) -> None:
    (folder / f"f{number}.csv").write_text("".join(f"{row}\n" for row in rows))


def parquet(folder: Path, number: int, rows: range) -> None:
    table = pa.table({"K": pa.array(list(rows), pa.int32())})
    pyarrow.parquet.write_table(table, folder / f"f{number}.parquet")


@pytest.mark.parametrize(("write", "kind"), [(lines, "csv"), (parquet, "parquet")])
@pytest.mark.parametrize(
    "now", [range(10, 23), range(10, 19), range(30, 40)], ids=["longer", "shorter", "other"]
)
def test_a_file_in_the_middle_of_a_batch(write, kind, now, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    for number in range(4):
        write(tmp_path, number, range(10 * number, 10 * number + 10))

    def opened():  # type: ignore[no-untyped-def]
        return (
            LineFiles(str(tmp_path), "csv", SCHEMA) if kind == "csv" else ParquetFiles(str(tmp_path), SCHEMA)
        )

    source = opened()
    start = source.advance(source.begin(), 5)
    end = source.advance(start, 20)
    planned = [
        row for piece in opened().pieces(start, end, 2) for row in piece.read(SCHEMA).rows["K"].to_pylist()
    ]
    assert planned == list(range(5, 25))
    write(tmp_path, 1, now)
    with pytest.raises(AuroraError, match=r"f1\.\w+ was replaced, changed or removed"):
        opened().pieces(start, end, 2)
