"""What keeps load from being shed is named: the box, the point, the output, and what would allow it."""

import pytest

from aurora import AuroraError, Network, from_text, to_text
from aurora.adapt.obstacles import find_doubts, find_obstacles
from aurora.adapt.troubles import BEGIN, END, Noticed, look_at_shortfall, notice

INPUTS = 'inputs: {r: {schema: "g int, v int"}, q: {schema: "g int, w int"}}'
GRAPHS = "qos: {latency: [[0, 1], [2, 1], [9, 0]], delivered: [[100, 1], [0, 0]]}"
BOXES = {
    "user": "{user: 'tests.engine.chains:even', inputs: {a: r}, outputs: {'1': 'v int'}, key: {a: [g]}MISS}",
    "aggregate": '{aggregate: {n: "count(*)"}, from: r, order: {on: "#", group_by: [g]}, size: allMISS}',
    "join": "{join: left.g = right.g, left: q, right: r, asof: trueMISS}",
}


def network(box: str, more: str = "", qos: str = GRAPHS) -> Network:
    return from_text(
        f"network: n\n{INPUTS}\nboxes:\n  own: {box}\noutputs:\n  out: {{from: own{qos and ', ' + qos}}}\n{more}"
    )


@pytest.mark.parametrize("kind", BOXES)
def test_a_box_that_remembers_is_named_until_it_may_miss_tuples(kind: str) -> None:
    (told,) = find_obstacles(network(BOXES[kind].replace("MISS", "")))
    assert told.startswith("box own: no load is shed in front of it") and f"kind {kind}" in told
    assert "may_miss: true" in told and ("stateless: true" in told) == (kind == "user")
    freed = network(BOXES[kind].replace("MISS", ", may_miss: true"))
    assert find_obstacles(freed) == () and freed.boxes["own"].may_miss
    assert from_text(to_text(freed)) == freed != network(BOXES[kind].replace("MISS", ""))
    assert find_obstacles(network(BOXES[kind].replace("MISS", ""), qos="")) == (), "nothing is ever shed"


def test_points_and_outputs_without_a_graph_are_named() -> None:
    box = '{filter: ["v > 1"], from: r}'
    more = "  rest: {from: own.rest}\n  near: {from: own}\npoints: {kept: {from: own, keep: 10}}\n"
    assert find_obstacles(network(box, more)) == (
        "output rest has neither a delivered nor a value graph: no load is shed on the way to it",
        "output near has neither a delivered nor a value graph: no load is shed on the way to it",
        "point kept keeps all that passes: no load is shed in front of it",
    )
    assert find_doubts(network(box, more)) == (), "that is what their user wants"


@pytest.mark.parametrize(
    "box",
    [
        '{aggregate: {n: "count(*)"}, from: r, order: {on: v}, size: 10, may_miss: true}',
        "{user: 'tests.engine.chains:even', inputs: {a: r}, outputs: {'1': 'v int'}, stateless: true, may_miss: true}",
    ],
)
def test_a_box_that_forgets_needs_no_declaration(box: str) -> None:
    with pytest.raises(AuroraError, match=r"box own: may_miss is for boxes that remember .*: leave it out"):
        network(box)


def test_in_python() -> None:
    net = Network("n")
    kernel = "tests.engine.chains:even"
    own = net.user(
        kernel,
        inputs={"a": net.input("r", "g int, v int")},
        outputs={"1": "v int"},
        key={"a": ["g"]},
        may_miss=True,
    )
    assert net.boxes[own.port.box].may_miss


def test_a_zone_that_is_shorter_than_a_batch() -> None:
    (told,) = find_doubts(
        network('{filter: ["v > 1"], from: r}', qos="qos: {latency: [[0, 1], [0.05, 1], [1, 0]]}")
    )
    assert told == (
        "output out: its good zone ends at 0.05 s, and a batch takes about 0.3 s or longer: its rows are late whatever "
        "the load is; let the zone end at 1 s or later"
    )


def test_too_little_that_can_be_shed_is_a_trouble_and_ends() -> None:
    noticed = Noticed()
    for _ in range(BEGIN):
        noticed = notice(noticed, {"shedding": look_at_shortfall(0.5, ["box own: no load is shed"])})
    assert noticed.troubles == ["overload: not enough load can be shed: box own: no load is shed"]
    for _ in range(END):
        noticed = notice(noticed, {"shedding": look_at_shortfall(0.0, [])})
    assert noticed.troubles == [] and noticed.told
