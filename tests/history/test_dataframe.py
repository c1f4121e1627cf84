"""Outputs as streaming DataFrames: the rows of `run`, in its order, whatever the cut, each once after a restart."""

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from aurora import AuroraError, Frame, Memory, Network, Settings, run, to_dataframe

Rows = list[dict[str, Any]]
SCHEMA = "Sid int, Time int, Pos int"


def border() -> Network:
    network = Network("border watch")
    over = network.input("reports", SCHEMA).filter("Pos >= 30", name="over")
    order = {"on": "Time", "slack": 1}
    crowd = over.aggregate({"Cnt": "count(*)", "Farthest": "max(Pos)"}, order=order, size=1, name="crowd")
    network.output("alarms", crowd.filter("Cnt >= 2", name="enough"))
    network.output("inside", over["rest"])
    return network


def reports(number: int = 60) -> Rows:
    return [{"Sid": i % 7, "Time": i // 5 + (i % 3 == 0), "Pos": 20 + i * 7 % 23} for i in range(number)]


def ran(network: Network, sources: dict[str, Any]) -> dict[str, Rows]:
    found: dict[str, Rows] = {name: [] for name in network.outputs}
    sinks = {name: lambda rows, name=name: found[name].extend(rows.to_pylist()) for name in found}
    run(network, sources, sinks)
    return found


@pytest.fixture(scope="module")
def wanted(spark: SparkSession) -> dict[str, Rows]:
    """What `run` gives."""
    return ran(border(), {"reports": Memory.of(SCHEMA, reports())})


def taken(frame: DataFrame, checkpoint: Path, into: Rows) -> StreamingQuery:
    """A query that has taken what there is, row by row in the order of each batch."""

    def take(batch: DataFrame, _: int) -> None:
        into.extend(row.asDict(recursive=True) for row in batch.collect())

    writer = frame.writeStream.foreachBatch(take).option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return query


def test_the_rows_of_run_in_its_order(spark: SparkSession, wanted: dict[str, Rows], tmp_path: Path) -> None:
    network, memory = border(), Memory.of(SCHEMA, reports())
    before = dict(spark.conf.getAll)
    made = to_dataframe(network, spark, {"reports": memory}, "alarms", Settings(batch=11, partitions=2))
    assert made.isStreaming and made.columns == ["Time", "Cnt", "Farthest"]
    found: Rows = []
    query = taken(made, tmp_path / "query", found)
    assert found == wanted["alarms"] and found
    left = sum(progress["observedMetrics"]["border watch"].left_out for progress in query.recentProgress)
    assert left > 0
    assert any("box crowd left out" in str(p["observedMetrics"]) for p in query.recentProgress)
    assert dict(spark.conf.getAll) == before


def test_several_outputs_and_what_was_rejected(
    spark: SparkSession, wanted: dict[str, Rows], tmp_path: Path
) -> None:
    lines = ["Sid,Time,Pos", *(",".join(map(str, row.values())) for row in reports()), "1,x,2"]
    (tmp_path / "in.csv").write_text("\n".join(lines) + "\n")
    network, address = border(), f"csv:{tmp_path}/in.csv"
    made = to_dataframe(
        network, spark, {"reports": address}, ["inside", "#rejects", "alarms"], Settings(batch=25)
    )
    found: Rows = []
    query = taken(made, tmp_path / "query", found)
    for name in ("alarms", "inside"):
        assert [row[name] for row in found if row["output"] == name] == wanted[name]
    (bad,) = [row for row in found if row["output"] == "#rejects"]
    assert bad["#rejects"]["line"] == 62 and bad["alarms"] is None
    assert sum(progress["observedMetrics"]["border watch"].rejected for progress in query.recentProgress) == 1


def test_a_query_goes_on_where_it_stopped(
    spark: SparkSession, wanted: dict[str, Rows], tmp_path: Path
) -> None:
    """With the rows that have come since, state included, into files of Spark's own."""
    network = border()
    texts = [json.dumps(row) for row in reports()]
    source = tmp_path / "in.jsonl"
    source.write_text("")
    settings = Settings(batch=9, follow=True, checkpoint=str(tmp_path / "net"))
    for part in (texts[:25], texts[25:26], texts[26:]):
        with source.open("a") as file:
            file.write("".join(f"{line}\n" for line in part))
        made = to_dataframe(network, spark, {"reports": f"json:{source}"}, "alarms", settings)
        writer = made.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "query"))
        writer.trigger(availableNow=True).start(str(tmp_path / "out")).awaitTermination()
    found = spark.read.parquet(str(tmp_path / "out")).orderBy("Time").collect()
    # The input may grow: the last window stays open.
    assert [row.asDict() for row in found] == wanted["alarms"][: len(found)]
    assert len(found) >= len(wanted["alarms"]) - 2


def test_a_stream_in_and_a_stream_out(spark: SparkSession, wanted: dict[str, Rows], tmp_path: Path) -> None:
    network = border()
    (tmp_path / "in").mkdir()
    for number in range(3):
        rows = reports()[20 * number : 20 * number + 20]
        (tmp_path / "in" / f"{number}.json").write_text("\n".join(json.dumps(row) for row in rows))
        os.utime(tmp_path / "in" / f"{number}.json", (1e9 + number, 1e9 + number))
    given = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(tmp_path / "in"))
    found: Rows = []
    taken(to_dataframe(network, spark, {"reports": Frame(given)}, "alarms"), tmp_path / "query", found)
    assert found == wanted["alarms"]


