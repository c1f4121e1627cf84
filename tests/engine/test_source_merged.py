"""Files merged by a field: the rows that a plain sort gives, for every cut and restart; and what is refused."""

import json
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aurora import AuroraError, Schema
from aurora.engine.sources.address import check_source, open_source
from aurora.engine.sources.files.merged import LEAST, MergedFiles
from aurora.engine.sources.files.merged_piece import count_first
from tests.engine.test_sources import drained, rows_of
from tests.thoroughness import examples

SCHEMA = Schema.parse("t int, file int, n int")


def write(folder: Path, files: list[list[int | None]], bad: bool = False) -> list[dict[str, int]]:
    """Files whose rows have these values of t, None for a line that has none; gives the rows in the right order."""
    rows = []
    for number, values in enumerate(files):
        last, lines = -(2**62), []
        for n, t in enumerate(values):
            last = last if t is None else t
            text = "x" if t is None else str(t)
            lines.append(f"{text},{number},{n}\n")
            if t is not None:
                rows.append((last, number, n))
        (folder / f"part-{number}.csv").write_text("".join(lines))
    return [{"t": t, "file": file, "n": n} for t, file, n in sorted(rows)]


def opened(folder: Path, options: str = "", notes: Path | None = None) -> MergedFiles:
    address = f"csv:{folder}/part-*.csv?header=no&merge=t{options}"
    check_source("in", address)
    notes = notes or folder / "notes"
    notes.mkdir(exist_ok=True)
    source, _ = open_source("in", address, SCHEMA, False, notes)
    assert isinstance(source, MergedFiles)
    return source


VALUES = st.lists(st.one_of(st.integers(-3, 6), st.none()), max_size=12)


def ascending(values: list[int | None]) -> list[int | None]:
    """The same numbers in order, with the gaps where they are."""
    numbers = iter(sorted(value for value in values if value is not None))
    return [None if value is None else next(numbers) for value in values]


@settings(max_examples=examples(60, 500), deadline=None)
@given(
    files=st.lists(VALUES.map(ascending), min_size=1, max_size=4),
    rows=st.integers(1, 9),
    pieces=st.integers(1, 4),
)
def test_the_rows_of_a_plain_sort_for_every_cut(
    tmp_path_factory: pytest.TempPathFactory, files: list[list[int | None]], rows: int, pieces: int
) -> None:
    folder = tmp_path_factory.mktemp("files")
    right = write(folder, files)
    portions = drained(opened(folder), SCHEMA, rows, pieces)
    assert rows_of(portions) == right
    numbers = np.concatenate([portion.numbers for portion in portions] or [np.empty(0, int)])
    whole = drained(opened(folder), SCHEMA, 1000, 1)
    assert numbers.tolist() == [int(number) for portion in whole for number in portion.numbers]
    found = sorted((bad.file, bad.line, bad.text) for portion in portions for bad in portion.rejects)
    assert found == sorted(
        (f"part-{file}.csv", n + 1, f"x,{file},{n}")
        for file, values in enumerate(files)
        for n, value in enumerate(values)
        if value is None
    )


def test_a_restart_goes_on_in_the_same_order(tmp_path: Path) -> None:
    """Every batch is planned by one process, and cut into pieces by another that knows nothing but its cursors."""
    chance = random.Random(1)
    right = write(tmp_path, [sorted(chance.choices(range(40), k=200)) for _ in range(3)])
    cursor, rows, finished = opened(tmp_path).begin(), [], False
    while not finished:
        source = opened(tmp_path)
        reached = json.loads(json.dumps(source.advance(cursor, chance.randint(1, 90))))
        for piece in opened(tmp_path).pieces(cursor, reached, 3):
            rows += piece.read(SCHEMA).rows.to_pylist()
        assert reached["row"] == len(rows)
        cursor, finished = reached, opened(tmp_path).finished(reached)
    assert rows == right


def test_little_of_the_files_is_looked_at_ahead(tmp_path: Path) -> None:
    right = write(tmp_path, [list(range(20_000)), [5] * 20_000, list(range(100_000, 120_000))])
    source = opened(tmp_path)
    cursor = source.advance(source.begin(), 100)
    assert max(len(stretch.keys) for stretch in source._ahead.values()) <= LEAST
    assert cursor["row"] == 100 and source.waiting(cursor) > 40_000
    assert rows_of(drained(opened(tmp_path), SCHEMA, 7000)) == right


def test_one_file_that_has_most(tmp_path: Path) -> None:
    assert count_first([np.array([1] * 10), np.array([], int), np.array([1])], 3) == [3, 0, 0]
    assert count_first([np.array([2]), np.array([1, 1])], 0) == [0, 0]
    right = write(tmp_path, [[1], [], [0, 0, 1, 1, 1]])
    assert rows_of(drained(opened(tmp_path), SCHEMA, 2)) == right


