"""What a kill leaves of Spark's own notes, and real runs that go on from there."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from aurora import AuroraError, Network, Settings, TextSink, run, start
from aurora.engine.binding import Bound
from aurora.engine.spark_run import SparkRun
from tests.engine.brake import Brake
from tests.engine.without_spark import base, files

ROWS = "".join(f"{i},{i},{i * 17 % 60}\n" for i in range(20))


def test_a_kill_while_spark_writes_its_first_offset(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(ROWS)
    sources, sinks = {"r": f"csv:{tmp_path}/r.csv"}, {"far": f"csv:{tmp_path}/far.csv"}
    with Bound.of(base(), sources, sinks, Settings()) as bound:
        bound.commits()
    offsets = bound.checkpoint.spark / "offsets"
    offsets.mkdir(parents=True)
    (offsets / ".0.3c4d6f0e-5d3b-4b52-9ef1-7a3a1a4ff1f5.tmp").write_text("v1\n{")
    result = run(base(), sources, sinks, Settings(batch=8))
    assert result.ended and result.totals.rows["far"] == 10
    assert sorted(files(tmp_path)) == ["far.csv", "r.csv"]
    assert (tmp_path / "far.csv").read_bytes().count(b"\n") == 11


def test_a_run_that_failed_says_why_and_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    """The output is shortened in between: a fault, until it is as it was."""
    (tmp_path / "r.csv").write_text(ROWS)
    sources, path = {"r": f"csv:{tmp_path}/r.csv"}, tmp_path / "far.txt"
    calls: list[int] = []

    def lines(rows, arrived) -> bytes:  # type: ignore[no-untyped-def]
        calls.append(rows.num_rows)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        return "".join(f"{sid}\n" for sid in rows["Sid"].to_pylist()).encode()

    sinks = {"far": TextSink(str(path), lines)}
    with pytest.raises(AuroraError, match=rf"^cannot write {path}: No space left on device; fix the cause"):
        run(base(), sources, sinks, Settings(batch=8))
    before = path.read_bytes()
    assert before
    path.write_bytes(b"")
    with pytest.raises(
        AuroraError, match=rf"{path} has 0 bytes, the checkpoint says that {len(before)} were written"
    ):
        run(base(), sources, sinks, Settings(batch=8))
    path.write_bytes(before)
    assert run(base(), sources, sinks, Settings(batch=8)).ended
    far = [i for i in range(20) if i * 17 % 60 >= 30]
    assert path.read_text().split() == [str(i) for i in far]
    assert sorted(files(tmp_path)) == ["far.txt", "r.csv"]


def test_a_finished_run_with_a_kept_checkpoint_is_done(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(ROWS)
    sources, sinks = {"r": f"csv:{tmp_path}/r.csv"}, {"far": f"parquet:{tmp_path}/far"}
    kept = Settings(checkpoint=str(tmp_path / "kept"))
    first = run(base(), sources, sinks, kept)
    written = files(tmp_path / "far")
    again = run(base(), sources, sinks, kept)
    assert again.already and not first.already and again.totals == first.totals
    assert files(tmp_path / "far") == written
    (tmp_path / "r.csv").write_text(ROWS + "20,20,40\n")
    grown = run(base(), sources, sinks, kept)
    assert grown.ended and not grown.already and grown.totals.rows["far"] == first.totals.rows["far"] + 1


def test_a_batch_that_comes_when_the_run_is_stopped_is_left_to_the_next(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If it were passed over in peace, Spark would count it as done, and its rows were lost."""
    (tmp_path / "r.csv").write_text(ROWS)
    sources, sinks = {"r": f"csv:{tmp_path}/r.csv"}, {"far": f"csv:{tmp_path}/far.csv"}
    take, refused = SparkRun._take, []

    def stopped_at_the_second(self: SparkRun, batch: DataFrame, number: int) -> None:
        if number == 1:
            self._stopped.set()
        try:
            take(self, batch, number)
        except Exception:
            refused.append(number)
            raise

    with monkeypatch.context() as patch:
        patch.setattr(SparkRun, "_take", stopped_at_the_second)
        result = run(base(), sources, sinks, Settings(batch=5))
    assert refused == [1] and not result.ended and result.totals.batch == 0
    assert run(base(), sources, sinks, Settings(batch=5)).ended
    assert (tmp_path / "far.csv").read_bytes().count(b"\n") == 11


