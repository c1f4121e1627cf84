"""A network written as text and read again is the same network."""

import math
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
from hypothesis import given, settings

from aurora import Network, Stream, from_text, read_network, to_text, write_network
from aurora.network.network import Output, Port
from aurora.network.plain_yaml import dump_yaml, load_yaml
from tests.thoroughness import examples

BORDER = Path(__file__).parent.parent.parent / "examples" / "border.yaml"
SCHEMA = "Sid int, Time bigint, At timestamp, Pos double, Name string"


def test_the_form_of_the_manual(tmp_path: Path) -> None:
    network = read_network(BORDER)
    again = from_text(to_text(network))
    assert again == network and to_text(again) == to_text(network)
    write_network(network, tmp_path / "copy.yaml")
    assert read_network(tmp_path / "copy.yaml") == network


def test_an_output_knows_its_name_and_its_stream() -> None:
    network = Network("n")
    network.output("o", network.input("a", "A int").filter("A > 1", name="b")["rest"])
    assert network.outputs == {"o": Output("o", Port("b", "rest"))}


def test_boxes_may_stand_in_any_order() -> None:
    text = """
network: n
inputs: {a: {schema: "A int"}}
boxes:
  last: {filter: ["B > 1"], from: first}
  first: {map: {B: "A"}, from: a}
outputs: {o: {from: last.rest}}
"""
    network = from_text(text)
    assert list(network.boxes) == ["first", "last"]
    assert from_text(to_text(network)) == network


def test_a_long_row_of_boxes_may_stand_backwards() -> None:
    boxes = [f'  b{n}: {{filter: ["A > 1"], from: {f"b{n - 1}" if n else "a"}}}' for n in range(600)]
    text = "\n".join(
        ['inputs: {a: {schema: "A int"}}', "boxes:", *reversed(boxes), "outputs: {o: {from: b599}}"]
    )
    assert list(from_text(text).boxes) == [f"b{n}" for n in range(600)]


def test_an_alias_stands_for_what_it_names() -> None:
    text = """
inputs: {a: {schema: "A int"}}
boxes:
  one: {bsort: {}, from: a, order: &by {on: A, slack: 2}}
  two: {bsort: {}, from: a, order: {<<: *by, slack: 3}}
outputs: {o: {from: one}}
"""
    network = from_text(text)
    assert network.boxes["two"].spec["order"] == {"on": "A", "slack": 3}
    assert from_text(to_text(network)) == network


def test_numbers_and_words_are_what_they_look_like() -> None:
    values = {
        "10s": "10s", "1:30": "1:30", "0x10": "0x10", "2020-01-01": "2020-01-01", "yes": "yes", "12": 12, "-0": 0,
        "1e3": 1000.0, "1.5": 1.5, ".inf": math.inf, "true": True, "null": None, "~": None, "1_000": "1_000",
        "007": "007", "9" * 101: "9" * 101,
    }  # fmt: skip
    for text, value in values.items():
        found = load_yaml(f"a: {text}", "text")["a"]
        assert found == value and type(found) is type(value)
        assert load_yaml(dump_yaml({"a": value}), "text") == {"a": value}


def test_networks_differ_where_they_mean_something_else() -> None:
    text = 'inputs: {a: {schema: "A int"}}\nboxes: {b: {filter: ["A > 1"], from: a}}\noutputs: {o: {from: b}}'
    network = from_text(text)
    for change in (
        ("A > 1", "A > 2"),
        ("A int", "A bigint"),
        ("{o:", "{p:"),
        ("from: b", "from: b.rest"),
        ("b: {f", "c: {f"),
    ):
        other = text.replace(*change)
        if change[0].startswith("b:"):
            other = other.replace("{from: b}", "{from: c}")
        assert from_text(other) != network, change


def test_groups_by_python_and_by_text_are_the_same() -> None:
    net = Network("groups")
    cars = net.input("cars", "Car int, Speed int")
    with net.group("speeding"):
        fast = cars.filter("Speed > 100", name="fast")
        with net.group("inner"):
            fast.map({"Car": "Car"}, name="named")
    net.output("fines", net.stream("speeding.inner.named"))
    text = """
network: groups
inputs:
  cars: {schema: "Car int, Speed int"}
boxes:
  speeding:
    group:
      fast: {filter: ["Speed > 100"], from: cars}
      inner: {group: {named: {map: {Car: "Car"}, from: fast}}}
outputs:
  fines: {from: speeding.inner.named}
"""
    assert from_text(text) == net
    assert from_text(to_text(net)) == net


