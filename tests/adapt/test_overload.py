"""What is late: each output by its own graph, and what waits by the newest row that was read."""

from dataclasses import replace

import pytest

from aurora.adapt.figures import BoxFigures, Figures, InputFigures
from aurora.adapt.overload import Load, find_delays, find_late, find_load, is_pressed
from aurora.engine.statistics import BatchReport, Delays
from aurora.engine.work import InputWork, Work
from aurora.network.qos import Graph

FINES = Graph(((0.0, 1.0), (3.0, 1.0), (8.0, 0.0)))
COUNTS = Graph(((0.0, 1.0), (90.0, 1.0), (180.0, 0.0)))
EVER = Graph(((0.0, 1.0), (60.0, 1.0)))


def report(waited: float = 0.0, **delays: float) -> BatchReport:
    """A batch that took a second, behind which these outputs have got rows as late as this."""
    work = Work(inputs={"r": InputWork(1000, 0.0, None, (0.0, waited))}, before=1.0)
    seen = {name: Delays(9, (100, round(1000 * late))) for name, late in delays.items()}
    return BatchReport(0, {}, 0, 0, {}, {}, 1.0, False, delays=seen, work=work)


def test_each_output_is_late_by_its_own_graph() -> None:
    """A row of a window of a minute is at least a minute old, and is in time with its 90 s."""
    windows = report(fines=0.6, counts=61.0)
    assert find_late(windows, {"fines": FINES, "counts": COUNTS}) == pytest.approx(61 / 90, abs=0.01)
    assert find_late(windows, {"fines": FINES}) == pytest.approx(0.2, abs=0.01), "the other has no graph"
    assert find_late(report(fines=4.0, counts=61.0), {"fines": FINES, "counts": COUNTS}) > 1.3


def test_an_output_without_rows_is_as_late_as_what_was_read() -> None:
    quiet = report(waited=5.0, counts=61.0)
    assert find_delays(quiet, {"fines": FINES, "counts": COUNTS})["fines"] == 6.0
    assert find_late(quiet, {"fines": FINES, "counts": COUNTS}) == 2.0


@pytest.mark.parametrize("graphs", [{}, {"counts": EVER}])
def test_without_a_good_zone_that_ends_what_was_read_is_late_or_not(graphs: dict[str, Graph]) -> None:
    assert find_late(report(counts=61.0), graphs) == 0.5
    assert find_late(report(waited=9.0), graphs) > 4


def make_figures(load: float, waited: float) -> Figures:
    """So much of what two cores can do comes in from a source that does not say what waits."""
    rate = load * (2 - 0.2 / 1.2) / 5e-6
    boxes = {"count": BoxFigures(2e-6, {"1": 0.02}, rate)}
    read = InputFigures(rate, 1e-6, None, 0.0, True, None, waited)
    return Figures(boxes, {"r": read}, fixed=0.2, per_row=2e-6, cores=2)


@pytest.mark.parametrize("load", [0.05, 0.3, 0.5, 0.8])
def test_what_waits_unseen_is_what_came_since_the_newest_row(load: float) -> None:
    calm = find_load(make_figures(load, 0.0), 5e-6, 3.0)
    assert calm.excess < 0 and not is_pressed(calm, 3.0, 61 / 3)
    full = find_load(make_figures(load, 60.0), 5e-6, 3.0)
    assert full.behind == pytest.approx(60 * load + 1.2)


@pytest.mark.parametrize(
    ("late", "slipping", "excess", "pressed"),
    [
        (0.8, 0.1, 1e-6, True),
        (0.8, 0.0, 1e-6, False),
        (0.8, 0.02, 1e-6, False),
        (0.3, 0.5, 1e-6, False),
        (0.8, 0.1, -1e-6, False),
    ],
)
def test_rows_that_will_leave_their_zone_while_what_waits_grows_are_pressed(
    late: float, slipping: float, excess: float, pressed: bool
) -> None:
    """Whatever the figures say of the load: something that they do not know of may need the cores, too."""
    assert is_pressed(Load(0.9, 2.0, excess, slipping), 5.0, late) is pressed


def test_rows_slip_by_what_waits_more_and_more() -> None:
    figures = make_figures(0.5, 0.0)
    read = replace(figures.inputs["r"], comes=1000.0)
    for growth, slipping in ((0.0, 0.0), (-100.0, 0.0), (250.0, 0.25)):
        grown = replace(figures, inputs={"r": replace(read, growth=growth)})
        assert find_load(grown, 5e-6, 3.0).slipping == slipping


def test_rows_that_wait_at_a_source_that_does_not_date_them_are_late_all_the_same() -> None:
    figures = make_figures(0.9, 0.0)
    read = replace(figures.inputs["r"], rate=900.0, comes=1000.0, waiting=4000)
    undated, dated = (
        find_load(replace(figures, inputs={"r": replace(read, waited=waited)}), 2e-3, 3.0)
        for waited in (0.0, 4.0)
    )
    assert (undated.unseen, dated.unseen) == (4.0, 0.0)
    for load, pressed in ((undated, False), (replace(undated, slipping=0.1), True), (dated, False)):
        assert is_pressed(load, 8.0, 0.6) is pressed, "what does not grow is worked off"
