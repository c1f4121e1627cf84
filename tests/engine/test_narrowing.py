"""Projections in front of boxes with state: where they are put, and that nothing else changes."""

import random

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from aurora import AuroraError, from_text
from aurora.engine.local import LocalRun
from aurora.engine.plan.narrowing import insert_projections
from aurora.engine.plan.plan import plan_network
from aurora.engine.plan.projection import project_inputs
from aurora.engine.sources.in_memory.memory import Memory
from tests.algebra.harness import Arrival, same_bits
from tests.algebra.test_networks import FEW, KINDS, ROWS, found_by, networks
from tests.engine.networks import all_boxes

HEAD = 'inputs: {r: {schema: "g int, T int, v int, w string, x string"}}\nboxes:\n'

# Before, after.
PAIRS = [
    # What only the filter looks at does not travel.
    (
        """
  long: {filter: ["length(w) > 3"], from: r}
  sums: {aggregate: {s: sum(v)}, from: long, order: {on: T, group_by: [g]}, size: 3}
outputs: {out: sums}""",
        """
  long: {filter: ["length(w) > 3"], from: r}
  "long:1": {map: {g: g, T: T, v: v}, from: long}
  sums: {aggregate: {s: sum(v)}, from: "long:1", order: {on: T, group_by: [g]}, size: 3}
outputs: {out: sums}""",
    ),
    # Two that take the same stream share its way; a box that passes all on does so with fewer.
    (
        """
  long: {filter: ["length(w) > 3"], from: r}
  sums: {aggregate: {s: sum(v)}, from: long, order: {on: T, group_by: [g]}, size: 3}
  sorted: {bsort: {}, from: long, order: {on: T, group_by: [g]}}
  names: {map: {x: x}, from: sorted}
outputs: {out: sums, names: names, rest: long.rest}""",
        """
  long: {filter: ["length(w) > 3"], from: r}
  "long:1": {map: {g: g, T: T, v: v, x: x}, from: long}
  sums: {aggregate: {s: sum(v)}, from: "long:1", order: {on: T, group_by: [g]}, size: 3}
  sorted: {bsort: {}, from: "long:1", order: {on: T, group_by: [g]}}
  names: {map: {x: x}, from: sorted}
outputs: {out: sums, names: names, rest: long.rest}""",
    ),
    # An input that others look at more closely.
    (
        """
  sums: {aggregate: {n: count(*)}, from: r, order: {on: "#"}, size: 3}
  few: {map: {w: w}, from: r}
outputs: {out: sums, few: few}""",
        """
  "r:fields": {map: {g: g}, from: r}
  sums: {aggregate: {n: count(*)}, from: "r:fields", order: {on: "#"}, size: 3}
  few: {map: {w: w}, from: r}
outputs: {out: sums, few: few}""",
    ),
]
AS_THEY_ARE = [
    # Streams that meet again must have one schema.
    """
  long: {filter: ["length(w) > 3"], from: r}
  sorted: {bsort: {}, from: long, order: {on: T, group_by: [g]}}
  both: {union: [sorted, long.rest]}
  names: {map: {x: x}, from: both}
outputs: {names: names}""",
    # All of it is looked at.
    """
  sorted: {bsort: {}, from: r, order: {on: T, group_by: [g]}}
outputs: {out: sorted}""",
]


@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_a_map_is_inserted(before: str, after: str) -> None:
    assert insert_projections(from_text(HEAD + before)) == from_text(HEAD + after)


@pytest.mark.parametrize("boxes", AS_THEY_ARE)
def test_what_is_narrow_or_must_be_alike_stays(boxes: str) -> None:
    network = from_text(HEAD + boxes)
    assert insert_projections(network) == network


def test_all_boxes_give_the_same_rows() -> None:
    chance = random.Random(3)
    schemas = {name: entry.schema for name, entry in all_boxes().inputs.items()}
    value = {"Pos": (-5, 50), "Sid": (0, 4), "Low": (0, 9), "High": (5, 40)}
    rows = {
        name: Memory.of(
            schema,
            [
                {
                    own: (i // 3 if own == "Time" else chance.choice("abc"))
                    if own not in value
                    else chance.randrange(*value[own])
                    for own in schema.names
                }
                for i in range(9 if name == "zones" else 90)
            ],
        )
        for name, schema in schemas.items()
    }
    network = all_boxes()
    for name in network.outputs:
        found = []
        for narrow in (False, True):
            smaller = project_inputs(network, [name])
            plan = plan_network(insert_projections(smaller) if narrow else smaller, [name])
            run = LocalRun(plan.with_tables({"zones": rows["zones"].rows}), buckets=2)
            run.read({own: rows[own] for own, _ in plan.inputs}, [17])
            found.append((run.rows(name), run.discarded))
        assert found[0] == found[1] and found[0][0], name


@pytest.mark.parametrize("first", KINDS)
@FEW
@given(st.data(), ROWS, st.integers(1, 3), st.sampled_from("gTv"))
def test_random_networks_give_the_same_rows(
    first: str, data: st.DataObject, rows: list[Arrival], buckets: int, field: str
) -> None:
    network, _, _ = data.draw(networks([first], anywhere=True))
    last = network.stream(next(reversed(network.boxes)))
    assume(field in last.schema)
    network.outputs.clear()
    network.output("end", last.map({"one": field}, name="end"))
    narrow = insert_projections(network)
    event(f"{len(set(narrow.boxes) - set(network.boxes))} maps")
    assert same_bits(found_by(narrow, rows, 3, buckets), found_by(network, rows, 3, buckets))


def test_streams_of_the_plan_alone_are_none_to_look_at() -> None:
    network = from_text(
        """
inputs: {r: {schema: "k string, v int, t timestamp, more string"}}
boxes: {n: {aggregate: {n: "count(*)"}, from: r, order: {on: t, group_by: [k]}, size: 1m}}
outputs: {n: {from: n}}
"""
    )
    plan = plan_network(insert_projections(network.checked()))
    assert plan.narrowed and plan.find_stream("n") == "n.1" and plan.find_stream("r") == "r"
    with pytest.raises(AuroraError, match=r"no stream x is running; the streams are n.1, r$"):
        plan.find_stream("x")