def test_a_word_that_yaml_once_took_for_a_truth_value() -> None:
    text = 'inputs: {a: {schema: "on int, yes int"}}\nboxes: {no: {bsort: {}, from: a, order: {on: on, group_by: yes}}}'
    network = from_text(text + "\noutputs: {off: {from: no}}")
    assert from_text(to_text(network)) == network
    assert network.boxes["no"].spec["order"] == {"on": "on", "group_by": "yes"}


@st.composite
def networks(draw: st.DrawFn) -> Network:
    """Up to eight boxes of every kind, each on streams that are there; fields stay those of SCHEMA where they can."""
    net = Network(draw(st.text(st.characters(categories=["L", "N", "P", "Zs"]), min_size=1)))
    ordered = st.sampled_from([{}, {"order": "Time"}, {"order": "Time", "idle": "1.5s"}])
    streams = [net.input(f"in{i}", SCHEMA, **draw(ordered)) for i in range(draw(st.integers(1, 3)))]
    streams += [net.input("past", SCHEMA, point="recent")] if draw(st.booleans()) else []
    tables = [net.table("people", "Sid int, Level int")]
    tables.append(net.stored("levels", "csv:levels.csv", draw(KEYS), "Sid int, Level int, Name string"))
    if draw(st.booleans()):
        net.input("rows", point="levels")
        tables.append(net.table("before", "Sid int", point="recent"))
    for number in range(draw(st.integers(1, 8))):
        name = f"{draw(st.sampled_from(['', 'g.', 'g.h.']))}box{number}"
        stream = draw(st.sampled_from(streams))
        other = draw(st.sampled_from(streams))
        made = put(draw, net, stream, other, draw(st.sampled_from(tables)), name)
        if made.schema == streams[0].schema:
            streams.append(made)
        net.output(f"out{number}", made, **draw(st.just({}) | VIEWS))
    for number in range(draw(st.integers(0, 3))):
        net.point(f"point{number}", draw(st.sampled_from(streams)), **draw(KEPT))
    return net


KEYS = st.lists(st.sampled_from(["Sid", "Name"]), unique=True)
# Every stream has other fields: its views go by arrival.
VIEWS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"keep": st.integers(1, 10**12) | st.sampled_from(["all", "2h", "1.5 hours", "250ms"])}
)
KEPT: st.SearchStrategy[dict[str, Any]] = st.one_of(
    VIEWS,
    st.fixed_dictionaries({"keep": st.just("latest"), "key": st.sampled_from([["Sid"], ["Name", "Sid"]])}),
    st.sampled_from([("Sid", 7), ("Time", "2h"), ("At", "90m"), ("Pos", 0.5), ("Time", "all")]).flatmap(
        lambda pair: st.fixed_dictionaries(
            {"keep": st.just(pair[1]), "on": st.just(pair[0])}, optional={"key": KEYS}
        )
    ),
)


ORDERS = st.fixed_dictionaries(
    {"on": st.just("Time")},
    optional={
        "slack": st.one_of(st.integers(0, 5), st.fixed_dictionaries({"value": st.integers(0, 9)})),
        "group_by": st.lists(st.sampled_from(["Sid", "Name"]), unique=True),
    },
)
# An input can be the clock of every box.
CLOCKED = st.fixed_dictionaries(
    {"on": st.just("Time"), "clock": st.sampled_from(["stream", "in0"])},
    optional={
        "slack": st.one_of(st.integers(0, 5), st.fixed_dictionaries({"value": st.integers(0, 9)})),
        "group_by": st.lists(st.sampled_from(["Sid", "Name"]), unique=True),
    },
)
FUNCTIONS = st.dictionaries(
    st.sampled_from(["n", "far", "Mean"]),
    st.sampled_from(["count(*)", "max(Pos)", "avg(Pos) + 1", "count(DISTINCT Name)"]),
    min_size=1,
)
TOPS = st.fixed_dictionaries(
    {"k": st.integers(1, 9), "by": st.sampled_from(["Pos DESC", "upper(Name)", ["Sid", "Time - 3 DESC"]])},
    optional={"ties": st.booleans(), "rank": st.just("place"), "start": st.sampled_from(["since", "x y"])},
)
TIMEOUTS = st.sampled_from(["5s", "250ms"])
PREDICATES = st.sampled_from(
    ["Pos >= 30", "Name = 'it''s' OR Sid IS NULL", "Time % 2 = 0", "At > '2003-01-06'"]
)

