"""Connection points, views, stored sets, and inputs that take them: what they mean, and what wrong ones are told."""

import sqlite3
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aurora import AuroraError, Network, Schema, Stream, from_text, read_network, to_text
from aurora.engine.plan.explain import describe_network
from aurora.network.network import Input, Port
from aurora.network.points import Keep, Point, Stored

TEXT = """
network: border
inputs:
  reports: {schema: "Sid int, Time int, At timestamp, Day date, Pos double, Who struct<name: string>"}
  rows: {point: people}
boxes:
  over: {filter: ["Pos >= 30"], from: reports}
  crowd: {aggregate: {Cnt: "count(*)"}, from: over, order: {on: Time}, size: 60}
points:
  people: {stored: "csv:people.csv", key: [Sid], schema: "Sid int, Name string"}
  recent: {from: over, keep: 2h, on: Time, key: [Sid]}
  last: {from: over.rest, keep: 1000}
outputs:
  crowded: {from: crowd, keep: 1h}
  now: {from: crowd, keep: latest, key: Time}
  plain: {from: crowd}
"""


def border() -> Network:
    net = Network("border")
    net.stored("people", "csv:people.csv", ["Sid"], "Sid int, Name string")
    reports = net.input(
        "reports", "Sid int, Time int, At timestamp, Day date, Pos double, Who struct<name: string>"
    )
    net.input("rows", point="people")
    over = reports.filter("Pos >= 30", name="over")
    crowd = over.aggregate({"Cnt": "count(*)"}, order={"on": "Time"}, size=60, name="crowd")
    net.point("recent", over, keep="2h", on="Time", key=["Sid"])
    net.point("last", over["rest"], keep=1000)
    net.output("crowded", crowd, keep="1h")
    net.output("now", crowd, keep="latest", key="Time")
    net.output("plain", crowd)
    return net


def test_text_and_python_make_the_same_points() -> None:
    network = from_text(TEXT)
    assert network == border()
    again = from_text(to_text(network))
    assert again == network and to_text(again) == to_text(network)
    people = Schema.parse("Sid int, Name string")
    assert network.inputs["people"] == Input("people", people, True, Stored("csv:people.csv", ("Sid",)))
    assert network.inputs["rows"] == Input("rows", people, point="people")
    assert list(network.outputs) == ["crowded", "now", "plain"]
    assert network.points == {
        "crowded": Point("crowded", Port("crowd", "1"), Keep(span=3_600_000)),
        "now": Point("now", Port("crowd", "1"), Keep(latest=True), key=("Time",)),
        "recent": Point("recent", Port("over", "1"), Keep(span=7200), "Time", ("Sid",)),
        "last": Point("last", Port("over", "rest"), Keep(rows=1000)),
    }


def test_networks_differ_by_their_points() -> None:
    network = from_text(TEXT)
    for old, new in (
        ("keep: 2h", "keep: 3h"),
        ("keep: 1000", "keep: all"),
        ("  last:", "  later:"),
        ("key: [Sid]}", "key: [Pos]}"),
        ("crowd, keep: 1h", "crowd"),
        ("csv:people", "csv:persons"),
    ):
        assert from_text(TEXT.replace(old, new)) != network, old
    assert from_text(TEXT.replace("keep: 2h", "keep: 7200")) == network


def test_what_a_network_keeps_is_told() -> None:
    lines = describe_network(from_text(TEXT)).splitlines()
    over = "Sid int, Time int, At timestamp, Day date, Pos double, Who struct<name: string>"
    assert lines[1] == "  stored people in csv:people.csv by Sid (Sid int, Name string)"
    assert lines[3] == "  input rows <- point people (Sid int, Name string)"
    assert lines[-5:] == [
        f"  point     recent <- over.1, keeps 2h of Time by Sid ({over})",
        f"  point     last <- over.rest, keeps 1,000 tuples ({over})",
        "  view      crowded <- crowd.1, keeps 1h of arrival (Time int, Cnt bigint)",
        "  view      now <- crowd.1, keeps latest by Time (Time int, Cnt bigint)",
        "  output    plain <- crowd.1 (Time int, Cnt bigint)",
    ]


