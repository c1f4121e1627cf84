"""How Spark's Java starts."""

import os
import shutil
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
from tests.engine.strangers import as_a_stranger, open_folder
from tests.engine.without_spark import BASE
from tests.history.attached import wait_until
from tests.test_docs import call

__all__ = ["open_folder"]

# Says whether an archive of classes is mapped into Java.
LOOK = """
from pathlib import Path
from pyspark import SparkContext
from aurora.engine.spark.session import LIGHT_JAVA, spark_session
spark = spark_session("look", "local[1]", LIGHT_JAVA)
java = SparkContext._gateway.proc.pid
print(spark.version, ".jsa" in Path(f"/proc/{java}/maps").read_text().replace("classes.jsa", ""))
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


def test_after_prepare_java_starts_with_classes_made_ready(prepared: Path, tmp_path: Path) -> None:
    assert prepared.exists()
    assert [path.name for path in prepared.parent.glob("classes-*")] == [prepared.name]
    assert look(TMPDIR=str(tmp_path)) == f"{pyspark.__version__} True\n"
    # Java ends, and removes what it has written, a moment after the process that started it.
    wait_until(lambda: os.listdir(tmp_path) == [])


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


def test_nothing_is_started_from_a_folder_that_others_could_change(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(open_folder))
    folder = open_folder / "aurora-spark"
    as_a_stranger("import os, sys; os.mkdir(sys.argv[1]); os.chmod(sys.argv[1], 0o777)", folder)
    with java.spark_home() as home:
        assert home is None and list(folder.iterdir()) == []


def test_the_folder_of_an_earlier_version_is_closed_and_put_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was made with the mode that the user's files have; what others put there in place of links is not followed."""
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with java.spark_home() as home:
        assert home is not None
    for folder in (home, home.parent):
        folder.chmod(0o775)
    (home / "bin").unlink()
    (home / "bin").symlink_to(tmp_path)
    with java.spark_home() as home:
        assert home is not None and os.readlink(home / "bin") == str(java.REAL / "bin")
        assert {folder.stat().st_mode & 0o777 for folder in (home, home.parent)} == {0o700}


def test_with_a_spark_of_the_users_own_there_is_nothing_to_prepare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    with pytest.raises(AuroraError, match="nothing to prepare: SPARK_HOME is set"):
        prepare()


# Commands that the scripts of Spark use.
TOOLS = ("bash", "dirname", "env", "head", "ps", "sh")
TOO_OLD = """#!/bin/sh
echo 'Error: A JNI error has occurred, please check your installation and try again' >&2
echo 'Exception in thread "main" java.lang.UnsupportedClassVersionError: Main: class file version 61.0' >&2
exit 1
"""
NEEDED = "Spark needs Java 17 or newer"


CASES = [
    (None, None, f"{NEEDED}, and there is none: install it, or set JAVA_HOME"),
    ("java", None, f"{NEEDED}, and JAVA_HOME, HOME, has no bin/java: install it, or set JAVA_HOME"),
    ("old", TOO_OLD,
     'Spark did not start, because HOME/bin/java ended at once; it said: Exception in thread "main" '
     "java.lang.UnsupportedClassVersionError: Main: class file version 61.0; "
     f"{NEEDED}: install it, or set JAVA_HOME"),
    ("mute", "#!/bin/sh\nexit 1\n",
     "Spark did not start, because HOME/bin/java ended at once; it said nothing; "
     f"{NEEDED}: install it, or set JAVA_HOME"),
]  # fmt: skip
# The same command with one home of Java after the other; `none` is none.
EACH = """
import os, sys
from aurora.cli.main import main
homes, sys.argv[1:] = sys.argv[1].split(), sys.argv[2:]
for home in homes:
    os.environ.pop("JAVA_HOME", None)
    if home != "none":
        os.environ["JAVA_HOME"] = home
    try:
        main()
    except SystemExit as ended:
        print(ended.code)
"""


def test_a_java_that_is_not_there_or_does_not_start_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for tool in TOOLS:
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool) or "/bin/false")
    for home, script, _ in CASES:
        if home is not None and script is not None:
            (tmp_path / home / "bin").mkdir(parents=True)
            (tmp_path / home / "bin" / "java").write_text(script)
            (tmp_path / home / "bin" / "java").chmod(0o755)
    (tmp_path / "net.yaml").write_text(BASE)
    (tmp_path / "r.csv").write_text("Sid,Time,Pos\n1,1,34\n")
    homes = " ".join("none" if home is None else str(tmp_path / home) for home, *_ in CASES)
    clean = {name: value for name, value in os.environ.items() if name not in ("JAVA_HOME", "SPARK_HOME")}
    done = subprocess.run(
        [sys.executable, "-c", EACH, homes, "run", "net.yaml", "--source", "r=csv:r.csv", "--sink", "far=csv:far.csv"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
        env=clean | {"PATH": str(tmp_path / "bin")},
    )  # fmt: skip
    assert done.stdout == "1\n" * len(CASES)
    told = [text.replace("HOME/", f"{tmp_path}/{home}/").replace(", HOME,", f", {tmp_path}/{home},")
            for home, _, text in CASES]  # fmt: skip
    assert done.stderr.splitlines() == [f"error: {text}" for text in told]


def look(**environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", LOOK],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
