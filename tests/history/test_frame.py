"""DataFrames as sources: their rows, once each, in order, and the same after a kill."""

import datetime
import json
import os
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, rand, spark_partition_id, udf

from aurora import AuroraError, Frame, Memory, Network, Schema, Settings, run
from aurora.engine.sources.address import read_table
from aurora.history import frame as frames
from aurora.history.frame_fields import choose_fields

Rows = list[dict[str, Any]]
FIELDS = "a int, b bigint, t timestamp, d date, m decimal(9,2), s struct<x: int, y: string>, l array<double>, z string"


def copied(fields: str, given: Any, settings: Settings | None = None, **more: Any) -> Rows:
    """What a network that passes all on gives."""
    network = Network("copy")
    network.output("all", network.input("rows", fields))
    found: Rows = []
    run(network, {"rows": given}, {"all": lambda rows: found.extend(rows.to_pylist())}, settings, **more)
    return found


def numbers(spark: SparkSession, low: int, high: int, partitions: int = 3) -> DataFrame:
    return spark.range(low, high, 1, partitions).select(col("id").alias("n"), spark_partition_id().alias("p"))


@pytest.fixture
def tokyo(spark: SparkSession) -> Iterator[SparkSession]:
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    yield session


def test_values_of_all_types_and_the_order_of_partitions(tokyo: SparkSession) -> None:
    made = tokyo.createDataFrame(
        [
            (i, i, datetime.datetime(2025, 1, 1, 12, 0, 0, i), datetime.date(2025, 1, 2), Decimal("1.50"), (i, None),
             [1.5, None], None if i % 2 else f"z{i}")
            for i in range(40)
        ],
        FIELDS.replace("b bigint", "b int"),
    ).repartitionByRange(4, col("a").desc())  # fmt: skip
    wanted = made.toArrow().cast(Schema.parse(FIELDS).arrow()).to_pylist()
    assert wanted[0]["a"] > wanted[-1]["a"]
    settings = dict(tokyo.conf.getAll)
    found = copied(FIELDS, Frame(made), Settings(batch=7))
    assert found == wanted
    assert dict(tokyo.conf.getAll) == settings


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("a string", "column a is int, and the input has string; cast it: df.withColumn('a', df['a'].cast('string'))"),
        ("b int", "column b is bigint, and the input has int; cast it: df.withColumn('b', df['b'].cast('int'))"),
        ("ntz timestamp", "column ntz is timestamp_ntz, and the input has timestamp; cast it"),
        ("m decimal(8,2)", "column m is decimal(9,2), and the input has decimal(8,2)"),
        ("s struct<x: bigint>", "column s is struct<x:int>, and the input has struct<x: bigint>"),
        ("raw string", "column raw is binary, and the input has string"),
        ("pairs string", "column pairs is map<string,int>, and the input has string"),
        ("two int", "the DataFrame has two columns two; rename or drop one of them"),
        ("Tiem int", "the DataFrame has no column Tiem (did you mean Time?); its columns are a, b"),
    ],
)  # fmt: skip
def test_schemas_that_do_not_fit_are_told_with_the_cast(
    spark: SparkSession, fields: str, message: str
) -> None:
    made = spark.sql(
        "SELECT 1 AS a, 2L AS b, TIMESTAMP_NTZ'2025-01-01' AS ntz, CAST(1 AS decimal(9,2)) AS m, "
        "named_struct('x', 1) AS s, X'00' AS raw, map('k', 1) AS pairs, 1 AS two, 2 AS two, 3 AS Time"
    )
    with pytest.raises(AuroraError) as fault:
        choose_fields(made, "r", Schema.parse(fields))
    assert str(fault.value).startswith(f"source r: {message}") and "\n" not in str(fault.value)


def test_a_cast_that_the_message_names_is_right(spark: SparkSession) -> None:
    df = spark.sql("SELECT '7' AS a")
    with pytest.raises(AuroraError) as fault:
        choose_fields(df, "r", Schema.parse("a int"))
    mended = eval(str(fault.value).partition("cast it: ")[2], {"df": df})
    assert choose_fields(mended, "r", Schema.parse("a int")).collect()[0].a == 7


def test_what_is_no_dataframe(tmp_path: Path) -> None:
    with pytest.raises(AuroraError, match=r"found a builtins\.list; give other rows as Memory\.of"):
        Frame([]).open_source("r", Schema.parse("a int"), tmp_path, False)  # type: ignore[arg-type]


