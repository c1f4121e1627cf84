"""Controls: how the source learns of them, and that a batch that is run again obeys its own."""

from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.datasource import ReadAllAvailable

from aurora import Controls, Memory, Network, Schema, Settings, Source, run, start
from aurora.engine.controls import ControlNotes
from aurora.engine.pacing import FIRST
from aurora.engine.plan.plan import plan_network
from aurora.engine.sources.files.line_files import LineFiles
from aurora.engine.spark.lazy_pickle import LazyPickle
from aurora.engine.spark.source import Admission, Stopwatch, TrainReader
from aurora.engine.wagons import Job
from tests.engine.brake import Brake

SCHEMA = "g int, t int"
ROWS = [{"g": i % 2, "t": i // 2} for i in range(60)]


def sums() -> Network:
    network = Network("sums")
    order = {"on": "t", "group_by": ["g"]}
    network.output(
        "sums", network.input("rows", SCHEMA).aggregate({"n": "count(*)"}, order=order, size=2, name="sums")
    )
    return network


def admission(source: Source, rows: int = 10, **more: Any) -> Admission:
    job = Job(plan_network(sums()), 1, {}, "")
    return Admission(LazyPickle(job), {"rows": source}, rows, 1, False, 1, **more)


def test_controls_are_plain_json_and_forget_what_they_do_not_know() -> None:
    controls = Controls(rows=7, paused=True, until=3)
    assert Controls.from_json(controls.to_json()) == controls
    assert Controls.from_json({"rows": 7, "of a later version": 1}) == Controls(rows=7)


def test_a_paused_run_makes_the_batches_of_its_steps_alone() -> None:
    assert [Controls().allow(made) for made in (0, 9)] == [True, True]
    assert [Controls(paused=True).allow(made) for made in (0, 9)] == [False, False]
    assert [Controls(paused=True, until=3).allow(made) for made in (2, 3)] == [True, False]


def test_orders_and_answers(tmp_path: Path) -> None:
    notes = ControlNotes(str(tmp_path))
    assert notes.last_order() == (0, Controls()) and notes.last_answer() == (-1, 0)
    notes.order(4, Controls(rows=2))
    notes.answer(4, 9)
    assert notes.last_order() == (4, Controls(rows=2)) and notes.last_answer() == (4, 9)
    notes.begin()
    assert notes.last_order() == (0, Controls()) and notes.last_answer() == (-1, 0)


def test_a_batch_of_wide_rows_has_fewer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aurora.engine.spark.source.MOST_BYTES", 1000)
    path = tmp_path / "rows.csv"
    path.write_text("g,t\n" + "11111111,2\n" * 300)
    admits = admission(LineFiles(str(path), "csv", Schema.parse(SCHEMA)), rows=200)
    first = admits.next(admits.first(), 0)
    second = admits.next(first, 1)
    taken = first["inputs"]["rows"]["row"], second["inputs"]["rows"]["row"] - first["inputs"]["rows"]["row"]
    assert all(80 < rows <= 110 for rows in taken)


def test_the_offset_carries_the_controls_of_its_batch() -> None:
    admits = admission(Memory.of(SCHEMA, ROWS))
    first = admits.next(admits.first(), 1000)
    second = admits.next(first, 1001, Controls(rows=3))
    third = admits.next(second, 1002, Controls(rows=99))
    assert [offset["inputs"]["rows"]["row"] for offset in (first, second, third)] == [10, 13, 23]
    assert [offset["batch"] for offset in (first, second, third)] == [1, 2, 3]
    assert [Controls.from_json(offset["controls"]).rows for offset in (first, second, third)] == [None, 3, 99]
    assert admits.next(third, 1003, Controls(paused=True)) is third
    assert admits.next(third, 1003, Controls(paused=True, until=4))["batch"] == 4


def test_the_first_batch_is_made_even_if_there_is_nothing() -> None:
    """Spark makes it anyway: so every batch has an offset of its own."""
    admits = admission(Memory.of(SCHEMA, ROWS))
    held = admits.next(admits.first(), 1000, Controls(paused=True))
    assert (held["batch"], held["inputs"]["rows"]["row"], held["end"]) == (1, 0, False)


def test_the_source_answers_when_the_batch_before_is_done(tmp_path: Path) -> None:
    notes = ControlNotes(str(tmp_path))
    notes.order(1, Controls(paused=True))
    reader = TrainReader(LazyPickle(admission(Memory.of(SCHEMA, ROWS), notes=str(tmp_path))))
    begun = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    assert begun["batch"] == 1 and notes.last_answer() == (-1, 0)
    assert reader.latestOffset(begun, ReadAllAvailable()) is begun and notes.last_answer() == (1, 1)
    notes.order(2, Controls(paused=True, until=2))
    stepped = reader.latestOffset(begun, ReadAllAvailable())
    assert stepped["batch"] == 2 and notes.last_answer() == (2, 1)
    assert reader.latestOffset(stepped, ReadAllAvailable()) is stepped
    tasks = reader.partitions(begun, stepped)
    assert {task.controls for task in tasks} == {Controls(paused=True, until=2)}


def test_waiting_for_input_is_no_part_of_what_a_batch_took() -> None:
    watch = Stopwatch()
    offset = {"batch": 3, "wall": 5000}
    assert watch.took(offset, 9000) is None, "admitted by another process"
    watch.admit({"batch": 4, "wall": 10_000})
    assert watch.took({"batch": 4, "wall": 10_000}, 10_700) == 700
    assert watch.took({"batch": 4, "wall": 10_000}, 99_000) == 700


class Live(Memory):
    @property
    def live(self) -> bool:
        return True


class History(Live):
    history = True


@pytest.mark.parametrize(
    ("kind", "target", "lengths"),
    [
        (Memory, None, [10**6, 10**6]),
        (Memory, 2000, [FIRST, 400_000]),
        (Live, None, [FIRST, 400_000]),
        (History, None, [10**6, 10**6]),
    ],
)
def test_trains_of_stored_files_are_long_unless_a_time_is_given(
    kind: type[Memory], target: int | None, lengths: list[int]
) -> None:
    memory = Memory.of(SCHEMA, [{"g": 1, "t": 1}] * 400_000)
    admits = admission(kind(memory.schema, memory.rows), 10**6, target=target)
    first = admits.next(admits.first(), 1000)
    second = admits.next(first, 1500, took=500) if not first["end"] else first
    assert [first["length"], second["length"]] == lengths


def test_a_batch_that_is_run_again_obeys_its_own_controls(spark: SparkSession, tmp_path: Path) -> None:
    """The commit of the last batch is lost; the run that goes on is under other controls than the batch was."""
    checkpoint = tmp_path / "checkpoint"
    sources, sinks = {"rows": Memory.of(SCHEMA, ROWS)}, {"sums": f"csv:{tmp_path}/out.csv"}
    settings = Settings(batch=10, partitions=1, checkpoint=str(checkpoint))
    notes: dict[int, str] = {}

    def keep(report: Any) -> None:
        notes[report.batch] = (checkpoint / "committed.json").read_text()

    brake = Brake(watch=keep)
    with start(sums(), sources, sinks, settings, brake) as running:
        brake.pull(running)
        running.set_train_length(3)
        running.step(2)
        short = list(islice((report for report in running.batches() if report.controls.rows == 3), 2))
        running.pause()
    last = short[-1]
    assert last.controls.rows == 3 and last.batch == max(notes)
    (checkpoint / "committed.json").write_text(notes[last.batch - 1])
    # A run that was killed has left it.
    (tmp_path / ".out.csv.staged").mkdir()
    for name in (str(last.batch), f".{last.batch}.crc"):
        (checkpoint / "spark" / "commits" / name).unlink(missing_ok=True)
    again: list[Any] = []
    run(sums(), sources, sinks, settings, again.append)
    assert ControlNotes(str(checkpoint)).last_order()[1] == Controls()
    first, second = again[:2]
    assert (first.batch, first.places, first.rows, first.controls) == (
        last.batch, last.places, last.rows, last.controls
    )  # fmt: skip
    assert second.controls == Controls()
    assert second.places["rows"]["row"] == last.places["rows"]["row"] + 10
    run(sums(), sources, {"sums": f"csv:{tmp_path}/whole.csv"}, Settings(partitions=1))
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
