"""What the Python API says of arguments that cannot be meant."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from aurora import AuroraError, Network, Settings, run, start
from aurora.engine.sources.address_text import read_address

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"batch": "many"}, "batch is a whole number of rows, 1 or more, found 'many'"),
    ({"batch": 0}, "batch is a whole number of rows, 1 or more, found 0"),
    ({"batch": True}, "batch is a whole number of rows, 1 or more, found True"),
    ({"batch": 1e6}, "batch is a whole number of rows, 1 or more, found 1000000.0"),
    ({"partitions": 0}, "partitions is a whole number, 1 or more, or None, found 0"),
    ({"warm_up": -1}, "warm_up is a whole number of batches, 0 or more, found -1"),
    ({"shed": "no"}, "shed is True or False, found 'no'"),
    ({"follow": 1}, "follow is True or False, found 1"),
    ({"optimise": None}, "optimise is True or False, found None"),
    (
        {"batch_seconds": "1"},
        "batch_seconds is a number of seconds above 0 and below 1,000,000, or None, found '1'",
    ),
    ({"batch_seconds": 0}, "batch_seconds is a number of seconds above 0"),
    ({"batch_seconds": float("nan")}, "batch_seconds is a number of seconds above 0"),
    ({"master": 4}, "master is a text or None, found 4"),
    ({"metrics": 9464}, "metrics is a text or None, found 9464"),
    ({"checkpoint": b"x"}, "checkpoint is a path or None, found b'x'"),
    ({"home": 1}, "home is a path or None, found 1"),
]


@pytest.mark.parametrize(("given", "told"), WRONG)
def test_settings_that_cannot_be_meant(given: dict[str, Any], told: str) -> None:
    with pytest.raises(AuroraError) as caught:
        Settings(**given)
    assert told in str(caught.value) and "\n" not in str(caught.value)


def test_numbers_of_numpy_and_paths_are_settings(tmp_path: Path) -> None:
    given: dict[str, Any] = {"batch": np.int64(7), "batch_seconds": np.float32(0.5), "checkpoint": tmp_path}
    assert Settings(**given).batch == 7


FRAME = pd.DataFrame({"a": range(100)})


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            FRAME,
            "source r: a DataFrame is not an address; write Memory.of(rows) for a list of dicts, a DataFrame of",
        ),
        ([{"a": 1}], "source r: a list is not an address; write Memory.of(rows)"),
        (pa.table({"a": [1]}), "source r: a Table is not an address; write Memory.of(rows)"),
        (None, "source r: a NoneType is not an address; write an address such as csv:PATH"),
    ],
)
def test_rows_are_no_address(given: object, told: str) -> None:
    with pytest.raises(AuroraError) as caught:
        read_address("r", given)
    assert str(caught.value).startswith(told)


def test_a_frame_of_spark_is_no_address() -> None:
    kind = type("DataFrame", (), {"__module__": "pyspark.sql.classic.dataframe"})
    with pytest.raises(AuroraError, match=r"source r: a DataFrame is not an address; write Frame\(df\)"):
        read_address("r", kind())


def copy() -> Network:
    network = Network("copy")
    network.output("all", network.input("orders", "a int"))
    return network


def test_what_a_run_is_called_with() -> None:
    calls: list[tuple[Any, str]] = [
        (lambda: run(copy()), "input orders has no source"),
        (lambda: start(copy()), "input orders has no source"),
        (
            lambda: run(copy(), FRAME),
            "the sources are a mapping of names, such as {'orders': 'csv:PATH'}, found a D",
        ),
        (
            lambda: run(copy(), {"orders": FRAME}),
            "source orders: a DataFrame is not an address; write Memory.of",
        ),
        (
            lambda: run(copy(), {}, ["csv:x"]),
            "the sinks are a mapping of names, such as {'all': 'csv:PATH'}, found a",
        ),
        (lambda: run("n.yaml", {}), r"a run is of a Network, found a str; read_network(PATH) reads one"),
        (lambda: run(copy(), {}, None, {"batch": 1}), "settings are Settings(..), found a dict"),
    ]
    for call, told in calls:
        with pytest.raises(AuroraError) as caught:
            call()
        assert told in str(caught.value) and "\n" not in str(caught.value)


def test_what_a_top_is_called_with() -> None:
    stream: Any = copy().stream("orders")
    for call in (lambda: stream.top(k=2, by="a DESC"), lambda: stream.top({"k": 2, "by": "a DESC"})):
        with pytest.raises(
            AuroraError, match=r"write top\(\{'k': 3, 'by': 'Price DESC'\}, order=\{'on': 'Time'\}"
        ):
            call()
