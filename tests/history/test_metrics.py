"""Figures for Prometheus: the text, the endpoint, and a network that is scraped while it runs."""

import socket
import urllib.error
import urllib.request
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import aurora
from aurora import AuroraError, Memory, Settings, from_text, start
from aurora.history.metrics import FIGURES, BatchTimes, describe_metrics
from aurora.history.metrics_server import MetricsServer, parse_address
from tests.history.attached import wait_until
from tests.history.prometheus import Metric, parse

STATUS = {
    "state": "paused",
    "batch": 4,
    "seconds": 2.5,
    "rejected": 3,
    "capacity": None,
    "inputs": {"r": {"rows": 100, "rate": 12.5, "waiting": None}, 'q"\\\n': {"rows": 1, "waiting": 7}},
    "boxes": {"over": {"taken": 97, "given": 97, "cost_us": 2.0, "state_bytes": 12, "waiting": 0}},
    "outputs": {
        "far": {"rows": 60, "rate": 0.0, "latency_p50": 0.25, "latency_p99": 1.5, "utility": 0.75, "shed": 5}
    },
    "discarded": {"crowd": {"out of order": 2, "too late": 1}, "over.1 to crowd": {"shed": 5}},
    "queries": {"one": {"state": "running", "taken": 5}, "two": {"state": "failed", "taken": None}},
    "troubles": ["output far is slow"],
}


def test_the_text() -> None:
    times = BatchTimes().add(0.3).add(0.7).add(100.0)
    found = parse(describe_metrics(STATUS, times, {"network": "border", "version": "1"}))
    assert found["aurora_info"].get(network="border", version="1") == 1
    assert found["aurora_up"].get() == 1
    states = {dict(labels)["state"]: value for (_, labels), value in found["aurora_state"].samples.items()}
    assert states == {"starting": 0, "running": 0, "paused": 1, "stopped": 0}
    assert (found["aurora_batches_total"].get(), found["aurora_rejected_rows_total"].get()) == (4, 3)
    assert found["aurora_input_rows_total"].get(input='q"\\\n') == 1
    assert found["aurora_input_rows_per_second"].get(input="r") == 12.5
    assert found["aurora_input_waiting_rows"].samples.keys() == {("", frozenset({("input", 'q"\\\n')}))}
    assert found["aurora_box_cost_seconds"].get(box="over") == 2e-6
    assert found["aurora_output_latency_seconds"].get(output="far", quantile="0.99") == 1.5
    discarded = found["aurora_box_discarded_tuples_total"]
    assert discarded.get(box="crowd", reason="out of order") == 2 and len(discarded.samples) == 2
    assert found["aurora_stream_shed_tuples_total"].get(stream="over.1 to crowd") == 5
    assert found["aurora_output_shed_tuples_total"].get(output="far") == 5
    assert (found["aurora_query_up"].get(query="one"), found["aurora_query_up"].get(query="two")) == (1, 0)
    assert found["aurora_troubles"].get() == 1
    batches = found["aurora_batch_seconds"]
    assert [batches.get("_bucket", le=bound) for bound in ("0.25", "0.5", "1.0", "30.0", "+Inf")] == [
        0,
        1,
        2,
        2,
        3,
    ]
    assert batches.get("_sum") == pytest.approx(101.0)
    # What is not known is left out.
    assert "aurora_capacity_rows_per_second" not in found and "aurora_point_rows" not in found


def test_a_network_that_starts_has_little_to_tell() -> None:
    found = parse(describe_metrics({"state": "starting"}, BatchTimes(), {"network": "n"}))
    assert found["aurora_up"].get() == 0 and found["aurora_state"].get(state="starting") == 1
    assert found["aurora_batch_seconds"].get("_count") == 0


def test_names_are_different_and_of_one_kind() -> None:
    names = [f"aurora_{what}_{name}" for _, what, name, *_ in FIGURES]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("text", ["", "host", "host:", "1.5", "-1", "65536", "a:b", "9464/x", "٣"])
def test_what_is_not_an_address(text: str) -> None:
    with pytest.raises(AuroraError, match="write PORT or HOST:PORT, for example 9464"):
        parse_address(text)


def ask(url: str, method: str = "GET") -> tuple[int, str, str]:
    request = urllib.request.Request(url, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
    except urllib.error.HTTPError as fault:
        with fault:
            return fault.code, fault.headers["Content-Type"], fault.read().decode()


def test_the_endpoint(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "aurora")
    with MetricsServer("0", {"network": "n"}) as server:
        assert server.url.startswith("http://127.0.0.1:") and f"metrics at {server.url}" in caplog.text
        status, kind, text = ask(server.url)
        assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
        assert parse(text)["aurora_up"].get() == 0
        health = server.url.replace("/metrics", "/health")
        assert ask(health)[::2] == (503, "starting\n")
        server.follow(lambda: {"state": "running"})
        assert ask(health)[::2] == (200, "running\n")
        assert parse(ask(f"{server.url}?x=1")[2])["aurora_up"].get() == 1
        assert ask(server.url, "HEAD")[::2] == (200, "")
        assert ask(f"{server.url}/more")[::2] == (404, "there are /metrics and /health\n")
        assert ask(server.url, "POST")[0] == 501

        def fails() -> dict[str, str]:
            raise ValueError("no figures now")

        server.follow(fails)
        for _ in range(2):
            assert ask(server.url)[::2] == (500, "the figures cannot be told; the log of the run says why\n")
        assert caplog.messages.count("the metrics cannot be told: ValueError: no figures now") == 1
    with pytest.raises(urllib.error.URLError):
        ask(server.url)


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost", 200), ("LOCALHOST:{port}", 200), ("127.0.0.1:{port}", 200), ("[::1]:1", 200), (None, 200),
     ("evil.example", 421), ("evil.example:{port}", 421), ("10.0.0.1", 421), ("localhost.evil.example", 421),
     ("", 421)],
)  # fmt: skip
def test_a_page_of_the_web_that_leads_its_name_here_reads_nothing(host: str | None, status: int) -> None:
    with MetricsServer("0", {}) as server:
        port = int(server.url.split(":")[2].split("/")[0])
        found = get(port, None if host is None else host.format(port=port))
    assert found[0] == status and (status == 200) == ("aurora_up" in found[1])


