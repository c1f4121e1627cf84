"""The user's own Spark session stays as it is, and a master that cannot be is told at once."""

import json
import os
import re
import socket
import subprocess
import sys
import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from aurora import AuroraError, Memory, Network, Settings, run
from aurora.engine import spark_run
from aurora.engine.binding import Bound
from aurora.engine.private import is_private
from aurora.engine.spark import session
from aurora.engine.spark.master import check_master, check_reachable, count_cores, has_workers, same_master
from aurora.engine.waits import waits
from tests.engine.rpc import REFUSED, ask_spark
from tests.engine.without_spark import base

# Another process, because a session of the user's is there before this package's.
OWN_SESSION = """
import json, sys
from pyspark.sql import SparkSession
from aurora import AuroraError, Frame, Memory, Network, Settings, run, start, to_dataframe
from aurora.engine.spark.java import spark_home
from aurora.engine.spark.session import keep_log, spark_session

# With a home without archives, Python processes start sooner.
with spark_home():
    spark = (
        SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.sql.session.timeZone", "Asia/Tokyo").config("spark.sql.ansi.enabled", "true").getOrCreate()
    )
spark.conf.set("spark.sql.shuffle.partitions", "3")

def look():
    active = SparkSession.getActiveSession()
    answer = active.sql("SELECT hour(timestamp_seconds(0)) AS h").collect()[0].h
    try:
        active.sql("SELECT CAST('x' AS int)").collect()
        strict = False
    except Exception:
        strict = True
    return answer, strict, dict(sorted(spark.conf.getAll.items())), active is spark

before = look()
net = Network("sums")
rows = net.input("rows", "g int, t int")
net.output("sums", rows.aggregate({"n": "count(*)"}, order={"on": "t", "group_by": ["g"]}, size=2, name="sums"))
found = []
given = {"rows": Memory.of("g int, t int", [{"g": i % 2, "t": i} for i in range(8)])}
sinks = {"sums": lambda batch: found.extend(batch.to_pylist())}
try:
    run(net, given, sinks, Settings(master="local[3]"))
    fault = None
except AuroraError as error:
    fault = str(error)

def broken(rows):
    raise ValueError("no more")

try:
    run(net, given, {"sums": broken}, Settings(partitions=1))
    broken = None
except AuroraError as error:
    broken = str(error)
spark_session().sql("SELECT 1").collect()
# With DataFrames at both ends.
frame = Frame(spark.range(8).selectExpr("CAST(id % 2 AS int) AS g", "CAST(id AS int) AS t"))
run(net, {"rows": frame}, sinks, Settings(partitions=1))
sums = to_dataframe(net, spark, {"rows": frame})
# It is the user's session as it is: an hour there is an hour in Tokyo.
hours = sums.selectExpr("n", "hour(timestamp_seconds(0)) AS h").writeStream.foreachBatch(
    lambda rows, number: found.extend((row.n, row.h) for row in rows.collect())
)
hours.trigger(availableNow=True).start().awaitTermination()
# Left before the first batch, and while batches come.
stream = spark.readStream.format("rate").option("rowsPerSecond", 100).load().selectExpr(
    "CAST(value AS int) AS g", "CAST(value AS int) AS t"
)
for batches in (0, 1):
    settings = Settings(partitions=1, follow=True)
    with start(net, {"rows": Frame(stream)}, {"sums": lambda batch: None}, settings) as going:
        for _, report in zip(range(batches), (each for each in going.batches() if sum(each.taken.values()))):
            pass
        print("LEAVING", file=sys.stderr, flush=True)
    print("LEFT", file=sys.stderr, flush=True)
print(json.dumps([before, look(), found, fault, broken, keep_log()]))
"""
# What a fault that nobody has to hear of leaves behind.
TRACE = re.compile(r" ERROR |Exception|Error\b|Traceback|^\s+at |^  File ")


def test_the_users_session_is_left_alone() -> None:
    done = subprocess.run(
        [sys.executable, "-c", OWN_SESSION],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
    )
    assert done.returncode == 0, done.stderr
    before, after, rows, fault, broken, log = json.loads(done.stdout.splitlines()[-1])
    assert before == after and before[:2] == [9, True]
    assert rows[:8] == [{"g": g, "t": t, "n": 1} for t in (0, 2, 4, 6) for g in (0, 1) for t in [t + g]]
    assert rows[8:] == 8 * [[1, 9]]
    assert fault == (
        "Spark runs in this process already, on local[1], and cannot run on local[3] as well: "
        "leave the master out, or stop that session first"
    )
    # There is no log of this package's to look into.
    assert broken.startswith("sink sums: ValueError: no more") and log is None
    # What the process that Spark asks for the schema of the state prints, but for its first line.
    assert "Python worker received parameters" not in done.stderr
    assert "of UDF" not in done.stderr
    for leaving in done.stderr.split("LEAVING\n")[1:]:
        told = [line for line in leaving.partition("LEFT\n")[0].splitlines() if TRACE.search(line)]
        assert told == [], leaving[:4000]


