"""The rows of a batch come, even if a stranger connects to Java's port first."""

import socket
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from aurora.engine.spark import collecting


def come_first(port: int, words: bytes) -> None:
    """A stranger, who says something that is not the secret, and waits for an answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as stranger:
        stranger.sendall(words)
        stranger.recv(1)


@pytest.mark.parametrize("words", [b"\0\0\0\5hello", b"GET / HTTP/1.1\r\n\r\n"], ids=["a secret", "a page"])
def test_a_stranger_at_the_port_costs_a_second_try(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, words: bytes
) -> None:
    real, tried = collecting._create_local_socket, []

    def connect(place: tuple[int, str]) -> Any:
        tried.append(place)
        if len(tried) == 1:
            come_first(place[0], words)
        return real(place)

    monkeypatch.setattr(collecting, "_create_local_socket", connect)
    assert collecting.collect_rows(spark.range(3)).to_pydict() == {"id": [0, 1, 2]}
    assert len(tried) == 2


def test_a_job_that_fails_tells_its_fault(spark: SparkSession) -> None:
    rows = spark.range(3).selectExpr("raise_error(concat('at ', id)) AS x")
    with pytest.raises(PySparkException, match=r"at [012]"):
        collecting.collect_rows(rows)


def test_no_rows_have_their_columns(spark: SparkSession) -> None:
    found = collecting.collect_rows(spark.range(0).selectExpr("id", "'a' AS name"))
    assert found.num_rows == 0
    assert found.schema.names == ["id", "name"]
