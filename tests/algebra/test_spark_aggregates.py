"""Aggregates over all rows against Spark's."""

import math

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from aurora import Network
from tests.algebra.harness import same_bits
from tests.algebra.running import run_network
from tests.algebra.spark_harness import aggregated, frame_of, same, table_of
from tests.algebra.spark_values import ROWS, SCHEMA, VALUES

AGGREGATES = [
    *(
        f"percentile({field}, {share})"
        for field in "tsilfe"
        for share in ("0", "0.05", "0.3", "0.5", "0.95", "1.0")
    ),
    *(f"{function}({field})" for function in ("median", "min", "max", "count") for field in "tilfe"),
    "percentile(i, 1 / 3)",
    "percentile(if(i > 1000000, i, null), 0.5)",
]
AGGREGATES += [
    *(
        f"percentile_approx({field}, {share})"
        for field in ("t", "s", "i", "l", "e", "day")
        for share in ("0", "0.3", "0.5D", "0.95", "1.0")
    ),
    "approx_percentile(l, 0.25, 10000)",
    "unix_micros(percentile_approx(ts, 0.5))",
    "unix_micros(mode(u, true))",
    *(f"mode({field}, true)" for field in ("t", "i", "l", "x", "day", "b")),
    *(
        f"size({function}({field}))"
        for function in ("collect_list", "collect_set")
        for field in ("i", "x", "ts", "b")
    ),
    "array_join(collect_list(y), '|')",
    "size(array_agg(i))",
]
# Sums of powers, which lose digits in other ways.
DISTRIBUTIONS = [
    f"{function}({field})" for function in ("skewness", "kurtosis") for field in ("t", "s", "if(i = 1, i, 1)")
]
DISTRIBUTIONS += [
    "skewness(if(l = 0, 1000000007, 1000000000 + t))",
    "kurtosis(CAST(NULL AS int))",
    "kurtosis(e)",
]
COUNTED = [*(f"approx_count_distinct({field})" for field in SCHEMA), "approx_count_distinct(l + 7 * j)"]


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return table_of(SCHEMA, VALUES, ROWS)


@pytest.fixture(scope="module")
def frame(compiling_spark: SparkSession, table: pa.Table) -> DataFrame:
    return frame_of(compiling_spark, table)


def ours(texts: list[str], table: pa.Table) -> list[object]:
    return [column[0].as_py() for column in aggregated(texts, SCHEMA, table)]


def test_aggregates_agree(frame: DataFrame, table: pa.Table) -> None:
    theirs = frame.selectExpr(*AGGREGATES).collect()[0]
    wrong = [
        (text, a, b)
        for text, a, b in zip(AGGREGATES, ours(AGGREGATES, table), theirs, strict=True)
        if not same(a, b, exact=False)
    ]
    assert wrong == []


def test_the_shapes_of_distributions_agree(frame: DataFrame, table: pa.Table) -> None:
    for text, a, b in zip(
        DISTRIBUTIONS,
        ours(DISTRIBUTIONS, table),
        frame.selectExpr(*DISTRIBUTIONS).collect()[0],
        strict=True,
    ):
        assert a == b or str(a) == str(b) or math.isclose(a, b, rel_tol=1e-9), (text, a, b)  # type: ignore[arg-type]


def test_approximate_counts_agree_within_their_errors(frame: DataFrame, table: pa.Table) -> None:
    theirs = frame.selectExpr(*COUNTED).collect()[0]
    for text, a, b in zip(COUNTED, ours(COUNTED, table), theirs, strict=True):
        # Spark's own standard error is 5%.
        assert isinstance(a, int) and abs(a - b) <= 0.15 * b + 1, text


def test_zeros_and_nans_are_keys_as_in_spark(compiling_spark: SparkSession) -> None:
    values = [-0.0, 0.0, math.nan, -math.nan, 1.5, -0.0, None]
    table = pa.table({"g": pa.array(values, pa.float64()), "T": range(len(values)), "v": range(len(values))})
    rows = [(0, row) for row in table.to_pylist()]
    network = Network("keys")
    stream = network.input("in0", "g double, T bigint, v bigint")
    by_group = {"on": "T", "group_by": ["g"]}
    count = {"n": "count(*)", "different": "count(DISTINCT g)"}
    network.output("groups", stream.aggregate(count, order=by_group, size=100, advance=100))
    latest = {"on": "T", "slack": {"value": 100}}
    pairs = stream.join(stream, "left.g = right.g", size=100, left_order=latest, right_order=latest)
    network.output("pairs", pairs.map({"one": "v", "other": "v_right", "g": "g", "h": "g_right"}))
    compiling_spark.createDataFrame(table).createOrReplaceTempView("keys")
    groups = "SELECT g, 0L AS T, count(*) AS n, count(DISTINCT g) AS different FROM keys GROUP BY g"
    joined = "SELECT a.v AS one, b.v AS other, a.g AS g, b.g AS h FROM keys a JOIN keys b ON a.g = b.g"
    theirs = {
        "groups": compiling_spark.sql(groups).toArrow().to_pylist(),
        "pairs": compiling_spark.sql(joined).toArrow().to_pylist(),
    }
    for cut in (1, 2, len(rows)):
        run = run_network(network, rows, cut)
        for name, wanted in theirs.items():
            found = [{**row, "T": 0} if "T" in row else row for row in run.rows(name)]
            assert same_bits(sorted(found, key=repr), sorted(wanted, key=repr)), (name, cut)