OPTIONS = st.one_of(
    st.fixed_dictionaries(
        {}, optional={"advance": st.integers(1, 90), "align": st.booleans(), "timeout": TIMEOUTS}
    ),
    st.fixed_dictionaries({"advance": PREDICATES}),
)
RUNNING: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.just({"size": "all"}),
    st.fixed_dictionaries(
        {"size": st.integers(1, 60), "partial": st.just(True), "order": st.just({"on": "#"})},
        optional={"advance": st.just(1)},
    ),
)


def put(draw: st.DrawFn, net: Network, stream: Stream, other: Stream, table: Stream, name: str) -> Stream:
    kind = draw(
        st.sampled_from(
            [
                "filter",
                "map",
                "explode",
                "union",
                "bsort",
                "aggregate",
                "top",
                "running",
                "sessions",
                "gather",
                "kept",
                "join",
                "lookup",
                "asof",
                "asof by time",
                "resample",
                "wait",
                "user",
            ]
        )
    )
    orders: dict[str, Any] = {
        "left_order": draw(ORDERS),
        "right_order": draw(ORDERS),
        "size": draw(st.integers(0, 60)),
    }
    clocked = {"left_order": draw(CLOCKED), "right_order": draw(CLOCKED), "name": name}
    either = draw(st.one_of(ORDERS, CLOCKED))
    if kind == "filter":
        return stream.filter(*draw(st.lists(PREDICATES, min_size=1, max_size=3)), name=name)[
            draw(st.sampled_from(["1", "rest"]))
        ]
    if kind == "map":
        fields = {"Sid": "Sid + 1", "Far": "Pos > 3.5", "`x": "upper(Name)"}
        return stream.map(draw(st.sampled_from([fields, {"*": "* EXCEPT (Sid)", **fields}])), name=name)
    if kind == "explode":
        options = draw(st.sampled_from([{}, {"at": "Place"}, {"outer": True}]))
        array, as_ = draw(
            st.sampled_from(
                [
                    ("split(Name, ',')", "Part"),
                    ("split(Name, ',')", "Name"),
                    ("str_to_map(Name)", ["Key", "Name"]),
                ]
            )
        )
        return stream.explode(array, as_, name=name, **options)
    if kind == "union":
        return stream.union(other, name=name)
    if kind == "bsort":
        return stream.bsort(either, name=name)
    if kind == "aggregate":
        options = draw(OPTIONS)
        size = draw(st.integers(1, 60))
        return stream.aggregate(draw(FUNCTIONS), order=either, size=size, name=name, **options)
    if kind == "sessions":
        return stream.aggregate(draw(FUNCTIONS), order=either, gap=draw(st.integers(1, 60)), name=name)
    if kind == "top":
        size = draw(st.integers(1, 60))
        return stream.top(draw(TOPS), order=either, size=size, name=name, **draw(OPTIONS))
    alone = draw(st.sampled_from([{}, {"outer": "left"}, {"anti": "left"}]))
    if kind == "running":
        functions = {**draw(FUNCTIONS), "own": "Pos - first(Pos)"}
        return stream.aggregate(functions, name=name, **{"order": draw(ORDERS), **draw(RUNNING)})
    if kind == "gather":
        between = draw(st.sampled_from([["left.Time", "left.Time + 9"], ["Time - 3", "Time"]]))
        clocked |= draw(st.sampled_from([{}, {"outer": "left"}]))
        return stream.resample(
            other, draw(FUNCTIONS), match="left.Sid = right.Sid", between=between, **clocked
        )
    if kind == "kept":
        keep = draw(st.sampled_from([{"left": "Time + 9", "right": "all"}, {"left": "all", "right": "Time"}]))
        return stream.join(other, "left.Sid = right.Sid", keep=keep, **clocked)
    if kind == "join":
        orders |= draw(st.sampled_from([{}, {"left_order": clocked["left_order"]}, clocked]))
        orders.pop("name", None)
        more = draw(st.sampled_from([alone, {"outer": "both"}, {"anti": "right"}]))
        predicate = "left.Sid = right.Sid AND left.Pos > right.Pos"
        return stream.join(other, predicate, name=name, **orders, **more)
    if kind == "lookup":
        return stream.join(table, "left.Sid = right.Sid", name=name, **alone)
    if kind == "asof":
        wide = st.fixed_dictionaries({}, optional={"broadcast": st.booleans()})
        return stream.join(other, "left.Sid = right.Sid", name=name, asof=True, **alone, **draw(wide))
    if kind == "asof by time":
        asof = {"left": "Time", "right": "Time"}
        given = draw(st.fixed_dictionaries({}, optional={"left_order": CLOCKED, "right_order": CLOCKED}))
        return stream.join(other, "left.Sid = right.Sid", name=name, asof=asof, **alone, **given)
    if kind == "resample":
        return stream.resample(other, draw(FUNCTIONS), name=name, **orders)
    if kind == "wait":
        return stream.wait("Time", until=other, order=draw(ORDERS), name=name)
    return net.user(
        "math:sqrt", inputs={"a": stream, "b": other}, outputs={"x": SCHEMA, "y": "A int"},
        key=draw(st.sampled_from([None, {"a": ["Sid"], "b": ["Sid"]}])),
        relations=draw(st.sampled_from([[], ["kept"]])), name=name,
    )  # fmt: skip