@pytest.mark.parametrize(
    ("given", "keep"),
    [
        ({"keep": "2h"}, Keep(span=7_200_000)),
        ({"keep": 10}, Keep(rows=10)),
        ({"keep": "all"}, Keep()),
        ({"keep": "all", "on": "Time"}, Keep()),
        ({"keep": "latest", "key": "Sid"}, Keep(latest=True)),
        ({"keep": "2h", "on": "Time"}, Keep(span=7200)),
        ({"keep": 90, "on": "Time"}, Keep(span=90)),
        ({"keep": 90.0, "on": "Time"}, Keep(span=90)),
        ({"keep": "2h", "on": "At"}, Keep(span=7_200_000_000)),
        ({"keep": "2d", "on": "Day"}, Keep(span=2)),
        ({"keep": 2, "on": "Day"}, Keep(span=2)),
        ({"keep": 0.5, "on": "Pos"}, Keep(span=0.5)),
        ({"keep": 0, "on": "Time"}, Keep(span=0)),
    ],
)
def test_how_much_is_kept(given: dict[str, Any], keep: Keep) -> None:
    network = border()
    network.point("p", network.stream("over"), **given)
    assert network.points["p"].keep == keep
    assert from_text(to_text(network)) == network


def test_points_alone_make_a_network() -> None:
    text = 'network: n\ninputs: {a: {schema: "A int"}}\npoints: {p: {from: a, keep: 5}}'
    network = from_text(text).checked()
    assert from_text(to_text(network)) == network
    text = "network: n\ninputs: {a: {point: p}}\noutputs: {o: {from: a}}"
    assert from_text(text, points={"p": Schema.parse("A int")}).checked().inputs["a"].point == "p"
    with pytest.raises(AuroraError, match="network n has no output"):
        from_text('network: n\ninputs: {a: {schema: "A int"}}').checked()


def test_a_view_may_have_the_name_of_its_box() -> None:
    network = from_text('inputs: {a: {schema: "A int"}}\noutputs: {a: {from: a, keep: 1h}}')
    assert network.points["a"].port == Port("a")
    assert from_text(to_text(network)) == network


def test_points_of_groups_have_full_names() -> None:
    net = Network("n")
    with net.group("g"):
        stream = net.input("a", "A int").filter("A > 1", name="f")
        net.point("p", stream, keep="all")
    assert net.points["p"].port == Port("g.f", "1")
    assert from_text(to_text(net)) == net


