"""Queries that are attached to a network at any moment: their answers, and that nobody else takes notice."""

import random
from itertools import count as counting
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from aurora import Running, Settings, start
from aurora.engine.durable import read_json
from aurora.engine.sinks.encode import csv_header, to_csv
from tests.history.attached import QUERIES, answers, border, query, read, source, streams, wait_until

COUNT = 90


class Scenario:
    """A network that is stepped, stopped and started, with queries that come and go."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.chance = folder, random.Random(seed)
        self.starts: dict[str, Any] = {}
        self.detached: set[str] = set()
        self.names = (
            f"{name}-{number}" for number in counting() for name in self.chance.sample(list(QUERIES), 4)
        )
        self.running = self.begin()

    def begin(self) -> Running:
        settings = Settings(batch=9, home=str(self.folder / "home"), partitions=2)
        running = start(border(), source(COUNT), {"crowds": f"csv:{self.folder}/crowds.csv"}, settings)
        running.pause()
        return running

    def play(self) -> None:
        moves = [self.attach] * 4 + [self.step] * 4 + [self.detach, self.restart]
        self.chance.shuffle(moves)
        for move in moves:
            if self.running.state != "stopped":
                move()
        if self.running.state != "stopped":
            self.running.resume()
        assert self.running.wait().ended

    def step(self) -> None:
        made = self.running.statistics().batches
        steps = self.chance.randrange(1, 3)
        self.running.step(steps)
        if self.chance.random() < 0.7:
            wait_until(
                lambda: self.running.state == "stopped" or self.running.statistics().batches >= made + steps
            )

    def attach(self) -> None:
        name = next(self.names)
        kind = name.partition("-")[0]
        since = self.chance.choice([None, "all", "now", "6" if kind != "pairs" else "all"])
        sinks = {"out": f"csv:{self.folder}/{name}.csv"}
        assert self.running.attach(query(kind), sinks, name=name, since=since) == name
        note = self.folder / "home" / "queries" / name / "query.json"
        self.starts[name] = read_json(note)["starts"]

    def detach(self) -> None:
        attached = sorted(self.running.queries())
        if attached:
            name = self.chance.choice(attached)
            if self.chance.random() < 0.5:
                wait_until(lambda: self.has_begun(name) or self.running.state == "stopped")
            self.running.detach(name)
            self.detached.add(name)
            assert name not in self.running.queries()

    def has_begun(self, name: str) -> bool:
        status = self.running.queries()[name]
        return status.taken > 0 or status.behind == 0

    def restart(self) -> None:
        before = set(self.running.queries())
        self.running.stop()
        self.running = self.begin()
        assert set(self.running.queries()) == before


@pytest.mark.parametrize(
    "seed", [2, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(3, 10))]
)
def test_answers_do_not_depend_on_the_moments(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    played = Scenario(tmp_path, seed)
    with played.running:
        played.play()
    passed = streams(COUNT)
    crowds = passed["crowds"].rows
    assert read(tmp_path / "crowds.csv") == csv_header(crowds.schema) + to_csv(crowds)
    assert len(played.starts) == 4
    states = {name: (status.state, status.fault) for name, status in played.running.queries().items()}
    assert set(states.values()) <= {("ended", None)}, states
    for name, starts in played.starts.items():
        expected = answers(query(name.partition("-")[0]), starts, passed)
        found = read(tmp_path / f"{name}.csv")
        if name in played.detached:
            assert expected.startswith(found), name
        else:
            assert found == expected, name
