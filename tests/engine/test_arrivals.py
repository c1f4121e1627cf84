"""Lines that wait in a spool have come when they came, not when a batch takes them."""

from pathlib import Path

import numpy as np

from aurora.algebra.tuples.schema import Schema
from aurora.engine.sources.live.arrivals import Marker, read_marks
from aurora.engine.sources.live.spool import SpooledLines, SpoolWriter
from aurora.engine.sources.text.lines import Style

SCHEMA = Schema.parse("a int, b int")


class Clock:
    def __init__(self) -> None:
        self.now = 1000

    def __call__(self) -> int:
        return self.now


def make_spool(folder: Path, segment: int = 1 << 20) -> tuple[SpoolWriter, Clock]:
    writer, clock = SpoolWriter(folder, segment), Clock()
    writer._marker = Marker(clock)
    assert writer.open()
    return writer, clock


def read_all(folder: Path, cut: int = 100, number: int = 2) -> list[tuple[int, int]]:
    source = SpooledLines(str(folder), "tcp:x", Style("csv"), SCHEMA)
    found, end = [], source.begin()
    while not source.finished(end):
        start, end = end, source.advance(end, cut)
        for piece in source.pieces(start, end, number):
            portion = piece.read(SCHEMA)
            assert portion.arrived is not None
            found += list(zip(portion.rows["a"].to_pylist(), portion.arrived.tolist(), strict=True))
    return found


def write(folder: Path, segment: int = 1 << 20) -> dict[int, int]:
    """Lines of one length in chunks, each at its time; gives the time of each."""
    writer, clock = make_spool(folder, segment)
    times = {}
    for chunk in range(6):
        clock.now = 1000 + 500 * chunk
        writer.append(b"".join(b"%03d,1\n" % (100 + 10 * chunk + i) for i in range(10)))
        times |= {100 + 10 * chunk + i: clock.now for i in range(10)}
    writer.end()
    return times


def test_each_row_has_the_time_at_which_it_came_however_it_is_cut(tmp_path: Path) -> None:
    times = write(tmp_path / "spool")
    for cut, number in ((100, 1), (100, 3), (7, 2), (1, 1)):
        assert dict(read_all(tmp_path / "spool", cut, number)) == times


def test_times_go_with_their_segments(tmp_path: Path) -> None:
    times = write(tmp_path / "spool", segment=100)
    assert dict(read_all(tmp_path / "spool", 13)) == times
    source = SpooledLines(str(tmp_path / "spool"), "tcp:x", Style("csv"), SCHEMA)
    before = len(list((tmp_path / "spool").glob("*.times")))
    source.forget(source.advance(source.begin(), 60))
    assert before > 2 and len(list((tmp_path / "spool").glob("*.times"))) == 1


def test_marks_are_few_and_one_that_is_cut_off_is_none(tmp_path: Path) -> None:
    writer, clock = make_spool(tmp_path / "spool")
    for _ in range(100):
        clock.now += 1
        writer.append(b"1,2\n")
    segment = str(next(path for path in (tmp_path / "spool").iterdir() if path.name.isdigit()))
    assert len(read_marks(segment)) == 5
    with open(f"{segment}.times", "ab") as file:
        file.write(np.int64(7).tobytes())
    assert len(read_marks(segment)) == 5


def test_a_spool_of_an_earlier_version_has_no_times(tmp_path: Path) -> None:
    (tmp_path / f"{0:020}").write_bytes(b"1,2\n")
    (tmp_path / "ended").touch()
    source = SpooledLines(str(tmp_path), "tcp:x", Style("csv"), SCHEMA)
    (piece,) = source.pieces(source.begin(), source.advance(source.begin(), 9), 1)
    assert piece.read(SCHEMA).arrived is None
