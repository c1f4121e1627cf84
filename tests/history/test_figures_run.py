"""A network that runs on a live source: its figures, its troubles, and what the next run of the home begins with."""

import logging
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from aurora import Memory, Network, Paced, Settings, start
from aurora.history.catalog import read_figures
from aurora.history.home import Home
from tests.history.attached import wait_until

ROWS = [{"a": number % 10} for number in range(100_000)]


def lossless() -> Network:
    """Its graph asks for more than any batch can do, and allows no tuple to be left out."""
    network = Network("hurry")
    over = network.input("r", "a int").filter("a >= 8", name="over")
    network.output("far", over, qos={"latency": [[0, 1], [0.001, 1], [1, 0]]})
    return network


def test_a_network_that_is_too_slow(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    home = Home.of(tmp_path / "home")
    sources = {"r": Paced(Memory.of("a int", ROWS), 500.0)}
    settings = Settings(home=str(home.folder))
    with caplog.at_level(logging.WARNING, "aurora"):
        with start(lossless(), sources, {"far": lambda batch: None}, settings) as running:
            # On a busy machine the input falls behind as well, and maybe before.
            wait_until(lambda: any(text.startswith("output far") for text in running.troubles))
            status = running.status()
        (told,) = {text for text in caplog.messages if text.startswith("output far")}
    assert told.startswith("output far is outside its good zone: p99 ") and told.endswith(" > 0.001 s")
    assert any(text.startswith("output far is outside its good zone") for text in status["troubles"])
    assert status["boxes"]["over"]["ports"] == pytest.approx({"1": 0.2, "rest": 0.8}, abs=0.1)
    assert status["inputs"]["r"]["waiting"] is not None and status["arcs"]["over.1"]["rate"] > 0
    found = read_figures(home)
    assert found.boxes["over"].cost > 0 and found.cores >= 1
    drawn = home.read_network()
    assert drawn is not None and drawn["outputs"] == {"far": "over.1"}
    with start(lossless(), sources, {"far": lambda batch: None}, settings) as running:
        known = running.figures().boxes
    assert known["over"].selectivity.keys() == {"1", "rest"}, "it knows before its first batch"
