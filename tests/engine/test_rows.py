"""Rows of outputs in memory: for people, for pandas, Polars and Arrow."""

import sys
from types import ModuleType
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from aurora import AuroraError, Memory, Network, Result, Rows, Settings, run, start
from aurora.engine.totals import Totals


def rows_of(values: list[int]) -> Rows:
    rows = Rows()
    rows.expect("all", pa.schema({"a": pa.int64(), "<b>": pa.string()}))
    note = rows.open(None)
    for batch, value in enumerate(values):
        note = rows.deliver(batch, pa.record_batch({"a": [value], "<b>": ["x" * 99]}), None, note)
    return rows


def test_as_text_and_as_a_table() -> None:
    rows = rows_of(list(range(12)))
    lines = repr(rows).splitlines()
    assert lines[0] == "<Rows all: 12 rows>" and lines[1].split() == ["a", "<b>"] and lines[-1] == ".."
    assert len(lines) == 8 and lines[2].endswith("x..")
    html = rows._repr_html_()
    assert (
        html.count("<tr>") == 11
        and "&lt;b&gt;<br><small>string</small>" in html
        and "and 2 more rows" in html
    )
    assert repr(rows_of([])).splitlines() == ["<Rows all: 0 rows>", "a  <b>"]


def test_a_memory_shows_its_rows() -> None:
    memory = Memory.of("a int, b string", [{"a": each, "b": "<x>"} for each in range(12)])
    assert repr(memory).splitlines()[:3] == ["<Memory: 12 rows>", "a  b", "0  <x>"]
    html = memory._repr_html_()
    assert html.count("<tr>") == 11 and "<td>&lt;x&gt;</td>" in html and "and 2 more rows" in html


def test_for_other_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_of([1, 2])
    assert rows.to_arrow().column("a").to_pylist() == [1, 2] and len(rows) == 2
    assert isinstance(rows.to_pandas(), pd.DataFrame) and list(rows.to_pandas()["a"]) == [1, 2]
    assert [row["a"] for row in rows] == [1, 2]
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(AuroraError, match=r"^Polars is not installed; install it with: pip install polars$"):
        rows.to_polars()
    fake = ModuleType("polars")
    fake.from_arrow = lambda table: ("polars", table.num_rows)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "polars", fake)
    assert rows.to_polars() == ("polars", 2)


def test_polars_itself() -> None:
    polars = pytest.importorskip("polars", reason="no Polars: the package polars is not installed")
    frame = polars.DataFrame({"a": [1, 2], "b": ["x", None]})
    memory = Memory.of(frame)
    assert str(memory.schema) == "a bigint, b string" and memory.rows.to_pylist() == frame.to_dicts()
    assert rows_of([3]).to_polars()["a"].to_list() == [3]
    with pytest.raises(AuroraError, match=r"a LazyFrame has no rows yet; give what its collect\(\) gives"):
        Memory.of("a int", frame.lazy())


def test_rows_do_not_outlive_their_process() -> None:
    rows = rows_of([1, 2, 3])
    assert rows.open(2) == 2 and [row["a"] for row in rows] == [1, 2]
    with pytest.raises(
        AuroraError, match="sink all: 5 rows came in an earlier run, and 2 of them are in this memory"
    ):
        rows.open(5)
    assert rows.open(None) == 0 and len(rows) == 0


def test_a_result_and_its_rows() -> None:
    result = Result(Totals(rejected=1), 1.25, True, tables={"all": rows_of([1]), "some": rows_of([])})
    assert repr(result) == "<Result: ended after 1.2 s, 0 rows read, 1 rejected>"
    assert result._repr_html_().count("<table>") == 2
    with pytest.raises(AuroraError, match="rows of all, some are in memory; name one of them"):
        result.to_pandas()
    assert len(result.to_pandas("all")) == 1 and result.to_arrow("some").num_rows == 0
    with pytest.raises(
        AuroraError, match=r"no rows of al are in memory \(did you mean all\?\); there are all, some"
    ):
        result["al"]
    with pytest.raises(AuroraError, match="run the network without sinks"):
        Result(Totals(), 0.0, True).to_arrow()


