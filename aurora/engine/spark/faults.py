"""Why a query failed, in one line that its user can do something about."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark import SparkContext

from aurora.engine.durable import AGAIN
from aurora.engine.spark.session import java_ended, keep_log, temporary_folder
from aurora.errors import AuroraError

__all__ = ["NO_JAVA", "SILENT", "java_fault", "tell_fault", "tell_missing_package"]

LENGTH = 500
# How long a Java that does not answer any more may take to be gone, in seconds.
PATIENCE = 2.0
# The last line of a Python traceback, and what Java says: an exception with its message.
PYTHON = re.compile(
    r"^\s*((?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Exit|Interrupt)\b(?:: .+)?)$", re.MULTILINE
)
JAVA = re.compile(r"(?:^|Caused by: |: )(?:[a-z]\w*\.)+([A-Z]\w*(?:Exception|Error): .+)$", re.MULTILINE)
# What only says that something else has failed.
WRAPPERS = (
    "PythonException",
    "Py4JException",
    "SparkException: Job aborted",
    "StreamingQueryException",
    "An exception was raised by the Python Proxy",
)
# The process of a source that is killed leaves Java with an end of file, which has no message.
KILLED = (
    "Python worker exited unexpectedly",
    "Python worker process terminated",
    "terminated with exception:  SQLSTATE: XXKST (no cause message)",
)
# What Java says of a pipe or socket whose other end is gone; where no Python spoke, that end was a worker.
LOST = re.compile(r"\b(?:Connection reset|Broken pipe)\b")
# What Spark says where files of the state are missing or damaged; and what else may keep it from reading them.
DAMAGED = re.compile(
    r"CANNOT_LOAD_STATE_STORE\.(?:UNCATEGORIZED|CANNOT_READ|UNEXPECTED|INVALID)|MISSING_STATE_DIRECTORY"
)
BARRED = re.compile(
    r"No space left|Too many open files|Permission denied|Input/output error|OutOfMemory|Interrupt"
)
# What Java says, without a file, where there is no room or a limit is hit; and where it writes what goes from task to
# task, which lies in a temporary folder.
FULL = re.compile(r"(?:java\.io\.)?IOException: (File too large|No space left on device|Disk quota exceeded)")
SHUFFLED = re.compile(r"org\.apache\.spark\.(?:storage|shuffle)\.")
# What a worker says whose Python lacks this package, or has another version of it.
MISSING = re.compile(r"No module named '(aurora(?:\.[\w.]+)?)'")
SILENT = (
    "a Python worker of Spark ended without a message: it crashed, or was killed because memory was short"
)
NO_JAVA = "Spark's Java process ended before the run did"


def tell_fault(fault: Any, find_damaged: Callable[[], Path | None] = lambda: None) -> str:
    """Return the innermost cause, without the words of those who passed it on.

    `find_damaged` looks for the file to name where Spark cannot read its state.
    """
    text = str(fault)
    own = re.findall(r"AuroraError: (.+)", text)
    if own:
        return str(own[-1]).strip()
    missing = tell_missing_package(text)
    if missing is not None:
        return missing
    cause = _cause(fault, text)[:LENGTH]
    full = FULL.fullmatch(cause)
    if full is not None:
        place = temporary_folder() if SHUFFLED.search(text) else "the checkpoint"
        return (
            f"Spark cannot write a file of {place}: {full[1]}; fix the cause and {AGAIN}: the run continues where it "
            f"stopped{_more()}"
        )
    if DAMAGED.search(text) and not BARRED.search(text):
        file = find_damaged()
        named = "" if file is None else f": {file} is damaged"
        return (
            f"the state in the checkpoint cannot be read{named} ({cause}); restore the checkpoint, or start over with "
            f"--fresh{_more()}"
        )
    return f"the run failed: {cause}{_more()}"


def tell_missing_package(text: str) -> str | None:
    """Return what to do if Spark says that its Python workers lack this package, as in a session of the user's."""
    found = MISSING.search(text)
    if found is None:
        return None
    context = SparkContext._active_spark_context
    python = getattr(context, "pythonExec", None) or "another Python"
    return (
        f"the Python workers of Spark cannot import aurora: they run {python}, which has no module {found[1]}; set "
        f"PYSPARK_PYTHON={sys.executable} before the session starts, or install the same version of aurora there, on "
        "each machine"
    )


def java_fault(error: Exception) -> AuroraError:
    """What a call of Java says when Java does not answer any more."""
    if java_ended(PATIENCE) or isinstance(error, OSError):
        return AuroraError(f"{NO_JAVA}{_more()}")
    return AuroraError(tell_fault(error))


def _cause(fault: Any, text: str) -> str:
    if isinstance(fault, OSError) and fault.strerror:
        return f"{fault.filename}: {fault.strerror}" if fault.filename else fault.strerror
    if isinstance(fault, Exception) and type(fault).__module__.split(".")[0] not in ("pyspark", "py4j"):
        return f"{type(fault).__name__}: {text.strip()}".splitlines()[0].removesuffix(": ")
    if any(words in text for words in KILLED):
        return SILENT
    python, java = _told(PYTHON, text), _told(JAVA, text)
    if python:
        return python
    if LOST.search(java or text):
        return SILENT
    if java:
        return java
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else type(fault).__name__


def _told(kind: re.Pattern[str], text: str) -> str | None:
    """The last line of that kind that says more than that something else has failed."""
    found = [line.strip() for line in kind.findall(text)]
    return next((line for line in reversed(found) if not any(words in line for words in WRAPPERS)), None)


def _more() -> str:
    log = keep_log()
    return f" (more in {log})" if log else ""