def test_headers_and_times(tmp_path: Path) -> None:
    schema = Schema.parse("at timestamp, n int")
    (tmp_path / "a.csv").write_text("n,at\n1,2020-01-01 00:00:00\n4,2020-01-03 00:00:00\n")
    (tmp_path / "b.csv").write_text("at,n\n2020-01-01 00:00:00,2\n2020-01-02 00:00:00,3\n")
    (tmp_path / "c.csv").write_text("at,n\n")
    source, _ = open_source("in", f"csv:{tmp_path}/*.csv?merge=at", schema, False, tmp_path)
    assert [row["n"] for row in rows_of(drained(source, schema, 1))] == [1, 2, 3, 4]
    end = source.advance(source.begin(), 10)
    assert source.finished(end) and not source.finished(source.begin()) and not source.live


def test_a_file_that_is_not_ordered(tmp_path: Path) -> None:
    write(tmp_path, [[1, 2, 3], [5, None, 7, 6]])
    fix = r"sort it first \(sort -s -t',' -k1,1n\)"
    message = rf"^{tmp_path}/part-1.csv is not ordered by t: line 4 has t 6 after 7; {fix}$"
    with pytest.raises(AuroraError, match=message):
        drained(opened(tmp_path), SCHEMA, 2)


def test_a_hexadecimal_value_goes_with_the_row_before_it(tmp_path: Path) -> None:
    """As every value that cannot be read: it neither breaks the order nor moves the row."""
    (tmp_path / "part-0.csv").write_text("1,0,0\n0x9,0,1\n2,0,2\n")
    (tmp_path / "part-1.csv").write_text("1,1,0\n3,1,1\n")
    portions = drained(opened(tmp_path), SCHEMA, 2)
    assert [row["t"] for row in rows_of(portions)] == [1, 1, 2, 3]
    rejects = [(bad.file, bad.line, bad.reason) for portion in portions for bad in portion.rejects]
    assert rejects == [("part-0.csv", 2, "field t: '0x9' is not an int")]


def test_a_file_that_was_changed(tmp_path: Path) -> None:
    write(tmp_path, [[1, 2, 3], [5, 6]])
    cursor = opened(tmp_path).advance(opened(tmp_path).begin(), 2)
    (tmp_path / "part-0.csv").write_text("9,9,9\n9,9,9\n")
    with pytest.raises(AuroraError, match=r"part-0.csv was replaced, changed or removed"):
        opened(tmp_path).advance(cursor, 2)


def test_rows_of_merged_files_that_break_a_check_are_found_again(tmp_path: Path) -> None:
    write(tmp_path, [[1, 2, 3], [1, 2, 3]])
    (portion,) = drained(opened(tmp_path), SCHEMA, 10, 1)
    assert portion.origins is not None
    found = portion.origins(portion.numbers[np.array([1, 4, 0])])
    assert [(bad.file, bad.line, bad.text) for bad in found] == [
        ("part-1.csv", 1, "1,1,0"),
        ("part-0.csv", 3, "3,0,2"),
        ("part-0.csv", 1, "1,0,0"),
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("?merge=tt", r"source in: merge=tt: there is no such field \(did you mean t\?\)"),
        ("?merge=name", "source in: merge=name: the field is string; files are merged by a whole number"),
        ("?merge=t&end=_done", "source in: files that are merged are read once, and stay; leave out end"),
    ],
)
def test_what_cannot_be_merged(tmp_path: Path, options: str, message: str) -> None:
    (tmp_path / "a.csv").write_text("1,x\n")
    address = f"csv:{tmp_path}/*.csv{options}"
    with pytest.raises(AuroraError, match=message):
        check_source("in", address)
        open_source("in", address, Schema.parse("t int, name string"), False, tmp_path)


def test_a_single_file_needs_no_merge(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1\n")
    with pytest.raises(AuroraError, match="merge is for the files of a folder or pattern"):
        check_source("in", f"csv:{tmp_path}/a.csv?merge=t")


def test_a_file_that_grows_meanwhile(tmp_path: Path) -> None:
    """Its new rows would stand behind rows that come after them: a fault, not a run that waits for ever."""
    write(tmp_path, [[1, 2], [3, 4]])
    source = opened(tmp_path)
    cursor = source.advance(source.begin(), 3)
    with (tmp_path / "part-0.csv").open("a") as file:
        file.write("50,0,2\n")
    told = (
        r"part-0.csv had 12 bytes when the run began and has 19 now: files that are merged must be complete"
    )
    for again in (source, opened(tmp_path)):
        with pytest.raises(AuroraError, match=told):
            again.advance(cursor, 10)
        with pytest.raises(AuroraError, match=told):
            again.finished(cursor)


def test_a_folder_without_files(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with pytest.raises(
        AuroraError, match=r"^source in: no file fits .*in; put the files there before you start$"
    ):
        open_source("in", f"csv:{tmp_path}/in?merge=t", SCHEMA, False, tmp_path)
