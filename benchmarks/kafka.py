"""A topic filtered and counted, beside Spark's own reader: `python -m benchmarks.kafka`, with 0.1 behind it for a quick
look. Starts a broker from the jars that the tests use; Spark's connector comes the same way."""

import multiprocessing
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import functions as f

from aurora import Network, Settings, run
from aurora.engine.spark.session import spark_session
from benchmarks.clock import show
from tests.engine.kafka_broker import Broker, broker_in, jars

__all__ = ["main"]

SCHEMA = "id bigint, t int, k int, km double, city string"
PARTITIONS = 2
CONNECTOR = ("org.apache.spark", "spark-sql-kafka-0-10_2.13", pyspark.__version__)
CHUNK = 50_000
BATCH, RECORDS, TRIES = 1_000_000, 10_000_000, 3


def fill(broker: Broker, topic: str, number: int) -> None:
    from confluent_kafka import Producer

    client = Producer({"bootstrap.servers": broker.hosts, "linger.ms": 50, "compression.type": "lz4"})
    for start in range(0, number, CHUNK):
        for partition in range(PARTITIONS):
            values = [
                {"value": b'{"id": %d, "t": %d, "k": %d, "km": %d.5, "city": "city %d"}'
                 % (each, each // 1000, each % 10, each % 8, each % 100)}
                for each in range(start + partition, min(start + CHUNK, number), PARTITIONS)
            ]  # fmt: skip
            client.produce_batch(topic, values, partition=partition)
        client.flush()


def network() -> Network:
    made = Network("count")
    far = made.input("trips", SCHEMA).filter("km > 3", name="far")
    # Windows that the end alone closes, as Spark counts; a slack in rows would keep the values of so many.
    order = {"on": "t", "slack": {"value": 10**9}, "group_by": ["k"]}
    made.output("counts", far.aggregate({"n": "count(*)"}, order=order, size=10**9, name="count"))
    return made


def by_aurora(hosts: str, topic: str, folder: Path) -> tuple[float, int]:
    target = folder / f"counts-{time.monotonic_ns()}.csv"
    started = time.perf_counter()
    run(network(), {"trips": f"kafka:{hosts}/{topic}"}, {"counts": f"csv:{target}"}, Settings(batch=BATCH))
    seconds = time.perf_counter() - started
    return seconds, sum(int(line.rsplit(",", 1)[1]) for line in target.read_text().splitlines()[1:])


def by_spark(hosts: str, topic: str, folder: Path) -> tuple[float, int]:
    connector = ",".join(map(str, jars(*CONNECTOR).glob("*.jar")))
    spark = spark_session("kafka", settings={"spark.jars": connector})
    name = f"counts_{time.monotonic_ns()}"
    started = time.perf_counter()
    lines = (
        spark.readStream.format("kafka").option("kafka.bootstrap.servers", hosts).option("subscribe", topic)
        .option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", BATCH).load()
    )  # fmt: skip
    rows = lines.select(f.from_json(f.col("value").cast("string"), SCHEMA).alias("row")).select("row.*")
    counts = rows.filter("km > 3").groupBy("k").count()
    query = (
        counts.writeStream.format("memory").queryName(name).outputMode("complete")
        .option("checkpointLocation", str(folder / name)).trigger(availableNow=True).start()
    )  # fmt: skip
    query.awaitTermination()
    seconds = time.perf_counter() - started
    return seconds, int(spark.table(name).agg(f.sum("count")).first()[0])  # type: ignore[index]


JOBS = {"Aurora": by_aurora, "Spark": by_spark}


def measure(name: str, hosts: str, small: str, large: str, folder: Path) -> tuple[float, int]:
    """The best of several tries; the small topic first, with which Spark starts."""
    job = JOBS[name]
    job(hosts, small, folder)
    return min(job(hosts, large, folder) for _ in range(TRIES))


def main(scale: float = 1.0) -> None:
    number = max(10_000, round(RECORDS * scale))
    systems = list(JOBS)
    try:
        jars(*CONNECTOR)
    except pytest.skip.Exception:
        print(f"Spark is left out: {':'.join(CONNECTOR)} cannot be fetched")
        systems.remove("Spark")
    rows, found = [], {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "broker").mkdir()
        with broker_in(folder / "broker") as broker:
            small, large = broker.create("small", PARTITIONS), broker.create("large", PARTITIONS)
            fill(broker, small, 10_000)
            fill(broker, large, number)
            for name in systems:
                # In a process of its own, each starts Spark as its users do.
                with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as own:
                    seconds, found[name] = own.submit(
                        measure, name, broker.hosts, small, large, folder
                    ).result()
                rows.append([name, f"{seconds:.1f}", f"{number / seconds:,.0f}"])
    assert len(set(found.values())) == 1, found
    show(f"Kafka, {number:,} records of JSON, filter and count", ["system", "s", "records/s"], rows)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)