def test_a_table_may_be_a_dataframe(spark: SparkSession) -> None:
    schema = Schema.parse("n bigint, p int")
    found = read_table("people", Frame(numbers(spark, 0, 9)), schema)
    assert found.to_pylist() == [{"n": n, "p": n // 3} for n in range(9)]


def test_a_dataframe_that_fails_is_told_in_one_line(spark: SparkSession) -> None:
    @udf("int")
    def broken(n: int) -> int:
        raise ValueError(f"no {n}")

    with pytest.raises(
        AuroraError, match="source rows: its DataFrame cannot be read: ValueError: no"
    ) as fault:
        copied("n int", Frame(numbers(spark, 0, 3, 1).select(broken("n").alias("n"))))
    assert "\n" not in str(fault.value)


def write_files(folder: Path, files: int, rows: int, first: int = 0) -> None:
    """Spark takes the oldest file first."""
    for number in range(first, first + files):
        lines = [json.dumps({"n": n}) for n in range(number * rows, (number + 1) * rows)]
        (folder / f"{number:03}.json").write_text("\n".join(lines))
        os.utime(folder / f"{number:03}.json", (1e9 + number, 1e9 + number))


def stream(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.readStream.schema("n bigint").option("maxFilesPerTrigger", 1).json(str(folder))


def test_a_stream_ends_with_what_there_is(spark: SparkSession, tmp_path: Path) -> None:
    write_files(tmp_path, 3, 10)
    found = copied("n bigint", Frame(stream(spark, tmp_path)), Settings(batch=7))
    assert [row["n"] for row in found] == list(range(30))


def test_a_stream_that_is_followed_and_taken_up_again(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    write_files(folder, 2, 10)
    network = Network("copy")
    network.output("all", network.input("rows", "n bigint"))
    settings = Settings(follow=True, checkpoint=str(tmp_path / "a checkpoint, 100%"))
    sinks = {"all": f"csv:{tmp_path}/out.csv"}
    for wanted in (20, 40):
        enough = threading.Event()

        def seen(report: Any, wanted: int = wanted, enough: threading.Event = enough) -> None:
            if report.places["rows"]["row"] == wanted:
                enough.set()

        result = run(network, {"rows": Frame(stream(spark, folder))}, sinks, settings, seen, enough)
        assert result.goes_on and not result.ended
        write_files(folder, 2, 10, first=2)
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines == ["n", *map(str, range(40))]
    assert sorted(os.listdir(tmp_path)) == ["a checkpoint, 100%", "in", "out.csv"], (
        "Spark's files are in it, too"
    )


def test_a_query_that_somebody_stops_is_not_the_end(spark: SparkSession, tmp_path: Path) -> None:
    write_files(tmp_path, 1, 10)

    def stop_it(report: Any) -> None:
        for query in spark.streams.active:
            if query.name == "aurora source rows":
                query.stop()

    with pytest.raises(AuroraError, match="source rows: the query of its DataFrame was stopped"):
        copied("n bigint", Frame(stream(spark, tmp_path)), Settings(follow=True), watch=stop_it)


def test_a_dataframe_without_rows(spark: SparkSession) -> None:
    assert copied("n bigint", Frame(numbers(spark, 0, 0))) == []


def test_a_stream_that_fails_ends_the_run_with_its_fault(spark: SparkSession, tmp_path: Path) -> None:
    @udf("bigint")
    def broken(n: int) -> int:
        if n >= 10:
            raise ValueError(f"no {n}")
        return n

    write_files(tmp_path, 2, 10)
    failing = stream(spark, tmp_path).select(broken("n").alias("n"))
    found: Rows = []
    network = Network("copy")
    network.output("all", network.input("rows", "n bigint"))
    with pytest.raises(
        AuroraError, match="source rows: its DataFrame cannot be read: ValueError: no 1"
    ) as fault:
        run(
            network,
            {"rows": Frame(failing)},
            {"all": lambda rows: found.extend(rows.to_pylist())},
            Settings(follow=True),
        )
    assert "\n" not in str(fault.value) and [row["n"] for row in found] in ([], list(range(10)))


def test_a_run_that_goes_on_has_the_rows_that_it_began_with(spark: SparkSession, tmp_path: Path) -> None:
    """Whatever the DataFrame would give by now."""
    network = Network("copy")
    network.output("all", network.input("rows", "n double"))
    settings = Settings(batch=10, checkpoint=str(tmp_path / "checkpoint"))
    sinks = {"all": f"csv:{tmp_path}/out.csv"}
    once = spark.range(100).select(rand().alias("n"))
    stop = threading.Event()
    run(network, {"rows": Frame(once)}, sinks, settings, lambda report: stop.set(), stop)
    kept = tmp_path / "checkpoint" / "sources" / "rows.opened"
    log = frames.FrameSource(str(kept), "", False)
    (piece,) = log.pieces({"row": 0}, {"row": 100}, 1)
    wanted = piece.read(Schema.parse("n double")).rows["n"].to_pylist()
    assert run(network, {"rows": Frame(once)}, sinks, settings).ended
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert [float(line) for line in lines[1:]] == wanted
    # It has ended: nobody knows whether the DataFrame is the same, so it is read anew.
    again = run(
        network, {"rows": Frame(numbers(spark, 0, 5).select(col("n").cast("double")))}, sinks, settings
    )
    assert not again.already and again.totals.read == 5


def test_a_micro_batch_counts_once(spark: SparkSession, tmp_path: Path) -> None:
    """What a kill has left of one is taken back, and one that was noted is left out when Spark brings it again."""
    schema = Schema.parse("n bigint")

    def feed() -> frames.FrameFeed:
        made = frames.FrameFeed("r", numbers(spark, 0, 0).select("n"), schema, tmp_path, True, True)
        made._open()
        return made

    def there() -> list[int]:
        source = frames.FrameSource(str(tmp_path), "", True)
        end = source.advance({"row": 0}, 1000)
        return [
            n for piece in source.pieces({"row": 0}, end, 1) for n in piece.read(schema).rows["n"].to_pylist()
        ]

    first = feed()
    first._take(numbers(spark, 0, 10).select("n"), 0)
    # Written, but not noted: as a kill leaves it.
    first._store = lambda: (_ for _ in ()).throw(KeyboardInterrupt)  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        first._take(numbers(spark, 10, 20).select("n"), 1)
    assert there() == list(range(10))
    second = feed()
    second._take(numbers(spark, 0, 10).select("n"), 0)
    assert there() == list(range(10))
    second._take(numbers(spark, 30, 35).select("n"), 1)
    assert there() == [*range(10), *range(30, 35)]
    second.stop()
    with pytest.raises(Exception, match=r"calling o0.stop: java.lang.InterruptedException"):
        second._take(numbers(spark, 0, 1).select("n"), 2)


def test_the_log_forgets_what_was_read(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aurora.history.point_sink.FILE", 1)
    schema = Schema.parse("n bigint")
    feed = frames.FrameFeed("r", numbers(spark, 0, 0).select("n"), schema, tmp_path, True, True)
    feed._open()
    source = frames.FrameSource(str(tmp_path), "", True)
    for batch in range(4):
        feed._take(numbers(spark, 10 * batch, 10 * batch + 10).select("n"), batch)
        source.forget({"row": 10 * batch})
    assert source.waiting({"row": 30}) == 10
    assert len(list((tmp_path / "log").glob("*.rows"))) < 4


def test_two_dataframes_and_memory_take_turns(spark: SparkSession) -> None:
    network = Network("union")
    left, right = network.input("left", "n bigint"), network.input("right", "n bigint")
    network.output("all", left.union(right, name="both"))
    found: Rows = []
    sources = {
        "left": Frame(numbers(spark, 0, 5)),
        "right": Memory.of("n bigint", [{"n": 100 + n} for n in range(5)]),
    }
    run(network, sources, {"all": lambda rows: found.extend(rows.to_pylist())}, Settings(batch=3))
    assert [row["n"] for row in found] == [
        n for pair in zip(range(5), range(100, 105), strict=True) for n in pair
    ]


def test_maps_come_whatever_spark_says_of_their_nulls(spark: SparkSession) -> None:
    schema = Schema.parse("m map<string, int>")
    for sql in ("map('a', 1)", "map('a', 1, 'b', NULL)"):
        assert choose_fields(spark.sql(f"SELECT {sql} AS m"), "r", schema).columns == ["m"]
    kind = pa.map_(pa.string(), pa.field("value", pa.int32(), nullable=False))
    rows = pa.record_batch({"m": pa.array([[("a", 1)]], kind)})
    assert rows.cast(schema.arrow()).to_pylist() == [{"m": [("a", 1)]}]
