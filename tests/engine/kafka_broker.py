"""A broker of Kafka for tests, in a process of its own, from the jars that Maven fetches once."""

import gc
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from aurora.cache import cache_folder
from aurora.engine.kafka import piece, source, topic
from tests.engine.processes import answers, free_port

VERSION = "4.3.1"
# A Java that compiles little starts sooner.
LIGHT = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
PASSWORD = "canary-9f2c"
BROKER = ("org.apache.kafka", "kafka_2.13", VERSION)
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>tests</groupId><artifactId>jars</artifactId><version>1</version><packaging>pom</packaging>
<dependencies><dependency>
  <groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>
</dependency></dependencies></project>"""
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:copy-dependencies"
# A broker that was killed may come back when its session has ended.
SETTINGS = """process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:{port},GUARDED://127.0.0.1:{guarded},CONTROLLER://127.0.0.1:{control}
advertised.listeners=PLAINTEXT://127.0.0.1:{port},GUARDED://127.0.0.1:{guarded}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,GUARDED:SASL_SSL,CONTROLLER:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
listener.name.guarded.sasl.enabled.mechanisms=PLAIN
listener.name.guarded.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\
  user_ann="{password}";
listener.name.guarded.ssl.keystore.location={folder}/keys.p12
listener.name.guarded.ssl.keystore.type=PKCS12
listener.name.guarded.ssl.keystore.password={password}
controller.quorum.voters=1@127.0.0.1:{control}
log.dirs={folder}/data
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
auto.create.topics.enable=false
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
"""


def jars(group: str, artifact: str, version: str) -> Path:
    """A folder of what Maven fetches; skips the test, and says why, where there is none and none can be fetched."""
    pytest.importorskip("confluent_kafka", reason="no Kafka: the package confluent-kafka is not installed")
    folder = cache_folder() / f"{artifact}-{version}"
    if folder.is_dir():
        return folder
    maven = shutil.which("mvn")
    if maven is None:
        pytest.skip("no Kafka: its jars are fetched with Maven, and there is none")
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    (partial / "pom.xml").write_text(POM.format(group, artifact, version))
    command = [maven, "-q", "-B", PLUGIN, "-DincludeScope=runtime", f"-DoutputDirectory={partial}"]
    try:
        done = subprocess.run(command, cwd=partial, capture_output=True, timeout=240, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip("no Kafka: its jars did not come in time")
    if done.returncode:
        pytest.skip("no Kafka: its jars cannot be fetched")
    partial.rename(folder)
    return folder


def make_keys(folder: Path) -> None:
    """A certificate for this host, `ca.pem`, and the key to it."""
    store = [
        "-keystore",
        str(folder / "keys.p12"),
        "-storetype",
        "PKCS12",
        "-storepass",
        PASSWORD,
        "-alias",
        "b",
    ]
    more = ["-keyalg", "RSA", "-dname", "CN=127.0.0.1", "-ext", "SAN=IP:127.0.0.1", "-keypass", PASSWORD]
    light = [f"-J{option}" for option in LIGHT]
    subprocess.run(["keytool", *light, "-genkeypair", *store, *more], check=True, capture_output=True)
    exported = ["keytool", *light, "-exportcert", "-rfc", *store, "-file", str(folder / "ca.pem")]
    subprocess.run(exported, check=True, capture_output=True)


class Broker:
    """It has two doors: one for everybody, and one for `ann` who knows the password, behind TLS."""

    def __init__(self, folder: Path) -> None:
        self._classes = f"{jars(*BROKER)}/*"
        from confluent_kafka.admin import AdminClient

        self._folder = folder
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.guarded = free_port()
        make_keys(folder)
        text = SETTINGS.format(
            port=self.port, guarded=self.guarded, control=free_port(), folder=folder, password=PASSWORD
        )
        (folder / "server.properties").write_text(text)
        format_it = ["format", "-t", "AAAAAAAAAAAAAAAAAAAAAQ", "-c", str(folder / "server.properties")]
        subprocess.run(
            ["java", *LIGHT, "-cp", self._classes, "kafka.tools.StorageTool", *format_it],
            check=True,
            capture_output=True,
        )
        self.start()
        self.admin = AdminClient({"bootstrap.servers": self.hosts, "log_level": 0})

    @property
    def certificate(self) -> Path:
        return self._folder / "ca.pem"

    @property
    def hosts(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        command = ["java", "-Xmx300m", *LIGHT, "-cp", self._classes, "kafka.Kafka"]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, str(self._folder / "server.properties")], stdout=log, stderr=log
            )
        until(lambda: answers(self.port))

    def kill(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def create(self, topic: str, partitions: int = 1) -> str:
        from confluent_kafka.admin import NewTopic

        self.admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(60)
        until(lambda: topic in self.admin.list_topics(timeout=60).topics)
        return topic

    def send(self, topic: str, values: Sequence[bytes | None], partition: int = 0, **more: Any) -> None:
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.hosts, "log_level": 0})
        for value in values:
            producer.produce(topic, value, partition=partition, **more)
        assert producer.flush(60) == 0

    def log_of(self, topic: str, partition: int) -> Path:
        """The file of a partition's records, while there are few."""
        return self._folder / "data" / f"{topic}-{partition}" / f"{0:020}.log"

    def ends(self, topic: str, isolation: str) -> dict[int, int]:
        """Where its partitions end for who reads what is committed, or all."""
        from confluent_kafka import Consumer, TopicPartition

        conf = {"bootstrap.servers": self.hosts, "group.id": "tests", "log_level": 0}
        reader = Consumer({**conf, "isolation.level": isolation})
        partitions = self.admin.list_topics(topic, timeout=60).topics[topic].partitions
        asked = [TopicPartition(topic, number, -1) for number in partitions]
        found = {each.partition: each.offset for each in reader.offsets_for_times(asked, timeout=60)}
        reader.close()
        return found

    def is_settled(self, topic: str) -> bool:
        """Whether no transaction is open there."""
        return self.ends(topic, "read_committed") == self.ends(topic, "read_uncommitted")

    def open_transaction(self, topic: str, value: bytes) -> Any:
        """A producer that has written this to a topic, and not committed it."""
        from confluent_kafka import Producer

        conf = {"bootstrap.servers": self.hosts, "transactional.id": value.decode(), "log_level": 0}
        producer = Producer(conf)
        producer.init_transactions(60)
        producer.begin_transaction()
        producer.produce(topic, value)
        assert producer.flush(60) == 0
        return producer

    def read(self, topic: str) -> list[tuple[bytes | None, bytes]]:
        """Keys and values of all that is committed, partition by partition."""
        from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

        conf = {"bootstrap.servers": self.hosts, "group.id": "tests", "log_level": 0}
        reader = Consumer({**conf, "isolation.level": "read_committed", "enable.partition.eof": True})
        found = []
        for partition in sorted(self.admin.list_topics(timeout=60).topics[topic].partitions):
            reader.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
            while True:
                message = reader.poll(30)
                assert message is not None
                if message.error() is not None:
                    assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
                    break
                found.append((message.key(), message.value()))
        reader.close()
        return found


def until(reached: Any, patience: float = 120) -> None:
    deadline = time.monotonic() + patience
    while not reached():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.02)


def forget_clients() -> None:
    """A process keeps one connection for each address. Those of tests that are over would look for a broker that was
    killed, again and again, as long as the process lives: a sixth of a core."""
    topic._topics.clear()
    source._growths.clear()
    piece._readers.clear()
    # A sink and its producer, which tells it of faults, hold each other.
    gc.collect()


@contextmanager
def broker_in(folder: Path) -> Iterator[Broker]:
    broker = Broker(folder)
    try:
        yield broker
    finally:
        del broker.admin
        forget_clients()
        broker.kill()
