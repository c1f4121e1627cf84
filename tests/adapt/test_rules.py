"""Rules of the optimiser by pairs: a chain and its figures, and the order that is proposed."""

import pytest

from aurora.adapt.figures import BoxFigures
from aurora.adapt.rules import combine_boxes, expected_cost, reorder_boxes
from tests.engine.chains import chain_of

CHAIN = """
  up: {map: {g: g, v: v, T: T, up: "upper(w)"}, from: r}
  many: {filter: ["v > 1"], from: up}
  few: {filter: ["T > 3", "g = 1"], from: many}
  z: {filter: ["up = 'A'"], from: few.2}"""


def figures(**boxes: tuple[float, float]) -> dict[str, BoxFigures]:
    """For each box its cost in microseconds and the share that it passes on, at the port that is read."""
    ports = {"few": "2"}
    return {
        name: BoxFigures(cost / 1e6, {ports.get(name, "1"): share, "other": 1 - share}, 100.0)
        for name, (cost, share) in boxes.items()
    }


@pytest.mark.parametrize(
    ("known", "order"),
    [
        # A filter that drops goes before the map; what reads the map's field stays behind it.
        (figures(up=(5, 1), many=(1, 0.9), few=(1, 0.1), z=(1, 0.5)), "few many up z"),
        (figures(up=(5, 1), many=(1, 0.1), few=(1, 0.9), z=(1, 0.5)), "many few up z"),
        # Dropping little for much is worse than dropping less for nothing.
        (figures(up=(5, 1), many=(20, 0.1), few=(1, 0.8), z=(1, 0.5)), "few many up z"),
        # Of a box that nothing reached nothing is known.
        (figures(up=(5, 1), many=(1, 0.0)), "many up few z"),
        # Nothing is dropped, or nothing is gained.
        (figures(up=(5, 1), many=(1, 1), few=(1, 1), z=(1, 1)), None),
        (figures(up=(0.1, 1), many=(1, 0.99), few=(1, 0.99), z=(1, 0.5)), None),
    ],
)
def test_boxes_are_reordered_by_what_they_drop_for_what_they_cost(
    known: dict[str, BoxFigures], order: str | None
) -> None:
    found = reorder_boxes(chain_of(CHAIN), False, known)
    assert (None if found is None else " ".join(found.order)) == order


def test_a_proposal_says_what_it_changes_and_why() -> None:
    known = figures(up=(5, 1), many=(1, 0.9), few=(1, 0.1), z=(1, 0.5))
    found = reorder_boxes(chain_of(CHAIN), False, known)
    assert found is not None
    assert found.what == "few, many, up and z work in this order"
    assert found.why == (
        "a tuple costs 1.64 µs instead of 6.99 µs: few gives 10.0% for 1 µs, many gives 90.0% for 1 µs, "
        "up gives 100.0% for 5 µs, z gives 50.0% for 1 µs"
    )


def test_what_a_chain_costs_is_what_reaches_its_boxes() -> None:
    known = figures(up=(5, 1), many=(1, 0.9), few=(2, 0.1), z=(10, 0.5))
    assert expected_cost(chain_of(CHAIN), known) == pytest.approx((5 + 1 + 0.9 * 2 + 0.09 * 10) / 1e6)
    assert expected_cost(chain_of(CHAIN), {}) == 0


def test_boxes_are_combined_once() -> None:
    known = figures(up=(5, 1), many=(1, 1), few=(1, 1), z=(1, 1))
    found = combine_boxes(chain_of(CHAIN), False, known)
    assert found is not None and found.order == ("up", "many", "few", "z")
    assert found.what == "up, many, few and z work as one box"
    assert found.why == "together they cost 8 µs a tuple and no other box reads what passes between them"
    assert combine_boxes(chain_of(CHAIN), True, known) is None
