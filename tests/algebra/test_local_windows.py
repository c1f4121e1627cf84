"""Windows that begin when the clocks of a place show it, around the moments at which clocks are changed."""

import datetime as dt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora import Network, from_text, to_text
from aurora.algebra.aggregate import Aggregate
from aurora.algebra.ordering.order import Order
from aurora.algebra.top import Top
from aurora.algebra.tuples.schema import Schema
from aurora.errors import AuroraError
from tests.algebra.harness import CUTS, Arrival, check_agreement, run_kernel
from tests.algebra.running import run_network
from tests.algebra.strategies import groups
from tests.spec import squal
from tests.spec.local import HOUR
from tests.spec.top import Top as NaiveTop
from tests.spec.windows import Aggregate as NaiveAggregate

DAY = 24 * HOUR
SCHEMA = Schema.parse("T timestamp, g int, v int")


def micros(text: str) -> int:
    return (dt.datetime.fromisoformat(text) - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)


# When clocks are changed: by an hour, by half of one, at midnight, and by a day that is left out.
CHANGES = {
    "Europe/Berlin": ("2026-03-29 01:00", "2026-10-25 01:00", "2026-12-31 23:00"),
    "America/New_York": ("2026-03-08 07:00", "2026-11-01 06:00"),
    "Australia/Lord_Howe": ("2026-04-04 15:00", "2026-10-03 15:30"),
    "America/Sao_Paulo": ("2018-11-04 03:00", "2018-02-18 02:00"),
    "Pacific/Apia": ("2011-12-30 10:00", "2012-03-31 14:00"),
    "Africa/Monrovia": ("2026-01-01 00:00",),
}
ZONED = st.sampled_from([(zone, micros(change)) for zone, changes in CHANGES.items() for change in changes])
SPANS = st.sampled_from([HOUR, 2 * HOUR, 6 * HOUR, DAY, 2 * DAY, 7 * DAY])
STEPS = st.one_of(
    st.integers(-80, 80).map(lambda number: number * HOUR // 2),
    st.tuples(st.integers(-72, 72), st.sampled_from([-1, 0, 1])).map(lambda pair: pair[0] * HOUR + pair[1]),
)


@st.composite
def given_rows(draw: Any, change: int, nearly: bool = True) -> list[Arrival]:
    steps = draw(st.lists(STEPS, min_size=1, max_size=16))
    if draw(st.booleans()) or not nearly:
        steps.sort()
    value = st.integers(-9, 9)
    return [(0, {"T": change + step, "g": draw(groups), "v": draw(value)}) for step in steps]


def functions(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {"n": len(rows), "s": sum(row["v"] for row in rows), "f": rows[0]["v"], "l": rows[-1]["v"]}


@given(
    st.data(), ZONED, SPANS, SPANS, st.sampled_from([{}, {"slack": 2}, {"span": 30 * HOUR}]), st.booleans()
)
def test_windows(
    data: st.DataObject, zoned: tuple[str, int], size: int, advance: int, order: dict[str, Any], best: bool
) -> None:
    zone, change = zoned
    advance = min(advance, size) if size < DAY else max(advance, DAY)
    order = {**order, "group_by": ("g",)}
    rows = data.draw(given_rows(change))
    plain = squal.Order("T", **order)
    if best:
        box = Top.best(1, ["v DESC"], Order("T", **order), size, advance, SCHEMA, align=zone)
        by = [(lambda row: row["v"], True)]
        check_agreement(box, lambda: NaiveTop(1, by, plain, size, advance, align=zone), rows, SCHEMA)
        return
    texts = {"n": "count(*)", "s": "sum(v)", "f": "first(v)", "l": "last(v)"}
    box = Aggregate.of(texts, Order("T", **order), size, advance, SCHEMA, align=zone)
    check_agreement(box, lambda: NaiveAggregate(functions, plain, size, advance, align=zone), rows, SCHEMA)


@given(st.data(), ZONED, st.sampled_from([HOUR, 6 * HOUR, DAY]), st.booleans())
def test_by_a_clock_and_on(data: st.DataObject, zoned: tuple[str, int], size: int, counted: bool) -> None:
    zone, change = zoned
    rows = data.draw(given_rows(change, nearly=False))
    network = Network("days")
    stream = network.input("in0", "T timestamp, g int, v int")
    order = {"on": "T", "clock": "stream"}
    texts = {"n": "count(*)"} if counted else {"n": "count(*)", "f": "first(v)"}
    hours = stream.aggregate(
        texts, order={**order, "group_by": ["g"]}, size=f"{size // HOUR} h", align=zone, name="hours"
    )
    days = hours.aggregate({"n": "sum(n)"}, order=order, size="1 day", align=zone, name="days")
    network.output("hours", hours)
    network.output("days", days)
    by_group = NaiveAggregate(
        lambda rows: {"n": len(rows)}, squal.Order("T", group_by=("g",)), size, size, align=zone
    )
    by_day = NaiveAggregate(lambda rows: {"n": len(rows)}, squal.Order("T"), DAY, DAY, align=zone)
    wanted = {
        name: sorted(
            repr({key: row[key] for key in ("T", "g", "n") if key in row})
            for _, _, row in [
                out for number, (_, row) in enumerate(rows) for out in naive.push(0, row, number)
            ]
            + naive.end()
        )
        for name, naive in (("hours", by_group), ("days", by_day))
    }
    whole = None
    for cut in CUTS:
        run = run_network(network, rows, cut)
        found = {
            name: [
                {
                    **row,
                    "T": (row["T"].replace(tzinfo=None) - dt.datetime(1970, 1, 1))
                    // dt.timedelta(microseconds=1),
                }
                for row in run.rows(name)
            ]
            for name in wanted
        }
        assert whole in (None, found), f"cut {cut}"
        whole = found
        for name, rows_of in found.items():
            kept = [repr({key: row[key] for key in ("T", "g", "n") if key in row}) for row in rows_of]
            assert sorted(kept) == wanted[name], f"{name}, cut {cut}"


def test_days_of_23_and_25_hours() -> None:
    box = Aggregate.of({"n": "count(*)"}, Order("T"), DAY, DAY, SCHEMA, align="Europe/Berlin")
    for text, wanted in (
        ("2026-03-27", {"27T23:00": 24, "28T23:00": 23, "29T22:00": 24}),
        ("2026-10-23", {"23T22:00": 24, "24T22:00": 25, "25T23:00": 24}),
    ):
        hours = [micros(text) + hour * HOUR for hour in range(96)]
        rows: list[Arrival] = [(0, {"T": hour, "g": 0, "v": 0}) for hour in hours]
        ran = run_kernel(box, rows, (SCHEMA,), 10)
        found = {
            str(dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=row["T"])): row["n"]
            for _, row in ran.ports["1"]
        }
        assert {
            f"{text[:8]}{day}:00".replace("T", " "): n for day, n in wanted.items()
        }.items() <= found.items()


def test_moments_too_far_away_are_counted() -> None:
    box = Aggregate.of({"n": "count(*)"}, Order("T"), DAY, DAY, SCHEMA, align="Europe/Berlin")
    ran = run_kernel(box, [(0, {"T": 2**63 - 1, "g": 0, "v": 0})], (SCHEMA,), 1)
    assert ran.ports["1"] == [] and ran.discarded["between windows"] == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("size: 1 day, align: Europe/Belin", "found 'Europe/Belin' (did you mean Europe/Berlin?)"),
        ("size: 90m, align: Europe/Berlin", "needs a size and an advance of whole hours or days"),
        ("size: 1 day, align: yes please", "align is true, false or a time zone such as Europe/Berlin"),
        ('size: 1 day, advance: "v > 1", align: Europe/Berlin', "align needs an advance that is a number"),
    ],
)
def test_faults(options: str, says: str) -> None:
    text = (
        'network: n\ninputs:\n  r: {schema: "T timestamp, v int"}\nboxes:\n'
        f'  b: {{aggregate: {{n: "count(*)"}}, from: r, order: {{on: T}}, {options}}}\noutputs: {{o: b}}\n'
    )
    with pytest.raises(AuroraError) as fault:
        from_text(text)
    assert says in str(fault.value) and "\n" not in str(fault.value)


def test_numbers_have_no_zone() -> None:
    with pytest.raises(AuroraError, match="align: Europe/Berlin needs an order on a timestamp, found int"):
        Aggregate.of({"n": "count(*)"}, Order("v"), 24, 24, SCHEMA, align="Europe/Berlin")


def test_the_zone_stays_in_the_text() -> None:
    network = Network("n")
    rows = network.input("r", "T timestamp, v int")
    network.output(
        "o", rows.aggregate({"n": "count(*)"}, order={"on": "T"}, size="1 day", align="Asia/Kolkata")
    )
    assert "align: Asia/Kolkata" in to_text(network)
    assert from_text(to_text(network)) == network
