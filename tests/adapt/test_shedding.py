"""Load shedding: where drop boxes stand, and what goes first."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from aurora import from_text
from aurora.adapt.figures import BoxFigures, Figures, InputFigures, LaterFigures
from aurora.adapt.flows import find_behind, find_flows, find_row_cost, find_topmost
from aurora.adapt.overload import find_load, is_over, is_pressed
from aurora.adapt.shedding import Cut, find_cuts, plan_shedding
from aurora.adapt.values import Histogram
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Train
from aurora.engine.drops import WHOLE, drop_tuples
from aurora.network.network import Network, Port
from aurora.network.qos import Graph, Qos, ValueGraph

TEXT = """
network: sheds
inputs: {reports: {schema: "Sid int, Time int, Speed int"}}
boxes:
  split: {filter: ["Sid % 2 = 0"], from: reports}
  heavy: {map: {Sid: Sid, Pace: Speed}, from: split.1}
  light: {map: {Sid: Sid}, from: split.rest}
outputs:
  worthy: {from: heavy, qos: {delivered: [[100, 1], [0, 0]]}}
  cheap: {from: light, qos: {delivered: [[100, 1], [50, 0.9], [0, 0]]}}
"""
FIGURES = Figures(
    {
        "split": BoxFigures(1e-6, {"1": 0.5, "rest": 0.5}, 1e5),
        "heavy": BoxFigures(8e-6, {"1": 1.0}, 5e4),
        "light": BoxFigures(8e-6, {"1": 1.0}, 5e4),
    },
    {"reports": InputFigures(1e5, 2e-6, 0, 0.0, True)},
    fixed=0.4,
    per_row=1e-6,
    cores=2,
)


def make_network(text: str = TEXT) -> Network:
    return from_text(text)


def ends(network: Network) -> dict[str, Port]:
    return {name: output.port for name, output in network.outputs.items()}


def graphs(network: Network) -> dict[str, Qos | None]:
    return {name: output.qos for name, output in network.outputs.items()}


def test_what_a_tuple_costs_from_each_stream_on() -> None:
    flows = find_flows(make_network(), FIGURES, ends(make_network()))
    assert flows[Port("split", "1"), ""].cost == pytest.approx(8e-6)
    # A row costs the split, half of each map, and what belongs to no box.
    assert flows[Port("reports"), ""].cost == pytest.approx(1e-6 + 1e-6 + 0.5 * 8e-6 + 0.5 * 8e-6)
    assert flows[Port("heavy", "1"), ""].rate == pytest.approx(5e4)
    assert flows[Port("reports"), ""].ends == {"worthy", "cheap"} and flows[Port("light", "1"), ""].live


def test_what_is_handed_over_costs_more() -> None:
    network = make_network()
    parted = replace(FIGURES, later=LaterFigures(0.5, 3e-6, 0.2, 5e4))
    flows = find_flows(network, parted, ends(network), handed={"split.rest": ["light"]})
    assert flows[Port("split", "rest"), ""].cost == pytest.approx(11e-6)
    assert flows[Port("split", "1"), ""].cost == pytest.approx(8e-6)
    cost = find_row_cost(network, parted, ends(network), {"split.rest": ["light"]})
    assert cost == pytest.approx(FIGURES.row_cost + 1.5e-6) == pytest.approx(parted.row_cost)
    # On an arc of a stream that others read, too.
    shared = make_network(TEXT.replace("from: split.rest}", "from: split.1}"))
    flows = find_flows(shared, parted, ends(shared), handed={"split.1": ["light"]})
    assert flows[Port("split", "1"), "light"].cost == pytest.approx(11e-6)
    assert flows[Port("split", "1"), "heavy"].cost == pytest.approx(8e-6)


def test_drop_boxes_stand_as_far_upstream_as_they_can() -> None:
    flows = find_flows(make_network(), FIGURES, ends(make_network()))
    assert [flow.place for flow in find_topmost(flows, {"worthy"})] == [(Port("split", "1"), "")]
    cuts = find_cuts(make_network(), flows, graphs(make_network()))
    assert {cut.stream: set(cut.outputs) for cut in cuts} == {
        "reports": {"worthy", "cheap"},
        "split.1": {"worthy"},
        "split.rest": {"cheap"},
    }
    assert next(cut for cut in cuts if cut.stream == "split.1").above == {"reports"}


def test_the_output_that_loses_least_goes_first() -> None:
    network = make_network()
    cuts = find_cuts(network, find_flows(network, FIGURES, ends(network)), graphs(network))
    few = plan_shedding(cuts, graphs(network), 0.1)
    assert set(few.shares) == {"split.rest"} and few.relief == pytest.approx(0.1)
    assert few.shares["split.rest"] == pytest.approx(0.1 / (5e4 * 8e-6))
    assert few.delivered == {"cheap": pytest.approx(1 - few.shares["split.rest"]), "worthy": 1.0}
    many = plan_shedding(cuts, graphs(network), 0.5)
    # Beyond the bend of its graph the cheap one loses as fast as the other.
    assert len(many.shares) > 1 and many.relief == pytest.approx(0.5)
    assert not plan_shedding(cuts, graphs(network), 0.0).drops


def test_as_much_as_can_be_goes_where_it_is_not_enough() -> None:
    network = make_network()
    cuts = find_cuts(network, find_flows(network, FIGURES, ends(network)), graphs(network))
    found = plan_shedding(cuts, graphs(network), 100.0)
    assert found.relief < 2.0 and max(found.shares.values()) == pytest.approx(0.99)


@pytest.mark.parametrize(
    ("before", "after", "left"),
    [
        (
            "  worthy: {from: heavy, qos: {delivered: [[100, 1], [0, 0]]}}",
            "  worthy: {from: heavy}",
            {"split.rest"},
        ),
        (
            "  worthy: {from: heavy, qos: {delivered: [[100, 1], [0, 0]]}}",
            "  worthy: {from: heavy, qos: {latency: [[0, 1], [1, 1], [2, 0]]}}",
            {"split.rest"},
        ),
    ],
)
def test_nothing_goes_without_a_graph_that_says_what_it_costs(
    before: str, after: str, left: set[str]
) -> None:
    network = make_network(TEXT.replace(before, after))
    cuts = find_cuts(network, find_flows(network, FIGURES, ends(network)), graphs(network))
    assert {cut.stream for cut in cuts} == left


def test_what_a_point_keeps_and_stored_files_lose_nothing() -> None:
    network = make_network()
    flows = find_flows(network, FIGURES, {**ends(network), "point p": Port("split", "1")})
    # The point has all of the stream; the box that reads it as well can do with less.
    assert {cut.place for cut in find_cuts(network, flows, graphs(network))} == {
        "split.1 to heavy",
        "split.rest",
    }
    stored = Figures(FIGURES.boxes, {"reports": InputFigures(1e5, 2e-6)}, per_row=1e-6, cores=2)
    assert not find_cuts(network, find_flows(network, stored, ends(network)), graphs(network))


REMEMBERED = """
network: accounts
inputs: {events: {schema: "Kind int, Id int, Amount int"}}
boxes:
  kinds: {filter: ["Kind = 0"], from: events}
  SUM
  answer: {join: "left.Id = right.Id", left: kinds.rest, right: sums, asof: true}
