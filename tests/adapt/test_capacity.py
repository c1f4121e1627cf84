"""How many cores a network needs, from given figures."""

import math
from dataclasses import replace

import pytest

from aurora import AuroraError, Network, from_text
from aurora.adapt.capacity import find_rates, plan_capacity
from aurora.adapt.figures import LONGEST, BoxFigures, Figures, InputFigures, LaterFigures
from aurora.network.network import Port
from aurora.network.qos import Graph, Qos


def network() -> Network:
    network = Network("two ways")
    over = network.input("r", "a int").filter("a > 1", name="over")
    network.output("far", over.map({"a": "a + 1"}, name="more"))
    network.output("near", over["rest"].union(network.input("s", "a int"), name="both"))
    return network


FIGURES = Figures(
    {
        "over": BoxFigures(2e-6, {"1": 0.25, "rest": 0.75}, 1000.0),
        "more": BoxFigures(4e-6, {"1": 1.0}, 250.0),
        "both": BoxFigures(1e-6, {"1": 1.0}, 1750.0),
    },
    {"r": InputFigures(1000.0, 1e-6), "s": InputFigures(1000.0, 1e-6)},
    fixed=0.8,
    per_row=2e-6,
    cores=2,
)
RATES = {"r": 100_000.0, "s": 50_000.0}
# Boxes 0.2, 0.1 and 0.125, reading 0.15, rows 0.3, batches 0.8 in four seconds.
NEEDED = 0.2 + 0.1 + 0.125 + 0.15 + 0.3 + 0.8 / LONGEST


def test_flows_follow_from_selectivities() -> None:
    found = find_rates(network(), FIGURES, RATES)
    assert found[Port("over", "1")] == 25_000 and found[Port("over", "rest")] == 75_000
    assert found[Port("both", "1")] == 125_000


def test_what_is_needed_box_by_box() -> None:
    found = plan_capacity(network(), FIGURES, RATES, cores=2, headroom=0.8)
    assert found.needed == pytest.approx(NEEDED) and found.available == pytest.approx(1.6) and found.fits
    needs = {need.part: need for need in found.needs}
    assert list(needs) == ["r", "s", "over", "more", "both", "each row", "each batch"]
    assert needs["more"].rate == 25_000 and needs["more"].cores == pytest.approx(0.1)
    assert needs["both"].kind == "union" and found.unmeasured == ()
    assert found.scale == pytest.approx((1.6 - 0.2) / (NEEDED - 0.2))
    assert found.largest["s"] == pytest.approx(50_000 * found.scale) and found.shed == 0


def test_what_does_not_fit() -> None:
    many = {name: 10 * rate for name, rate in RATES.items()}
    found = plan_capacity(network(), FIGURES, many, cores=2, headroom=1.0)
    assert not found.fits and found.largest["r"] == pytest.approx(100_000 * 1.8 / (NEEDED - 0.2))
    again = plan_capacity(network(), FIGURES, found.largest, cores=2, headroom=1.0)
    assert again.needed == pytest.approx(2.0) and again.scale == pytest.approx(1.0)
    assert found.shed == pytest.approx(1 - found.largest["r"] / many["r"])
    assert plan_capacity(network(), FIGURES, many, cores=32, headroom=1.0).fits


def test_what_would_be_shed_follows_from_the_graphs() -> None:
    many = {name: 10 * rate for name, rate in RATES.items()}
    assert plan_capacity(network(), FIGURES, many, 2, 1.0).shedding.shares == {}, "there is no graph"
    lossy = Network("two ways")
    over = lossy.input("r", "a int").filter("a > 1", name="over")
    qos = {"delivered": [[100, 1], [0, 0]]}
    lossy.output("far", over.map({"a": "a + 1"}, name="more"), qos=qos)
    lossy.output("near", over["rest"].union(lossy.input("s", "a int"), name="both"))
    found = plan_capacity(lossy, FIGURES, many, 2, 1.0)
    assert found.shedding.shares.keys() == {"over.1"} and found.shedding.kept["far"] < 0.1
    assert found.shedding.relief < found.needed - found.available, "the other output may lose nothing"
    assert plan_capacity(lossy, FIGURES, RATES, 2, 1.0).shedding.shares == {}, "it fits"