def test_a_run_without_sinks(spark: SparkSession) -> None:
    network = Network("copy")
    copied = network.input("rows", "a int").map({"a": "a", "b": "a * 2"})
    network.output("all", copied)
    network.output("few", copied.filter("a < 2"))
    frame = pd.DataFrame({"a": range(5)})
    result = run(network, {"rows": Memory.of(frame)}, settings=Settings(batch=2))
    assert list(result.to_pandas("all")["b"]) == [0, 2, 4, 6, 8] and len(result["few"]) == 2
    kept = Rows()
    with start(network, {"rows": Memory.of(frame)}, {"few": kept}) as running:
        assert repr(running).startswith("<Running copy: ")
        assert running._repr_html_().startswith("<p>copy: ") and "<th>output</th>" in running._repr_html_()
        ended = running.wait()
    assert running.stop() is ended and ended["few"] is kept and [row["a"] for row in kept] == [0, 1]


@pytest.mark.parametrize(
    ("rows", "schema"),
    [
        ([{"a": 1, "b": "x"}, {"b": None, "c": 1.5}], "a bigint, b string, c double"),
        (pd.DataFrame({"a": pd.Categorical(["x", "y"]), "t": pd.to_datetime(["2025-01-01", None])}),
         "a string, t timestamp"),
        (pa.table({"u": pa.array([1], pa.uint8()), "l": pa.array([[1]], pa.large_list(pa.int32())),
                   "s": pa.array([{"x": "a"}], pa.struct({"x": pa.large_string()}))}),
         "u smallint, l array<int>, s struct<x: string>"),
    ],
    ids=["dicts", "pandas", "arrow"],
)  # fmt: skip
def test_schemas_that_rows_bring_with_them(rows: Any, schema: str) -> None:
    memory = Memory.of(rows)
    assert str(memory.schema) == schema and memory.rows.schema == memory.schema.arrow()


def test_any_frame_that_hands_out_arrow() -> None:
    class Other:
        def __arrow_c_stream__(self, requested: object = None) -> object:
            return pa.table({"a": [1, 2]}).__arrow_c_stream__(requested)

    assert Memory.of("a int", Other()).rows.to_pylist() == [{"a": 1}, {"a": 2}]


def test_rows_are_fitted_to_the_input_that_takes_them() -> None:
    wide = Memory.of(pd.DataFrame({"Time": [1], "Pos": [3], "More": ["x"]}))
    network = Network("n")
    schema = network.input("rows", "Pos int, Time int").schema
    assert wide.fitted("rows", schema).rows.to_pylist() == [{"Pos": 3, "Time": 1}]
    cases = {
        "source rows: the rows have no field Time (did you mean Tiem?); their fields are Pos, Tiem": Memory.of(
            pd.DataFrame({"Pos": [3], "Tiem": [1]})
        ),
        "source rows: the rows have a field Tiem (did you mean Time?); the schema is (Pos int, Time int)": Memory.of(
            [{"Pos": 3, "Time": 4}, {"Pos": 3, "Tiem": 1}]
        ),
        "source rows has the schema (Pos bigint, Time int), but the input has (Pos int, Time int)": Memory.of(
            "Pos bigint, Time int", [{"Pos": 1, "Time": 1}]
        ),
    }
    for message, memory in cases.items():
        with pytest.raises(AuroraError) as fault:
            memory.fitted("rows", schema)
        assert str(fault.value) == message
    with pytest.raises(AuroraError, match=r"source rows: the rows do not fit \(Pos int, Time int\)"):
        Memory.of([{"Pos": 2**40, "Time": 1}]).fitted("rows", schema)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"a": None}], "field a is null in every row"),
        ([{"a": 1}, {"a": "x"}], "field a has values of several types"),
        ([], "the rows have no fields"),
        (pd.DataFrame({"d": pd.to_timedelta([1])}), "field d: no SQL type holds"),
        (7, "rows are a list of dicts, a DataFrame of pandas or Polars, or a Table of pyarrow, found a int"),
    ],
)
def test_rows_that_have_no_schema(rows: Any, message: str) -> None:
    with pytest.raises(AuroraError, match=message) as fault:
        Memory.of(rows)
    assert "\n" not in str(fault.value)