outputs:
  balances: {from: answer, qos: {delivered: [[100, 1], [0, 0]]}}
"""


@pytest.mark.parametrize(
    "box",
    [
        "sums: {aggregate: {Sum: 'sum(Amount)'}, from: kinds.1, order: {on: '#', group_by: [Id]}, size: all}",
        "sums: {map: {Id: Id, Sum: Amount}, from: kinds.1}",
    ],
)
@pytest.mark.parametrize("misses", ["", ", may_miss: true"])
@pytest.mark.parametrize("asof", ["true", "{left: Amount, right: Sum}"])
def test_what_counts_in_all_later_answers_is_never_left_out(box: str, misses: str, asof: str) -> None:
    """Requests may stay without an answer; none gets a wrong one because a payment was left out, unless it may."""
    text = REMEMBERED.replace("SUM", box.replace("size: all", f"size: all{misses}"))
    network = make_network(text.replace("asof: true", f"asof: {asof}{misses}"))
    figures = Figures(
        {
            "kinds": BoxFigures(1e-6, {"1": 0.5, "rest": 0.5}, 1e5),
            "sums": BoxFigures(8e-6, {"1": 1.0}, 5e4),
            "answer": BoxFigures(8e-6, {"1": 0.5}, 1e5),
        },
        {"events": InputFigures(1e5, 2e-6, 0, 0.0, True)},
        per_row=1e-6,
        cores=2,
    )
    cuts = find_cuts(network, find_flows(network, figures, ends(network)), graphs(network))
    assert {cut.place for cut in cuts} == ({"events"} if misses else {"kinds.rest"})


@pytest.mark.parametrize(
    ("how", "places"),
    [
        ("key: {a: [k]}", set()),
        ("", set()),
        ("stateless: true", {"r"}),
        ("key: {a: [k]}, may_miss: true", {"r"}),
    ],
)
def test_nothing_is_left_out_that_a_kernel_with_state_may_remember(how: str, places: set[str]) -> None:
    box = f"own: {{user: 'tests.engine.chains:even', inputs: {{a: r}}, outputs: {{'1': 'v int'}}, {how}}}"
    network = make_network(
        f'network: own\ninputs: {{r: {{schema: "k int, v int"}}}}\nboxes:\n  {box}\n'
        "outputs:\n  own: {from: own, qos: {delivered: [[100, 1], [0, 0]]}}"
    )
    figures = Figures(
        {"own": BoxFigures(8e-6, {"1": 1.0}, 1e5)}, {"r": InputFigures(1e5, 2e-6, live=True)}, per_row=1e-6
    )
    cuts = find_cuts(network, find_flows(network, figures, ends(network)), graphs(network))
    assert {cut.place for cut in cuts} == places


CLOCKED = """
network: clocked
inputs:
  events: {schema: "Time int, Kind int"}
  bids: {schema: "Time int, Price int"}
