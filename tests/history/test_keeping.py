"""Where the history of a point begins, and what may be removed: against naive versions, with a virtual clock."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.history import segments
from aurora.history.keeping import find_first, remove_old
from aurora.history.log import Log, log_file
from aurora.history.point_sink import PointSink
from aurora.history.point_source import note_reader
from aurora.network.points import Keep
from tests.history.logs import Row, count, make_point, read_all, write

# n, t with disorder, null and NaN, and the arrival, which goes backwards too.
times = st.one_of(st.none(), st.just(math.nan), st.integers(-5, 40).map(float))
rows = st.lists(
    st.tuples(st.integers(0, 9), times, st.just("g"), st.integers(0, 60)), min_size=1, max_size=20
)
keeps = st.one_of(
    st.builds(Keep, rows=st.integers(1, 12)), st.builds(Keep, span=st.integers(0, 30)), st.just(Keep())
)


def numbered(rows: list[Row]) -> list[Row]:
    return [(n, *row[1:]) for n, row in enumerate(rows)]


def naive_first(rows: list[Row], keep: Keep, on: bool, now: float, removed: int = 0) -> int:
    """Of the rows that are there, the first that belongs to the last `keep.rows`, or lies within the span."""
    if keep.rows is not None:
        return max(len(rows) - keep.rows, removed)
    if keep.span is None:
        return removed
    values = [(row[1] if on else row[3]) for row in rows]
    there = [value for value in values if value is not None and not math.isnan(value)]
    if on and not there:
        return removed
    bound = max(there) - keep.span if on else now * 1000 - keep.span
    belongs = (n for n, value in enumerate(values) if n >= removed and value is not None and value >= bound)
    return next(belongs, len(rows))


@given(
    rows,
    keeps,
    st.booleans(),
    st.integers(1, 6),
    st.integers(0, 60),
    st.lists(st.integers(0, 20), max_size=2),
)
def test_history_begins_where_it_says_and_is_not_removed(
    tmp_path_factory: pytest.TempPathFactory,
    given: list[Row],
    keep: Keep,
    on: bool,
    size: int,
    now: int,
    readers: list[int],
) -> None:
    folder, given = str(tmp_path_factory.mktemp("log")), numbered(given)
    point = make_point(keep, "t" if on else None)
    batches = [given[at : at + size] for at in range(0, len(given), size)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "ROWS", 3)
        write(PointSink(folder, point), batches)
    log, clock = Log(folder), now / 1000
    for asked in (keep, Keep(rows=3), Keep(span=4), Keep(rows=0), Keep()):
        assert find_first(log, point, asked, now=clock) == naive_first(given, asked, on, clock)
    for number, row in enumerate(readers):
        note_reader(folder, f"q{number}/0", row)
    files = log.files()
    kept = find_first(log, point, keep, now=clock)
    needed = min([kept, *readers])
    gone = remove_old(log, point, clock)
    first = log.first()
    assert first <= needed and log.files() == files[gone:]
    assert repr(read_all(folder, first)) == repr(given[first:])
    assert find_first(log, point, keep, now=clock) == kept
    # All files whose rows are past everything go, but for the last.
    assert gone == sum(after <= needed for after in files[1:])
    assert remove_old(log, point, clock) == 0


def test_nothing_is_removed_that_a_reader_with_an_unreadable_note_may_need(tmp_path: Path) -> None:
    """A power cut can leave a note empty."""
    point = make_point(Keep(rows=1))
    write(PointSink(str(tmp_path), point), [count(n, 1) for n in range(5)])
    note_reader(str(tmp_path), "near.partial/0", 4)
    note_reader(str(tmp_path), "far/0", 4)
    (tmp_path / "readers" / "far" / "0").write_text("")
    log = Log(str(tmp_path))
    assert remove_old(log, point) == 0
    note_reader(str(tmp_path), "far/0", 3)
    assert remove_old(log, point) == 3 and log.files() == [3, 4]


def test_two_inputs_of_a_query_have_a_note_each(tmp_path: Path) -> None:
    point = make_point(Keep(rows=1))
    write(PointSink(str(tmp_path), point), [count(n, 1) for n in range(5)])
    note_reader(str(tmp_path), "both/0", 1)
    note_reader(str(tmp_path), "both/1", 4)
    assert remove_old(Log(str(tmp_path)), point) == 1


def test_what_is_not_published_yet_is_neither_kept_nor_removed(tmp_path: Path) -> None:
    point = make_point(Keep(rows=1))
    sink = PointSink(str(tmp_path), point)
    write(sink, [count(0, 2), count(2, 2)])
    for kind in (".rows", ".index"):
        Path(log_file(str(tmp_path), 4, kind)).touch()
    log = Log(str(tmp_path))
    assert find_first(log, point, Keep(rows=1)) == 3
    assert remove_old(log, point) == 1 and log.files() == [2, 4]


@pytest.mark.parametrize("on", [None, "t"])
def test_files_are_short_beside_what_is_kept(tmp_path: Path, on: str | None) -> None:
    """So that no more than a quarter too much is ever there."""
    point = make_point(Keep(span=40), on)
    sink, log = PointSink(str(tmp_path), point), Log(str(tmp_path))
    note = None
    for n in range(200):
        note = write(sink, [[(n, float(n), "g", n)]], note)
        remove_old(log, point, n / 1000)
        assert n - 52 <= log.first() <= max(n - 40, 0)
