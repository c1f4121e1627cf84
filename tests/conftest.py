"""One Spark session for all tests; generated inputs that are the same in every run.

HYPOTHESIS_PROFILE=search or thorough looks for new faults instead, with other inputs each time and more of them.
"""

import os
from collections.abc import Iterator

import pytest
from hypothesis import Phase, settings
from pyspark.sql import SparkSession

from aurora.engine.spark.session import spark_session

# No deadlines: the first call of a kernel loads things, and other work may run beside the tests.
settings.register_profile("quick", deadline=None, max_examples=25, derandomize=True)
settings.register_profile("thorough", deadline=None, max_examples=1000)
settings.register_profile("search", deadline=None, max_examples=150, phases=[Phase.generate])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = spark_session("tests", master="local[2]", settings={"spark.driver.memory": "3g"})
    yield session
    session.stop()
