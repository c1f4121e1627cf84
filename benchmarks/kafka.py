"""A topic filtered and counted, beside Spark's own reader: `python -m benchmarks.kafka`, with 0.1 behind it for a quick
look. Starts a broker from the jars that the tests use; Spark's connector comes the same way, for a Spark of its own."""

import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from aurora import Network, Settings, run
from aurora.cache import cache_folder
from benchmarks.clock import show
from tests.engine.kafka_broker import Broker, broker_in, jars

__all__ = ["main"]

SCHEMA = "id bigint, t int, k int, km double, city string"
PARTITIONS = 2
# For 4.3.0 there is no connector, and of the others before it a part is missing.
SPARK = "4.0.0"
CONNECTOR = ("org.apache.spark", "spark-sql-kafka-0-10_2.13", SPARK)
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


def rival() -> Path:
    """Python of an environment with the newest Spark of whose connector all parts can be fetched; made once."""
    home = cache_folder() / f"spark-{SPARK}"
    python, ready = home / "bin" / "python", home / "ready"
    if not ready.exists():
        print(f"installing Spark {SPARK} into {home} (once; 450 MB) ...", flush=True)
        shutil.rmtree(home, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", f"pyspark=={SPARK}"], check=True)
        ready.touch()
    return python


def by_spark(hosts: str, small: str, large: str) -> tuple[float, int]:
    script = Path(__file__).with_name("kafka_by_spark.py")
    given = [hosts, small, large, str(BATCH), str(TRIES), SCHEMA, jars(*CONNECTOR)]
    own = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "SPARK_HOME")}
    told = subprocess.run([rival(), script, *given], check=True, capture_output=True, text=True, env=own)
    seconds, found = json.loads(told.stdout.splitlines()[-1])
    return float(seconds), int(found)


def measure(hosts: str, small: str, large: str, folder: Path) -> tuple[float, int]:
    """The best of several tries; the small topic first, with which Spark starts."""
    by_aurora(hosts, small, folder)
    return min(by_aurora(hosts, large, folder) for _ in range(TRIES))


def main(scale: float = 1.0) -> None:
    number = max(10_000, round(RECORDS * scale))
    found = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "broker").mkdir()
        with broker_in(folder / "broker") as broker:
            small, large = broker.create("small", PARTITIONS), broker.create("large", PARTITIONS)
            fill(broker, small, 10_000)
            fill(broker, large, number)
            # In a process of its own, each starts Spark as its users do.
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as own:
                found["Aurora"] = own.submit(measure, broker.hosts, small, large, folder).result()
            try:
                found[f"Spark {SPARK}"] = by_spark(broker.hosts, small, large)
            except (pytest.skip.Exception, OSError, subprocess.CalledProcessError) as fault:
                print(f"Spark {SPARK} is left out: {fault}")
    assert len({counted for _, counted in found.values()}) == 1, found
    ours, _ = found["Aurora"]
    rows = [
        [name, f"{seconds:.1f}", f"{number / seconds:,.0f}", f"{seconds / ours:.2f}"]
        for name, (seconds, _) in found.items()
    ]
    columns = ["system", "s", "records/s", "Aurora is faster by"]
    show(f"Kafka, {number:,} records of JSON, filter and count", columns, rows)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)