def test_one_wrong_bit_in_a_file_of_sparks_is_told_with_its_name(spark: SparkSession, tmp_path: Path) -> None:
    """In every file that Spark still needs. Of what it needs no more, a run goes on to the right rows."""
    desk, saved, wanted = tmp_path / "desk", tmp_path / "saved", tmp_path / "wanted.csv"
    desk.mkdir()
    (desk / "r.csv").write_text(ROWS)
    network = Network("last")
    stream = network.input("r", "Sid int, Time int, Pos int")
    order = {"on": "Time", "slack": 1}
    network.output("last", stream.aggregate({"Pos": "max(Pos)"}, order=order, size=3, name="last"))
    settings = Settings(batch=2, partitions=1, checkpoint=str(desk / "kept"))
    sources, sinks = {"r": f"csv:{desk}/r.csv"}, {"last": f"csv:{desk}/last.csv"}
    run(network, sources, {"last": f"csv:{wanted}"}, Settings(batch=2, partitions=1))
    brake = Brake(2)
    with start(network, sources, sinks, settings, brake) as running:
        # Spark has noted the end of this batch when the run is stopped, and begun no other.
        brake.pull(running)
        assert not running.stop().ended
    shutil.copytree(desk, saved)
    named, names = (
        set(),
        [file.relative_to(desk) for file in (desk / "kept" / "spark").rglob("*") if file.is_file()],
    )
    for name in sorted(names):
        shutil.rmtree(desk)
        shutil.copytree(saved, desk)
        content = bytearray((saved / name).read_bytes())
        content[len(content) * 2 // 3] ^= 1
        (desk / name).write_bytes(content)
        try:
            run(network, sources, sinks, settings)
        except AuroraError as fault:
            assert str(desk / name) in str(fault) and "start over with --fresh" in str(fault)
            assert "\n" not in str(fault)
            named.add(str(name))
        else:
            assert (desk / "last.csv").read_bytes() == wanted.read_bytes()
    last = {f"kept/spark/{file}" for file in ("metadata", "offsets/2", "offsets/1", "commits/2", "commits/1")}
    kinds = {"_metadata/v2/0", "_stateSchema/", ".changelog"}
    assert last <= named and all(any(kind in name for name in named) for kind in kinds)


def test_state_that_is_damaged_ends_the_next_run(spark: SparkSession, tmp_path: Path) -> None:
    """As a power cut could leave it where Spark does not wait for the disk."""
    (tmp_path / "r.csv").write_text(ROWS)
    network = Network("last")
    stream = network.input("r", "Sid int, Time int, Pos int")
    order = {"on": "Time", "slack": 1}
    network.output("last", stream.aggregate({"Pos": "max(Pos)"}, order=order, size=3, name="last"))
    settings = Settings(batch=5, partitions=1, checkpoint=str(tmp_path / "kept"))
    sources, sinks = {"r": f"csv:{tmp_path}/r.csv"}, {"last": f"csv:{tmp_path}/last.csv"}
    brake = Brake()
    with start(network, sources, sinks, settings, brake) as running:
        brake.pull(running)
        assert not running.stop().ended
    states = [*(tmp_path / "kept" / "spark" / "state" / "0" / "0").glob("1_*")]
    assert states
    for state in states:
        state.write_bytes(bytes(state.stat().st_size))
    with pytest.raises(
        AuroraError, match=r"^the state in the checkpoint cannot be read: \S+ is damaged \([^\n]+; restore "
    ):
        run(network, sources, sinks, settings)
    assert run(network, sources, sinks, replace(settings, fresh=True)).ended
