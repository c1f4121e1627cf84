"""Expressions drawn at random, read by us and by Spark: prints each that they do not agree on.

    python -m tests.algebra.agree 10000 [SEED]

Without a seed it draws other expressions each time; the seed that it prints gives the same ones again.
"""

import sys
from random import Random

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from aurora.engine.spark.session import spark_session
from tests.algebra.drawn import draw
from tests.algebra.spark_harness import differences, frame_of, table_of
from tests.algebra.spark_values import ROWS, SCHEMA, VALUES

# So many texts of each kind in one query of Spark's.
AT_ONCE = 15


def main(wanted: int, seed: int) -> int:
    """How many disagreements there are among that many texts, or a few more."""
    table = table_of(SCHEMA, VALUES, ROWS)
    frame = frame_of(spark_session("agree", "local[1]"), table)
    done = wrong = 0
    print(f"{wanted} expressions from seed {seed}", flush=True)
    while done < wanted:
        texts = draw(Random(seed), AT_ONCE)
        try:
            found = differences(texts, texts, frame, table, SCHEMA)
        except PySparkException:
            # One of them: which?
            found = [told for text in texts for told in one_by_one(text, frame, table)]
        for told in found:
            print(f"seed {seed}: {told}", flush=True)
        done, wrong, seed = done + len(texts), wrong + len(found), seed + 1
        if done // 1000 > (done - len(texts)) // 1000:
            print(f"{done} done", flush=True)
    print(f"{done} expressions, {wrong} disagreements")
    return wrong


def one_by_one(text: str, frame: DataFrame, table: pa.Table) -> list[str]:
    try:
        return differences([text], [text], frame, table, SCHEMA)
    except PySparkException as fault:
        return [f"{text}: Spark refuses it: {str(fault)[:300]}"]


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    count, first = [*given, *(10_000, Random().randrange(2**32))[len(given) :]]
    sys.exit(1 if main(count, first) else 0)
