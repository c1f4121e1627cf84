"""`linear-road run` on Spark: right answers in one file, whatever happens to the run."""

import errno
import json
import random
import re
import shlex
import threading
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from aurora import AuroraError
from aurora.cli.commands import app
from aurora.engine.locks import Locks, lock_beside
from aurora.history.control import ask
from aurora.history.home import Home
from aurora.history.peek import open_point
from aurora.linear_road.addresses import stored_address
from aurora.linear_road.folder import RunFolder
from aurora.linear_road.reading import survey
from aurora.linear_road.run import Progress, RunReport, run_benchmark
from aurora.linear_road.validate import Verdict, validate
from tests.engine.processes import KILLS, aurora, committed, kill, wait_for
from tests.engine.without_spark import files
from tests.history.attached import wait_until
from tests.linear_road.test_docs import OWN, commands
from tests.linear_road.test_validate import faults, write, write_histories
from tests.linear_road.traffic import corner_cases, crowd, histories
from tests.spec import linear_road as spec

PAID = Path(__file__).parents[2] / "examples" / "24_paid_over_100" / "paid_over_100.yaml"
BAD = [
    "0,400,1,50",
    "2,400,7,-1,-1,-1,-1,-1,-1,x,-1,-1,-1,-1,-1",
    "0,400,1,150,0,1,0,3,16000,-1,-1,-1,-1,-1,-1",
]


