"""Stored sets in runs on Spark: pulled in both kinds of stages, pushed, kept in a home."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

from aurora import Memory, Settings, from_text, run, start

NETWORK = """
network: names
inputs:
  reports: {schema: "Sid int, Time int"}
  everybody: {point: people}
boxes:
  named: {join: "left.Sid = right.Sid", left: reports, right: people}
  counted: {aggregate: {n: "count(*)"}, from: reports, order: {on: "#", group_by: [Sid]}, size: 2}
  told: {join: "left.Sid = right.Sid", left: counted, right: people, outer: left}
  some: {filter: ["Sid < 2"], from: everybody}
points:
  people: {stored: "parquet:people", key: [Sid]}
outputs:
  named: {from: named}
  told: {from: told}
  some: {from: some}
"""


@pytest.mark.parametrize("home", [None, "home"])
def test_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: SparkSession, home: str | None) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people").mkdir()
    names = [f"n{sid}" for sid in range(1000)]
    people = pa.table({"Sid": pa.array(range(1000), pa.int32()), "Name": names})
    pyarrow.parquet.write_table(people, "people/1.parquet")
    network = from_text(NETWORK)
    reports = Memory.of("Sid int, Time int", [{"Sid": sid % 1200, "Time": sid} for sid in range(0, 4800, 3)])
    sinks = {name: f"csv:{name}.csv" for name in network.outputs}
    settings = Settings(batch=700, partitions=2, home=home)
    result = run(network, {"reports": reports}, sinks, settings)
    assert result.ended and result.totals.rows == {"named": 1336, "told": 800, "some": 2}
    assert Path("some.csv").read_text() == "Sid,Name\n0,n0\n1,n1\n"
    named = Path("named.csv").read_text().splitlines()
    assert named[:3] == ["Sid,Time,Sid_right,Name", "0,0,0,n0", "3,3,3,n3"]
    told = Path("told.csv").read_text()
    assert "\n999,1,2,999,n999\n" in told and "\n1197,3,2,,\n" in told
    assert (home is None) or [path.name.split("@")[0] for path in Path("home/stored").iterdir()] == ["people"]


QUERY = """
network: who
inputs:
  passing: {point: passing}
  who:     {point: people, static: true, schema: "Sid int, Name string"}
  staff:   {point: people}
boxes:
  named: {join: "left.Sid = right.Sid AND left.Time < 2000", left: passing, right: who, outer: left}
  some:  {filter: ["Sid < 2"], from: staff}
outputs:
  named: {from: named}
  some:  {from: some}
"""


def test_a_query_takes_the_stored_set_of_the_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: SparkSession
) -> None:
    monkeypatch.chdir(tmp_path)
    people = pa.table({"Sid": pa.array(range(1000), pa.int32()), "Name": [f"n{sid}" for sid in range(1000)]})
    pyarrow.parquet.write_table(people, "people.parquet")
    network = from_text(
        """
inputs: {reports: {schema: "Sid int, Time int"}}
boxes:
  far: {filter: ["Sid > 3"], from: reports}
points:
  passing: {from: far, keep: all}
  people: {stored: "parquet:people.parquet", key: [Sid]}
"""
    )
    reports = Memory.of("Sid int, Time int", [{"Sid": sid % 1200, "Time": sid} for sid in range(0, 4800, 3)])
    with start(network, {"reports": reports}, {}, Settings(partitions=2, home="home")) as running:
        query = from_text(QUERY, points=running.schemas)
        running.attach(query, {name: f"csv:{name}.csv" for name in query.outputs})
        running.wait()
        assert running.queries()["who"].fault is None
    assert Path("some.csv").read_text() == "Sid,Name\n0,n0\n1,n1\n"
    named = Path("named.csv").read_text().splitlines()
    assert named[:3] == ["Sid,Time,Sid_right,Name", "6,6,6,n6", "9,9,9,n9"]
    assert len(named) == 1 + 1600 - 8 and "6,2406,," in named
