"""The source and the sink of the manual keep the contract: killed in mid-run and run again, every row comes once."""

import json
import os
import sqlite3
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from pyspark.sql import SparkSession

from aurora import Memory, Network, Settings, run
from aurora.engine.local import LocalRun
from aurora.engine.plan.plan import plan_network
from tests.engine.processes import committed, in_background, kill, wait_for
from tests.test_docs import blocks

ROWS = 60
JOB = """
import sys
from tests.test_sources_docs import run_job

run_job(*sys.argv[1:])
"""


def make_network() -> Network:
    network = Network("rooms")
    readings = network.input("readings", "number int, room string, heat double")
    order = {"on": "number", "group_by": ["room"]}
    network.output("means", readings.aggregate({"mean": "avg(heat)"}, order=order, size=6, name="means"))
    return network


def run_job(url: str, folder: str) -> None:
    """The classes of the page come from the folder, where its snippets lie."""
    from readings import Readings  # type: ignore[import-not-found]
    from table import Table  # type: ignore[import-not-found]

    settings = Settings(batch=6, partitions=2, checkpoint=f"{folder}/checkpoint")
    table = Table(f"{folder}/rooms.db", "means")
    result = run(make_network(), {"readings": Readings(url, page=3)}, {"means": table}, settings)
    assert result.ended and result.totals.read == ROWS


def make_readings() -> list[dict[str, object]]:
    return [{"number": n, "room": f"r{n % 3}", "heat": 20.0 + n % 7} for n in range(1, ROWS + 1)]


class Service(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        asked = {key: int(value[0]) for key, value in parse_qs(urlsplit(self.path).query).items()}
        answer = json.dumps(make_readings()[asked["after"] :][: asked["limit"]]).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


def start(url: str, folder: Path) -> subprocess.Popen[bytes]:
    paths = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", ""), os.getcwd()])
    command = [sys.executable, "-c", JOB, url, str(folder)]
    return in_background(command, folder / "log", PYTHONPATH=paths)


def test_a_run_with_them_that_is_killed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for block in blocks("docs/sources-and-sinks.md"):
        if block.file is not None:
            (tmp_path / block.file).write_text(block.text)
    local = LocalRun(plan_network(make_network()))
    local.read({"readings": Memory.of("number int, room string, heat double", make_readings())})
    wanted = [tuple(row.values()) for row in local.rows("means")]
    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as service:
        threading.Thread(target=service.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{service.server_port}/readings"
        job = start(url, tmp_path)
        wait_for(job, lambda: committed(tmp_path / "checkpoint") >= 2)
        kill(job)
        monkeypatch.syspath_prepend(str(tmp_path))
        try:
            run_job(url, str(tmp_path))
        finally:
            for name in ("readings", "table"):
                sys.modules.pop(name, None)
        service.shutdown()
    with sqlite3.connect(tmp_path / "rooms.db") as database:
        found = database.execute("SELECT room, number, mean FROM means ORDER BY rowid").fetchall()
    database.close()
    assert found == wanted and len(found) > 20