def get(port: int, host: str | None) -> tuple[int, str]:
    client = HTTPConnection("127.0.0.1", port, timeout=30)
    with closing(client):
        client.putrequest("GET", "/metrics", skip_host=True)
        if host is not None:
            client.putheader("Host", host)
        client.endheaders()
        answer = client.getresponse()
        return answer.status, answer.read().decode()


def test_a_server_for_other_machines_is_known_by_any_name() -> None:
    with MetricsServer("0.0.0.0:0", {}) as server:
        assert get(int(server.url.split(":")[2].split("/")[0]), "aurora.example")[0] == 200


def test_so_many_are_answered_at_once() -> None:
    """Who comes when there is no place is hung up on, and a place is free again when its holder goes."""
    with MetricsServer("0", {}, at_once=2) as server:
        port = int(server.url.split(":")[2].split("/")[0])
        first, second = (socket.create_connection(("127.0.0.1", port)) for _ in range(2))
        with first, second, socket.create_connection(("127.0.0.1", port), timeout=30) as third:
            assert third.recv(1) == b""
        wait_until(lambda: is_answered(port))


def is_answered(port: int) -> bool:
    try:
        return get(port, "localhost")[0] == 200
    except (ConnectionError, HTTPException):
        return False


def test_a_port_that_is_taken() -> None:
    with MetricsServer("0", {}) as server:
        port = server.url.split(":")[2].split("/")[0]
        told = f"metrics {port}: Address already in use; give another address, or port 0 for any free one"
        with pytest.raises(AuroraError, match=told):
            MetricsServer(port, {})
    with pytest.raises(AuroraError, match=r"metrics nowhere\.invalid:1: .+; give another address"):
        MetricsServer("nowhere.invalid:1", {})


def test_another_host() -> None:
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    try:
        server = MetricsServer("[::1]:0", {})
    except AuroraError as fault:
        pytest.skip(f"no IPv6 here: {fault}")
    with server:
        assert server.url.startswith("http://[::1]:") and ask(server.url)[0] == 200


NETWORK = """
network: the "border"
inputs:
  reports: {schema: "Sid int, Time int, Pos int"}
boxes:
  over: {filter: ["Pos >= 30"], from: reports}
  crowd: {aggregate: {Cnt: "count(*)"}, from: over, order: {on: Time}, size: 2}
points:
  recent: {from: over, keep: all}
outputs:
  far: {from: over, qos: {latency: [[0, 1], [3600, 1], [9999, 0]]}}
  crowds: {from: crowd}
"""


def test_a_network_is_scraped_while_it_runs(spark: SparkSession, tmp_path: Path) -> None:
    rows = [{"Sid": i, "Time": 3 if i == 7 else i, "Pos": 40 if i % 2 else 20} for i in range(20)]
    source = Memory.of("Sid int, Time int, Pos int", rows)
    settings = Settings(batch=5, home=str(tmp_path / "home"), partitions=1, metrics="0")
    far: list[object] = []
    with start(
        from_text(NETWORK), {"reports": source}, {"far": far.append, "crowds": far.append}, settings
    ) as running:
        assert running.metrics is not None
        running.pause()

        def scrape() -> dict[str, Metric]:
            return parse(ask(str(running.metrics))[2])

        assert scrape()["aurora_state"].get(state="paused") == 1
        running.step(10)
        # Then no batch comes between one look and the next.
        wait_until(lambda: running.state == "stopped")
        found = scrape()
        status = running.status()
        assert found["aurora_info"].get(network='the "border"', version=aurora.__version__) == 1
        assert found["aurora_batches_total"].get() == status["batch"] >= 4
        assert found["aurora_batch_seconds"].get("_count") >= 1
        assert found["aurora_box_taken_tuples_total"].get(box="over") == 20
        assert found["aurora_box_discarded_tuples_total"].get(box="crowd", reason="out of order") == 1
        assert found["aurora_output_rows_total"].get(output="far") == 10
        assert found["aurora_output_utility"].get(output="far") == 1
        assert found["aurora_output_latency_seconds"].get(output="far", quantile="0.5") > 0
        assert found["aurora_point_rows"].get(point="recent") == 10
        # All that status has for each input, box and output is there.
        for group, what in (("inputs", "input"), ("boxes", "box"), ("outputs", "output")):
            for name in status[group]:
                metrics = [
                    metric
                    for metric in found.values()
                    if any((what, name) in labels for _, labels in metric.samples)
                ]
                assert len(metrics) >= 3, name
        assert status["inputs"]["reports"]["rows"] == 20
        assert status["discarded"] == {"crowd": {"out of order": 1}}
        url = running.metrics
    with pytest.raises(urllib.error.URLError):
        ask(url)
