"""A job of the user's that is killed: a stream of Spark's in, a network, and a stream of Spark's out, each row once."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet
from pyspark.sql import SparkSession

from aurora import Frame, Memory, Network, Settings, to_dataframe
from aurora.engine.local import LocalRun
from aurora.engine.plan.plan import plan_network
from tests.engine.processes import in_background, kill, wait_for

FILES, ROWS = 4, 75
JOB = """
import sys
from aurora.engine.spark.session import LIGHT_JAVA, spark_session
from tests.history.test_frame_killed import run_job

run_job(spark_session("job", "local[2]", LIGHT_JAVA), sys.argv[1])
"""


def make_network() -> Network:
    network = Network("sums")
    order = {"on": "t", "group_by": ["g"]}
    rows = network.input("rows", "g int, t int")
    network.output("sums", rows.aggregate({"n": "count(*)"}, order=order, size=10, name="sums"))
    return network


def run_job(spark: SparkSession, folder: str) -> None:
    given = spark.readStream.schema("g int, t int").option("maxFilesPerTrigger", 1).json(f"{folder}/in")
    settings = Settings(checkpoint=f"{folder}/net", batch=60, partitions=2)
    sums = to_dataframe(make_network(), spark, {"rows": Frame(given)}, "sums", settings)
    writer = sums.writeStream.format("parquet").option("checkpointLocation", f"{folder}/query")
    writer.trigger(availableNow=True).start(f"{folder}/out").awaitTermination()


def write_input(folder: Path) -> list[dict[str, int]]:
    rows = [{"g": i % 3, "t": i // 2} for i in range(FILES * ROWS)]
    (folder / "in").mkdir()
    for number in range(FILES):
        path = folder / "in" / f"{number:03}.json"
        path.write_text("\n".join(json.dumps(row) for row in rows[number * ROWS : (number + 1) * ROWS]))
        os.utime(path, (1e9 + number, 1e9 + number))
    return rows


def start(folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", JOB, str(folder)]
    return in_background(command, folder / "log", PYSPARK_PYTHON=sys.executable)


def test_a_job_that_is_killed(spark: SparkSession, tmp_path: Path) -> None:
    rows = write_input(tmp_path)
    local = LocalRun(plan_network(make_network()))
    local.read({"rows": Memory.of("g int, t int", rows)})
    wanted = local.rows("sums")
    job = start(tmp_path)
    wait_for(job, (tmp_path / "query/commits/1").exists)
    kill(job)
    run_job(spark, str(tmp_path))
    # Spark's own note of which files count.
    found = pyarrow.parquet.read_table(counted(tmp_path / "out")).to_pylist()
    assert sorted(found, key=str) == sorted(wanted, key=str) and len(wanted) > 20


def counted(folder: Path) -> list[str]:
    """The files of a Parquet sink that belong to batches that count, in their order."""
    named: list[str] = []
    for note in sorted((folder / "_spark_metadata").glob("[0-9]*"), key=lambda path: int(path.stem)):
        lines = [json.loads(line) for line in note.read_text().splitlines()[1:]]
        named = [line["path"] for line in lines] if note.suffix else named + [line["path"] for line in lines]
    return [path.removeprefix("file://") for path in named]
