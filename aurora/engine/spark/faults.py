"""Why a query failed, in one line that its user can do something about."""

import re
from typing import Any

from aurora.engine.spark.session import java_ended, keep_log
from aurora.errors import AuroraError

__all__ = ["java_fault", "tell_fault"]

LENGTH = 500
# The last line of a Python traceback, and a cause as Java tells it.
PYTHON = re.compile(
    r"^\s*((?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Warning)\b(?:: .+)?)$", re.MULTILINE
)
JAVA = re.compile(r"^\s*Caused by: (?:[a-z]\w*\.)*([A-Z]\w*(?:: .+)?)$", re.MULTILINE)
# What only says that something else has failed.
WRAPPERS = ("PythonException", "Py4JException", "SparkException: Job aborted", "StreamingQueryException")


def tell_fault(fault: Any) -> str:
    text = str(fault)
    own = re.findall(r"AuroraError: (.+)", text)
    if own:
        return str(own[-1]).strip()
    if isinstance(fault, OSError) and fault.strerror:
        place = f" {fault.filename}" if fault.filename else ""
        return (
            f"the run failed:{place} {fault.strerror}"
            if not place
            else f"the run failed:{place}: {fault.strerror}"
        )
    return f"the run failed: {_cause(fault, text)[:LENGTH]}{_more()}"


def java_fault(error: Exception) -> AuroraError:
    """What a call of Java says when Java does not answer any more."""
    if java_ended() or isinstance(error, OSError):
        return AuroraError(f"Spark's Java process ended before the run did{_more()}")
    return AuroraError(tell_fault(error))


def _cause(fault: Any, text: str) -> str:
    if isinstance(fault, Exception) and type(fault).__module__.split(".")[0] not in ("pyspark", "py4j"):
        return f"{type(fault).__name__}: {text.strip()}".splitlines()[0]
    for found in (PYTHON.findall(text), JAVA.findall(text)):
        told: list[str] = [line.strip() for line in found if not any(wrapper in line for wrapper in WRAPPERS)]
        if told:
            return told[-1]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else type(fault).__name__


def _more() -> str:
    log = keep_log()
    return f" (more in {log})" if log else ""
