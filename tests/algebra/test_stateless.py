"""Filter, Map and Union against their naive versions."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora import Memory, Network
from aurora.algebra.explode import Explode
from aurora.algebra.filter import Filter
from aurora.algebra.map import Map
from aurora.algebra.state.turn import Turn
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Train
from aurora.algebra.union import Union
from aurora.engine.local import LocalRun
from aurora.engine.plan.plan import plan_network
from aurora.engine.plan.projection import project_inputs
from aurora.errors import AuroraError
from tests.algebra.harness import Arrival, check_agreement
from tests.algebra.strategies import arrivals, numbers
from tests.spec import squal

SCHEMA = Schema.parse("T int, v int")
some = arrivals(st.lists(numbers(32), max_size=30), v=st.one_of(st.integers(-3, 9), st.none()))


def above(limit: int) -> Any:
    return lambda row: row["v"] is not None and row["v"] > limit


@given(some)
def test_filter(rows: list[Arrival]) -> None:
    box = Filter.of(["v > 5", "v > 0 or T < -10"], SCHEMA)
    naive = squal.Filter(above(5), lambda row: above(0)(row) or row["T"] < -10)
    check_agreement(box, lambda: naive, rows, SCHEMA)


@given(some)
def test_map(rows: list[Arrival]) -> None:
    box = Map.of({"w": "v * 2", "T": "CAST(T AS bigint) + 1"}, SCHEMA)
    naive = squal.Map(w=lambda row: None if row["v"] is None else row["v"] * 2, T=lambda row: row["T"] + 1)
    check_agreement(box, lambda: naive, rows, SCHEMA)


@pytest.mark.parametrize("outer", [False, True])
@given(
    arrivals(
        st.lists(numbers(32), max_size=30),
        v=st.one_of(st.lists(st.one_of(st.integers(-3, 9), st.none()), max_size=4), st.none()),
    )
)
def test_explode(outer: bool, rows: list[Arrival]) -> None:
    schema = Schema.parse("T int, v array<int>")
    box = Explode.of("v", "w", schema, "at", outer)
    assert str(box.outputs["1"]) == "T int, v array<int>, w int, at int"
    check_agreement(box, lambda: squal.Explode(lambda row: row["v"], "w", "at", outer), rows, schema)
    box = Explode.of("v", "v", schema, None, outer)
    assert str(box.outputs["1"]) == "T int, v int" and box.keeps("1") == ({"T": "T"},)
    check_agreement(box, lambda: squal.Explode(lambda row: row["v"], "v", "", outer), rows, schema)


@pytest.mark.parametrize("outer", [False, True])
@given(
    arrivals(
        st.lists(numbers(32), max_size=30),
        v=st.one_of(
            st.dictionaries(st.sampled_from("abc"), st.one_of(st.integers(-3, 9), st.none()), max_size=3).map(
                lambda entries: list(entries.items())
            ),
            st.none(),
        ),
    )
)
def test_explode_of_a_map(outer: bool, rows: list[Arrival]) -> None:
    schema = Schema.parse("T int, v map<string, int>")
    box = Explode.of("v", ("key", "value"), schema, "at", outer)
    assert str(box.outputs["1"]) == "T int, v map<string, int>, key string, value int, at int"
    naive = lambda: squal.Explode(lambda row: row["v"], ("key", "value"), "at", outer)  # noqa: E731
    check_agreement(box, naive, rows, schema)
    box = Explode.of("v", ("v", "T"), schema, None, outer)
    assert str(box.outputs["1"]) == "T int, v string" and box.keeps("1") == ({},)
    check_agreement(box, lambda: squal.Explode(lambda row: row["v"], ("v", "T"), "", outer), rows, schema)


def test_what_an_explode_needs() -> None:
    box = Explode.of("m", ("T", "value"), Schema.parse("T int, m map<string, int>, c int"))
    assert box.needs({"value": None}) == ({"T": {}, "m": None},)
    assert box.needs(None) == ({"m": None, "c": None, "T": {}},)
    box = Explode.of("a", "b", Schema.parse("T int, a array<int>, c int"), "at")
    assert box.needs({"b": None, "at": None}) == ({"a": None},)
    assert box.needs({"c": None}) == ({"c": None, "a": None},)
    assert box.needs(None) == ({"T": None, "a": None, "c": None},)


def test_inputs_that_are_narrowed_keep_the_order_of_fields() -> None:
    network = Network("narrow")
    schema = Schema.parse("a int, b string, c array<int>, d int, e int")
    rows = [{"a": 1, "b": "x,y", "c": [7], "d": 4, "e": 5}]
    stream = network.input("r", schema)
    each = stream.explode("split(b, ',')", "c", at="at", name="each")
    fields = {"*": "* EXCEPT (d)", "e": "a + 1", "n": "e"}
    network.output("all", stream.map(fields, name="all"))
    network.output("each", each)
    network.output("few", each.map({"*": "* EXCEPT (a, b, at)", "d": "d + 1"}, name="few"))
    for outputs in (["all"], ["each"], ["few"], ["all", "each", "few"]):
        run = LocalRun(plan_network(project_inputs(network, outputs), outputs))
        run.read({"r": Memory.of(schema, rows)})
        wanted = {
            "all": [{"a": 1, "b": "x,y", "c": [7], "e": 2, "n": 5}],
            "each": [
                {"a": 1, "b": "x,y", "c": word, "d": 4, "e": 5, "at": at} for at, word in enumerate("xy")
            ],
            "few": [{"c": word, "d": 5, "e": 5} for word in "xy"],
        }
        for name in outputs:
            assert run.rows(name) == wanted[name]
            assert [list(row) for row in run.rows(name)] == [list(row) for row in wanted[name]]


def test_all_fields_of_the_input_in_a_map() -> None:
    schema = Schema.parse("a int, `b c` int, d int")
    for fields, wanted in [
        ({"*": "*"}, "a int, `b c` int, d int"),
        ({"*": "*", "e": "a + 1L"}, "a int, `b c` int, d int, e bigint"),
        ({"e": "'x'", "*": "* except (a, `b c`)"}, "e string, d int"),
        ({"*": " * ", "d": "'x'"}, "a int, `b c` int, d string"),
    ]:
        assert str(Map.of(fields, schema).outputs["1"]) == wanted
    for fields, told in [
        ({"*": "* EXCEPT (x)"}, "m: EXCEPT x: no such field; fields are a, b c, d"),
        ({"*": "* EXCEPT (a, `b c`, d)"}, "m: EXCEPT leaves no field"),
        ({"*": "a"}, "all fields are written as '\\*': '\\*'"),
        ({"x": "*"}, "all fields are written as '\\*': '\\*'"),
        ({"*": "* EXCEPT (a b)"}, "cannot read EXCEPT"),
    ]:
        with pytest.raises(AuroraError, match=told):
            Map.of(fields, schema, "m")


def test_the_time_of_arrival() -> None:
    """In milliseconds since 1970, as whatever a map makes of it; a tuple keeps it."""
    box = Map.of({"v": "v", "came": "arrival_time()", "ms": "unix_millis(arrival_time()) + v"}, SCHEMA)
    rows = pa.record_batch({"v": [1, None]}, Schema.parse("v int").arrow())
    train = Train(rows, np.array([1500, 1_700_000_000_123]), np.array([[1, 3]]))
    found = box.call((train,), Turn())["1"]
    assert box.needs(None) == ({"v": None},) and box.keeps("1") == ({"v": "v"},)
    assert found.rows.column("came").cast(pa.int64()).to_pylist() == [1_500_000, 1_700_000_000_123_000]
    assert found.rows.column("ms").to_pylist() == [1501, None]
    assert found.arrived.tolist() == train.arrived.tolist()


@pytest.mark.parametrize("buckets", [1, 3])
def test_windows_of_arrival_times(buckets: int) -> None:
    network = Network("arrivals")
    readings = network.input("readings", SCHEMA)
    timed = readings.map({"v": "v", "came": "arrival_time()"}, name="timed")
    order = {"on": "came", "group_by": ["v"], "clock": "stream"}
    counts = timed.aggregate({"n": "count(*)"}, order=order, size="10s", align=True, name="counts")
    network.output("counts", counts.map({"v": "v", "s": "unix_seconds(came)", "n": "n"}, name="seconds"))
    run = LocalRun(plan_network(network), buckets)
    moments = [(3_000, [1, 1]), (8_000, [1]), (11_000, [2]), (20_000, [1])]
    rows = [(now, [{"T": 0, "v": value} for value in values]) for now, values in moments]
    run.read({"readings": Memory.timed(SCHEMA, rows)})
    closed = [len(train) for train in run.outputs["counts"] if len(train)]
    assert closed == [1, 2]
    assert run.rows("counts") == [
        {"v": 1, "s": 0, "n": 3},
        {"v": 2, "s": 10, "n": 1},
        {"v": 1, "s": 20, "n": 1},
    ]


def test_arrival_times_are_made_in_maps() -> None:
    with pytest.raises(AuroraError, match="m: arrival_time takes no arguments in 'arrival_time\\(3\\)'"):
        Map.of({"t": "arrival_time(3)"}, SCHEMA, "m")
    with pytest.raises(
        AuroraError, match="f: 'arrival_time\\(\\)' works only in a map: make a field with it there"
    ):
        Filter.of(["arrival_time() IS NOT NULL"], SCHEMA, "f")


@given(arrivals(st.lists(numbers(32), max_size=30), inputs=3, v=st.integers(0, 9)))
def test_union(rows: list[Arrival]) -> None:
    check_agreement(Union.of([SCHEMA] * 3), squal.Union, rows, SCHEMA, SCHEMA, SCHEMA)


def test_faults_name_the_box_and_what_it_got() -> None:
    with pytest.raises(AuroraError, match="over: 'v \\+ 1' is int, a predicate must be boolean"):
        Filter.of(["v + 1"], SCHEMA, "over")
    with pytest.raises(AuroraError, match="both: input 2 has \\(a int\\), input 1 has"):
        Union.of([SCHEMA, Schema.parse("a int")], "both")
