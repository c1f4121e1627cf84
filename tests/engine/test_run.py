"""The same input gives the same output, however it is cut, spread and interrupted."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from aurora import Memory, Network, Settings, run
from aurora.engine.columns import columns
from aurora.errors import AuroraError
from tests.engine.networks import ZONES, all_boxes, beats, reports, written

ROWS = 120


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("inputs")
    for name, text in {"reports": reports(ROWS, seed=1), "beats": beats(8), "zones": ZONES}.items():
        (folder / f"{name}.csv").write_text(text)
    return {name: f"csv:{folder}/{name}.csv" for name in ("reports", "beats", "zones")}


def result(inputs: dict[str, str], folder: Path, settings: Settings) -> dict[str, bytes]:
    network = all_boxes()
    sinks = {name: f"csv:{folder}/{name}.csv" for name in network.outputs}
    run(network, inputs, sinks, settings)
    return written(folder)


@pytest.fixture(scope="module")
def whole(
    spark: SparkSession, inputs: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, bytes]:
    return result(inputs, tmp_path_factory.mktemp("whole"), Settings(batch=1000, partitions=2))


def test_every_output_has_rows(whole: dict[str, bytes]) -> None:
    assert all(content.count(b"\n") > 1 for content in whole.values())


@pytest.mark.parametrize(("batch", "partitions", "fuse"), [(30, 3, True), (64, 1, False)])
def test_batches_partitions_and_fusing_change_nothing(
    whole: dict[str, bytes], inputs: dict[str, str], tmp_path: Path, batch: int, partitions: int, fuse: bool
) -> None:
    assert result(inputs, tmp_path, Settings(batch=batch, partitions=partitions, fuse=fuse)) == whole


def test_inputs_in_order_arrive_as_one_stream(spark: SparkSession, tmp_path: Path) -> None:
    """For every batch; what stands in another file is read by another task."""
    network = Network("merged")
    schema = "t int, v string"
    streams = [network.input(name, schema, order="t") for name in ("one", "two")]
    network.output("all", streams[0].union(streams[1]))
    values = {"one": [1, 4, 4, 7, 12], "two": [2, 4, 5, 6, 7, 8, 9]}
    sources = {}
    for name, found in values.items():
        (tmp_path / f"{name}.csv").write_text("".join(f"{t},{name}{n}\n" for n, t in enumerate(found)))
        sources[name] = f"csv:{tmp_path}/{name}.csv"
    wanted = sorted((t, name, n) for name, found in values.items() for n, t in enumerate(found))
    for batch in (2, 100):
        sink = tmp_path / f"all-{batch}.csv"
        run(network, sources, {"all": f"csv:{sink}"}, Settings(batch=batch, partitions=3))
        assert sink.read_text() == "t,v\n" + "".join(f"{t},{name}{n}\n" for t, name, n in wanted)


def test_batches_of_one_tuple(spark: SparkSession, tmp_path: Path) -> None:
    network = Network("sums")
    stream = network.input("numbers", "g int, t int, v double")
    order = {"on": "t", "slack": 1, "group_by": ["g"]}
    network.output("sums", stream.aggregate({"s": "sum(v)"}, order=order, size=3, name="sum"))
    rows = [{"g": i % 2, "t": i // 2, "v": 0.1 * i} for i in range(8)]
    found = []
    for batch in (1, 100):
        collected: list[dict[str, object]] = []
        run(
            network,
            {"numbers": Memory.of("g int, t int, v double", rows)},
            {"sums": lambda batch, into=collected: into.extend(batch.to_pylist())},
            Settings(batch=batch, partitions=2),
        )
        found.append(collected)
    assert found[0] == found[1]
    assert len(found[0]) == 4


def test_parts_hold_the_same_rows_as_one_file(
    whole: dict[str, bytes], inputs: dict[str, str], tmp_path: Path
) -> None:
    run(
        all_boxes(),
        inputs,
        {"each": f"csv:{tmp_path}/parts", "feet": f"csv:{tmp_path}/feet"},
        Settings(batch=50),
    )
    for name, folder in {"each": "parts", "feet": "feet"}.items():
        lines = [
            line
            for part in sorted((tmp_path / folder).iterdir())
            for line in part.read_bytes().splitlines()[1:]
        ]
        assert sorted(lines) == sorted(whole[f"{name}.csv"].splitlines()[1:])


def test_windows_time_out_by_the_clock(spark: SparkSession) -> None:
    network = Network("timeouts")
    stream = network.input("numbers", "t int, v int")
    window = stream.aggregate({"n": "count(*)"}, order={"on": "t"}, size=10, timeout="5s", name="window")
    network.output("out", window)
    moments = [(0, [{"t": 1, "v": 1}]), (6000, []), (7000, [{"t": 2, "v": 1}, {"t": 30, "v": 1}])]
    rows: list[dict[str, object]] = []
    done = run(
        network,
        {"numbers": Memory.timed("t int, v int", moments)},
        {"out": lambda batch: rows.extend(batch.to_pylist())},
    )
    assert rows == [{"t": 1, "n": 1}, {"t": 21, "n": 1}]
    assert done.totals.discarded["window"]["timed out"] == 1


def test_a_finished_run_starts_anew_and_a_checkpoint_of_another_network_is_refused(
    spark: SparkSession, inputs: dict[str, str], tmp_path: Path
) -> None:
    sinks = {"crowd": f"csv:{tmp_path}/crowd.csv"}
    first = run(all_boxes(), inputs, sinks)
    again = run(all_boxes(), inputs, sinks)
    assert first.totals.rows == again.totals.rows
    folder = tmp_path / ".crowd.csv.checkpoint"
    folder.mkdir()
    (folder / "network").write_text("another")
    with pytest.raises(AuroraError, match="--fresh"):
        run(all_boxes(), inputs, sinks)


def test_stateless_networks_as_spark_columns_give_the_same_rows(compiling_spark: SparkSession) -> None:
    network = Network("stateless")
    stream = network.input("numbers", "a int, b double, c string")
    zones = network.table("zones", "low int, high int, zone string")
    split = stream.filter("a > 3 and b < 2.5", "c = 'x'", name="split")
    scaled = split.map({"a": "a", "b": "b / a", "c": "concat(c, '!')"}, name="scaled")
    rest = split["rest"].map({"a": "a", "b": "b", "c": "c"}, name="rest")
    both = scaled.union(rest, split["2"], name="both")
    zoned = both.join(zones, "left.a >= right.low and left.a < right.high", name="zoned")
    network.output("both", both)
    network.output("zoned", zoned)
    within = "left.a >= right.low and left.a < right.high"
    network.output("outer", both.join(zones, within, outer="left", name="outer"))
    network.output("anti", both.join(zones, within, anti="left", name="anti"))
    turned = "right.a >= left.low and right.a < left.high"
    network.output("right", zones.join(both, turned, outer="right", name="right"))
    network.output("others", zones.join(both, turned, anti="right", name="others"))
    network.output("parts", both.explode("split(c, 'x')", "c", at="at", name="parts"))
    entries = both.explode("if(a > 3, NULL, map('b', b, 'x', 1.0))", ["c", "d"], outer=True, name="entries")
    network.output("entries", entries)
    rows = [
        {"a": a, "b": b, "c": c}
        for a in (None, 0, 4, 7, -(2**31))
        for b in (None, 1.5, float("nan"))
        for c in (None, "x", "")
    ]
    table = [{"low": 0, "high": 5, "zone": "near"}, {"low": 4, "high": 9, "zone": "far"}]
    trains: dict[str, list[str]] = {name: [] for name in network.outputs}
    run(
        network,
        {
            "numbers": Memory.of("a int, b double, c string", rows),
            "zones": Memory.of("low int, high int, zone string", table),
        },
        {
            name: lambda batch, into=into: into.extend(map(repr, batch.to_pylist()))
            for name, into in trains.items()
        },
    )
    frames = columns(
        network,
        {
            "numbers": compiling_spark.createDataFrame(
                [tuple(row.values()) for row in rows], "a int, b double, c string"
            ),
            "zones": compiling_spark.createDataFrame(
                [tuple(row.values()) for row in table], "low int, high int, zone string"
            ),
        },
    )
    for name, frame in frames.items():
        assert sorted(repr(row.asDict()) for row in frame.collect()) == sorted(trains[name])
        assert trains[name]
