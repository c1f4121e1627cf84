"""The rows of a batch, fetched from Java.

Java serves them at a port of its own to whoever connects first. If that is a stranger, say a client that looks for a
server of its own which is away, Java closes the port, and Spark's `toArrow` waits for ever for a result that nobody
makes. Nothing has run by then, so a connection that fails is simply tried again.
"""

from typing import Any

import pyarrow as pa
from pyspark.errors.exceptions.captured import unwrap_spark_exception
from pyspark.sql import DataFrame
from pyspark.sql.pandas.serializers import ArrowCollectSerializer
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.util import _create_local_socket

__all__ = ["collect_rows"]

TRIES = 3


def collect_rows(rows: DataFrame) -> pa.Table:
    """What `rows.toArrow()` gives."""
    with unwrap_spark_exception():
        file, connection, server = _connect(rows)
        try:
            with connection, file:
                batches = list(ArrowCollectSerializer().load_stream(file))
        finally:
            # The fault of the job, if it has failed.
            server.getResult()
    return pa.Table.from_batches(batches, to_arrow_schema(rows.schema, timezone="UTC"))


def _connect(rows: DataFrame) -> tuple[Any, Any, Any]:
    for left in reversed(range(TRIES)):
        port, secret, server = rows._jdf.collectAsArrowToPython()
        try:
            return (*_create_local_socket((port, secret)), server)
        except Exception:
            if not left:
                raise
    raise AssertionError
