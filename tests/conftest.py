"""One Spark session for all tests; which tests need Spark; generated inputs that are the same in every run.

HYPOTHESIS_PROFILE=search or thorough looks for new faults instead, with other inputs each time and more of them.
"""

import gc
import os
from collections.abc import Iterator
from functools import cache
from types import ModuleType

import pytest
from hypothesis import Phase, settings
from pyspark.sql import SparkSession

from aurora.engine.spark.session import INTERPRETED, LIGHT_JAVA, own_session, spark_session
from tests.engine.mosquitto_broker import WORDS as MOSQUITTO_WORDS
from tests.engine.postgres_server import WORDS as POSTGRES_WORDS
from tests.order import arrange
from tests.thoroughness import PROFILE, THOROUGH

# No deadlines: the first call of a kernel loads things, and other work may run beside the tests. A few of
# each test, always the same, come to nearly all lines of the algebra that many come to.
settings.register_profile("quick", deadline=None, max_examples=7, derandomize=True)
settings.register_profile("thorough", deadline=None, max_examples=1000)
settings.register_profile("search", deadline=None, max_examples=150, phases=[Phase.generate])
settings.load_profile(PROFILE)

# What starts Spark in a process of its own, beside all that imports tests.engine.processes.
STARTS_SPARK = (
    "tests/engine/test_java.py",
    "tests/engine/test_session.py::test_the_users_session_is_left_alone",
    "tests/test_adaptation_docs.py::test_the_page",
    "tests/test_package.py::test_a_newcomer_follows_the_readme",
)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Frames of a few rows are interpreted, as networks are, which have sessions of their own."""
    with pytest.MonkeyPatch.context() as patch:
        # Spark's Python processes have the environment that Java is started with.
        for name, value in {**POSTGRES_WORDS, **MOSQUITTO_WORDS}.items():
            patch.setenv(name, value)
        session = spark_session("tests", "local[2]", {**LIGHT_JAVA, "spark.driver.memory": "3g"})
    for name, value in INTERPRETED.items():
        session.conf.set(name, value)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def compiling_spark(spark: SparkSession) -> SparkSession:
    """As users have it, for what is held against Spark's own answers."""
    return own_session(spark)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if _starts_spark(item):
            item.add_marker("process")
            item.add_marker(pytest.mark.timeout(0 if THOROUGH else 900))
        if "spark" in getattr(item, "fixturenames", ()) or _starts_spark(item):
            item.add_marker("spark")
    if not THOROUGH:
        left = [item for item in items if item.get_closest_marker("thorough")]
        items[:] = [item for item in items if not item.get_closest_marker("thorough")]
        config.hook.pytest_deselected(items=left)
    arrange(items)


def pytest_collection_finish() -> None:
    """What is loaded by now stays: the collector of garbage need not look at it again and again."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    gc.unfreeze()


def _starts_spark(item: pytest.Item) -> bool:
    return _imports_processes(item) or item.nodeid.startswith(STARTS_SPARK)


def _imports_processes(item: pytest.Item) -> bool:
    return _has_processes(getattr(item, "module", None))


@cache
def _has_processes(module: ModuleType | None) -> bool:
    values = vars(module).values() if module else ()
    return any(getattr(value, "__module__", None) == "tests.engine.processes" for value in values)


@pytest.fixture(autouse=True)
def no_power_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests write thousands of small files: they need not reach the disk, only be told to."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@pytest.fixture(autouse=True)
def java(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not marked starts no Java, so that `make test-fast` leaves none out and takes none in."""
    if "spark" in request.keywords:
        return

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("this test starts Spark: let it use the fixture spark, or mark it spark")

    monkeypatch.setattr("pyspark.core.context.launch_gateway", refuse)
    # For the processes that it starts.
    monkeypatch.setenv("JAVA_HOME", "/no/java/for/a/test/that/is/not/marked/spark")
