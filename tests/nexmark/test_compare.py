"""nexmark compare: with systems made for the test, the real queries by hand, and children that fail."""

import io
import json
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from rich.console import Console

from aurora.cli.nexmark_compare import show
from aurora.errors import AuroraError
from aurora.nexmark.check import Rules, check
from aurora.nexmark.check.answers import answer_of
from aurora.nexmark.compare import QUERIES, compare, data_folder, system_of
from aurora.nexmark.queries import QUERIES as NETWORKS
from aurora.nexmark.rivals.flink import Flink, environment, sql
from aurora.nexmark.rivals.inputs import longest_auction
from aurora.nexmark.rivals.spark_by_hand import fill
from aurora.nexmark.rivals.spark_by_hand import queries as by_hand
from aurora.nexmark.rivals.spark_by_hand.events import Events
from aurora.nexmark.rivals.spark_by_hand.job import started
from aurora.nexmark.rivals.system import REPORT, Job, Timing, timed
from tests.nexmark.auctions import auction, bid, person, write_events, write_rows

ROWS = [{"auction": 123, "price": 5}, {"auction": 246, "price": 7}]


@dataclass
class Stand:
    """Gives the rows that it was made with, in as many seconds as told."""

    name: str
    rows: list[dict[str, int]] = field(default_factory=lambda: list(ROWS))
    seconds: list[float] = field(default_factory=lambda: [2.0])
    impossible: Mapping[str, str] = field(default_factory=dict)
    fault: str = ""

    def prepare(self, say: Callable[[str], None]) -> None:
        say(f"{self.name} is there")

    def run(self, job: Job) -> Timing:
        if self.fault:
            raise AuroraError(self.fault)
        job.out.mkdir(parents=True)
        job_s = self.seconds.pop(0)
        return Timing(job_s + 3, job_s, (write_rows(job.out / "part-0.json", self.rows),))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_events(tmp_path / "data", [bid(0, 123, 5), bid(1, 7, 6)], [bid(2, 246, 7), bid(3, 8, 8)])


def test_times_and_verdicts_of_each_system(tmp_path: Path, data: Path) -> None:
    steps: list[str] = []
    systems = [
        Stand("aurora", seconds=[1.0]),
        Stand("spark", ROWS[:1]),
        Stand("flink", impossible={"q2": "no"}),
    ]
    found = compare(["q2"], systems, data, tmp_path / "out", cores=2, step=steps.append)
    assert [each.verdict for each in found.measurements] == ["agrees", "differs", "impossible"]
    assert steps == ["q2 on aurora", "q2 on spark", "q2 on flink: impossible", "q2: checking"]
    first = found.of("q2", "aurora")
    assert (first.events_per_s, first.start_s, first.rows) == (4.0, 3.0, 2)
    assert (found.ratio("q2", "spark"), found.ratio("q2", "flink")) == (2.0, None)
    assert found.same == {"q2": {"spark": False}}
    assert not found.right
    told = json.loads((tmp_path / "out" / "comparison.json").read_text())
    assert told["aurora_times_as_fast_as"] == {"q2": {"spark": 2.0, "flink": None}}
    assert told["measurements"][1]["note"].splitlines()[1].strip() == "missing: auction 246, price 7"
    assert (tmp_path / "out" / "comparison.png").read_bytes().startswith(b"\x89PNG")
    # Only what is wrong is kept, for whoever looks into it.
    assert [path.name for path in (tmp_path / "out" / "results" / "q2").iterdir()] == ["spark"]


def test_the_table_shows_all_systems(tmp_path: Path, data: Path) -> None:
    systems = [Stand("aurora"), Stand("spark", ROWS[:1]), Stand("flink", fault="Flink failed: no memory")]
    found = compare(["q2"], systems, data, tmp_path / "out", cores=2)
    console = Console(width=120, record=True, file=io.StringIO())
    show(found, console)
    text = console.export_text()
    assert "2 +3.0 s" in text
    assert "2 wrong +3.0 s" in text
    assert "q2 on flink, failed: Flink failed: no memory" in text
    assert "aurora : spark" in text