def test_a_good_zone_keeps_batches_short() -> None:
    quick = network()
    quick.outputs["far"] = replace(quick.outputs["far"], qos=Qos(Graph(((0.0, 1.0), (5.0, 1.0), (9.0, 0.0)))))
    found = plan_capacity(quick, FIGURES, RATES, 2, 1.0)
    assert found.needs[-1].rate == pytest.approx(0.5)
    quick.outputs["far"] = replace(quick.outputs["far"], qos=Qos(Graph(((0.0, 1.0), (9.0, 0.0)))))
    found = plan_capacity(quick, FIGURES, RATES, 2, 1.0)
    worth = 0.8 / ((NEEDED - 0.2) / 150_000)
    assert found.needs[-1].rate == pytest.approx(150_000 / worth), "a shorter batch is not worth its trip"
    again = plan_capacity(quick, FIGURES, found.largest, 2, 1.0)
    assert again.needed == pytest.approx(2.0) and again.scale == pytest.approx(1.0)


def test_batches_that_are_full_come_more_often() -> None:
    figures = Figures(FIGURES.boxes, FIGURES.inputs, fixed=0.8, per_row=2e-6, cores=2, most=15_000)
    found = plan_capacity(network(), figures, RATES, cores=2, headroom=1.0)
    assert found.needs[-1].rate == 10.0 and not found.fits
    again = plan_capacity(network(), figures, found.largest, cores=2, headroom=1.0)
    assert again.needed == pytest.approx(2.0)


def test_a_stream_that_every_bucket_gets_is_taken_as_often() -> None:
    boxes = {**FIGURES.boxes, "more": BoxFigures(4e-6, {"1": 0.5}, 500.0)}
    found = plan_capacity(network(), Figures(boxes, FIGURES.inputs, cores=2), RATES, 2, 1.0)
    assert {need.part: need.rate for need in found.needs}["more"] == 50_000


def test_a_box_that_never_ran_is_told() -> None:
    boxes = {"over": FIGURES.boxes["over"]}
    found = plan_capacity(network(), Figures(boxes, FIGURES.inputs), RATES, 2, 1.0)
    assert found.unmeasured == ("more", "both")


def test_what_costs_nothing_fits_always() -> None:
    found = plan_capacity(network(), Figures(inputs={"r": InputFigures(1.0, 0.0)}), RATES, 2, 1.0)
    assert found.fits and math.isinf(found.scale)


@pytest.mark.parametrize(
    ("rates", "told"),
    [
        ({"r": 1.0}, "input s has no rate; add --rate s=ROWS_PER_SECOND"),
        ({"r": 1.0, "s": 1.0, "t": 1.0}, "--rate t: the network has no such input; inputs are r, s"),
        ({"r": -5.0, "s": 1.0}, "--rate r: a rate is a number of rows a second above 0, found -5"),
        ({"r": 1.0, "s": math.inf}, "--rate s: a rate is a number of rows a second above 0, found inf"),
    ],
)
def test_faults(rates: dict[str, float], told: str) -> None:
    with pytest.raises(AuroraError) as fault:
        plan_capacity(network(), FIGURES, rates, 2, 1.0)
    assert str(fault.value) == told


def test_without_figures_there_is_no_answer() -> None:
    with pytest.raises(AuroraError, match="nothing was measured"):
        plan_capacity(network(), Figures(), RATES, 2, 1.0)


