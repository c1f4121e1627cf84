"""Why a query failed, in one line."""

import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark import SparkContext
from pyspark.errors import AnalysisException

from aurora.engine.fault_notes import note_fault, read_fault
from aurora.engine.query import train_query
from aurora.engine.spark.faults import tell_fault
from aurora.errors import AuroraError

NESTED = """[STREAM_FAILED] Query [id = 1] terminated with exception: Job aborted
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "kernels.py", line 3, in number
    raise KeyError("Sid")
KeyError: 'Sid'

\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:1)
"""
JAVA = """[STREAM_FAILED] Query terminated with exception: Job aborted
org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 failed 1 times
Caused by: org.apache.spark.SparkException: could not read state of 0/1
Caused by: java.io.FileNotFoundException: /checkpoint/state/1.delta (No space left on device)
\tat java.base/java.io.FileInputStream.open0(Native Method)
Caused by: java.io.EOFException
"""
LOST = """[STREAM_FAILED] Query terminated with exception: Job aborted
Caused by: org.apache.spark.SparkException: [CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] The state cannot be loaded.
Caused by: java.io.IOException: %s
\tat java.base/java.io.FileInputStream.open0(Native Method)
"""
TOO_LARGE = """[STREAM_FAILED] Query terminated with exception: Job aborted due to stage failure: Task 1 failed 1 times:
java.io.IOException: File too large
\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)
\tat org.apache.spark.storage.TimeTrackingOutputStream.write(TimeTrackingOutputStream.java:59)
"""
CRASHED = """[STREAM_FAILED] Query terminated with exception: Job aborted due to stage failure: Task 0 failed
1 times: org.apache.spark.SparkException: Python worker exited unexpectedly (crashed). Consider setting ...
Caused by: java.io.EOFException
"""

SILENT = "[STREAM_FAILED] Query [id = 7e1f] terminated with exception:  SQLSTATE: XXKST (no cause message)"


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (SILENT, "a Python worker of Spark ended without a message"),
        ("Connection reset", "a Python worker of Spark ended without a message"),
        (
            "Caused by: java.net.SocketException: Broken pipe",
            "a Python worker of Spark ended without a message",
        ),
        ("ConnectionResetError: [Errno 104] Connection reset by peer", "ConnectionResetError"),
        (NESTED, "the run failed: KeyError: 'Sid'"),
        (JAVA, "FileNotFoundException: /checkpoint/state/1.delta (No space left on device)"),
        (
            LOST % "Stream is corrupted",
            "the state in the checkpoint cannot be read (IOException: Stream is corrupted); restore the checkpoint, "
            "or start over with --fresh",
        ),
        (
            LOST % "No space left on device",
            "Spark cannot write a file of the checkpoint: No space left on device; fix the cause and give the same "
            "command again: the run continues where it stopped",
        ),
        (
            TOO_LARGE,
            "Spark cannot write a file of /large/spark: File too large; fix the cause and give the same",
        ),
        (
            CRASHED,
            "a Python worker of Spark ended without a message: it crashed, or was killed because memory was short",
        ),
        ("x\naurora.errors.AuroraError: box b: it broke\n\tat y", "box b: it broke"),
        (
            OSError(28, "No space left on device", "out.csv"),
            "the run failed: out.csv: No space left on device",
        ),
        (OSError(28, "No space left on device"), "the run failed: No space left on device"),
        (ValueError("no\nsuch"), "the run failed: ValueError: no"),
        (ValueError(), "the run failed: ValueError"),
    ],
)
def test_the_innermost_cause_is_told(fault: object, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/large/spark")
    line = tell_fault(fault)
    assert told in line and "\n" not in line


def test_a_fault_that_a_task_has_noted_is_found(tmp_path: Path) -> None:
    folder = str(tmp_path / "scratch")
    assert read_fault(folder, 0.0) is None
    note_fault(folder, AuroraError("box checked: ValueError: no luck"))
    assert read_fault(folder, 0.0) == "box checked: ValueError: no luck"
    assert read_fault(folder, time.time() + 60) is None, "that of an earlier run"


NO_AURORA = """[PYTHON_DATA_SOURCE_ERROR] Failed to create Python data source instance: Traceback (most recent)
  File "pyspark/sql/worker/create_data_source.py", line 57, in _main
ModuleNotFoundError: No module named 'aurora'
 SQLSTATE: 38000
"""


def test_workers_without_aurora_are_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkContext, "_active_spark_context", SimpleNamespace(pythonExec="python3"))
    told = (
        "the Python workers of Spark cannot import aurora: they run python3, which has no module aurora; set "
        f"PYSPARK_PYTHON={sys.executable} before the session starts, or install the same version of aurora there, on "
        "each machine"
    )
    assert tell_fault(NO_AURORA) == told

    class Reader:
        def format(self, _: str) -> "Reader":
            return self

        def option(self, *_: str) -> "Reader":
            return self

        def load(self) -> None:
            raise AnalysisException(NO_AURORA)

    spark: Any = SimpleNamespace(
        dataSource=SimpleNamespace(register=lambda _: None),
        conf=SimpleNamespace(set=lambda *_: None),
        readStream=Reader(),
    )
    job: Any = SimpleNamespace(buckets=1)
    monkeypatch.setattr("aurora.engine.query.pack_admission", lambda _: "")
    with pytest.raises(AuroraError) as fault:
        train_query(spark, job, SimpleNamespace())  # type: ignore[arg-type]
    assert str(fault.value) == told


def test_a_module_of_the_users_that_is_missing_is_not_taken_for_aurora() -> None:
    assert tell_fault("ModuleNotFoundError: No module named 'auroras'").startswith("the run failed: Module")