# A line of `points`, and what its fault says.
POINTS = {
    "p: over": "point p: write {from: box, keep: 2h} or {stored: \"parquet:PATH\", key: [Field]}, found 'over'",
    "p: {keep: 2h}": "point p: write {from: box, keep: 2h} or {stored:",
    "p: {from: over, stored: 'csv:a', keep: 2h}": "point p: has from and stored; write",
    "p: {from: over}": "point p: needs keep: a span of time such as 2h, a number of tuples, or all",
    "p: {from: over, kept: 2h}": "point p: a point has no 'kept' (did you mean keep?); it has from, keep, on, key",
    "p: {from: ovr, keep: 2h}": "point p: no input or box is called ovr (did you mean over?); the inputs and boxes are",
    "p: {from: over.2, keep: 2h}": "point p: box over has no port 2; ports are 1, rest",
    "p: {from: people, keep: 2h}": "point p: people is a stored set, a table for joins; for a stream of its rows add",
    "p: {from: table, keep: 2h}": "point p: table is a table, not a stream",
    "p: {from: over, keep: }": "point p: keep: 'None' is neither a span of time such as 2h, nor a number",
    "p: {from: over, keep: 0}": "point p: keep: '0' is neither a span of time such as 2h",
    "p: {from: over, keep: 1.5}": "point p: keep: '1.5' is neither a span of time such as 2h",
    "p: {from: over, keep: true}": "point p: keep: 'True' is neither a span of time such as 2h",
    "p: {from: over, keep: 99999999999999999999}": "point p: keep: '99999999999999999999' is neither a span of time",
    "p: {from: over, keep: 0s}": "point p: keep: '0s' must be longer than 0; write for example 2h",
    "p: {from: over, keep: 9999999999999999d}": "point p: keep: '9999999999999999d' is too large",
    "p: {from: over, keep: 2h, on: Tim}": "point p: on Tim: no such field (did you mean Time?); fields are Sid, Time",
    "p: {from: over, keep: 2h, on: [Time]}": "point p: on is the name of a field, found '['Time']'",
    "p: {from: over, keep: 2h, on: Name}": "point p: on Name: string is neither a number nor a time",
    "p: {from: over, keep: 10, on: At}": "point p: keep: '10' on a timestamp; write a span of time such as 60s",
    "p: {from: over, keep: 2h, on: Day}": "point p: keep: '2h' on a date; write whole days such as 1d",
    "p: {from: over, keep: 2h, on: Pos}": "point p: keep: '2h' on a field of type double; write a number",
    "p: {from: over, keep: 1.5, on: Time}": "point p: keep: '1.5' on Time; write a whole number of 0 or more",
    "p: {from: over, keep: -1, on: Pos}": "point p: keep: '-1' on Pos; write a number of 0 or more",
    "p: {from: over, keep: 1500ms, on: Time}": "point p: keep: '1500ms' on Time, a whole number, means seconds",
    "p: {from: over, keep: .nan, on: Pos}": "point p: keep: 'nan' on a field of type double; write a number",
    "p: {from: over, keep: latest}": "point p: keep: latest keeps the latest tuple of each key; add key: [Sid]",
    "p: {from: over, keep: latest, key: []}": "point p: keep: latest keeps the latest tuple of each key",
    "p: {from: over, keep: latest, key: Sid, on: Time}": "point p: keep: latest means the latest arrival; leave on",
    "p: {from: over, keep: 2h, key: Nam}": "point p: key Nam: no such field (did you mean Name?); fields are",
    "p: {from: over, keep: 2h, key: [Who]}": "point p: key Who is a struct; take its fields out with a map",
    "p: {from: over, keep: 2h, key: [Sid, Sid]}": "point p: key names a field twice: Sid, Sid",
    "p: {from: over, keep: 2h, key: 5}": "point p: key: expects a list of names, found '5'",
    "over: {from: over, keep: 2h}": "point over: the name is used twice",
    "reports: {from: over, keep: 2h}": "point reports: the name is used twice",
    "out: {from: over, keep: 2h}": "point out: there is an output of that name; give that keep, or rename the point",
    '"a b": {from: over, keep: 2h}': "point a b: a name must not contain spaces",
    '"a/b": {from: over, keep: 2h}': "point a/b: a name must not contain '/'; write '-' or '_' instead",
    f"{'p' * 101}: {{from: over, keep: 2h}}": f"point {'p' * 101}: the name of a point or view has 100",
    '"#": {from: over, keep: 2h}': "point #: the name of a point or view has",
    "past: {from: over, keep: 2h}": "point past: input history takes a point of that name from a running network",
    # Stored sets.
    "s: {stored: people}": "point s: 'people' is not the address of a stored set; write parquet:PATH, csv:PATH",
    "s: {stored: 5}": "point s: '5' is not the address of a stored set; write",
    "s: {stored: }": "point s: 'None' is not the address of a stored set; write",
    "s: {stored: 'tcp:localhost:9000'}": "point s: 'tcp:localhost:9000' is not the address of a stored set; write",
    "s: {stored: 'csv:-'}": "point s: 'csv:-' is not the address of a stored set; write",
    "s: {stored: 'csv:a.csv'}": 'point s: CSV has no types of its own; give its schema: "Field type, .."',
    "s: {stored: 'json:a.jsonl'}": 'point s: JSON has no types of its own; give its schema: "Field type, .."',
    "s: {stored: 'csv:a.csv', schema: 'A'}": "point s: cannot read 'A' in the schema 'A'",
    "s: {stored: 'csv:a.csv', schema: '`#` int'}": "point s: field #: names that begin with # are reserved; rename it",
    "s: {stored: 'csv:a.csv', schema: 'A int', key: B}": "point s: key B: no such field; fields are A",
    "s: {stored: 'csv:a.csv', schema: 'A int', keep: 2h}": "point s: a stored set is permanent; leave keep out",
    "s: {stored: 'csv:a.csv', shema: 'A int'}": "point s: a stored set has no 'shema' (did you mean schema?); it has",
    "s: {stored: 'parquet:nowhere'}": "point s: nowhere is not a file; check the path, or give its schema",
    "s: {stored: 'sqlite:a.db'}": "point s: 'sqlite:a.db' names no table; write sqlite:FILE?table=NAME",
    "s: {stored: 'sqlite:nowhere.db?table=t'}": "point s: there is no file nowhere.db; check the path",
    "over: {stored: 'csv:a.csv', schema: 'A int'}": "box over: the name is used twice, there is a point over",
    "reports: {stored: 'csv:a.csv', schema: 'A int'}": "input reports: the name is used twice",
    "out: {stored: 'csv:a.csv', schema: 'A int'}": "output out: there is a point of that name; rename the output",
}
FRAME = """network: n
inputs:
  reports: {{schema: "Sid int, Time int, At timestamp, Day date, Pos double, Name string, Who struct<name: string>"}}
  table: {{schema: "A int", static: true}}
  history: {{point: past, schema: "A int"}}
  {input}
boxes:
  over: {{filter: ["Pos >= 30"], from: reports}}
  {box}
points:
  people: {{stored: "csv:people.csv", schema: "Sid int"}}
  {point}
outputs:
  out: {{from: over}}
  {output}
"""