def test_the_median_of_several_runs_counts(tmp_path: Path, data: Path) -> None:
    found = compare(["q2"], [Stand("aurora", seconds=[9.0, 1.0, 2.0])], data, tmp_path / "out", repeat=3)
    assert found.of("q2", "aurora").job_s == 2.0
    assert found.of("q2", "aurora").runs == (9.0, 1.0, 2.0)
    assert found.right
    assert not (tmp_path / "out" / "results").exists()


def test_results_that_differ_from_the_check_alike_are_the_same(tmp_path: Path, data: Path) -> None:
    found = compare(["q2"], [Stand("aurora", ROWS[:1]), Stand("spark", ROWS[:1])], data, tmp_path / "out")
    assert found.same == {"q2": {"spark": True}}
    assert not found.right


def test_what_cannot_be_compared_is_told(tmp_path: Path, data: Path) -> None:
    with pytest.raises(AuroraError, match="cannot compare q77: give some of q0"):
        compare(["q77"], [Stand("aurora")], data, tmp_path / "out")
    with pytest.raises(AuroraError, match="no system 'storm'"):
        system_of("storm")
    with pytest.raises(AuroraError, match=r"has no events-NNNNN\.jsonl"):
        compare(["q2"], [Stand("aurora")], tmp_path / "none", tmp_path / "out")
    (data / "generation.json").write_text('{"profile": "draft"}')
    with pytest.raises(AuroraError, match="of the profile draft"):
        compare(["q2"], [Stand("aurora")], data, tmp_path / "out")


def test_events_are_made_once(tmp_path: Path) -> None:
    folder = data_folder(500, 3, tmp_path / "data")
    before = (folder / "events-00000.jsonl").stat().st_mtime_ns
    assert (data_folder(500, 3, folder) / "events-00000.jsonl").stat().st_mtime_ns == before
    assert (data_folder(500, 4, folder) / "events-00000.jsonl").stat().st_mtime_ns != before


def child(text: str) -> list[str]:
    return [sys.executable, "-c", text]


def test_a_child_tells_the_seconds_of_its_query(tmp_path: Path) -> None:
    whole, job = timed(
        child(f"print('words'); print('{REPORT}' + '{{\"job\": 0.25}}')"), tmp_path / "out", "it"
    )
    assert job == 0.25
    assert whole > 0
    assert list(tmp_path.iterdir()) == [tmp_path / "out"]


def test_the_cause_of_a_fault_is_told_in_a_line(tmp_path: Path) -> None:
    java = (
        "raise SystemExit('Exception: outer\\n  at Some.java:1\\nCaused by: no memory\\n  at Other.java:2')"
    )
    with pytest.raises(AuroraError, match=r"^it failed: no memory; its log is .*out\.log$"):
        timed(child(java), tmp_path / "out", "it")
    with pytest.raises(AuroraError, match="it failed: it said nothing"):
        timed(child("pass"), tmp_path / "out", "it")


CHILD = "import os, signal; print(os.getpid(), file=open({path!r}, 'w'), flush=True); signal.pause()"
PARENT = """from pathlib import Path
from aurora.nexmark.rivals.system import timed
timed({command!r}, Path({out!r}), "it")"""


@pytest.mark.parametrize(("sign", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, -signal.SIGINT)])
def test_children_end_with_their_parent(tmp_path: Path, sign: signal.Signals, status: int) -> None:
    path = tmp_path / "pid"
    os.mkfifo(path)
    command = child(CHILD.format(path=str(path)))
    parent = subprocess.Popen(
        child(PARENT.format(command=command, out=str(tmp_path / "out"))),
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    number = int(path.read_text())
    parent.send_signal(sign)
    assert parent.wait(60) == status
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)


