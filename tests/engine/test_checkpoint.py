"""A checkpoint is one run's, and a kill while it is begun, mended or removed costs nothing."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from aurora import AuroraError, Network, Settings, from_text
from aurora.algebra.tuples.train import Ints
from aurora.engine import checkpoint as module
from aurora.engine.binding import Bound
from aurora.engine.checkpoint import Checkpoint
from aurora.engine.durable import read_json
from aurora.engine.sinks.sink import Note
from aurora.engine.spark.leftovers import settle_spark
from aurora.engine.spark.sums import SparkSums, seal_offset
from aurora.engine.totals import Totals
from tests.engine.without_spark import BASE, ZONED, base, commit_all, files, run_here

ROWS = "Sid,Time,Pos\n1,1,34\n2,1,24\n3,2,35\n"
FAR = b"Sid,Time,Pos\n1,1,34\n3,2,35\n"
MORE = "4,3,50\n"


class Killed(BaseException):
    pass


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.csv").write_text(ROWS)
    return tmp_path


def test_a_run_goes_on_with_the_values_that_it_began_with(desk: Path) -> None:
    def claim(**values: Any) -> None:
        network = base()
        network.parameters = values
        kept = Settings(checkpoint="kept")
        with Bound.of(network, {"r": "csv:r.csv"}, {"far": "csv:far.csv"}, kept) as bound:
            commit_all(bound, bound.commits())

    claim(rate=5, word="x")
    claim(rate=5, word="x")
    told = r"holds a run in which parameter rate is 5, not 7: give --set rate=5, or start over with --fresh"
    with pytest.raises(AuroraError, match=told):
        claim(rate=7, word="x")


def bind(settings: Settings | None = None, **sinks: str) -> Bound:
    return Bound.of(base(), {"r": "csv:r.csv"}, sinks or {"far": "csv:far.csv"}, settings or Settings())


def finish_but_keep(settings: Settings | None = None) -> None:
    """A run that is killed between its last note and the removal of its checkpoint."""
    with bind(settings) as bound:
        commit_all(bound, bound.commits())


def killed_at(patch: pytest.MonkeyPatch, step: int) -> None:
    """The next removal of a checkpoint ends before its given step."""
    left = [step]

    def counted(do: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*given: Any) -> Any:
            left[0] -= 1
            if left[0] == -1:
                raise Killed
            return do(*given)

        return counting

    for name in ("sync_folder", "_remove"):
        patch.setattr(module, name, counted(getattr(module, name)))
    patch.setattr(Path, "rmdir", counted(Path.rmdir))


@pytest.mark.parametrize("grown", [False, True])
def test_a_finished_run_killed_at_every_step_of_its_removal(desk: Path, grown: bool) -> None:
    """The same command again gives the right files, whether the input has grown or not."""
    step, killed = 0, True
    while killed:
        (desk / "r.csv").write_text(ROWS)
        with pytest.MonkeyPatch.context() as patch:
            killed_at(patch, step)
            try:
                run_here(base(), {"r": "csv:r.csv"}, {"far": "csv:far.csv"})
                killed = False
            except Killed:
                assert (desk / "far.csv").read_bytes() == FAR
        if grown:
            (desk / "r.csv").write_text(ROWS + MORE)
        totals = run_here(base(), {"r": "csv:r.csv"}, {"far": "csv:far.csv"})
        wanted = FAR + MORE.encode() if grown else FAR
        assert (desk / "far.csv").read_bytes() == wanted and totals.rows["far"] == wanted.count(b"\n") - 1
        assert sorted(os.listdir(desk)) == ["far.csv", "r.csv"]
        step += 1
    assert step > 7


class Topic:
    """Like a topic: what a run that is over has written stays there."""

    place = None

    def __init__(self) -> None:
        self.rows: list[int] = []

    def open(self, note: Note) -> Note:
        return note or 0

    def deliver(self, batch: int, rows: pa.RecordBatch, arrived: Ints, note: Note) -> Note:
        self.rows += rows["Sid"].to_pylist()
        return note + len(rows)

    def sync(self) -> None:
        pass

    def finish(self) -> None:
        pass


def test_a_run_killed_while_it_removes_its_checkpoint_has_ended(desk: Path) -> None:
    """Nothing comes twice where nothing can be taken back, as long as a note tells of the end."""
    step, told = 0, True
    checkpoint = desk / ".near.csv.checkpoint"
    while told:
        topic = Topic()
        sinks: dict[str, Any] = {"far": topic, "near": "csv:near.csv"}
        with pytest.MonkeyPatch.context() as patch, pytest.raises(Killed):
            killed_at(patch, step)
            run_here(base(), {"r": "csv:r.csv"}, sinks)
        told = not (checkpoint / "discarded").exists()
        if told:
            with Bound.of(base(), {"r": "csv:r.csv"}, sinks, Settings(partitions=1)) as bound:
                assert bound.done and bound.already_done().rows["far"] == 2
            assert topic.rows == [1, 3] and sorted(os.listdir(desk)) == ["near.csv", "r.csv"]
        step += 1
    # What is left to remove behind the point of no return.
    assert step > 2 and sorted(os.listdir(checkpoint)) == [
        "committed.json",
        "discarded",
        "network",
        "sources",
    ]
    run_here(base(), {"r": "csv:r.csv"}, {"near": "csv:near.csv"}, Settings(fresh=True))
    assert sorted(os.listdir(desk)) == ["near.csv", "r.csv"]


def test_a_fresh_start_killed_at_every_step_of_its_removal(desk: Path) -> None:
    step, killed = 0, True
    while killed:
        with bind() as bound:
            commits = bound.commits()
            commit_all(bound, commits)
        with pytest.MonkeyPatch.context() as patch:
            killed_at(patch, step)
            try:
                run_here(base(), {"r": "csv:r.csv"}, {"far": "csv:far.csv"}, Settings(fresh=True))
                killed = False
            except Killed:
                pass
        run_here(base(), {"r": "csv:r.csv"}, {"far": "csv:far.csv"})
        assert (desk / "far.csv").read_bytes() == FAR, f"killed at step {step}"
        step += 1
    assert step > 7


def test_a_finished_run_is_done_until_its_input_changes(desk: Path) -> None:
    kept = Settings(checkpoint="kept")
    finish_but_keep(kept)
    with bind(kept) as bound:
        assert bound.done and bound.already_done().rows["far"] == 2
    assert (desk / "kept" / "committed.json").exists(), "a checkpoint that was given stays"
    (desk / "r.csv").write_text(ROWS + MORE)
    with bind(kept) as bound:
        assert not bound.done
        assert bound.commits().totals.batch == -1


@pytest.mark.parametrize("kept", [None, "kept"])
def test_a_run_killed_behind_the_end_of_its_input_is_finished_before_another_begins(
    desk: Path, kept: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    """What it has read may be gone: a start over would lose the rows."""
    folder, settings = desk / "in", Settings(checkpoint=kept, partitions=1)
    folder.mkdir()
    (folder / "1.csv").write_text(ROWS)
    (folder / "end").touch()
    source, sinks = {"r": "csv:in?end=end"}, {"far": "csv:far.csv"}
    with Bound.of(base(), source, sinks, settings) as bound:
        commit_all(bound, bound.commits())
    (folder / "1.csv").unlink()
    (folder / "2.csv").write_text("Sid,Time,Pos\n" + MORE)
    with Bound.of(base(), source, sinks, settings) as bound:
        assert bound.done and bound.already_done().rows["far"] == 2
    assert (desk / "far.csv").read_bytes() == FAR
    assert "give the same command again" in caplog.text
    run_here(base(), source, sinks, settings)
    assert (desk / "far.csv").read_text() == "Sid,Time,Pos\n" + MORE


def test_a_finished_run_whose_result_is_gone_is_not_done(desk: Path) -> None:
    finish_but_keep()
    (desk / "far.csv").unlink()
    with (
        bind() as bound,
        pytest.raises(AuroraError, match=r"far.csv has 0 bytes, the checkpoint says that 27"),
    ):
        bound.already_done()


def test_another_network_table_source_or_sink_is_refused(desk: Path) -> None:
    (desk / "zones.csv").write_text("Low,Zone\n34,a\n")
    (desk / "other.csv").write_text(ROWS)

    def claim(network: Network, source: str = "r.csv", **sinks: str) -> None:
        tables = {"zones": "csv:zones.csv"} if "zones" in network.inputs else {}
        with Bound.of(network, {"r": f"csv:{source}", **tables}, sinks, Settings(checkpoint="kept")) as bound:
            commit_all(bound, bound.commits())

    claim(from_text(ZONED), out="csv:out.csv")
    claim(from_text(ZONED), out="csv:./out.csv")
    with pytest.raises(
        AuroraError, match=r"kept is the checkpoint of another network or run: it is called base"
    ):
        claim(from_text(BASE), far="csv:out.csv")
    with pytest.raises(AuroraError, match=r"a run with another source r .*r.csv.*other.csv.*--fresh"):
        claim(from_text(ZONED), "other.csv", out="csv:out.csv")
    with pytest.raises(
        AuroraError, match=r"a run with another sink out \(it was .*out.csv, now it is .*away.csv\)"
    ):
        claim(from_text(ZONED), out="csv:away.csv")
    (desk / "zones.csv").write_text("Low,Zone\n35,a\n")
    with pytest.raises(
        AuroraError, match=r"a run with another table zones: give the same table again, or start over"
    ):
        claim(from_text(ZONED), out="csv:out.csv")


def test_an_output_that_is_added_would_lack_what_came_before(desk: Path) -> None:
    kept = Settings(checkpoint="kept")
    with bind(kept, far="csv:far.csv") as bound:
        commit_all(bound, bound.commits())
    with pytest.raises(
        AuroraError,
        match=r"kept is the checkpoint of another network or run: sink near is new; give the same",
    ):
        bind(kept, far="csv:far.csv", near="csv:near.csv")


ADDED = {"boxes:": "boxes:\n  more: {filter: ['Pos > 3'], from: r}", '"], from: r}': '"], from: more}'}
RENAMED = {"over: {filter: [": "under: {filter: [", "from: over": "from: under"}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"network: base": "network: other"}, "it is called other, and was called base"),
        ({"Pos >= 30": "Pos >= 40"}, "box over is another one"),
        ({"near: {from: over.rest}": ""}, "sink near was left out"),
        ({"Time int, Pos int": "Time int, Pos double"}, "input r is another one, box over is another one"),
        (ADDED, "box more is new, box over is another one"),
        (RENAMED, "sink far is another one, .*, box over is gone, box under is new"),
    ],
)
def test_what_differs_from_the_network_of_before_is_told(
    desk: Path, changes: dict[str, str], told: str
) -> None:
    def go(text: str) -> None:
        network = from_text(text)
        sinks = {name: f"csv:{name}.csv" for name in network.outputs}
        with Bound.of(network, {"r": "csv:r.csv"}, sinks, Settings(checkpoint="kept")) as bound:
            commit_all(bound, bound.commits())

    go(BASE)
    changed = BASE
    for before, after in changes.items():
        assert before in changed
        changed = changed.replace(before, after)
    refused = f"^{desk}/kept is the checkpoint of another network or run"
    with pytest.raises(AuroraError, match=f"{refused}: {told}; give the same network and sinks") as fault:
        go(changed)
    assert "remove" not in str(fault.value)
    # An earlier version noted less.
    note = desk / "kept" / "network"
    owner = read_json(note)
    del owner["parts"]
    note.write_text(json.dumps(owner))
    with pytest.raises(AuroraError, match=f"{refused}; give the same network and sinks"):
        go(changed)


def test_sources_say_themselves_what_they_are(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "source_identity", lambda source: "the first")
    finish_but_keep()
    monkeypatch.setattr(module, "source_identity", lambda source: "the second")
    with pytest.raises(AuroraError, match=r"another source r \(it was the first, now it is the second\)"):
        bind()


def never_begins(opened: bool) -> None:
    """A run whose Java or master is not there: before or after its sinks are opened."""
    with Bound.of(base(), {"r": "csv:wrong.csv"}, {"far": "csv:far.csv"}, Settings()) as bound:
        if opened:
            bound.commits().finish()


@pytest.mark.parametrize("opened", [False, True])
def test_a_run_that_never_began_binds_nobody(desk: Path, opened: bool) -> None:
    """Another source, network or sink is no other run then; a kill while the rest is removed does no harm."""
    (desk / "wrong.csv").write_text("Sid,Time,Pos\n9,9,99\n")
    step, killed = 0, True
    while killed:
        never_begins(opened)
        with pytest.MonkeyPatch.context() as patch:
            killed_at(patch, step)
            try:
                bind().release()
                killed = False
            except Killed:
                assert (desk / "wrong.csv").exists()
        step += 1
        run_here(base(), {"r": "csv:r.csv"}, {"far": "csv:far.csv"})
        assert (desk / "far.csv").read_bytes() == FAR
    never_begins(opened)
    (desk / "zones.csv").write_text("Low,Zone\n34,a\n")
    sources = {"r": "csv:r.csv", "zones": "csv:zones.csv"}
    run_here(from_text(ZONED), sources, {"out": "csv:far.csv"})
    assert (desk / "far.csv").read_bytes() == b"Sid,Time,Pos,Low,Zone\n1,1,34,34,a\n"


def test_what_a_run_has_begun_or_received_stays_its_own(desk: Path) -> None:
    (desk / "wrong.csv").write_text("Sid,Time,Pos\n9,9,99\n")
    checkpoint = desk / ".far.csv.checkpoint"
    for place in (
        "spark/offsets/0",
        "sources/p.spool/00000000000000000000",
        "sources/m.mqtt/session",
        "mark",
    ):
        never_begins(False)
        (checkpoint / place).parent.mkdir(parents=True, exist_ok=True)
        (checkpoint / place).write_text("v1")
        with pytest.raises(AuroraError, match="is the checkpoint of a run with another source r"):
            bind()
        assert (checkpoint / place).read_text() == "v1"
        Checkpoint(checkpoint, kept=True).discard()


@pytest.mark.parametrize("fresh", [False, True])
def test_a_folder_that_is_no_checkpoint_is_left_alone(desk: Path, fresh: bool) -> None:
    before = files(desk)
    for given in (".", ""):
        with pytest.raises(AuroraError, match=r"^checkpoint .*; (name another one|choose another folder)$"):
            bind(Settings(checkpoint=given, fresh=fresh))
    with pytest.raises(AuroraError, match=r"^checkpoint 'r.csv' is not a folder; name another one$"):
        bind(Settings(checkpoint="r.csv", fresh=fresh))
    with pytest.raises(AuroraError, match=r"^checkpoint: hdfs://host/x is not a local path"):
        bind(Settings(checkpoint="hdfs://host/x", fresh=fresh))
    assert files(desk) == before


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize(
    "names",
    [
        {"network": "my notes"},
        {"lock": "of the door"},
        {"lock": "", "readme.txt": "mine"},
        {"discarded": "old ideas"},
        {"network/a.yaml": "mine"},
    ],
)
def test_a_folder_with_names_like_those_of_a_checkpoint_is_none(
    desk: Path, names: dict[str, str], fresh: bool
) -> None:
    for name, text in {**names, "sources/r.csv": "mine"}.items():
        (desk / "own" / name).parent.mkdir(parents=True, exist_ok=True)
        (desk / "own" / name).write_text(text)
    before = files(desk)
    with pytest.raises(AuroraError, match=r"^checkpoint \S+own holds \S+, so it is not a checkpoint; choose"):
        bind(Settings(checkpoint="own", fresh=fresh))
    assert files(desk) == before


def test_a_checkpoint_that_was_locked_and_no_more_is_one(desk: Path) -> None:
    for lock in ("", "123\n"):
        (desk / "kept" / "sources").mkdir(parents=True, exist_ok=True)
        (desk / "kept" / "lock").write_text(lock)
        (desk / "kept" / "network.partial").touch()
        run_here(base(), {"r": "csv:r.csv"}, {"far": "csv:far.csv"}, Settings(checkpoint="kept"))
        Checkpoint(desk / "kept", kept=True).discard()


def test_state_of_another_version_is_refused(desk: Path) -> None:
    with bind() as bound:
        commit_all(bound, bound.commits())
    (note,) = desk.glob(".*.checkpoint/network")
    noted = read_json(note)
    del noted["layout"]
    note.write_text(json.dumps(noted))
    with pytest.raises(AuroraError, match=r"another version of Aurora.*--fresh"), bind():
        pass


def test_only_what_is_its_own_is_discarded(desk: Path) -> None:
    finish_but_keep(Settings(checkpoint="kept"))
    (desk / "kept" / "notes.txt").write_text("mine")
    Checkpoint(desk / "kept", kept=True).discard()
    assert files(desk / "kept") == {"notes.txt": b"mine"}


def test_a_start_over_leaves_the_old_place_to_tasks_that_still_write(desk: Path) -> None:
    checkpoint = Checkpoint(desk / "kept", kept=True)
    checkpoint.open(fresh=False)
    places = []
    for _ in range(3):
        places.append(checkpoint.spark)
        (checkpoint.spark / "offsets").mkdir(parents=True)
        checkpoint.open(fresh=True)
        # A task of the run that was stopped.
        (places[-1] / "state").mkdir(parents=True)
        assert not checkpoint.spark.exists()
    assert len(set(places)) == 3
    checkpoint.discard()
    assert files(desk / "kept") == {} and not any(place.exists() for place in places)


def test_nothing_stays_of_a_run_without_files(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr(
        module.tempfile, "mkdtemp", lambda prefix: made.append(prefix) or str(desk / "temporary")
    )
    (desk / "temporary").mkdir()
    with bind(far="console") as bound:
        bound.commits()
    assert made and sorted(os.listdir(desk)) == ["r.csv"]


@pytest.mark.parametrize(("found", "batch"), [("0", 0), ("-1", 0), ("65537", 65537)])
def test_partitions_that_cannot_be(desk: Path, found: str, batch: int) -> None:
    told = "there are 65,536 partitions at most" if batch > 1 else "partitions is a whole number, 1 or more"
    with pytest.raises(AuroraError, match=told):
        bind(Settings(partitions=int(found)))


# What a kill or a power cut has left of a file: nothing, a part, or blocks of the disk that were never written.
TORN = {"!": "", "?": 'v1\n{"id":', "~": "\0" * 20}


def spark_folder(folder: Path, offsets: str, commits: str) -> Path:
    """The logs with the given files; a name that ends in !, ? or ~ is that of a torn one."""
    for log, names in (("offsets", offsets), ("commits", commits)):
        (folder / log).mkdir(parents=True)
        for name in names.split():
            (folder / log / name.rstrip("!?~")).write_text(TORN.get(name[-1], "v1\n{}"))
    (folder / "metadata").write_text("{}")
    return folder


@pytest.mark.parametrize(
    ("batch", "offsets", "commits", "left"),
    [
        (None, ".0.abc.tmp", "", None),
        (-1, ".0.abc.tmp", "", None),
        (-1, "0", "", None),
        (0, "0", "", {"offsets/0"}),
        (0, "0", "0", {"offsets/0", "commits/0"}),
        (0, "0 1", "0", {"offsets/0", "offsets/1", "commits/0"}),
        (5, "4 5 6! .6.abc.tmp", "4 5! .5.abc.tmp", {"offsets/4", "offsets/5", "commits/4"}),
        (5, "4 5 6?", "4 5~", {"offsets/4", "offsets/5", "commits/4"}),
        (5, "3~ 4 5 6~", "3! 4 5", {"offsets/3", "offsets/4", "offsets/5", "commits/4", "commits/5"}),
    ],
)
def test_leftovers_of_spark_are_mended(
    tmp_path: Path, batch: int | None, offsets: str, commits: str, left: set[str] | None
) -> None:
    folder = spark_folder(tmp_path / "spark", offsets, commits)
    settle_spark(folder, batch)
    assert (set(files(folder)) - {"metadata"} if folder.exists() else None) == left


@pytest.mark.parametrize(
    ("batch", "offsets", "commits", "told"),
    [
        (None, "0 1", "0", "has batches, but the record of what was written is missing"),
        (None, "0", "", "has batches, but the record of what was written is missing"),
        (-1, "0", "0", "is at batch 0, but only batch -1 was written"),
        (3, "4 5", "4", "is at batch 4, but only batch 3 was written"),
        (3, "1 2", "1 2", "has not reached batch 3, which was already written"),
        (3, "", "", "has not reached batch 3, which was already written"),
        (3, "2 3!", "2", "/offsets/3 is missing or damaged"),
        (3, "2 3~", "2 3", "/offsets/3 is missing or damaged"),
        (3, "2? 3", "2", "/offsets/2 is missing or damaged"),
        (3, "3", "2", "/offsets/2 is missing or damaged"),
    ],
)
def test_what_would_lose_rows_is_refused(
    tmp_path: Path, batch: int | None, offsets: str, commits: str, told: str
) -> None:
    folder = spark_folder(tmp_path / "spark", offsets, commits)
    before = files(folder)
    with pytest.raises(
        AuroraError, match=rf"cannot be continued: .*spark ?{told}; restore it, or start over"
    ):
        settle_spark(folder, batch)
    assert files(folder) == before


@pytest.mark.parametrize("metadata", [None, "", "{"])
def test_a_query_whose_name_is_lost_is_refused(tmp_path: Path, metadata: str | None) -> None:
    folder = spark_folder(tmp_path / "spark", "2 3", "2 3")
    if metadata is None:
        (folder / "metadata").unlink()
    else:
        (folder / "metadata").write_text(metadata)
    with pytest.raises(AuroraError, match="spark/metadata is missing or damaged; restore it, or start over"):
        settle_spark(folder, 3)


def test_state_goes_on_from_what_spark_has_noted_behind_the_batch_before(tmp_path: Path) -> None:
    folder = spark_folder(tmp_path / "spark", "2 3 4", "2 3!")
    (folder / "state").mkdir()
    before = files(folder)
    with pytest.raises(AuroraError, match="spark/commits/3 is missing or damaged; restore it, or start over"):
        settle_spark(folder, 3)
    assert files(folder) == before
    (folder / "state").rmdir()
    settle_spark(folder, 3)
    assert set(files(folder)) == {"metadata", "offsets/2", "offsets/3", "offsets/4", "commits/2"}


@pytest.mark.parametrize("content", [b"", bytes(30)])
def test_a_state_whose_schema_is_lost_is_refused(tmp_path: Path, content: bytes) -> None:
    folder = spark_folder(tmp_path / "spark", "2 3", "2 3")
    for name in ("0/1/4_a.changelog", "0/_stateSchema/default/.0_b.crc", "0/_stateSchema/default/0_b"):
        (folder / "state" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "state" / name).write_bytes(content)
    with pytest.raises(AuroraError, match="default/0_b is missing or damaged; restore it, or start over"):
        settle_spark(folder, 3)
    (folder / "state" / "0/_stateSchema/default/0_b").write_bytes(b"v2")
    (folder / "commits" / "3").write_text('v2\n{"stateUniqueIds":{"0":[[],["a"]]}}')
    settle_spark(folder, 3)
    (folder / "commits" / "3").write_text('v2\n{"stateUniqueIds":{"0":[[],["b"]]}}')
    with pytest.raises(
        AuroraError, match="commits/3 is damaged, or files of the state that it names are miss"
    ):
        settle_spark(folder, 3)


def test_files_of_spark_are_held_against_the_checksums_of_the_note(tmp_path: Path) -> None:
    folder = spark_folder(tmp_path / "spark", "1 2 3", "1 2")
    sums = SparkSums(folder)
    noted = sums.take(3, sums.take(2, {}))
    assert set(noted) == {"metadata", "offsets/2", "offsets/3", "commits/2"}
    settle_spark(folder, 3, noted)
    for name in noted:
        before = (folder / name).read_text()
        (folder / name).write_text(before.replace("{}", '{"a":1}'))
        with pytest.raises(
            AuroraError, match=f"spark/{name} is damaged; restore it, or start over with --fresh"
        ):
            settle_spark(folder, 3, noted)
        (folder / name).write_text(before)
    (folder / "commits" / "2").unlink()
    settle_spark(folder, 3, noted)


def test_the_plan_of_a_batch_that_is_not_done_has_its_own_checksum(tmp_path: Path) -> None:
    folder = spark_folder(tmp_path / "spark", "2 3 4", "2 3")

    def plan(batch: int, buckets: str, offset: dict[str, Any]) -> None:
        head = {"batchTimestampMs": batch, "conf": {"buckets": buckets}}
        text = f"v1\n{json.dumps(head)}\n{json.dumps(offset)}"
        (folder / "offsets" / str(batch)).write_text(text)

    offset = seal_offset({"inputs": {"r": {"row": 5}}, "batch": 4})
    plan(3, "2", seal_offset({"batch": 3}))
    plan(4, "2", offset)
    settle_spark(folder, 3)
    for buckets, wrong in (("3", offset), ("2", {**offset, "batch": 5}), ("2", {**offset, "inputs": {}})):
        plan(4, buckets, wrong)
        with pytest.raises(AuroraError, match="offsets/4 is damaged"):
            settle_spark(folder, 3)


def test_a_note_without_what_spark_knows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AuroraError, match="is missing; restore it, or start over with --fresh"):
        settle_spark(tmp_path / "spark", 3)
    settle_spark(tmp_path / "spark", -1)
    settle_spark(tmp_path / "spark", None)


def test_a_file_that_came_after_a_run_that_never_began_is_read(desk: Path) -> None:
    (desk / "in").mkdir()
    for name in ("1.csv", "2.csv"):
        (desk / "in" / name).write_text(ROWS)
        with Bound.of(base(), {"r": "csv:in"}, {"far": "csv:far.csv"}, Settings()) as bound:
            source = bound.admission.sources["r"]
            place = source.advance(source.begin(), 1000)
    assert place["row"] == 2 * (ROWS.count("\n") - 1)


@pytest.mark.parametrize("name", ["network", "committed.json", "buckets"])
def test_a_damaged_note_is_one_line_and_fresh_mends_it(desk: Path, name: str) -> None:
    address, sinks = {"r": f"csv:{desk}/r.csv"}, {"far": f"csv:{desk}/far.csv"}
    kept = Settings(checkpoint=f"{desk}/kept", partitions=1)
    with Bound.of(base(), address, sinks, kept) as bound:
        commit_all(bound, bound.commits())
    for fresh in (True, False):
        with Bound.of(base(), address, sinks, replace(kept, fresh=fresh)) as bound:
            commit_all(bound, bound.commits())
    note = desk / "kept" / name
    data = bytearray(note.read_bytes())
    data[0] ^= 1
    note.write_bytes(data)
    told = rf"^{note} is damaged: its checksum does not fit what it holds; restore it from a backup, or start over with"
    with pytest.raises(AuroraError, match=told):
        Bound.of(base(), address, sinks, kept)
    with Bound.of(base(), address, sinks, replace(kept, fresh=True)) as bound:
        commit_all(bound, bound.commits())


def test_a_damaged_note_of_where_spark_is_does_not_keep_a_run_from_starting_over(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "kept", kept=True)
    checkpoint.open(fresh=False)
    checkpoint.spark.mkdir()
    checkpoint.open(fresh=True)
    moved = tmp_path / "kept" / "spark.at"
    moved.write_bytes(moved.read_bytes().replace(b"spark-", b"sparc-"))
    with pytest.raises(AuroraError, match=rf"^{moved} is damaged: its checksum does not fit"):
        checkpoint.spark.exists()
    checkpoint.open(fresh=True)
    assert checkpoint.spark.name.startswith("spark-")


@pytest.mark.parametrize("name", ["network", "buckets"])
def test_a_note_that_is_missing_is_not_made_anew_for_a_run_that_goes_on(desk: Path, name: str) -> None:
    """Another network, or another number of buckets, would go on with state that is not its own."""
    kept = Settings(checkpoint=f"{desk}/kept", partitions=1)
    with Bound.of(base(), {"r": "csv:r.csv"}, {"far": "csv:far.csv"}, kept) as bound:
        commit_all(bound, bound.commits())
        checkpoint = bound.checkpoint
    noted = Totals.load(checkpoint.note)
    assert noted is not None
    noted.end = False
    noted.store(checkpoint.note)
    (checkpoint.folder / name).unlink()
    told = rf"^{checkpoint.folder / name} is missing, and the run has begun with it; restore it from a backup, or start"
    with pytest.raises(AuroraError, match=told):
        checkpoint.claim({}) if name == "network" else checkpoint.buckets(2)
    assert not (checkpoint.folder / name).exists()
