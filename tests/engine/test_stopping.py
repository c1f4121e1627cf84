"""How a query is stopped: what its last batch raises, and when Spark is told."""

import re
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from aurora.engine.spark.stopping import IDLE, Stopping

# Spark's own, StreamExecution.PROXY_ERROR.
INTERRUPTED = re.compile(
    r"py4j.protocol.Py4JJavaError: An error occurred while calling((.|\r\n|\r|\n)*)(java.lang.InterruptedException)"
)


class Query:
    """A query that works until it is stopped."""

    def __init__(self, message: str = "Processing new data") -> None:
        self.active = threading.Event()
        self.active.set()
        self.message = message

    @property
    def isActive(self) -> bool:
        return self.active.is_set()

    @property
    def status(self) -> dict[str, Any]:
        return {"message": self.message}

    def stop(self) -> None:
        self.active.clear()


def test_what_a_batch_raises_is_short_and_an_interruption_to_spark() -> None:
    fault = Stopping().leave(None)
    assert INTERRUPTED.match(str(fault)) and len(str(fault)) < 200


def test_a_batch_is_left_once_its_query_is_being_stopped() -> None:
    query: Any = Query()
    stopping, left = Stopping(), []
    batch = threading.Thread(target=lambda: left.append(stopping.leave(query)))
    batch.start()
    # The query is at work, but its batch waits to be left: there is nothing to wait for.
    stopping.stop(query, patience=1000)
    batch.join(10)
    assert len(left) == 1 and not query.isActive


@pytest.mark.parametrize(
    ("message", "patience"), [(IDLE, 1000), ("Processing new data", 0), ("Processing new data", 0.05)]
)
def test_a_query_is_stopped_at_once_if_it_waits_and_at_last_if_it_works(
    message: str, patience: float
) -> None:
    query: Any = Query(message)
    Stopping().stop(query, patience)
    assert not query.isActive


def test_a_batch_that_is_planned_is_waited_for_longer_than_a_source_that_waits() -> None:
    query: Any = Query("Processing new data")
    stopping, left = Stopping(), []
    batch = threading.Timer(0.3, lambda: left.append((query.isActive, stopping.leave(query))))
    batch.start()
    stopping.stop(query, 0.05, planning=1000)
    batch.join(10)
    # The query was not stopped before its batch was reached: it would have been interrupted.
    assert [active for active, _ in left] == [True]
    waiting: Any = Query("Getting offsets from Kafka")
    Stopping().stop(waiting, 0.05, planning=1000)
    assert not waiting.isActive


def test_a_query_that_is_gone_is_stopped_all_the_same() -> None:
    def gone() -> None:
        raise OSError("no answer")

    query: Any = SimpleNamespace(isActive=True, status=None, stop=gone)
    with pytest.raises(OSError, match="no answer"):
        Stopping().stop(query)
    assert str(Stopping().leave(None))