boxes:
  cheap: {filter: ["Kind = 1"], from: events}
  most: {aggregate: {N: "count(*)"}, from: bids, size: 10, align: true, order: {on: Time, clock: CLOCK}}
outputs:
  cheap: {from: cheap, qos: {delivered: [[100, 1], [0, 0]]}}
  most: {from: mostQOS}
"""


@pytest.mark.parametrize(
    ("clock", "qos", "places"),
    [
        ("stream", "", {"events"}),
        ("stream", ", qos: {delivered: [[100, 1], [0, 0]]}", {"events", "bids"}),
        # What closes the windows of an output without a graph stays whole; others may read less of it.
        ("events", "", {"events to cheap"}),
        ("cheap", "", set()),
        ("cheap", ", qos: {delivered: [[100, 1], [0, 0]]}", {"events", "bids"}),
    ],
)
def test_a_stream_leads_to_where_its_clock_is_followed(clock: str, qos: str, places: set[str]) -> None:
    network = make_network(CLOCKED.replace("CLOCK", clock).replace("QOS", qos))
    inputs = {name: InputFigures(1e5, 1e-6, 0, 0.0, True) for name in network.inputs}
    boxes = {name: BoxFigures(1e-6, {"1": 0.5}, 1e5) for name in network.boxes}
    flows = find_flows(network, Figures(boxes, inputs, per_row=1e-6), ends(network))
    cuts = find_cuts(network, flows, graphs(network))
    assert {cut.place for cut in cuts} == places
    behind = {"events": {"cheap", "most"}, "cheap": {"cheap", "most"}}.get(clock, {"cheap"})
    assert find_behind(network, ends(network), Port("events")) == behind


VALUES = Graph(((0.0, 0.0), (40.0, 0.0), (41.0, 1.0), (100.0, 1.0)))


def test_what_is_worth_least_goes_first_and_as_far_upstream_as_its_field_is() -> None:
    network = make_network()
    own: dict[str, Qos | None] = {"worthy": Qos(value=ValueGraph("Pace", VALUES)), "cheap": None}
    counts = [0.0, *[2.0] * 8, *[0.0] * 8, *[2.0] * 8, 0.0]
    flows = find_flows(network, FIGURES, ends(network))
    cuts = find_cuts(network, flows, own, {"worthy": Histogram.of(VALUES, counts)})
    chosen = [cut for cut in cuts if cut.histogram is not None]
    assert [(cut.stream, cut.field) for cut in chosen] == [("split.1", "Speed")]
    half = plan_shedding(cuts, own, 0.5 * 5e4 * 8e-6)
    assert half.delivered["worthy"] == pytest.approx(1.0)
    assert [(drop.stream, drop.where) for drop in half.drops] == [
        ("split.1", "(`Speed` >= 0.0D AND `Speed` < 40.0D)")
    ]
    whole, part = chosen[0].drops(0.55)
    assert whole.millionths == WHOLE and part.millionths == pytest.approx(0.8 * WHOLE)
    assert part.where == "(`Speed` >= 41.0D AND `Speed` < 48.375D)"


HIGH = """
network: high
inputs: {r: {schema: "k int, v double"}}
boxes:
  high: {filter: ["v >= 0.875"], from: r}
  costly: {map: {k: k, w: v}, from: high}