def test_a_session_of_this_package_keeps_its_settings_too(spark: SparkSession) -> None:
    before = spark.conf.getAll
    network = Network("all")
    network.output("all", network.input("rows", "a int"))
    run(network, {"rows": Memory.of("a int", [{"a": 1}])}, {"all": lambda rows: None}, Settings(partitions=5))
    assert spark.conf.getAll == before


def test_java_has_room_for_the_code_of_many_queries(spark: SparkSession) -> None:
    """When the room is full, Java ends, and with it every run of the process."""
    jvm: Any = spark.sparkContext._jvm
    pools = jvm.java.lang.management.ManagementFactory.getMemoryPoolMXBeans()
    assert sum(pool.getUsage().getMax() for pool in pools if "Code" in pool.getName()) >= 200 << 20


def test_the_ports_of_spark_hear_nobody_without_its_secret(spark: SparkSession) -> None:
    port = int(str(spark.sparkContext.getConf().get("spark.driver.port")))
    assert REFUSED in ask_spark("127.0.0.1", port)


@pytest.mark.parametrize(
    "master", ["local", "local[2]", "local[*]", "local[2,3]", "yarn", "spark://a:1,b:2", None]
)
def test_masters(master: str | None) -> None:
    assert check_master(master) is None


@pytest.mark.parametrize("master", ["nonsense", "", "local[0]", "local[]", "spark://", "spark://host", "a b"])
def test_what_is_not_a_master(master: str) -> None:
    with pytest.raises(AuroraError, match="is not a Spark master; write local"):
        check_master(master)


def test_a_master_that_does_not_answer_is_told_before_spark_starts() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        free = listener.getsockname()[1]
        # Bound and not listening: it refuses.
        with pytest.raises(
            AuroraError, match=f"no Spark master answers at 127.0.0.1:{free}: Connection refused"
        ):
            check_reachable(f"spark://127.0.0.1:{free}")
        listener.listen()
        assert check_reachable(f"spark://127.0.0.1:1,127.0.0.1:{free}") is None


@pytest.mark.parametrize(
    ("master", "executors", "there"),
    [("spark://host:7077", 1, False), ("spark://host:7077", 2, True), ("local[2]", 1, True)],
)
def test_a_master_without_workers(master: str, executors: int, there: bool) -> None:
    """The driver itself is listed among the executors."""
    tracker = SimpleNamespace(getExecutorInfos=lambda: [None] * executors)
    java = SimpleNamespace(sc=lambda: SimpleNamespace(statusTracker=lambda: tracker))
    context: Any = SimpleNamespace(master=master, _jsc=java)
    assert has_workers(context) is there