def told(points: dict[str, Schema] | None = None, **parts: str) -> str:
    """The fault of a network with these parts, which is one line."""
    text = FRAME.format(**({"input": "", "box": "", "point": "", "output": ""} | parts))
    with pytest.raises(AuroraError) as caught:
        from_text(text, points=points).checked()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("line", POINTS)
def test_fault_of_a_point(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = told(point=line)
    assert found.startswith(POINTS[line]), found


@pytest.mark.parametrize(
    ("part", "line", "message"),
    [
        ("output", "v: {from: over, keep: 5x}", "output v: keep: '5x' is neither a span of time"),
        ("output", "v: {from: over, keep: }", "output v: keep is empty; write keep: 1h, or leave it out"),
        ("output", "v: {from: over, key: Sid}", "output v: key is for a view; add keep: 1h, or leave key out"),
        ("output", "v: {from: over, on: Time}", "output v: on is for a view; add keep: 1h, or leave on out"),
        ("output", "v: {from: over, keeps: 1h}", "output v: an output has no 'keeps' (did you mean keep?)"),
        ("output", "v: {from: over, keep: latest}", "output v: keep: latest keeps the latest tuple of each key"),
        ("output", "v: {from: people}", "output v: people is a stored set, a table for joins"),
        ("output", "v/w: {from: over, keep: 1h}", "output v/w: a name must not contain '/'"),
        ("output", "past: {from: over, keep: 1h}", "output past: input history takes a point of that name"),
        ("box", "b: {filter: [Sid > 1], from: people}", "box b (from people): people is a stored set, a table for"),
        ("input", "i: {static: true}", 'input i: write {schema: "Field type, .."}, with static: true'),
        ("input", "i: {point: 5}", "input i: point is the name of a connection point, found '5'"),
        ("input", "i: {point: }", "input i: point is the name of a connection point, found 'None'"),
        ("input", "i: {point: people, static: true}", "input i: people is a table already; take people itself"),
        ("input", "i: {point: people, schema: 'Sd int'}", "input i: the point people has no field Sd (did you mean"),
        (
            "input",
            "i: {point: recent}",
            "input i: this network is a query that takes the point recent of a running one; attach it with "
            "aurora attach DIR QUERY, or give the schema",
        ),
    ],
)  # fmt: skip
def test_fault_of_what_belongs_to_points(part: str, line: str, message: str) -> None:
    found = told(**{part: line})
    assert found.startswith(message), found


RUNNING = {
    "past": Schema.parse("A int, B string"),
    "recent": Schema.parse("Sid int, Time int, `#` bigint"),
    "out": Schema.parse("Cnt bigint"),
}


def test_a_query_takes_the_schemas_of_the_points() -> None:
    text = """
inputs:
  rows: {point: recent}
  some: {point: recent, schema: "Time int"}
  before: {point: out, static: true}
outputs: {o: {from: rows}}
"""
    query = from_text(text, points=RUNNING)
    assert query.inputs == {
        "rows": Input("rows", RUNNING["recent"], point="recent"),
        "some": Input("some", Schema.parse("Time int"), point="recent"),
        "before": Input("before", RUNNING["out"], True, point="out"),
    }
    assert from_text(to_text(query)) == query == from_text(to_text(query), points=RUNNING)


def test_a_network_tells_the_points_that_queries_can_take() -> None:
    network = from_text(TEXT)
    assert list(network.point_schemas()) == ["crowded", "now", "recent", "last", "people"]
    query = from_text("inputs: {rows: {point: now}}\noutputs: {o: rows}", points=network.point_schemas())
    assert str(query.inputs["rows"].schema) == "Time int, Cnt bigint"


@pytest.mark.parametrize(
    ("line", "message"),
    {
        "{point: recnt}": "input i: there is no point recnt (did you mean recent?); there are past, recent, out",
        "{point: recent, schema: 'Sid bigint'}": (
            "input i: field Sid is int at the point recent, not bigint; leave the schema out"
        ),
        "{point: recent, schema: 'Sidd int'}": "input i: the point recent has no field Sidd (did you mean Sid?); its",
    }.items(),
)
def test_fault_of_a_query(line: str, message: str) -> None:
    found = told(RUNNING, input=f"i: {line}")
    assert found.startswith(message), found


def test_fault_of_a_query_on_a_network_without_points() -> None:
    with pytest.raises(
        AuroraError, match=r"^input i: there is no point recent; the running network has none$"
    ):
        from_text("inputs: {i: {point: recent}}", points={})


def query() -> Network:
    net = Network("query")
    net.output("o", net.input("rows", "Sid int", point="recent"))
    return net


def test_a_query_made_by_a_function_is_held_to_the_points() -> None:
    place = "tests.network.test_points:query"
    assert read_network(place, RUNNING) == query() == read_network(place)
    with pytest.raises(AuroraError, match=r"^input rows: there is no point recent; there are past$"):
        read_network(place, {"past": RUNNING["past"]})


def test_a_query_in_a_file_takes_points(tmp_path: Path) -> None:
    (tmp_path / "query.yaml").write_text("inputs: {rows: {point: past}}\noutputs: {o: {from: rows}}")
    assert read_network(tmp_path / "query.yaml", RUNNING).inputs["rows"].schema == RUNNING["past"]


def test_faults_in_python() -> None:
    net = border()
    over = net.stream("over")
    attempts: dict[str, Any] = {
        "input i: give a schema, or the point that it takes": lambda: net.input("i"),
        "input i: give the schema of the point far": lambda: net.input("i", point="far"),
        "input i: recent is a point of this network; take its stream over.1": lambda: net.input("i", point="recent"),
        "box recent: the name is used twice": lambda: over.filter("true", name="recent"),
        "input last: the name is used twice": lambda: net.input("last", "A int"),
        "output recent: there is a point of that name; rename the output": lambda: net.output("recent", over),
        "output people: there is a point of that name; rename the output": lambda: net.output("people", over),
        "point plain: there is an output of that name; rename the point": lambda: net.stored("plain", "csv:a"),
        "network border: stream a belongs to network other": lambda: net.point("p", foreign(), keep="all"),
    }  # fmt: skip
    for message, attempt in attempts.items():
        with pytest.raises(AuroraError) as caught:
            attempt()
        assert str(caught.value).startswith(message)
    assert net == border()


def foreign() -> Stream:
    return Network("other").input("a", "A int")


def stored_schema(address: str, **options: Any) -> str:
    return str(Network("n").stored("s", address, **options).schema)


def test_the_schema_of_a_parquet_file_or_folder(tmp_path: Path) -> None:
    kinds = {
        "a": pa.int8(), "b": pa.uint32(), "c": pa.large_string(), "d": pa.timestamp("ms"), "e": pa.date32(),
        "f": pa.dictionary(pa.int32(), pa.string()), "g": pa.struct({"x": pa.uint8()}), "h": pa.bool_(),
    }  # fmt: skip
    folder = tmp_path / "people"
    folder.mkdir()
    (folder / "_SUCCESS").touch()
    pq.write_table(pa.table({name: pa.nulls(1, kind) for name, kind in kinds.items()}), folder / "1.parquet")
    found = "a tinyint, b bigint, c string, d timestamp, e date, f string, g struct<x: smallint>, h boolean"
    for place in (folder, folder / "1.parquet", folder / "*.parquet"):
        assert stored_schema(f"parquet:{place}") == found
    assert stored_schema(f"parquet:{folder}", schema="a int", key="a") == "a int"
    text = f'inputs: {{i: {{schema: "A int"}}}}\npoints: {{s: {{stored: "parquet:{folder}", key: [a, c]}}}}'
    network = from_text(text)
    assert network.inputs["s"].stored == Stored(f"parquet:{folder}", ("a", "c"))
    assert from_text(to_text(network)) == network


def test_faults_of_parquet_files(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.parquet").write_text("not this")
    pq.write_table(pa.table({"a": pa.nulls(1, pa.time32("ms"))}), tmp_path / "clock.parquet")
    pq.write_table(pa.table({}), tmp_path / "none.parquet")
    for place, message in {
        "empty": "empty has no files; check the path, or give its schema",
        "gone/*.parquet": "gone/*.parquet is not a file; check the path",
        "text.parquet": "text.parquet cannot be read as Parquet: ",
        "clock.parquet": "clock.parquet is time32[ms], which no field of a stream can be; give its schema",
        "none.parquet": "none.parquet has no fields",
    }.items():
        with pytest.raises(AuroraError) as caught:
            stored_schema(f"parquet:{tmp_path}/{place}")
        assert message in str(caught.value) and "\n" not in str(caught.value)
        assert str(caught.value).startswith("point s: ")


def test_the_schema_of_a_table_of_sqlite(tmp_path: Path) -> None:
    file = tmp_path / "people 1?.db"
    database = sqlite3.connect(file)
    database.execute(
        'CREATE TABLE "the people" (Sid INTEGER PRIMARY KEY, n smallint, Name VARCHAR(20), Far DOUBLE PRECISION, '
        "Born DATE, At TIMESTAMP, Gone datetime, Ok BOOLEAN)"
    )
    database.execute("CREATE TABLE other (Cost DECIMAL(5, 2))")
    database.execute("CREATE TABLE bare (a)")
    database.close()
    found = (
        "Sid bigint, n bigint, Name string, Far double, Born date, At timestamp, Gone timestamp, Ok boolean"
    )
    assert stored_schema(f"sqlite:{file}?table=the people") == found
    for table, message in {
        "other": "column Cost of other is declared as DECIMAL(5, 2); give its schema",
        "bare": "column a of bare is declared without a type; give its schema",
        "the peopl": "has no table the peopl (did you mean the people?); there are bare, other, the people",
    }.items():
        with pytest.raises(AuroraError) as caught:
            stored_schema(f"sqlite:{file}?table={table}")
        assert message in str(caught.value)
    file.write_text("no database at all, but long enough to look like one" * 50)
    with pytest.raises(AuroraError, match="cannot be read as an SQLite database: file is not a database"):
        stored_schema(f"sqlite:{file}?table=t")
