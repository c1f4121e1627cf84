"""Expressions drawn at random against Spark, a few hundred; `python -m tests.algebra.agree` draws more."""

from random import Random

import pytest
from pyspark.sql import SparkSession

from tests.algebra.drawn import draw
from tests.algebra.spark_harness import differences, frame_of, table_of
from tests.algebra.spark_values import ROWS, SCHEMA, VALUES


@pytest.mark.parametrize("seed", range(4))
def test_drawn_expressions_agree(compiling_spark: SparkSession, seed: int) -> None:
    texts = draw(Random(seed), 15)
    assert len(texts) > 40
    table = table_of(SCHEMA, VALUES, ROWS)
    assert differences(texts, texts, frame_of(compiling_spark, table), table, SCHEMA) == []