class Gathering:
    """A Spark whose executors, with two cores each, come at these seconds of a virtual clock."""

    def __init__(self, *comes: float, settings: tuple[str, ...] = ()) -> None:
        self.now, self.comes, self.master = 0.0, comes, "spark://host:7077"
        self._settings = settings
        tracker = SimpleNamespace(getExecutorInfos=lambda: [None] * (1 + self._there))
        self._jsc = SimpleNamespace(sc=lambda: SimpleNamespace(statusTracker=lambda: tracker))

    def getConf(self) -> Any:
        return SimpleNamespace(contains=lambda key: key in self._settings)

    @property
    def _there(self) -> int:
        return sum(second <= self.now for second in self.comes)

    @property
    def defaultParallelism(self) -> int:
        return 7 if self._settings else max(2 * self._there, 2)

    def rest(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize(
    ("comes", "settings", "cores", "until"),
    [
        ((1.0, 1.5, 3.0), (), 6, 5.0),
        ((1.0, 9.0), (), 2, 3.0),
        ((), (), 2, 15.0),
        ((1.0,), ("spark.default.parallelism",), 7, 0.0),
    ],
)
def test_the_cores_of_a_cluster_are_those_of_its_executors(
    comes: tuple[float, ...], settings: tuple[str, ...], cores: int, until: float
) -> None:
    """Not those of the machine that gives the command; one that comes late counts in the next run."""
    spark: Any = Gathering(*comes, settings=settings)
    assert count_cores(spark, clock=lambda: spark.now, rest=spark.rest) == cores
    assert spark.now == pytest.approx(until, abs=0.3)


def test_a_start_that_is_stopped_waits_for_no_executors() -> None:
    spark: Any = Gathering()
    assert count_cores(spark, lambda: spark.now > 1, lambda: spark.now, spark.rest) == 2
    assert spark.now < 1.5


def test_the_buckets_and_pieces_of_a_run_are_as_many_as_its_cluster_has_cores(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("1,1,34\n")
    sources, sinks = {"r": f"csv:{tmp_path}/r.csv"}, {"far": f"csv:{tmp_path}/far.csv"}
    for cores, partitions, buckets, pieces in ((5, None, 5, 5), (9, None, 5, 9), (9, 3, 5, 9)):
        settings = Settings(partitions=partitions)
        with Bound.of(base(), sources, sinks, settings, lambda cores=cores: cores) as bound:
            # State lies in the buckets with which the first run began.
            assert (bound.job.buckets, bound.admission.pieces) == (buckets, pieces)


def test_a_run_without_workers_says_so_once_and_waits(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(waits, "quiet", 0.0)
    monkeypatch.setattr(spark_run, "has_workers", lambda context: False)
    (tmp_path / "r.csv").write_text("1,1,34\n")
    run(base(), {"r": f"csv:{tmp_path}/r.csv"}, {"far": f"csv:{tmp_path}/far.csv"})
    told = f"{spark_run.NO_WORKERS}; {spark_run.HOW_TO_GET_WORKERS}"
    assert caplog.messages.count(told) == 1


def test_the_same_master_by_another_name() -> None:
    assert same_master("local", "local[1]") and same_master("local[2, 3]", "local[2,3]")
    assert not same_master("local[2]", "local[*]")


def test_the_command_says_that_no_master_answers(tmp_path: Path) -> None:
    network = Path(__file__).parent.parent.parent / "examples" / "05_border_watch"
    done = subprocess.run(
        [sys.executable, "-c", "from aurora.cli.main import main; main()", "run", str(network / "network.yaml"),
         "--source", f"reports=csv:{network / 'reports.csv'}", "--sink", "alarms=console",
         "--master", "spark://127.0.0.1:1"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == (
        "error: no Spark master answers at 127.0.0.1:1: Connection refused; start it, or check the address\n"
    )


def test_a_log_of_the_users_is_never_emptied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("mine\n")
    monkeypatch.setattr(session, "_log", str(notes))
    with session._quiet_launch():
        os.write(1, b"Spark's\n")
    assert notes.read_text() == "mine\nSpark's\n"


def test_a_log_that_the_user_does_not_name_is_this_runs_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "_log", None)
    monkeypatch.setattr(session, "_own_log", None)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for told in (b"old\n", b"new\n"):
        with session._quiet_launch():
            os.write(2, told)
    log = Path(session.log_path())
    assert log.parent == tmp_path and log.read_text() == "new\n"
    assert log.stat().st_mode & 0o777 == 0o600
    # Nobody can make it before: its name is another in each process.
    monkeypatch.setattr(session, "_own_log", None)
    assert session.log_path() != str(log)
    mine = tmp_path / "mine"
    mine.write_text("mine\n")
    Path(session.log_path()).unlink()
    Path(session.log_path()).symlink_to(mine)
    with pytest.raises(AuroraError, match="cannot be written"), session._quiet_launch():
        pass
    assert mine.read_text() == "mine\n"


def test_what_spark_writes_for_itself_is_closed_to_others(spark: SparkSession) -> None:
    """Java removes it when it ends, be it because this process was killed."""
    spark.range(4).repartition(2).count()
    java: Any = spark.sparkContext._jvm
    folder = java.System.getProperty("java.io.tmpdir")
    assert is_private(folder) and any(name.startswith("blockmgr-") for name in os.listdir(folder))
    assert str(spark.conf.get("spark.sql.warehouse.dir")).endswith(f"{folder}/warehouse")
    hooks = java.org.apache.spark.util.ShutdownHookManager
    assert hooks.hasShutdownDeleteDir(java.java.io.File(folder))
    sockets = str(spark.conf.get("spark.python.unix.domain.socket.dir"))
    assert is_private(sockets) and len(sockets) <= session.LONGEST


@pytest.mark.parametrize("deep", [False, True])
def test_sockets_have_a_short_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deep: bool) -> None:
    temporary = tmp_path / ("d" * 80)
    temporary.mkdir()
    monkeypatch.setattr(session, "_folders", {})
    monkeypatch.setattr(session, "LONGEST", 64 if deep else 1000)
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    monkeypatch.setattr(session, "java_ended", lambda: True)
    folder = session._socket_folder()["spark.python.unix.domain.socket.dir"]
    assert is_private(folder) and session._socket_folder() == {"spark.python.unix.domain.socket.dir": folder}
    assert Path(folder).parent == (Path(session.SHORT) if deep else temporary)
    assert len(f"{folder}/.{uuid.uuid4()}.sock") <= 107 or not deep
    session._remove_folders(os.getpid() + 1)
    assert os.path.exists(folder), "it is not that of a fork"
    session._remove_folders(os.getpid())
    assert not os.path.exists(folder) and os.listdir(temporary) == []