outputs:
  alarms: {from: costly, qos: {delivered: [[100, 1], [0, 0]], value: {of: w, graph: GRAPH}}}
"""


def make_high(graph: str, known: float = 1.0) -> tuple[list[Cut], dict[str, Qos | None]]:
    """Where to cut, and the graphs; half of what comes out is worth little by its value."""
    network = make_network(HIGH.replace("GRAPH", graph))
    figures = Figures(
        {"high": BoxFigures(1e-6, {"1": 0.125}, 1e5), "costly": BoxFigures(16e-6, {"1": 1.0}, 1.25e4)},
        {"r": InputFigures(1e5, 2e-6, 0, 0.0, True)},
        per_row=1e-6,
    )
    qos = network.outputs["alarms"].qos
    assert qos is not None and qos.value is not None
    histogram = Histogram.of(qos.value.graph)
    counts = histogram.bins.count(np.linspace(0.875, 1, 8000, endpoint=False))
    histogram = replace(histogram, counts=tuple(counts.tolist()), known=known)
    flows = find_flows(network, figures, ends(network))
    return find_cuts(network, flows, graphs(network), {"alarms": histogram}), graphs(network)


LITTLE = "[[0, 0.01], [0.9375, 0.01], [0.9376, 1], [1, 1]]"


@pytest.mark.parametrize("excess", [0.01, 0.05, 0.11, 0.3])
def test_as_much_is_left_out_far_upstream_as_is_planned(excess: float) -> None:
    """Only one row in eight has a value that gets to the output: the histogram knows nothing of the others."""
    cuts, own = make_high("[[0, 0], [0.875, 0.01], [0.9375, 0.01], [0.9376, 1], [1, 1]]")
    found = plan_shedding(cuts, own, excess)
    values = np.linspace(0, 1, 200_000, endpoint=False)
    rows = pa.record_batch({"v": np.random.default_rng(5).permutation(values)})
    train = Train(rows, np.zeros(len(values), np.int64), np.arange(len(values))[None])
    left, number = drop_tuples(train, Schema.parse("v double"), found.drops)
    assert number / len(train) == pytest.approx(found.shares["r"], abs=0.002)
    passed = sum(value >= 0.875 for value in left.rows["v"].to_pylist())
    saved = 1e5 / len(train) * (2e-6 * number + 16e-6 * (len(train) / 8 - passed))
    assert saved == pytest.approx(excess, rel=0.04) and not found.shortfall
    assert found.kept["alarms"] == pytest.approx(8 * passed / len(train), abs=0.01)
    # What is worth little saves a sixteenth of the rows, which cost 18 us; then chance decides.
    assert {drop.where is None for drop in found.drops} == ({False} if excess < 0.1125 else {False, True})


def test_no_more_is_saved_than_there_is_to_do() -> None:
    cuts, own = make_high(LITTLE)
    found = plan_shedding(cuts, own, 1e9)
    assert 0.98 * 0.4 < found.relief <= 1e5 * 4e-6 and found.shortfall


def test_tuples_without_a_value_are_not_left_out_by_it() -> None:
    def by_value(known: float) -> Cut:
        return next(cut for cut in make_high(LITTLE, known)[0] if cut.histogram is not None)

    assert [by_value(known).reach for known in (1.0, 0.5)] == [0.125, 0.0625]
    half = by_value(0.5)
    assert half.fewer(0.4) == 0.2 and plan_shedding([half], make_high(LITTLE)[1], 1e9).kept == {
        "alarms": pytest.approx(1 - 0.99 * 0.5)
    }
    learnt = Histogram.of(VALUES)
    for _ in range(50):
        learnt = learnt.learn([1] * len(learnt.counts), 2 * len(learnt.counts))
    assert learnt.known == pytest.approx(0.5, abs=0.01)


def test_a_cut_by_chance_and_one_by_value() -> None:
    chance = Cut("s", frozenset({"o"}), 100.0, 1.0)
    assert chance.loss(0.3) == 0.3 and chance.drops(0.25)[0].millionths == 250_000
    assert chance.drops(0.0) == ()


def test_what_is_left_out_upstream_is_not_saved_again_downstream() -> None:
    """Reading costs nothing, a filter 1 for each of 100 tuples, and a map 9 for each of the 90 that it passes on."""
    above = Cut("r", frozenset({"alarms", "scores"}), 100.0, 1.0 + 0.9 * 9.0)
    below = Cut("high.rest", frozenset({"scores"}), 90.0, 9.0, above=frozenset({"r"}))
    graphs = {
        "alarms": Qos(delivered=Graph(((0.0, 0.0), (100.0, 1.0)))),
        "scores": Qos(delivered=Graph(((0.0, 0.0), (60.0, 0.9), (100.0, 1.0)))),
    }
    for excess in (200.0, 500.0, 800.0, 880.0):
        found = plan_shedding([above, below], graphs, excess)
        r, rest = (found.shares.get(name, 0.0) for name in ("r", "high.rest"))
        left = 100 * (1 - r) * 1.0 + 90 * (1 - r) * (1 - rest) * 9.0
        assert left == pytest.approx(910 - excess) and found.relief == pytest.approx(excess)
    assert r > 0 and rest > 0


def test_load_is_what_comes_and_what_waits() -> None:
    calm = find_load(FIGURES, FIGURES.row_cost, 2.0)
    assert calm.share < 1 and calm.excess < 0 and not is_pressed(calm, 2.0, 0.5) and is_over(calm, 2.0, 0.5)
    waits = InputFigures(1e5, 2e-6, 600_000, 5e4, True)
    busy = Figures(FIGURES.boxes, {"reports": waits}, fixed=0.4, per_row=1e-6, cores=2)
    load = find_load(busy, busy.row_cost, 2.0)
    assert load.share == pytest.approx(1.5e5 * busy.row_cost / (2 - 0.4 / 0.8))
    assert load.behind == pytest.approx(6e5 * busy.row_cost / (2 - 0.4 / 0.8) + 0.8)
    assert load.excess > 0 and is_pressed(load, 2.0, 5.0) and not is_over(load, 2.0, 5.0)


def test_rows_that_will_be_late_press_before_they_are() -> None:
    """But only where more comes than can be done at all: otherwise what waits is worked off."""
    for coming, pressed in ((3e5, True), (1e5, False)):
        waits = InputFigures(1e5, 2e-6, 200_000, 0.0, True, coming)
        found = find_load(Figures(FIGURES.boxes, {"r": waits}, per_row=1e-6, cores=2), 1e-5, 2.0, 0.8)
        assert found.behind > 2 and (found.share > 1) == pressed == is_pressed(found, 2.0, 0.5)


def test_a_row_costs_as_much_as_if_none_were_left_out() -> None:
    network = make_network()
    assert find_row_cost(network, FIGURES, ends(network)) == pytest.approx(FIGURES.row_cost)
    fewer = {name: replace(box, rate=box.rate / 2) for name, box in FIGURES.boxes.items()}
    shed = replace(FIGURES, boxes=fewer)
    assert shed.row_cost < FIGURES.row_cost
    assert find_row_cost(network, shed, ends(network)) == pytest.approx(FIGURES.row_cost)


SHAPES: dict[str, list[list[float]]] = {
    "all or nothing": [[100, 1], [99, 0], [0, 0]],
    "first percents most": [[100, 1], [50, 0.2], [0, 0]],
    "even": [[100, 1], [0, 0]],
    "last percents most": [[100, 1], [30, 0.9], [0, 0]],
    "steps": [[100, 1], [80, 0.9], [79, 0.5], [40, 0.45], [0, 0]],
}


@pytest.mark.parametrize("one", SHAPES)
@pytest.mark.parametrize("other", SHAPES)
def test_the_least_utility_goes_whatever_the_shape_of_the_graphs(one: str, other: str) -> None:
    """Compared with all shares of two streams, a percent apart."""
    curves = {
        name: Graph(tuple((x, y) for x, y in SHAPES[shape][::-1]))
        for name, shape in (("a", one), ("b", other))
    }
    worth: dict[str, Qos | None] = {name: Qos(delivered=graph) for name, graph in curves.items()}
    cuts = [Cut(name, frozenset({name}), 1.0, 1.0) for name in "ab"]
    for excess in (0.3, 0.6, 1.0, 1.3):
        found = plan_shedding(cuts, worth, excess)
        assert found.relief == pytest.approx(excess)
        left = sum(curves[name].utility(100 * found.delivered[name]) for name in "ab")
        shares = [i / 100 for i in range(100) if 0 <= excess - i / 100 <= 0.99]
        best = max(
            curves["a"].utility(100 * (1 - s)) + curves["b"].utility(100 * (1 - excess + s)) for s in shares
        )
        assert left >= best - 0.06, excess