@pytest.fixture(scope="module")
def road(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two expressways with their histories; one file has three lines that are no tuples."""
    folder = tmp_path_factory.mktemp("road")
    traffic = crowd(3, cars=330, xways=1, seconds=450) + corner_cases()
    xways = sorted({r.xway for r in traffic.reports})
    for xway in xways:
        lines = traffic.lines(xway)
        at = next(i for i, line in enumerate(lines) if int(line.split(",")[1]) >= 400)
        write(folder / f"xway-{xway}.csv", lines[:at] + BAD + lines[at:] if xway == 0 else lines)
    tolls, segments = histories(1, sorted({q.vid for q in traffic.queries}), xways)
    write_histories(folder, tolls, segments, "parquet")
    return folder


def without_lateness(verdict: Verdict) -> dict[tuple[str, str], int]:
    """A machine that does other things too may be late; it may not be wrong."""
    return {fault: count for fault, count in faults(verdict).items() if fault[1] != "late"}


def check(verdict: Verdict, road: Path, out: Path) -> None:
    assert without_lateness(verdict) == {} and verdict.unreadable == 0
    assert all(output.given for output in verdict.outputs.values())
    rejects = (out / "rejects.csv").read_text().splitlines()
    found = [line.split(",", 4)[1:3] for line in rejects[1:]]
    first = 1 + (road / "xway-0.csv").read_text().splitlines().index(BAD[0])
    assert sorted(found) == [["xway-0.csv", str(first + i)] for i in range(3)]
    assert "QID is not an integer, 0 or more" in rejects[2] and "Spd is not an integer, 0..100" in rejects[3]
    report = json.loads((out / "report.json").read_text())
    assert report["rejected"] == 3 and report["ended"]
    assert report["tuples"] == sum(verdict.tuples.values())
    assert set(report["responses"]["tolls"]) == {"answers", "p50", "p99", "max"}
    assert not (out / ".run").exists()


def test_requests_that_may_wait_are_answered_in_a_file_of_their_own(
    spark: SparkSession, road: Path, tmp_path: Path
) -> None:
    run_benchmark(road, tmp_path, batch=3000, home=tmp_path / "home", graphs=True)
    answers, requests = tmp_path / "output.csv", tmp_path / "requests.csv"
    check(validate(spark, road, answers, also=[requests]), road, tmp_path)
    kinds = [{line[0] for line in path.read_text().splitlines()} for path in (answers, requests)]
    assert kinds == [{"0", "1"}, {"2", "3", "4"}]


def test_graphs_need_a_home(road: Path, tmp_path: Path) -> None:
    with pytest.raises(
        AuroraError, match="--graphs needs a place where requests can wait; add --home FOLDER"
    ):
        run_benchmark(road, tmp_path, graphs=True)


def command(road: Path, out: Path, *more: str) -> list[str]:
    return ["linear-road", "run", f"--data={road}", f"--out={out}", *more]


def test_killed_and_gone_on_with_every_answer_is_right(
    spark: SparkSession, road: Path, tmp_path: Path
) -> None:
    """Those of the copies, too."""
    out, log, moments = tmp_path / "out", tmp_path / "log", random.Random(7)
    reached = 0
    for partitions in range(2, 2 + min(KILLS, 4)):
        reached += moments.randint(1, 2)
        options = ("--replicate=2", "--batch=800", f"--partitions={partitions}")
        process = aurora(command(road, out, *options), log)
        wait_for(process, lambda reached=reached: committed(out / ".run" / "checkpoint") >= reached)
        kill(process)
    seen = []
    run_benchmark(road, out, replicate=2, batch=5000, partitions=3, watch=seen.append)
    check(validate(spark, road, out / "output.csv", replicate=2), road, out)
    assert [progress.second for progress in seen] == sorted(progress.second for progress in seen)
    assert seen[-1].tuples == json.loads((out / "report.json").read_text())["tuples"]


def test_real_time(spark: SparkSession, tmp_path: Path) -> None:
    """Three seconds of traffic, delivered in three seconds by the clock."""
    lines = [line for line in crowd(4).lines() if 200 <= int(line.split(",")[1]) < 203]
    write(tmp_path / "data" / "in.csv", lines)
    report = run_benchmark(tmp_path / "data", tmp_path / "out", pace="realtime", replicate=2)
    assert report.ended and report.tuples == 2 * len(lines) and report.seconds >= 2
    assert report.notes == ["no history: expenditures are 0, travel runs at the free speed"]
    verdict = validate(spark, tmp_path / "data", tmp_path / "out" / "output.csv", replicate=2)
    assert without_lateness(verdict) == {}


def test_another_run_does_not_take_over_an_unfinished_one(road: Path, tmp_path: Path) -> None:
    (tmp_path / ".run").mkdir()
    (tmp_path / ".run" / "meant.json").write_text('{"data": "elsewhere"}')
    with pytest.raises(AuroraError, match="holds an unfinished run of other data or settings"):
        run_benchmark(road, tmp_path)


def test_a_note_that_is_cut_off_is_told_of(road: Path, tmp_path: Path) -> None:
    """As a kill of an earlier version or a full disk leaves it."""
    for text in ("", '{"data": ', "[]"):
        (tmp_path / ".run").mkdir(exist_ok=True)
        (tmp_path / ".run" / "meant.json").write_text(text)
        with pytest.raises(AuroraError, match=r"whose meant.json cannot be read; start over with --fresh$"):
            run_benchmark(road, tmp_path)
    assert RunFolder(tmp_path).claim({"data": "here"}, fresh=True)


def test_a_full_disk_leaves_the_note_that_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    folder, meant = RunFolder(tmp_path), {"data": "here"}
    folder.claim(meant, fresh=False)
    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space left"):
        patch.setattr("os.fsync", full)
        folder.claim(meant, fresh=False)
    assert not folder.claim(meant, fresh=False)


def test_a_run_killed_while_it_clears_up_is_not_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    folder, meant = RunFolder(tmp_path), {"data": "here"}
    folder.claim(meant, fresh=False)
    (folder.hidden("checkpoint")).mkdir()
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("shutil.rmtree", killed)
        folder.clear()
    folder.claim(meant, fresh=False)
    assert not folder.hidden("checkpoint").exists()


@pytest.mark.parametrize(
    "name", ["output.csv", "report.json", "rejects.csv", "requests.csv", ".run/xway-0.csv"]
)
@pytest.mark.parametrize("pace", ["fast", "realtime"])
def test_what_is_read_is_not_written(road: Path, tmp_path: Path, name: str, pace: str) -> None:
    data = tmp_path / name
    data.parent.mkdir(exist_ok=True)
    data.write_bytes((road / "xway-0.csv").read_bytes())
    before = files(tmp_path)
    with pytest.raises(
        AuroraError, match=rf"^the run reads {data}, and with --out {tmp_path} it writes there"
    ):
        run_benchmark(data, tmp_path, pace=pace, fresh=True)
    (tmp_path / "link.csv").symlink_to(name)
    with pytest.raises(AuroraError, match=r"^the run reads \S+link.csv, and with --out"):
        run_benchmark(tmp_path / "link.csv", tmp_path, pace=pace, fresh=True)
    (tmp_path / "link.csv").unlink()
    assert files(tmp_path) == before


def test_the_files_of_a_folder_are_merged_by_time(road: Path, tmp_path: Path) -> None:
    merged = f"csv:{road}/xway-[0-9]*.csv?header=no&unreadable=null&merge=Time"
    assert stored_address(survey(road)) == merged
    one = road / "xway-0.csv"
    assert stored_address(survey(one)) == f"csv:{one}?header=no&unreadable=null"
    for name in ("xway-0.csv", "xway-1.csv", "xway-1 (copy).csv"):
        (tmp_path / name).write_bytes(one.read_bytes())
    with pytest.raises(AuroraError, match=r"xway-1 \(copy\).csv looks like an input file and is none"):
        stored_address(survey(tmp_path))


@pytest.mark.parametrize("held", ["output.csv", "rejects.csv", ".run"])
def test_a_run_under_way_keeps_what_it_has(road: Path, tmp_path: Path, held: str) -> None:
    (tmp_path / ".run" / "checkpoint").mkdir(parents=True)
    (tmp_path / ".run" / "meant.json").write_text("{}")
    lock = tmp_path / ".run.lock" if held == ".run" else lock_beside(str(tmp_path / held))
    with Locks() as locks:
        locks.take("it", lock)
        before = files(tmp_path)
        with pytest.raises(AuroraError, match="is in use by another run, process"):
            run_benchmark(road, tmp_path, fresh=True)
        assert files(tmp_path) == before and (tmp_path / ".run" / "checkpoint").is_dir()


def test_a_run_that_never_began_leaves_the_folder_to_others(
    road: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object, **__: object) -> None:
        raise AuroraError("there is no Java")

    monkeypatch.setattr("aurora.linear_road.run.run", missing)
    with pytest.raises(AuroraError, match="there is no Java"):
        run_benchmark(road / "xway-0.csv", tmp_path, history=road)
    assert files(tmp_path) == {}
    folder = RunFolder(tmp_path)
    folder.claim({"data": "elsewhere"}, fresh=False)
    folder.begun.touch()
    before = files(tmp_path)
    with pytest.raises(AuroraError, match="holds an unfinished run of other data or settings"):
        run_benchmark(road, tmp_path)
    assert files(tmp_path) == before


def test_an_unknown_pace(road: Path, tmp_path: Path) -> None:
    with pytest.raises(AuroraError, match="--pace is 'slow': give fast or realtime"):
        run_benchmark(road, tmp_path, pace="slow")


def test_a_query_is_attached_while_the_benchmark_runs(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which cars paid over 100 cents in the last hour, asked in the middle and right for the whole."""
    traffic = crowd(1, cars=330, xways=1, seconds=450)
    write(tmp_path / "data" / "xway-0.csv", traffic.lines())
    home, query = Home.of(tmp_path / "home"), PAID.read_text()
    begun, paid = threading.Event(), tmp_path / "paid.csv"

    def attach() -> None:
        begun.wait()
        ask(home, "pause")
        try:
            told.append(ask(home, "status"))
            sinks = {"paid": f"csv:{paid}"}
            told.append(ask(home, "attach", text=query, path=str(PAID), sinks=sinks, name=None, since=None))
        finally:
            ask(home, "resume")

    def watch(progress: Progress) -> None:
        if progress.second > 200 and not begun.is_set():
            begun.set()
            # Once it is asked to pause it makes no other batch, however long it takes to attach the query.
            wait_until(lambda: ask(home, "status")["controls"]["paused"])

    told: list[dict[str, Any]] = []
    other = threading.Thread(target=attach, daemon=True)
    other.start()
    report = run_benchmark(
        tmp_path / "data",
        tmp_path / "out",
        batch=1200,
        home=home.folder,
        watch=watch,
    )
    other.join()
    assert report.ended and told[1] == {"name": "paid-over-100"}
    assert 0 < told[0]["points"]["charges"]["passed"] < report.tuples
    charges = spec.answers(traffic.reports, traffic.queries).charges
    sums = {vid: sum(toll for _, toll in found) for vid, found in charges.items()}
    right = {vid: total for vid, total in sums.items() if total > 100}
    most: dict[int, int] = {}
    for line in paid.read_text().splitlines()[1:]:
        _, vid, total = map(int, line.split(","))
        most[vid] = max(total, most.get(vid, 0))
    assert right and most == right
    last = open_point(home, "charges").last(3, "Charge > 0")[0]
    assert last.num_rows == 3 and last.schema.names == ["VID", "Time", "Charge"]


def test_the_commands_for_a_run_with_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the document, in their order, on traffic that lasts longer than they take."""
    begin, status, attach, peek, stop = (shlex.split(line)[1:] for line in commands(OWN)[6:11])
    shown = re.search(r"```yaml\n(network: paid over 100\n.*?)```", OWN, re.DOTALL)
    assert shown is not None and PAID.read_text().endswith(shown[1])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(PAID.parents[1])
    write(tmp_path / "traffic" / "xway-0.csv", crowd(5, cars=50, xways=1, seconds=900).lines())

    def is_up() -> bool:
        told = CliRunner().invoke(app, status)
        return told.exit_code == 0 and told.output.startswith("running")

    process = aurora(begin, tmp_path / "log")
    wait_for(process, is_up)
    for words in (attach, peek, stop):
        told = CliRunner().invoke(app, words)
        assert told.exit_code == 0, (words, told.output, told.exception)
    assert process.wait(60) in (1, 130), (tmp_path / "log").read_text()
    assert (tmp_path / "paid.csv").read_text() == "Until,VID,Paid\n"
    assert not json.loads((tmp_path / "asked" / "report.json").read_text())["ended"]


@pytest.mark.parametrize("rejected", [0, 3])
def test_the_command_names_the_file_of_rejects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rejected: int
) -> None:
    report = RunReport("fast", 1, 100, 50, 2.0, 1.0, rejected, True, 2, 0.0, {})
    monkeypatch.setattr("aurora.linear_road.run.run_benchmark", lambda *_, **__: report)
    done = CliRunner().invoke(app, command(tmp_path, tmp_path))
    where = f"3 rejected (see {tmp_path / 'rejects.csv'})" if rejected else "0 rejected"
    assert f"100 tuples in 2.0 s (50/s), {where}; {tmp_path / 'output.csv'}\n" in done.output


def test_a_run_that_could_read_no_tuple_has_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = RunReport("fast", 1, 0, 0, 2.0, 1.0, 3, True, 2, 0.0, {})
    monkeypatch.setattr("aurora.linear_road.run.run_benchmark", lambda *_, **__: report)
    done = CliRunner().invoke(app, command(tmp_path, tmp_path))
    assert isinstance(done.exception, AuroraError)
    assert str(done.exception).startswith("no row of input traffic could be read: ")


def test_a_home_is_for_the_network_of_boxes(road: Path, tmp_path: Path) -> None:
    with pytest.raises(AuroraError, match="--home is for the network of boxes"):
        run_benchmark(road, tmp_path / "out", fused=True, home=tmp_path / "home")
