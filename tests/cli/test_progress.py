"""What a run tells while it runs, where there is no terminal."""

import pytest

from aurora.cli.progress import RunWatch
from aurora.engine.statistics import BatchReport


def test_a_plain_line_every_ten_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    now = [100.0]
    with RunWatch(lambda: now[0]) as watch:
        for batch, moment in enumerate((103.0, 109.9, 110.0, 119.0, 120.5, 140.0)):
            now[0] = moment
            watch(BatchReport(batch, {"a": 100}, batch == 1, 0, {}, {}, 0.0, batch == 5))
    assert capsys.readouterr().err.splitlines() == [
        "10 s: batch 2: 300 rows out, 30 rows/s, 1 rejects",
        "20 s: batch 4: 500 rows out, 24 rows/s, 1 rejects",
    ]


def test_a_line_for_a_set_that_takes_long_to_store(capsys: pytest.CaptureFixture[str]) -> None:
    now = [100.0]
    with RunWatch(lambda: now[0]) as watch:
        for rows, moment in ((1000, 103.0), (2000, 111.0), (3000, 112.0), (4000, 121.0)):
            now[0] = moment
            watch.store("people", rows)
    assert capsys.readouterr().err.splitlines() == [
        "11 s: storing people: 2,000 rows",
        "21 s: storing people: 4,000 rows",
    ]
