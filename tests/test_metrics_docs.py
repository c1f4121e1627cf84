"""The page on services: its network runs and is scraped, its table has every metric, its files are right."""

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
import threading
import urllib.request
from pathlib import Path

import pytest
import yaml
from pyspark.sql import SparkSession

from aurora.history.control import ask
from aurora.history.home import Home
from aurora.history.metrics import BatchTimes, describe_metrics
from tests.engine.processes import answers, free_port
from tests.history.attached import wait_until
from tests.history.prometheus import parse
from tests.history.test_metrics import STATUS
from tests.test_docs import ROOT, call

PAGE = (ROOT / "docs" / "metrics.md").read_text()
FILES = dict(re.findall(r"^```\w+ (\S+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))


def test_the_network_is_scraped(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("doors.yaml", "visits.csv"):
        Path(name).write_text(FILES[name])
    shown = re.search(
        r"^\$ aurora (run .+) &\n(.+)\n\$ curl -s (\S+) \| grep (\S+)\n(.*?)^```", PAGE, re.M | re.S
    )
    assert shown is not None
    port = str(free_port())
    command, told, url, wanted, lines = (part.replace("9464", port) for part in shown.groups())
    scraped: list[bool] = []

    def found() -> list[str]:
        with urllib.request.urlopen(url, timeout=30) as answer:
            text = answer.read().decode()
        parse(text)
        return [line for line in text.splitlines() if wanted in line]

    def scrape() -> None:
        wait_until(lambda: answers(int(port)))
        try:
            wait_until(lambda: found() == lines.splitlines())
            scraped.append(True)
        finally:
            ask(Home.of(tmp_path / "doors-home"), "stop")

    other = threading.Thread(target=scrape)
    other.start()
    status, _, said = call(shlex.split(command))
    other.join()
    assert scraped and status == 0 and told in said


def test_the_table_has_every_metric() -> None:
    status = {**STATUS, "capacity": 5.0, "arcs": {"a": {"waiting": 1}}}
    status["points"] = {"p": {"rows": 1, "passed": 2, "bytes": 3}}
    status["queries"] = {"q": {"state": "running", "taken": 1, "behind": 2}}
    status["outputs"] = {"far": {**STATUS["outputs"]["far"], "delivered": 1.0}}  # type: ignore[index]
    made = parse(describe_metrics(status, BatchTimes(), {"network": "n", "version": "1"}))
    table = PAGE.split("\n## The metrics\n")[1].split("\n## ")[0]
    listed: dict[str, set[str]] = {}
    for names, labels in re.findall(r"^\| (`aurora_.+?) \| (.*?) ?\| ", table, re.MULTILINE):
        for name in re.findall(r"`(\w+)`", names):
            listed[name] = set(labels.split(", ")) - {""}
    found = {
        name: {label for _, labels in metric.samples for label, _ in labels} for name, metric in made.items()
    }
    assert listed == found


def test_the_files_of_prometheus() -> None:
    scraped = yaml.safe_load(FILES["prometheus.yml"])["scrape_configs"]
    assert scraped[0]["static_configs"][0]["targets"] == ["127.0.0.1:9464"]
    made = describe_metrics(STATUS, BatchTimes(), {})
    for group in yaml.safe_load(FILES["aurora-rules.yml"])["groups"]:
        for rule in group["rules"]:
            names = re.findall(r"\baurora_\w+", rule["expr"])
            assert names and all(f"\n{name}" in made for name in names), rule


def test_the_unit_file(tmp_path: Path) -> None:
    text = FILES["aurora-doors.service"]
    unit = configparser.ConfigParser(strict=True)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string(text)
    start = shlex.split(unit["Service"]["ExecStart"])
    shown = re.search(r"^\$ aurora (run .+) &$", PAGE, re.MULTILINE)
    assert shown is not None and start[1:] == [*shlex.split(shown[1]), "--log", "json"]
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze to check the rest")
    # It looks for the program and the folders.
    path = tmp_path / "aurora-doors.service"
    path.write_text(text.replace("/srv/aurora/bin/aurora", "/bin/true").replace("/srv/doors", str(tmp_path)))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", path],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "SYSTEMD_LOG_LEVEL": "warning"},
    )
    own = [line for line in done.stderr.splitlines() if "aurora-doors" in line]
    assert (done.returncode, own) == (0, [])


def test_the_events_of_the_log() -> None:
    """Those of the table are all that the code has."""
    table = PAGE.split("\n## Logs\n")[1]
    listed = {
        word
        for row in re.findall(r"^\| (`.+?) \|", table, re.MULTILINE)
        for word in re.findall(r"`(\w+)`", row)
    }
    text = "".join(
        (ROOT / "aurora" / name).read_text()
        for name in (
            "cli/networks.py",
            "cli/summary.py",
            "cli/progress.py",
            "cli/telling.py",
            "history/metrics_server.py",
        )
    )
    assert [event for event in sorted(listed) if f'"{event}"' not in text] == []
    line = re.search(r'^{"time": .+}$', PAGE, re.MULTILINE)
    assert line is not None and json.loads(line[0])["event"] in listed