def pretend_java(version: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Java that says its version and can do no more."""
    java = folder / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("JAVA_HOME", str(folder))


def test_an_old_java_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_java("11.0.2", tmp_path, monkeypatch)
    with pytest.raises(AuroraError, match="Flink needs Java 17 or later, found version 11"):
        environment.interpreter(print)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "none"))
    with pytest.raises(AuroraError, match="found none: install it or set JAVA_HOME"):
        environment.interpreter(print)


def test_what_cannot_be_installed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'ERROR: No matching distribution'\nexit 1\n")
    python.chmod(0o755)
    pretend_java("17.0.1", tmp_path, monkeypatch)
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    said: list[str] = []
    with pytest.raises(
        AuroraError, match=r"cannot be installed \(ERROR: No matching distribution\): it comes from"
    ):
        environment.interpreter(said.append)
    assert said[0].startswith(f"installing Flink {environment.VERSION} into {tmp_path}/aurora-spark/flink-")


STUB = """#!{python}
import json, pathlib, re, sys
work = json.loads(pathlib.Path(sys.argv[2]).read_text())
source, sink = (re.search("'path' = '(.*?)'", text)[1] for text in (work["tables"][0], work["tables"][-1]))
rows = [json.loads(line)["bid"] for line in open(source)]
chosen = [row for row in rows if row["auction"] % 123 == 0]
with open(pathlib.Path(sink) / "part-1-0", "w") as out:
    out.writelines(json.dumps({{name: row[name] for name in ("auction", "price")}}) + "\\n" for row in chosen)
print(work["report"] + '{{"job": 1.5}}')
"""


def test_flink_gets_the_events_in_one_file(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "aurora-spark" / f"flink-{environment.VERSION}"
    (home / "bin").mkdir(parents=True)
    (home / "ready").touch()
    python = home / "bin" / "python"
    python.write_text(STUB.format(python=sys.executable))
    python.chmod(0o755)
    pretend_java("17.0.1", tmp_path, monkeypatch)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = compare(["q2"], [Flink()], data, tmp_path / "out")
    assert (found.of("q2", "flink").verdict, found.of("q2", "flink").job_s) == ("agrees", 1.5)


@pytest.mark.parametrize(
    ("system", "forms"),
    [("aurora", NETWORKS), ("spark", by_hand.QUERIES), ("flink", sql.QUERIES)],
)
def test_every_query_has_a_form_or_a_reason(system: str, forms: Mapping[str, object]) -> None:
    impossible = system_of(system).impossible
    assert [query for query in QUERIES if query not in forms and query not in impossible] == []
    assert all(reason.strip() for reason in impossible.values())
    # Of q12 only the totals could be checked.
    assert list(impossible) == ["q12"]


@pytest.mark.parametrize("query", sql.QUERIES)
def test_the_statements_of_flink_are_well_formed(query: str) -> None:
    """As far as that shows without Flink: brackets, quotes, places to fill in, and a sink with the query's fields."""
    work = sql.statements(query, "in.jsonl", "out", Rules(), side="side.csv", longest=3_261)
    texts = [*work["tables"], work["insert"], *([work["sorted"]["query"]] if work["sorted"] else [])]
    for text in texts:
        assert text.count("(") == text.count(")")
        assert text.count("'") % 2 == text.count("`") % 2 == 0
        assert not set("{}") & set(text)
    fields = sql.QUERIES[query][0]
    names = ("person", "auction", "bid") if query == "q0" else answer_of(query).fields
    assert all(re.search(rf"(^|\s)`?{name}`? ", fields) for name in names)
    if query != "q0":
        assert len(fields.split(",")) == len(names)


def test_an_interval_of_flink_covers_the_longest_auction(tmp_path: Path) -> None:
    events = [auction(0, 1, 900), auction(100, 2, 3_361), bid(50, 1, 5), person(0, 1)]
    data = write_events(tmp_path / "data", events, [auction(4_000, 3, 4_100)])
    assert longest_auction(Job("q9", data, tmp_path / "out", Rules())) == 3_261
    assert longest_auction(Job("q4", data, tmp_path / "out", Rules())) == 0
    nobody = write_events(tmp_path / "nobody", [bid(0, 1, 5)])
    assert longest_auction(Job("q20", nobody, tmp_path / "out", Rules())) == 0
    work = sql.statements("q20", "in", "out", Rules(), longest=3_261)
    assert "A.`dateTime` + INTERVAL '0 0:00:03.261' DAY TO SECOND(3)" in work["insert"]


def test_flink_sorts_the_closings_and_waits_for_late_events() -> None:
    closed = sql.statements("q6", "in", "out", Rules(lateness=90_061_000))
    assert (
        "WATERMARK FOR moment AS `dateTime` - INTERVAL '1 1:01:01.001' DAY TO SECOND(3)"
        in closed["tables"][0]
    )
    assert "ROWS BETWEEN 9 PRECEDING AND CURRENT ROW" in closed["insert"]


# One file is a batch. These two carry something from batch to batch; for the others one file says as much.
SEVERAL = ("q4", "q6")


@pytest.fixture
def light_state(spark: SparkSession) -> Iterator[SparkSession]:
    """State in memory, as hand-written jobs have it by default."""
    store = "spark.sql.streaming.stateStore"
    light = {
        f"{store}.providerClass": "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
        f"{store}.checkpointFormatVersion": "1",
    }
    before = {name: spark.conf.get(name) for name in light}
    for name, value in light.items():
        spark.conf.set(name, value)
    yield spark
    for name, was in before.items():
        spark.conf.set(name, was)


def test_the_queries_by_hand_agree(light_state: SparkSession, tmp_path: Path) -> None:
    """An auction that ends in the second file, late bids, ties, a channel by url, and a window at the very end."""
    first = [
        person(0, 1),
        person(0, 2, "Bob", "WA"),
        auction(100, 123, 900),
        auction(150, 5, 9_000, seller=2),
    ]
    first += [
        bid(200, 123, 150),
        bid(250, 123, 150, 3),
        bid(300, 5, 99),
        bid(8_000, 5, 300),
        bid(7_000, 5, 400),
    ]
    second = [auction(9_500, 6, 12_000), bid(8_500, 6, 120), bid(9_600, 6, 110), bid(9_000, 5, 500)]
    second += [person(11_000, 3, "Cy", "ID"), auction(12_000, 7, 14_000, seller=3), bid(13_000, 7, 101)]
    second += [bid(13_000, 7, 2_000_000), bid(13_000, 7, 150), bid(13_100, 7, 150, 3), bid(13_100, 7, 150, 4)]
    second[-1]["bid"] |= {
        "channel": "channel-7",
        "url": "https://a/b/c/d?x=1&channel_id=7",
        "extra": "accept",
    }
    second[-2]["bid"] |= {"channel": "channel-8", "url": "https://a/b/c/d?x=1"}
    two = write_events(tmp_path / "two", first, second)
    one = write_events(tmp_path / "one", first + second)
    running = {}
    for query in by_hand.QUERIES:
        kept, data = tmp_path / query, two if query in SEVERAL else one
        (kept / "input").mkdir(parents=True)
        job = Job(query, data, tmp_path / "out" / query, Rules())
        fill(kept / "input", job)
        events = Events(light_state, kept / "input", Rules(), longest_auction(job))
        running[query] = started(query, events, tmp_path / "out" / query, kept)
    for query, stream in running.items():
        stream.awaitTermination()
        parts = sorted((tmp_path / "out" / query).glob("part-*.json"))
        agreement = check(query, one, parts, exact=False)
        assert agreement.agrees, str(agreement)
        assert agreement.found > 0