def test_values_of_all_types(spark: SparkSession, tmp_path: Path) -> None:
    fields = (
        "t timestamp, d date, m decimal(9,2), s struct<x: int, y: string>, l array<double>, `odd name` string"
    )
    made = spark.sql(
        "SELECT TIMESTAMP'2025-01-01 00:00:00.000001Z' AS t, DATE'2025-01-02' AS d, CAST(1.5 AS decimal(9,2)) AS m, "
        "named_struct('x', 1, 'y', CAST(NULL AS string)) AS s, array(1.5D, NULL) AS l, 'z' AS `odd name`"
    )
    network = Network("copy")
    network.output("all", network.input("rows", fields))
    found: Rows = []
    given = to_dataframe(network, spark, {"rows": Frame(made)})
    assert given.dtypes == made.dtypes
    taken(given, tmp_path / "query", found)
    assert found == [made.collect()[0].asDict(recursive=True)]


def test_a_socket_is_read_while_a_query_reads(
    spark: SparkSession, wanted: dict[str, Rows], tmp_path: Path
) -> None:
    network = border()
    with socket.create_server(("127.0.0.1", 0)) as server:
        made = to_dataframe(network, spark, {"reports": f"tcp:127.0.0.1:{server.getsockname()[1]}"}, "alarms")
        found: Rows = []
        query = made.writeStream.foreachBatch(
            lambda rows, _: found.extend(row.asDict() for row in rows.collect())
        ).start()
        connection, _ = server.accept()
        with connection:
            text = "".join(",".join(map(str, row.values())) + "\n" for row in reports())
            connection.sendall(text.encode())
        while len(found) < len(wanted["alarms"]) and query.isActive:
            query.processAllAvailable()
        query.stop()
    assert found == wanted["alarms"]


def test_it_can_be_joined_and_counted_like_any_other(
    spark: SparkSession, wanted: dict[str, Rows], tmp_path: Path
) -> None:
    network = border()
    made = to_dataframe(network, spark, {"reports": Memory.of(SCHEMA, reports())}, "inside")
    names = spark.createDataFrame([(sid, f"soldier {sid}") for sid in range(7)], "Sid int, Name string")
    found: Rows = []
    taken(made.join(names, "Sid").where("Pos < 25").select("Name", "Pos"), tmp_path / "query", found)
    assert sorted(row["Pos"] for row in found) == sorted(
        row["Pos"] for row in wanted["inside"] if row["Pos"] < 25
    )


def test_a_cell_that_is_run_twice(spark: SparkSession, tmp_path: Path) -> None:
    """The second call takes over from the first; while a query reads, it cannot."""
    network, memory = border(), Memory.of(SCHEMA, reports())
    settings = Settings(checkpoint=str(tmp_path / "net"))
    made = [to_dataframe(network, spark, {"reports": memory}, "alarms", settings) for _ in range(2)][-1]
    query = made.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "query")).start()
    query.processAllAvailable()
    with pytest.raises(AuroraError, match=r"a query reads the DataFrame of .* still: stop it"):
        to_dataframe(network, spark, {"reports": memory}, "alarms", settings)
    other = made.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "other")).start()
    with pytest.raises(StreamingQueryException, match="of this DataFrame is in use by another run"):
        other.processAllAvailable()
    query.stop()
    # What the query began with is not what it is to go on with.
    anew = to_dataframe(
        network, spark, {"reports": memory}, "alarms", Settings(checkpoint=str(tmp_path / "net"), fresh=True)
    )
    query = anew.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "query")).start()
    with pytest.raises(StreamingQueryException, match="this query did not begin with the checkpoint"):
        query.awaitTermination()


def test_the_checkpoint_is_that_of_one_network(spark: SparkSession, tmp_path: Path) -> None:
    settings = Settings(checkpoint=str(tmp_path / "net"))
    to_dataframe(border(), spark, {"reports": Memory.of(SCHEMA, reports())}, "alarms", settings)
    with pytest.raises(AuroraError, match="is the checkpoint of another network or run"):
        to_dataframe(border(), spark, {"reports": Memory.of(SCHEMA, reports())}, "inside", settings)
    with pytest.raises(AuroraError, match="is the checkpoint of a run with another source reports"):
        to_dataframe(border(), spark, {"reports": Memory.of(SCHEMA, reports(3))}, "alarms", settings)


def test_a_source_that_cannot_be_fed_is_told(spark: SparkSession, tmp_path: Path) -> None:
    broken = spark.sql("SELECT assert_true(rand() < 0, 'no rows today') IS NULL AS b")
    network = Network("copy")
    network.output("all", network.input("rows", "b boolean"))
    with pytest.raises(
        StreamingQueryException, match=r"source rows: its DataFrame cannot be read: .*no rows today"
    ):
        taken(to_dataframe(network, spark, {"rows": Frame(broken)}), tmp_path / "query", [])


@pytest.mark.parametrize(
    ("output", "settings", "message"),
    [
        (None, Settings(), "has the outputs alarms, inside: name one, or a list of them"),
        ("alarm", Settings(), r"the network has no output alarm \(did you mean alarms\?\)"),
        ([], Settings(), "a list of outputs names one or more, each once"),
        (["alarms", "alarms"], Settings(), "a list of outputs names one or more, each once"),
        ("alarms", Settings(home="h"), r"Settings.home is for run and start"),
    ],
)
def test_what_cannot_be_had(spark: SparkSession, output: Any, settings: Settings, message: str) -> None:
    with pytest.raises(AuroraError, match=message):
        to_dataframe(border(), spark, {"reports": Memory.of(SCHEMA, reports())}, output, settings)


def test_a_session_that_lives_elsewhere() -> None:
    with pytest.raises(AuroraError, match="needs a Spark session whose driver is this process"):
        to_dataframe(border(), object(), {}, "alarms")  # type: ignore[arg-type]
