"""A network as `aurora explain --home` draws it."""

from dataclasses import replace

from aurora import Network
from aurora.adapt.drawing import describe_arcs, draw_figures
from aurora.adapt.figures import BoxFigures, Figures, InputFigures, LaterFigures
from aurora.adapt.shedding import Shedding
from aurora.engine.controls import Controls
from aurora.engine.drops import Drop
from aurora.engine.statistics import Change, Statistics
from aurora.history.status import add_figures, add_shedding, add_waiting, describe_run

DRAWN = """\
network border: running, 42 batches

                          tuples/s  us/tuple  work
input r                      1,000         1   17%  3 waiting
filter over <- r             1,000       2.5   42%  gives 0.25 at 1, 0.75 at rest
map more <- over.1             250         2    8%  gives 1
output far <- more.1           250                  p50 0.25 s, p99 1.5 s
output near <- over.rest       750

outside the boxes: 2 us for each row read, 33% of the work, and 0.40 s for each batch
at the current mix of rows, 2 cores can sustain about 300,000 rows/s
input r falls behind: 3 rows waiting
"""


def test_a_network_with_its_figures() -> None:
    network = Network("border")
    over = network.input("r", "a int").filter("a > 1", name="over")
    network.output("far", over.map({"a": "a + 1"}, name="more"))
    network.output("near", over["rest"])
    figures = Figures(
        {
            "over": BoxFigures(2.5e-6, {"1": 0.25, "rest": 0.75}, 1000.0),
            "more": BoxFigures(2e-6, {"1": 1.0}, 250.0),
        },
        {"r": InputFigures(1000.0, 1e-6, 3)},
        fixed=0.8,
        per_row=2e-6,
        cores=2,
        train=50_000,
    )
    seen = Statistics("running", 42, output_rates={"far": 250.0, "near": 750.0}, latency={"far": (0.25, 1.5)})
    told = describe_run(seen, list(network.boxes), {"far": None, "near": None}, {}, {})
    drawn = draw_figures(
        describe_arcs(network), add_figures(told, figures, ["input r falls behind: 3 rows waiting"])
    )
    assert drawn + "\n" == DRAWN
    parted = replace(figures, later=LaterFigures(0.5, 4e-6, 0.2, 250.0))
    drawn = draw_figures(describe_arcs(network), add_figures(told, parted, []))
    assert (
        "in the part that may wait: 4 us for each row handed over to it, 14% of the work, and 0.25 s" in drawn
    )


def test_what_waits_at_arcs_stands_at_the_box_that_it_waits_for() -> None:
    network = Network("two")
    rows = network.input("r", "a int").filter("a > 1", name="over")
    network.output("now", rows.map({"a": "a"}, name="quick"))
    network.output("later", rows["1"].union(rows["rest"], name="both"))
    figures = Figures({name: BoxFigures(1e-6, {"1": 1.0, "rest": 0.0}, 1.0) for name in network.boxes})
    told = describe_run(Statistics("running", 9), list(network.boxes), {"now": None, "later": None}, {}, {})
    told = add_waiting(add_figures(told, figures, []), {"over.1": 1200, "over.rest": 3}, {"both": 1203})
    assert [told["boxes"][name]["waiting"] for name in ("over", "quick", "both")] == [0, 0, 1203]
    notes = {line.split()[1]: line for line in draw_figures(describe_arcs(network), told).splitlines()[4:7]}
    assert "1,200 waiting at over.1, 3 waiting at over.rest, gives 1 at 1" in notes["both"]
    assert "waiting" not in notes["quick"] + notes["over"]


def test_a_network_that_has_not_run_yet() -> None:
    network = Network("idle")
    network.output("far", network.input("r", "a int").filter("a > 1", name="over"))
    told = describe_run(Statistics("starting"), ["over"], {"far": None}, {}, {})
    drawn = draw_figures(describe_arcs(network), told)
    assert "filter over <- r" in drawn and drawn.endswith(
        "too few batches so far to tell what belongs to no box"
    )


def test_what_was_changed_while_it_ran_and_why() -> None:
    network = Network("changed")
    network.output("far", network.input("r", "a int").filter("a > 1", name="over"))
    changes = (Change(7, "b and a work in this order", "a tuple costs 1 µs instead of 2 µs: ..."),)
    told = describe_run(Statistics("running", 9, changes=changes), ["over"], {"far": None}, {}, {})
    assert draw_figures(describe_arcs(network), told).endswith(
        "\nfrom batch 7 on: b and a work in this order, because a tuple costs 1 µs instead of 2 µs: ..."
    )


def test_what_is_shed_and_where() -> None:
    network = Network("sheds")
    over = network.input("r", "a int").filter("a > 1", name="over")
    network.output("far", over)
    network.output("near", over["rest"])
    drops = (Drop("over.1", 400_000), Drop("r", 1_000_000, "`a` < 3", "over"))
    seen = Statistics("running", 9, controls=Controls(drops=drops))
    told = describe_run(seen, ["over"], {"far": None, "near": None}, {}, {})
    told = add_shedding(told, {}, seen, Shedding(kept={"far": 0.6}), {"far": 1200})
    lines = draw_figures(describe_arcs(network), told).splitlines()
    assert next(line for line in lines if "output far" in line).endswith("  60% delivered, 1,200 shed")
    assert "delivered" not in next(line for line in lines if "output near" in line)
    assert lines[-2:] == [
        "drop box at over.1: 40% left out",
        "drop box at r to over: 100% left out where `a` < 3",
    ]
