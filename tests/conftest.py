"""One Spark session for all tests."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from aurora.engine.session import spark_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = spark_session("tests", master="local[2]", settings={"spark.driver.memory": "3g"})
    yield session
    session.stop()
