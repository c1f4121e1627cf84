"""Random networks against the naive runner, for cuts, buckets, and boxes that share stages or do not."""

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aurora import Network
from tests.algebra.drawn_boxes import Source, add
from tests.algebra.drawn_clocked import add_clocked
from tests.algebra.harness import CUTS, Arrival, choose_cuts, plain, same_bits
from tests.algebra.kernels import FIELDS, USERS
from tests.algebra.naive_boxes import HELD, SAME
from tests.algebra.running import run_network
from tests.algebra.strategies import arrivals, float_groups, nearly_rising
from tests.spec import squal
from tests.spec.network import Clocks
from tests.spec.network import Network as NaiveNetwork
from tests.thoroughness import examples

Naive = dict[str, tuple[Any, list[Source]]]

INPUTS = {
    "clocked asof": 2,
    "clocked join": 2,
    "clocked resample": 2,
    "clocked resamples": 2,
    "clocked wait": 2,
    "gather": 2,
    "kept": 2,
    "union": 2,
    "join": 2,
    "outer": 2,
    "asof": 2,
    "wait": 2,
    "resample": 2,
    **{kind: user.inputs for kind, user in USERS.items()},
}
ONE_AT_A_TIME = [
    *(
        "filter",
        "map",
        "explode",
        "union",
        "bsort",
        "aggregate",
        "own sessions",
        "running",
        "numbered",
        "last",
        "top",
        "wait",
        "join",
        "outer",
        "asof",
        "pull",
    ),
    *USERS,
]
ONE_CLOCKED = [
    "clocked",
    "clocked parts",
    "sessions",
    "clocked bsort",
    "clocked running",
    "clocked top",
    "clocked wait",
    "clocked asof",
    "kept",
]
CLOCKED = [
    *ONE_CLOCKED,
    "clocked groups",
    "clocked tops",
    "session groups",
    "gather",
    "clocked join",
    "clocked resample",
    "clocked resamples",
]
# The inputs whose T boxes pass on: what is known of it they pass on too.
PASSES = {
    "filter": (0,),
    "explode": (0,),
    "union": (0, 1),
    "numbered": (0,),
    "last": (0,),
    "asof": (0,),
    "pull": (0,),
}
# One cause can bring forth a row for each group, or for each of several equal tuples. Such rows come by their fields,
# and what they cause in turn is ordered by fields again, not as the naive network, that takes them one by one, would
# have it: they end a network.
SEVERAL_AT_ONCE = ["groups", "own session groups", "tops", "resample"]
KINDS = [*ONE_AT_A_TIME, *SEVERAL_AT_ONCE, *CLOCKED]
# The boxes that a network begins with, each behind the one before.
FIRST = [*([kind] for kind in KINDS), ["numbered", "last"]]
FEW = settings(max_examples=examples(3, settings().max_examples // 6))


@st.composite
def networks(draw: Any, first: list[str], anywhere: bool) -> tuple[Network, Naive, dict[str, Clocks]]:
    """The first boxes are given: left to chance, some kinds would hardly come. Every port of every box is an output."""
    network, naive, by_clock = Network("drawn"), Naive(), dict[str, Clocks]()
    network.input("in0", FIELDS)
    network.input("in1", FIELDS)
    sources: list[Source] = [("in0", ""), ("in1", "")]
    for number in range(draw(st.integers(len(first), 5))):
        kind = first[number] if number < len(first) else draw(st.sampled_from(KINDS))
        name = f"box{number}"
        # The latest streams are drawn most often: networks become deep.
        latest = [*sources, *sources[-2:], *sources[-1:]]
        if 0 < number < len(first):
            latest = sources[-1:]
        read = [draw(st.sampled_from(latest)) for _ in range(INPUTS.get(kind, 1))]
        if kind in CLOCKED:
            box, by_clock[name] = add_clocked(draw, network, kind, name, read)
        else:
            box, by_clock[name] = add(draw, network, kind, name, read), Clocks(passes=PASSES.get(kind, ()))
        naive[name] = box, read
        ports = network.boxes[name].operator.outputs
        for port in ports:
            network.output(f"{name}.{port}", network.stream(f"{name}.{port}"))
        if anywhere or kind in ONE_AT_A_TIME or kind in ONE_CLOCKED:
            sources += [(name, port) for port in ports]
    return network, naive, by_clock


ROWS = arrivals(nearly_rising(st.integers(-3, 3), least=4), inputs=2, g=float_groups, v=st.integers(0, 6))
RESTART = st.integers(1, 24)


def found_by(
    network: Network,
    rows: list[Arrival],
    cut: int,
    buckets: int = 1,
    fuse: bool = True,
    restart: int | None = None,
) -> dict[Source, list[dict[str, Any]]]:
    sets = {name: HELD for name, entry in network.inputs.items() if entry.static}
    run = run_network(network, rows, cut, buckets, fuse, tables=sets, restart=restart)
    return {
        (output.port.box, output.port.port): [row for train in run.outputs[name] for row in plain(train.rows)]
        for name, output in network.outputs.items()
    }


@pytest.mark.parametrize("first", FIRST, ids=" then ".join)
@FEW
@given(st.data(), ROWS, st.integers(1, 4), st.booleans(), RESTART)
def test_networks(
    first: list[str], data: st.DataObject, rows: list[Arrival], buckets: int, fuse: bool, restart: int
) -> None:
    network, naive, by_clock = data.draw(networks(first, anywhere=False))
    wanted = NaiveNetwork(naive, by_clock, [*SAME]).run(
        (f"in{side}", {name: row[name] for name in SAME}) for side, row in rows
    )
    for cut in choose_cuts(rows):
        for source, stream in found_by(network, rows, cut, buckets, fuse, restart).items():
            want = [{name: row[name] for name in SAME} for row in wanted.get(source, [])]
            assert same_bits(stream, want), f"{source}, cut {cut}, {list(network.boxes.values())}"


@pytest.mark.parametrize("first", FIRST, ids=" then ".join)
@FEW
@given(st.data(), ROWS, st.integers(2, 5), st.booleans(), RESTART)
def test_cuts_buckets_fusing_and_restarts_do_not_matter(
    first: list[str], data: st.DataObject, rows: list[Arrival], buckets: int, fuse: bool, restart: int
) -> None:
    network, _, _ = data.draw(networks(first, anywhere=True))
    whole = found_by(network, rows, len(rows) + 1)
    for cut in choose_cuts(rows)[:-1]:
        found = found_by(network, rows, cut, buckets, fuse, restart)
        assert same_bits(found, whole), f"cut {cut}, {list(network.boxes.values())}"


BETWEEN = {
    "nothing": lambda stream: stream,
    "map": lambda stream: stream.map({"g": "g", "T": "T", "v": "-v"}, name="between"),
    "explode": lambda stream: stream.explode("array(1, -1)", "e", name="apart").map(
        {"g": "g", "T": "T", "v": "v * e"}, name="between"
    ),
    "filter": lambda stream: stream.map({"g": "g", "T": "T", "v": "5 - v"}, name="turned").filter(
        "v <> 3", name="between"
    ),
    "user": lambda stream: USERS["stateless, kept"].add(stream.network, "between", [stream]),
}


@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("reader", ["user", "running"])
@FEW
@example([(0, {"g": 1.0, "h": t % 4, "T": t // 4, "v": 7 - t % 4}) for t in range(24)], 2)
@given(
    arrivals(
        nearly_rising(st.integers(0, 3), least=4), g=float_groups, h=st.integers(0, 3), v=st.integers(0, 6)
    ),
    st.integers(2, 4),
)
def test_rows_of_one_moment_have_one_order_whatever_is_fused(
    between: str, reader: str, rows: list[Arrival], buckets: int
) -> None:
    """A clock closes several windows of one g at once, and what reads them has g as its key."""
    network = Network("moments")
    order = {"on": "T", "group_by": ["g", "h"], "clock": "stream"}
    stream = network.input("in0", "g double, h int, T int, v bigint")
    sums = stream.aggregate({"v": "sum(v)"}, order=order, size=4, align=True, name="sums")
    read = BETWEEN[between](sums.map(SAME, name="same"))
    if reader == "user":
        found = USERS["keyed"].add(network, "read", [read])
    else:
        found = read.aggregate(
            {"v": "last(v)"}, order={"on": "#", "group_by": ["g"]}, size="all", name="read"
        )
    network.output("found", found)
    whole = run_network(network, rows, len(rows) + 1).rows("found")
    for cut in choose_cuts(rows):
        for fuse in (True, False):
            assert same_bits(run_network(network, rows, cut, buckets, fuse).rows("found"), whole)


def test_a_stream_joined_with_itself() -> None:
    network = Network("itself")
    stream = network.input("in0", FIELDS)
    order = {"on": "T", "slack": 1}
    join = stream.join(stream, "left.g = right.g", size=1, left_order=order, right_order=order, name="twice")
    network.output("twice", join)
    naive = squal.Join(lambda a, b: a["g"] == b["g"], 1, squal.Order("T", 1), squal.Order("T", 1))
    rows = [(0, {"g": float(i % 2), "T": i // 2, "v": i}) for i in range(12)]
    wanted = NaiveNetwork({"twice": (naive, [("in0", ""), ("in0", "")])}).run(("in0", row) for _, row in rows)
    for cut in CUTS:
        assert found_by(network, rows, cut) == wanted
