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


@pytest.mark.parametrize(("ended", "rows"), [("\n", [3, 4]), ("", None)])
def test_a_stored_file_that_grows_in_its_last_line(
    ended: str, rows: list[int] | None, tmp_path: Path
) -> None:
    """What comes behind half a line that was read as a whole one is no line of its own."""
    path, schema = tmp_path / "a.csv", Schema.parse("a int")
    path.write_text(f"a\n1\n12{ended}")
    source = LineFiles(str(path), "csv", schema)
    place = source.advance(source.begin(), 10)
    assert place["row"] == 2
    with open(path, "a") as file:
        file.write("3\n4\n")
    source = LineFiles(str(path), "csv", schema)
    if rows is None:
        told = r"^line 3 of a.csv was not ended when it was read, and the file has grown since: run it again with --fr"
        with pytest.raises(AuroraError, match=told):
            source.advance(place, 10)
    else:
        portions = [piece.read(schema) for piece in source.pieces(place, source.advance(place, 10), 1)]
        assert [row["a"] for portion in portions for row in portion.rows.to_pylist()] == rows
