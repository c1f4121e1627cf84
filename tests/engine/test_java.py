"""How Spark's Java starts."""

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from aurora.engine.spark.java import prepare
from aurora.errors import AuroraError

# Says whether an archive of classes is mapped into Java.
LOOK = """
from pathlib import Path
from pyspark import SparkContext
from aurora.engine.spark.session import spark_session
spark = spark_session("look", "local[1]")
java = SparkContext._gateway.proc.pid
print(spark.range(10).count(), ".jsa" in Path(f"/proc/{java}/maps").read_text().replace("classes.jsa", ""))
"""


def test_python_processes_load_spark_from_where_it_is_installed(spark: SparkSession) -> None:
    def place(_: int) -> str:
        return pyspark.__file__

    found = spark.sparkContext.parallelize([0], 1).map(place).collect()
    assert found == [pyspark.__file__]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cache = tmp_path_factory.mktemp("cache")
    done = _done(["-c", "from aurora.cli.main import main; main()", "prepare"], cache)
    return Path(done.removeprefix("made ").strip())


def test_after_prepare_java_starts_with_classes_made_ready(prepared: Path) -> None:
    assert prepared.exists()
    assert [path.name for path in prepared.parent.glob("classes-*")] == [prepared.name]
    assert _done(["-c", LOOK], prepared.parent.parent.parent) == "10 True\n"


def test_what_is_prepared_already_is_left_alone(prepared: Path) -> None:
    made = prepared.stat().st_mtime_ns
    command = ["-c", "from aurora.cli.main import main; main()", "prepare"]
    assert _done(command, prepared.parent.parent.parent) == f"prepared already: {prepared}\n"
    assert prepared.stat().st_mtime_ns == made


def test_classes_that_cannot_be_used_are_left_alone(prepared: Path) -> None:
    content = prepared.read_bytes()
    # A new file, because the Java of the test before may not have let go of this one yet.
    half = prepared.with_suffix(".half")
    half.write_bytes(content[: len(content) // 2])
    half.replace(prepared)
    assert _done(["-c", LOOK], prepared.parent.parent.parent) == "10 False\n"


def test_with_a_spark_of_the_users_own_there_is_nothing_to_prepare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    with pytest.raises(AuroraError, match="nothing to prepare: SPARK_HOME is set"):
        prepare()


def _done(command: list[str], cache: Path) -> str:
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    environment.pop("SPARK_HOME", None)
    done = subprocess.run(
        [sys.executable, *command], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
