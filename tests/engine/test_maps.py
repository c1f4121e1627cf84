"""Maps in JSON and Parquet, read and written; through boxes with state; what is refused."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora import AuroraError, Memory, Network, Schema, from_text, to_text
from aurora.engine.local import LocalRun
from aurora.engine.plan.plan import plan_network
from aurora.engine.sinks.encode import to_csv, to_json
from aurora.engine.sources.address import open_source
from aurora.engine.sources.files.line_files import LineFiles
from aurora.engine.sources.text.parse import parse_json
from aurora.network.stored import read_stored_schema
from tests.engine.test_sources import drained, rows_of

SCHEMA = Schema.parse(
    "m map<string, double>, p map<string, decimal(5,2)>, t map<string, timestamp>, r struct<n: map<string, int>>, "
    "a array<map<string, string>>, o map<string, struct<d: date>>"
)
LINES = [
    b'{"m": {"a": 1.5, "b": null, "\\u00e9\\"": 2}, "p": {"x": 1.10}, "t": {"now": "2026-11-16T07:00:00Z"}, "i": {}}',
    b' { "m" : { } , "r": {"n": {"z": 3}}, "a": [{"k": "v"}, null, {}], "o": {"u": {"d": "2026-11-16"}, "w": null} }',
    b'{"m": null, "r": null}',
    b"{}",
]
BAD = [
    (b'{"m": 1}', "field m: found a number where a map is expected"),
    (b'{"m": [1]}', "field m: found an array where a map is expected"),
    (b'{"m": {"a": "b"}}', "field m.[].value: found a string where a double is expected"),
    (b'{"r": {"n": {"z": 1.5}}}', "field r.n.z: '1.5' is not an int"),
    (b'{"m": {"a": 1, "a": 2}}', "field m: the key 'a' is there twice"),
    (b'{"m": {"a": 1, }}', "not valid JSON at character 16"),
    (b'{"m": {"a": 1}', "not valid JSON at character 15"),
    (b'{"p": {"a": 1000.5}}', "field p.[]: more digits than a decimal(5,2) has"),
]


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_maps_in_json(tmp_path: Path, rows: int) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(b"\n".join([*LINES, *(line for line, _ in BAD)]))
    portions = drained(LineFiles(str(path), "json", SCHEMA), SCHEMA, rows)
    found = rows_of(portions)
    assert [row["m"] for row in found] == [[("a", 1.5), ("b", None), ('é"', 2.0)], [], None, None]
    assert [(key, str(value)) for key, value in found[0]["p"]] == [("x", "1.10")]
    assert [(key, value.isoformat()) for key, value in found[0]["t"]] == [
        ("now", "2026-11-16T07:00:00+00:00")
    ]
    assert [row["r"] for row in found] == [None, {"n": [("z", 3)]}, None, None]
    assert found[1]["a"] == [[("k", "v")], None, []]
    assert [(key, value and str(value["d"])) for key, value in found[1]["o"]] == [
        ("u", "2026-11-16"),
        ("w", None),
    ]
    assert [bad.reason for portion in portions for bad in portion.rejects] == [reason for _, reason in BAD]


TEXTS = st.text(st.characters(codec="utf-8"), max_size=4)
MAPS = st.one_of(st.none(), st.dictionaries(TEXTS, st.one_of(st.none(), TEXTS), max_size=4))


@given(st.lists(MAPS, min_size=1, max_size=8))
def test_maps_are_written_as_objects_and_read_again(maps: list[dict[str, str | None] | None]) -> None:
    schema = Schema.parse("a map<string, string>")
    rows = pa.RecordBatch.from_pylist([{"a": own} for own in maps], schema.arrow())
    assert [json.loads(line) for line in to_json(rows).decode().split("\n")[:-1]] == [
        {"a": own} for own in maps
    ]
    assert to_json(rows.slice(1)) == b"".join(to_json(rows.slice(place, 1)) for place in range(1, len(maps)))
    assert parse_json(schema)(to_json(rows)).equals(rows)


def test_maps_of_other_things_are_written() -> None:
    rows = pa.RecordBatch.from_pylist(
        [{"m": {"a": 1.0, "b": None}, "n": {"x": {"y": [1]}}}, {"m": {}, "n": None}],
        Schema.parse("m map<string, double>, n map<string, map<string, array<int>>>").arrow(),
    )
    assert to_json(rows).decode().splitlines() == [
        '{"m": {"a": 1.0, "b": null}, "n": {"x": {"y": [1]}}}',
        '{"m": {}, "n": null}',
    ]
    assert to_csv(rows).decode().splitlines() == [
        '"{""a"": 1.0, ""b"": null}","{""x"": {""y"": [1]}}"',
        "{},",
    ]


def test_maps_in_parquet(tmp_path: Path) -> None:
    schema = Schema.parse("m map<string, int>, T int")
    kind = pa.map_(pa.string(), pa.int64())
    table = pa.table({"T": [1, 2], "m": pa.array([[("a", 1)], None], kind), "other": [0, 0]})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    source, _ = open_source("r", f"parquet:{tmp_path}/t.parquet", schema, False, tmp_path)
    assert rows_of(drained(source, schema, 1)) == [{"m": [("a", 1)], "T": 1}, {"m": None, "T": 2}]
    found = read_stored_schema(f"parquet:{tmp_path}/t.parquet", "people")
    assert str(found) == "T bigint, m map<string, bigint>, other bigint"


def test_what_takes_no_maps(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("m\n")
    with pytest.raises(AuroraError, match="CSV cannot hold maps, and field m is one; use JSON or Parquet"):
        open_source("r", f"csv:{tmp_path}/t.csv", SCHEMA, False, tmp_path)
    stream = Network("keys").input("r", "T int, m map<string, int>")
    for box, told in [
        ({"order": {"on": "T", "group_by": ["m"]}}, "group_by m is a map<..>; take a value out with a map"),
        ({"order": {"on": "m"}}, "order on m: map<string, int> is neither a number nor a time"),
    ]:
        with pytest.raises(AuroraError, match=told):
            stream.aggregate({"n": "count(*)"}, size=1, name="b", **box)
    with pytest.raises(AuroraError, match="max takes values, not a map"):
        stream.aggregate({"n": "max(m)"}, order={"on": "T"}, size=1, name="b")
    for array, as_, told in [
        ("m", "b", r"'m' is a map, .*: write as: \[key, value\], found as: b"),
        ("m", ["a", "b", "c"], r"write as: \[key, value\], found as: \[a, b, c\]"),
        ("m", ["b", "b"], r"as: \[b, b\] names two fields b; choose another name"),
        ("m", ["b", 3], "as is the name of a field, found '3'"),
        (
            "map_keys(m)",
            ["a", "b"],
            r"'map_keys\(m\)' is an array, .*: write as: element, found as: \[a, b\]",
        ),
        ("T", ["a", "b"], "'T' is int, explode needs an array or a map"),
    ]:
        with pytest.raises(AuroraError, match=told):
            stream.explode(array, as_, name="each")  # type: ignore[arg-type]


@pytest.mark.parametrize("cut", [1, 2, 7])
@pytest.mark.parametrize("buckets", [1, 3])
def test_maps_through_windows_joins_and_buckets(cut: int, buckets: int) -> None:
    network = Network("maps")
    schema = Schema.parse("T int, g int, m map<string, bigint>")
    stream = network.input("r", schema)
    order = {"on": "T", "group_by": ["g"]}
    functions = {"all": "collect_list(m)", "most": "max(m['a'])", "n": "sum(size(m))"}
    network.output("listed", stream.aggregate(functions, order=order, size=3, name="listed"))
    network.output(
        "so_far", stream.aggregate({"m": "m", "n": "count(*)"}, order=order, size="all", name="so_far")
    )
    sorted_ = stream.bsort({"on": "T", "slack": 1}, name="sorted")
    joined = sorted_.join(stream, "left.g = right.g", asof=True, name="joined")
    keys = joined.explode("map_keys(m_right)", "key", outer=True, name="keys")
    network.output(
        "joined", keys.map({"T": "T", "key": "key", "value": "m_right[key]", "m": "m"}, name="values")
    )
    entries = joined.explode("m_right", ["key", "value"], at="at", outer=True, name="entries")
    network.output("entries", entries)
    network.output("top", stream.top({"k": 1, "by": "size(m) DESC"}, order=order, size=3, name="top"))
    rows: list[dict[str, Any]] = [
        {"T": i // 2, "g": i % 2, "m": None if i == 3 else {"abc"[j]: i for j in range(i % 3)}}
        for i in range(9)
    ]
    run, whole = (LocalRun(plan_network(network), count) for count in (buckets, 1))
    run.read({"r": Memory.of(schema, rows)}, [cut])
    whole.read({"r": Memory.of(schema, rows)}, [100])
    for name, count in [("listed", 4), ("so_far", 9), ("joined", 9), ("entries", 9), ("top", 4)]:
        assert run.rows(name) == whole.rows(name) and len(run.rows(name)) >= count
    assert whole.rows("listed")[0]["all"] == [[], [("a", 2), ("b", 2)], [("a", 4)]]
    assert whole.rows("listed")[0]["most"] == 4
    found = [[row[name] for row in whole.rows("entries")] for name in ("T", "key", "value")]
    assert found == [[row[name] for row in whole.rows("joined")] for name in ("T", "key", "value")]
    assert from_text(to_text(network)) == network