@given(networks())
@settings(deadline=None, max_examples=examples(20, 60))
def test_generated_networks(network: Network) -> None:
    text = to_text(network)
    again = from_text(text)
    assert again == network
    assert to_text(again) == text


def test_a_group_may_have_names_that_stand_outside_of_it_too() -> None:
    """A stream is the same stream inside a group, whatever the group calls its own boxes."""
    net = Network("names")
    events = net.input("events", "A int")
    over = events.filter("A > 1", name="over")
    with net.group("g"):
        inner = over.filter("A > 2", name="over")
        events.map({"A": "A + 1"}, name="events")
        both = over.union(events, inner, name="both")
        over["rest"].map({"A": "A"}, name="rest")
        order = {"on": "A", "clock": ".over"}
        with net.group("h"):
            last = over.aggregate({"n": "count(*)"}, order=order, size=3, name="over")
        net.user("math:sqrt", inputs={"a": over, "b": inner}, outputs={"x": "A int"}, name="own")
        both.join(over, "left.A = right.A", asof=True, name="joined")
    taken = {name: [str(port) for port in box.inputs] for name, box in net.boxes.items()}
    assert taken == {
        "over": ["events"],
        "g.over": ["over.1"],
        "g.events": ["events"],
        "g.both": ["over.1", "events", "g.over.1"],
        "g.rest": ["over.rest"],
        "g.h.over": ["over.1"],
        "g.own": ["over.1", "g.over.1"],
        "g.joined": ["g.both.1", "over.1"],
    }
    assert net.boxes["g.h.over"].clocks == (Port("over", "1"),)
    net.output("n", last)
    assert from_text(to_text(net)) == net
    assert "from: .over.1" in to_text(net) and "from: events" in to_text(net)
    net.replace = True
    events.filter("A > 0", name="over")
    assert {name: [str(port) for port in box.inputs] for name, box in net.boxes.items()} == taken


def test_a_name_outside_of_the_group_has_a_dot_in_front() -> None:
    text = """
network: n
inputs: {a: {schema: "A int"}}
boxes:
  b: {filter: ["A > 1"], from: a}
  g: {group: {a: {map: {B: "A"}, from: .a}, b: {filter: ["A > 2"], from: .b.rest}, c: {filter: ["B > 1"], from: a}}}
outputs: {o: {from: g.c}, p: {from: .g.b}}
"""
    network = from_text(text)
    assert [str(port) for name in ("g.a", "g.b", "g.c") for port in network.boxes[name].inputs] == [
        "a",
        "b.rest",
        "g.a.1",
    ]
    assert from_text(to_text(network)) == network


def test_clocks_have_full_names_outside_of_their_group() -> None:
    text = """
network: n
inputs: {a: {schema: "A int"}}
boxes:
  g:
    group:
      first: {filter: ["A > 1"], from: a}
      sorted: {bsort: {}, from: a, order: {on: A, clock: first}}
outputs: {o: {from: g.sorted}}
"""
    network = from_text(text)
    assert network.boxes["g.sorted"].clocks == (Port("g.first", "1"),)
    assert network.boxes["g.sorted"].spec["order"] == {"on": "A", "clock": "g.first.1"}
    assert from_text(to_text(network)) == network
