"""How Spark's Java starts."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from aurora.engine.spark import java
from aurora.engine.spark.java import class_archive, prepare
from aurora.engine.spark.java_archive import run_queries
from aurora.errors import AuroraError
from tests.test_docs import call

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
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """With the classes of Spark's start alone; those of the queries would take a minute more."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.delenv("SPARK_HOME", raising=False)
        patch.setattr(java, "MAKER", "tests.engine.bare_archive")
        status, printed, told = call(["prepare"])
        assert status == 0, told
        yield Path(printed.removeprefix("made ").strip())


def test_the_queries_whose_classes_are_made_ready(spark: SparkSession, tmp_path: Path) -> None:
    run_queries(spark, tmp_path)
    assert (tmp_path / "sums" / "_SUCCESS").exists()
    assert (tmp_path / "sums.csv").read_text().count("\n") > 100


def test_after_prepare_java_starts_with_classes_made_ready(prepared: Path) -> None:
    assert prepared.exists()
    assert [path.name for path in prepared.parent.glob("classes-*")] == [prepared.name]
    assert look() == "10 True\n"


def test_what_is_prepared_already_is_left_alone(prepared: Path) -> None:
    made = prepared.stat().st_mtime_ns
    assert call(["prepare"])[:2] == (0, f"prepared already: {prepared}\n")
    assert prepared.stat().st_mtime_ns == made


def test_classes_that_cannot_be_used_are_left_alone(prepared: Path) -> None:
    content = prepared.read_bytes()
    assert class_archive() == prepared
    # A new file, because the Java of the test before may not have let go of this one yet.
    half = prepared.with_suffix(".half")
    half.write_bytes(content[: len(content) // 2])
    half.replace(prepared)
    assert class_archive() is None


def test_with_a_spark_of_the_users_own_there_is_nothing_to_prepare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    with pytest.raises(AuroraError, match="nothing to prepare: SPARK_HOME is set"):
        prepare()


def look() -> str:
    done = subprocess.run(
        [sys.executable, "-c", LOOK], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
