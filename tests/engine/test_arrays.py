"""Arrays in JSON and Parquet, read and written; what is refused."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora import AuroraError, Memory, Network, Schema
from aurora.engine.local import LocalRun
from aurora.engine.plan.plan import plan_network
from aurora.engine.sinks.encode import to_csv, to_json
from aurora.engine.sources.address import open_source
from aurora.engine.sources.files.line_files import LineFiles
from tests.engine.test_sources import drained, rows_of

SCHEMA = Schema.parse(
    "n array<int>, s array<string>, t array<timestamp>, d array<date>, r array<struct<a: int, b: array<string>>>, "
    "m array<array<double>>"
)
LINES = [
    b'{"n": [1, null, 3], "s": ["a", "\\"", null], "t": ["2026-11-16T07:00:00Z"], "d": ["2026-11-16"],'
    b' "m": [[1.5], [], null]}',
    b'{"n": [], "r": [{"a": 1, "b": ["x"]}, null, {"a": null}]}',
    b'{"n": null, "s": []}',
    b"{}",
]  # fmt: skip
BAD = [
    (b'{"n": 1}', "field n: found a number where an array is expected"),
    (b'{"n": ["a"]}', "field n.[]: found a string where an int is expected"),
    (b'{"n": [1.5]}', "field n.[]: '1.5' is not an int"),
    (b'{"n": {"a": 1}}', "field n: found an object where an array is expected"),
    (b'{"d": ["x"]}', "field d.[]: 'x' is not a date"),
]


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_arrays_in_json(tmp_path: Path, rows: int) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(b"\n".join([*LINES, *(line for line, _ in BAD)]))
    portions = drained(LineFiles(str(path), "json", SCHEMA), SCHEMA, rows)
    found = rows_of(portions)
    assert [row["n"] for row in found] == [[1, None, 3], [], None, None]
    assert [row["s"] for row in found] == [["a", '"', None], None, [], None]
    assert [moment.isoformat() for moment in found[0]["t"]] == ["2026-11-16T07:00:00+00:00"]
    assert found[1]["r"] == [{"a": 1, "b": ["x"]}, None, {"a": None, "b": None}]
    assert found[0]["m"] == [[1.5], [], None]
    assert [bad.reason for portion in portions for bad in portion.rejects] == [reason for _, reason in BAD]


VALUES = st.one_of(
    st.none(), st.lists(st.one_of(st.none(), st.text(st.characters(codec="utf-8"), max_size=5)), max_size=4)
)


@given(st.lists(VALUES, min_size=1, max_size=10))
def test_arrays_are_written_as_json(lists: list[list[str | None] | None]) -> None:
    rows = pa.record_batch({"a": pa.array(lists, pa.list_(pa.string()))})
    assert [json.loads(line) for line in to_json(rows).decode().split("\n")[:-1]] == [
        {"a": own} for own in lists
    ]
    part = rows.slice(1)
    assert to_json(part) == b"".join(to_json(rows.slice(place, 1)) for place in range(1, len(lists)))


def test_arrays_of_other_things_are_written() -> None:
    rows = pa.record_batch(
        {"n": pa.array([[1, None], None, []]), "r": pa.array([[{"x": [1.0]}, None], [], None])},
    )
    assert to_json(rows).decode().splitlines() == [
        '{"n": [1, null], "r": [{"x": [1.0]}, null]}',
        '{"n": null, "r": []}',
        '{"n": [], "r": null}',
    ]
    assert to_csv(rows).decode().splitlines() == ['"[1, null]","[{""x"": [1.0]}, null]"', ",[]", "[],"]


def test_arrays_in_parquet(tmp_path: Path) -> None:
    schema = Schema.parse("n array<int>, s array<string>")
    table = pa.table({"n": pa.array([[1], None], pa.list_(pa.int64())), "s": [["a", None], []]})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    source, _ = open_source("r", f"parquet:{tmp_path}/t.parquet", schema, False, tmp_path)
    assert rows_of(drained(source, schema, 1)) == [{"n": [1], "s": ["a", None]}, {"n": None, "s": []}]


def test_csv_and_keys_refuse_arrays(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\n")
    with pytest.raises(AuroraError, match="CSV cannot hold arrays, and field n is one; use JSON or Parquet"):
        open_source("r", f"csv:{tmp_path}/t.csv", SCHEMA, False, tmp_path)
    network = Network("keys")
    stream = network.input("r", "T int, a array<int>")
    with pytest.raises(AuroraError, match="group_by a is an array; take an element out with a map"):
        stream.aggregate({"n": "count(*)"}, order={"on": "T", "group_by": ["a"]}, size=1, name="b")
    with pytest.raises(AuroraError, match="max takes elements, not an array"):
        stream.aggregate({"n": "max(a)"}, order={"on": "T"}, size=1, name="b")
    with pytest.raises(AuroraError, match="'T' is int, explode needs an array"):
        stream.explode("T", "b", name="each")
    with pytest.raises(AuroraError, match="at: T is the name of another field"):
        stream.explode("a", "b", at="T", name="each")


@pytest.mark.parametrize("cut", [1, 2, 7])
@pytest.mark.parametrize("buckets", [1, 3])
def test_arrays_through_windows_joins_and_buckets(cut: int, buckets: int) -> None:
    network = Network("arrays")
    schema = Schema.parse("T int, g int, a array<string>")
    stream = network.input("r", schema)
    order = {"on": "T", "group_by": ["g"]}
    listed = stream.aggregate(
        {"all": "collect_list(a)", "last": "max(size(a))"}, order=order, size=3, name="listed"
    )
    sorted_ = stream.bsort({"on": "T", "slack": 1}, name="sorted")
    joined = sorted_.join(stream, "left.g = right.g", asof=True, name="joined")
    network.output("listed", listed)
    network.output("joined", joined.explode("a_right", "word", outer=True, name="words"))
    rows = [{"T": i // 2, "g": i % 2, "a": None if i == 3 else [f"w{i}"] * (i % 3)} for i in range(9)]
    run = LocalRun(plan_network(network), buckets)
    run.read({"r": Memory.of(schema, rows)}, [cut])
    whole = LocalRun(plan_network(network), 1)
    whole.read({"r": Memory.of(schema, rows)}, [100])
    assert run.rows("listed") == whole.rows("listed") and len(run.rows("listed")) == 4
    assert run.rows("joined") == whole.rows("joined") and len(run.rows("joined")) > 9
    assert whole.rows("listed")[0]["all"] == [[], ["w2", "w2"], ["w4"]]