def test_a_part_that_may_wait_needs_cores_for_its_batches_and_for_what_is_handed_over() -> None:
    parted = network()
    for name, zone in {"far": 60.0, "near": 10.0}.items():
        qos = Qos(latency=Graph(((0.0, 1.0), (zone, 1.0), (2 * zone, 0.0))))
        parted.outputs[name] = replace(parted.outputs[name], qos=qos)
    figures = replace(FIGURES, later=LaterFigures(0.5, 4e-6, 0.2, 300.0))
    alone = plan_capacity(parted, FIGURES, RATES, cores=2, headroom=0.8)
    found = plan_capacity(parted, figures, RATES, cores=2, headroom=0.8)
    needs = {need.part: need for need in found.needs}
    # `more` alone may wait, and gets a quarter of r.
    assert needs["each row for later"].rate == 25_000 and needs["each row for later"].cores == pytest.approx(
        0.1
    )
    assert needs["each batch for later"].cores == pytest.approx(0.1)
    assert found.needed == pytest.approx(alone.needed + 0.2)
    assert found.scale == pytest.approx((1.6 - 0.2 - 0.1) / (NEEDED - 0.2 + 0.1))


ALONE = """
network: alone
inputs: {r: {schema: "T int, g int"}}
boxes:
  keyed: {aggregate: {n: "count(*)"}, from: r, order: {on: T, group_by: [g]}, size: 10}
  whole: {aggregate: {n: "count(*)"}, from: r, order: {on: T}, size: 10}
  two_steps: {aggregate: {n: "count(*)"}, from: r, order: {on: T, clock: stream}, size: 10, align: true}
outputs:
  keyed: {from: keyed, qos: {delivered: [[100, 1], [0, 0]]}}
  whole: {from: whole, qos: {delivered: [[100, 1], [0, 0]]}}
  two_steps: {from: two_steps, qos: {delivered: [[100, 1], [0, 0]]}}
"""


def test_boxes_in_one_bucket_have_one_core_whatever_there_is() -> None:
    alone = from_text(ALONE)
    boxes = {name: BoxFigures(10e-6, {"1": 0.01}, 1000.0) for name in alone.boxes}
    figures = Figures(boxes, {"r": InputFigures(1000.0, 1e-6)}, fixed=0.4, per_row=1e-6, cores=32)
    few = plan_capacity(alone, figures, {"r": 70_000.0}, cores=32, headroom=0.8)
    assert few.fits and few.one_core == ("whole",) and few.one_core_needs == pytest.approx(0.7)
    found = plan_capacity(alone, figures, {"r": 100_000.0}, cores=32, headroom=0.8)
    assert found.needed < found.available and not found.fits and not found.one_core_fits
    assert found.largest["r"] == pytest.approx(80_000)
    # What is left out relieves that box, and no other.
    assert set(found.shedding.shares) == {"r to whole"}
    assert found.shedding.kept["whole"] == pytest.approx(0.8)


def test_what_keeps_load_from_being_shed_is_named() -> None:
    box = "own: {user: 'tests.engine.chains:even', inputs: {a: r}, outputs: {'1': 'v int'}, key: {a: [v]}"
    text = 'network: own\ninputs: {r: {schema: "v int"}}\nboxes:\n  ' + box + "MORE}\n"
    text += "outputs:\n  own: {from: own, qos: {delivered: [[100, 1], [0, 0]]}}"
    figures = Figures({"own": BoxFigures(1e-4, {"1": 0.5}, 100.0)}, {"r": InputFigures(100.0, 1e-6)}, cores=2)
    found = plan_capacity(from_text(text.replace("MORE", "")), figures, {"r": 50_000.0}, 2, 1.0)
    assert not found.fits and not found.shedding.shares
    assert [told.split(":")[0] for told in found.obstacles] == ["box own"]
    freed = plan_capacity(
        from_text(text.replace("MORE", ", may_miss: true")), figures, {"r": 50_000.0}, 2, 1.0
    )
    assert freed.shedding.shares.keys() == {"r"} and not freed.obstacles
