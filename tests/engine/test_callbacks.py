"""The port on which this process takes calls from Java: another user of the machine is not heard there."""

import socket
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.clientserver import ClientServer, JavaParameters, PythonParameters
from pyspark.sql import SparkSession

from aurora import Memory, Network, run
from aurora.engine.spark.callbacks import guard_callbacks, is_of_this_user
from tests.engine.strangers import as_a_stranger, start_a_stranger
from tests.history.attached import wait_until

CONNECT = "import socket, sys; own = socket.create_connection((sys.argv[1], int(sys.argv[2])));"
# Sends a call and prints what comes back, if anything does.
CALL = f"""{CONNECT} own.settimeout(20)
try:
    own.sendall(sys.argv[3].encode())
    print(own.recv(1000))
except ConnectionError:
    print(b"")
"""
NOTHING = "b''\n"
STAY = f"{CONNECT} print('there', flush=True); sys.stdin.read()"
LEAVE = f"{CONNECT} own.sendall(b'x'); own.close()"
LOOK = "c\np0\n__repr__\ne\n"
only_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux lists connections")


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
@only_linux
def test_the_other_end_of_a_connection_is_looked_up(host: str) -> None:
    with socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET) as server:
        port = server.getsockname()[1]
        with socket.create_connection((host, port)), server.accept()[0] as taken:
            assert is_of_this_user(taken)
        with start_a_stranger(STAY, host, port) as stranger, server.accept()[0] as taken:
            assert stranger.stdout is not None and stranger.stdout.readline() == "there\n"
            assert not is_of_this_user(taken)
            stranger.communicate()


@only_linux
def test_java_connects_as_ipv6_does() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_INET6) as java:
        java.connect(("::ffff:127.0.0.1", server.getsockname()[1]))
        with server.accept()[0] as taken:
            assert is_of_this_user(taken)


@only_linux
def test_who_hangs_up_at_once_is_nobody() -> None:
    """The system says of such an end that it is root's."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        as_a_stranger(LEAVE, "127.0.0.1", server.getsockname()[1])
        with server.accept()[0] as taken:
            assert not is_of_this_user(taken)


@pytest.mark.parametrize("started", [False, True])
@only_linux
def test_calls_of_others_are_not_heard(started: bool) -> None:
    """Whether this package comes before the server is started, or after."""
    gateway = ClientServer(
        JavaParameters(port=1), PythonParameters(port=0, eager_load=False, daemonize=True, accept_timeout=0.1)
    )
    context: Any = SimpleNamespace(_gateway=gateway)
    if not started:
        guard_callbacks(context)
    gateway.start_callback_server(gateway.callback_server_parameters)
    guard_callbacks(context)
    guard_callbacks(context)
    server = gateway._callback_server
    wait_until(lambda: server.server_socket.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
    gateway.gateway_property.pool.put("an object", "p0")
    try:
        with socket.create_connection(("127.0.0.1", server.get_listening_port())) as own:
            own.sendall(LOOK.encode())
            assert own.recv(1000) == b"!ys'an object'\n"
        assert as_a_stranger(CALL, "127.0.0.1", server.get_listening_port(), LOOK) == NOTHING
    finally:
        gateway.shutdown_callback_server()


@only_linux
def test_a_run_takes_its_batches_from_its_own_java_alone(spark: SparkSession) -> None:
    as_a_stranger("")
    network = Network("guarded")
    network.output("out", network.input("r", "k int").filter("k > 1"))
    told = list[str]()

    def try_it(_: object) -> None:
        port = spark.sparkContext._gateway._callback_server.get_listening_port()
        told.append(as_a_stranger(CALL, "127.0.0.1", port, "g\np0\ne\n"))

    result = run(network, {"r": Memory.of("k int", [{"k": 1}, {"k": 2}])}, watch=try_it)
    assert list(result["out"].to_pandas()["k"]) == [2]
    assert set(told) == {NOTHING}
