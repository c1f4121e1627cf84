"""The checks themselves: hand-made auctions with known answers, and results that are wrong in every way."""

from pathlib import Path
from typing import Any

import duckdb
import pytest

from aurora.errors import AuroraError
from aurora.nexmark.check import Agreement, check, contrast
from tests.nexmark.auctions import Event, auction, bid, moment, person, write_events, write_rows

HOUR = 3_600_000
Rows = list[Any]


def checked(tmp_path: Path, query: str, events: list[Event | str], rows: Rows, **settings: Any) -> Agreement:
    data = write_events(tmp_path / "data", events)
    result = write_rows(tmp_path / "result.jsonl", rows)
    return check(query, data, result, settings.pop("profile", "standard"), settings)


def closing(key: str, value: int, avg: float, expires: int) -> dict[str, Any]:
    return {key: value, "avg": avg, "expires": moment(expires)}


def hot(item: int, num: int, start: int, size: int = 10_000) -> dict[str, Any]:
    return {"auction": item, "num": num, "window_start": moment(start), "window_end": moment(start + size)}


# Three auctions of one seller; the bids on the first tie, the second has none that reaches its reserve.
SALES: list[Event | str] = [
    person(0, 1),
    auction(10, 5, 1_000, reserve=100),
    auction(10, 6, 1_000, reserve=500, category=11),
    auction(20, 4, 1_000, reserve=10),
    bid(20, 5, 150),
    bid(30, 5, 150, bidder=3),
    bid(40, 6, 499),
    bid(900, 4, 9),
    bid(1_000, 4, 250),
    bid(1_001, 4, 900),
    auction(1_500, 7, 9_000, category=11, seller=2),
    auction(1_500, 8, 9_500, category=11),
    bid(2_000, 7, 101),
    bid(2_000, 8, 200),
]


def test_average_price_of_each_closing_in_the_order_of_expiry_and_id(tmp_path: Path) -> None:
    rows = [
        closing("category", 10, 250.0, 1_000),
        closing("category", 10, 200.0, 1_000),
        closing("category", 11, 101.0, 9_000),
        closing("category", 11, 150.5, 9_500),
    ]
    assert checked(tmp_path, "q4", SALES, rows).agrees
    turned = checked(tmp_path, "q4", SALES, [rows[0], rows[2], rows[1], rows[3]])
    assert (turned.misplaced, turned.missing, turned.extra, turned.agrees) == (2, 0, 0, False)
    assert "out of order" in str(turned)


def test_average_of_the_last_ten_closings(tmp_path: Path) -> None:
    events: list[Event | str] = []
    for number in range(12):
        events += [auction(number, number, 1_000 + number, reserve=0), bid(number, number, 100 * number)]
    averages = [sum(range(max(0, n - 9), n + 1)) * 100 / min(n + 1, 10) for n in range(12)]
    rows = [closing("seller", 1, averages[number], 1_000 + number) for number in range(12)]
    assert averages[-1] == 650
    assert checked(tmp_path, "q6", events, rows).agrees
    eleven = [*rows[:-1], closing("seller", 1, sum(range(1, 12)) * 100 / 11, 1_011)]
    assert checked(tmp_path, "q6", events, eleven).changed == 1


def test_local_items_meet_once_while_the_auction_is_open(tmp_path: Path) -> None:
    events: list[Event | str] = [
        auction(0, 1, 500, seller=1),
        auction(0, 2, 501, seller=1),
        auction(0, 3, 499, seller=1),
        person(500, 1, "Ann", "OR"),
        person(500, 2, "Bob", "WA"),
        auction(600, 4, 700, seller=1),
        auction(600, 5, 700, seller=1, category=11),
        auction(600, 6, 700, seller=2),
        person(650, 3, "Cy", "CA"),
        auction(660, 7, 700, seller=3),
    ]
    ann = {"name": "Ann", "city": "Bend", "state": "OR"}
    standard = [
        *({**ann, "id": number} for number in (1, 2, 4)),
        {**ann, "name": "Cy", "state": "CA", "id": 7},
    ]
    assert checked(tmp_path, "q3", events, standard).agrees
    assert checked(tmp_path, "q3", events, standard[:3], profile="draft").agrees
    closed = checked(tmp_path, "q3", events, [*standard, {**ann, "id": 3}])
    assert (closed.extra, closed.missing) == (1, 0)


def test_hot_items_have_all_ties_and_no_empty_windows(tmp_path: Path) -> None:
    events: list[Event | str] = [bid(1_000, 7, 1), bid(1_500, 8, 1), bid(2_500, 8, 1), bid(30_000, 7, 1)]
    early = [row for start in (-8_000, -6_000, -4_000, -2_000, 0) for row in [hot(8, 2, start)]]
    early[0] = hot(7, 1, -8_000)
    rows = [
        *early,
        hot(8, 1, -8_000),
        hot(8, 1, 2_000),
        *(hot(7, 1, s) for s in range(22_000, 32_000, 2_000)),
    ]
    assert checked(tmp_path, "q5", events, rows).agrees
    one_of_two = [row for row in rows if row != hot(7, 1, -8_000)]
    assert checked(tmp_path, "q5", events, one_of_two).missing == 1


def test_hot_items_of_the_draft_slide_by_the_minute(tmp_path: Path) -> None:
    events: list[Event | str] = [bid(0, 7, 1), bid(30 * 60_000, 8, 1), bid(30 * 60_000 + 1, 8, 1)]
    rows = [hot(7, 1, minute * 60_000, HOUR) for minute in range(-59, -29)]
    rows += [hot(8, 2, minute * 60_000, HOUR) for minute in range(-29, 31)]
    assert checked(tmp_path, "q5", events, rows, profile="draft").agrees


def test_highest_bid_of_each_window_with_ties(tmp_path: Path) -> None:
    events: list[Event | str] = [bid(0, 1, 50), bid(9_999, 2, 50), bid(5_000, 3, 49), bid(10_000, 4, 1)]

    def row(ms: int, item: int, price: int, end: int) -> dict[str, Any]:
        times = {"dateTime": moment(ms), "window_end": moment(end)}
        return {"auction": item, "bidder": 2, "price": price, **times}

    rows = [row(0, 1, 50, 10_000), row(9_999, 2, 50, 10_000), row(10_000, 4, 1, 20_000)]
    assert checked(tmp_path, "q7", events, rows, lateness=5_000).agrees
    day = [row(0, 1, 50, 600_000), row(9_999, 2, 50, 600_000)]
    assert checked(tmp_path, "q7", events, day, profile="draft", lateness=5_000).agrees


def test_new_users(tmp_path: Path) -> None:
    events: list[Event | str] = [
        auction(100, 1, 200_000, seller=1),
        person(200, 1, "Ann"),
        auction(9_999, 2, 200_000, seller=1),
        person(9_999, 2, "Bob"),
        auction(10_000, 3, 200_000, seller=2),
        person(10_001, 3, "Cy"),
        auction(10_001 + 12 * HOUR, 4, 13 * HOUR, seller=3),
        auction(10_002 + 12 * HOUR, 5, 13 * HOUR, seller=2),
    ]
    ann, bob, cy = ({"id": n, "name": name} for n, name in ((1, "Ann"), (2, "Bob"), (3, "Cy")))
    assert checked(tmp_path, "q8", events, [ann | {"window_start": moment(0)}]).agrees
    starts = [ann | {"window_start": moment(200)}, bob | {"window_start": moment(9_999)}]
    starts += [cy | {"window_start": moment(10_001)}]
    assert checked(tmp_path, "q8", events, starts, profile="draft").agrees


def test_stateless_queries_take_everything(tmp_path: Path) -> None:
    events: list[Event | str] = [bid(99_000, 1007, 10), bid(0, 246, 20), person(0, 1)]
    euros = [
        {"auction": 1007, "bidder": 2, "price": 9.08, "dateTime": moment(99_000)},
        {"auction": 246, "bidder": 2, "price": 18.16, "dateTime": moment(0)},
    ]
    assert checked(tmp_path, "q0", events, events).agrees
    assert checked(tmp_path, "q1", events, euros).agrees
    assert checked(tmp_path, "q1", events, euros, dollars_to_euros=0.5).changed == 2
    assert checked(tmp_path, "q2", events, [{"auction": 246, "price": 20}]).agrees
    assert checked(tmp_path, "q2", events, [{"auction": 1007, "price": 10}], profile="draft").agrees


def test_an_event_is_late_by_the_order_of_arrival(tmp_path: Path) -> None:
    # Exactly the allowed lateness behind is in time; a millisecond more is late, also behind an event of another kind.
    first: list[Event | str] = [bid(0, 1, 5), person(14_000, 9), bid(9_999, 1, 7), bid(10_000, 2, 6)]
    second: list[Event | str] = [auction(9_000, 3, 20_000), bid(14_100, 3, 8)]
    data = write_events(tmp_path / "data", first, second)
    times = {"dateTime": moment(0), "window_end": moment(10_000)}
    rows = [
        {"auction": 1, "bidder": 2, "price": 5, **times},
        {"auction": 3, "bidder": 2, "price": 8, "dateTime": moment(14_100), "window_end": moment(20_000)},
    ]
    agreement = check("q7", data, write_rows(tmp_path / "q7.jsonl", rows), settings={"lateness": 4_000})
    assert agreement.agrees
    assert agreement.late == 2
    assert check("q4", data, write_rows(tmp_path / "q4.jsonl", []), settings={"lateness": 4_000}).agrees


def test_lines_that_are_no_events_are_left_out(tmp_path: Path) -> None:
    missing = '{"bid": {"auction": 1, "bidder": 2, "price": 3}}'
    events: list[Event | str] = [bid(0, 123, 1), "no JSON", missing, '{"other": 1}', bid(1, 123, 2)]
    rows = [{"auction": 123, "price": 1}, {"auction": 123, "price": 2}]
    agreement = checked(tmp_path, "q2", events, rows)
    assert (agreement.agrees, agreement.malformed) == (True, 3)


def test_draft_events_that_tell_of_a_closing_pass_through(tmp_path: Path) -> None:
    events: list[Event | str] = [
        bid(0, 1, 5),
        {"closed_auction": {"auction": 1, "buyer": None, "dateTime": moment(5)}},
    ]
    assert checked(tmp_path, "q0", events, events, profile="draft").agrees
    assert checked(tmp_path, "q0", events, events[:1], profile="draft").missing == 1


def test_parquet_is_read_like_json(tmp_path: Path) -> None:
    data = write_events(tmp_path / "data", SALES)
    base = duckdb.connect()
    base.execute(f"""
        COPY (SELECT * FROM read_json('{data}/events-00000.jsonl', format = 'newline_delimited'))
        TO '{data}/events-00000.parquet'
    """)
    (data / "events-00000.jsonl").unlink()
    times = {"dateTime": moment(1_001), "window_end": moment(10_000)}
    rows = [{"auction": 4, "bidder": 2, "price": 900, **times}]
    assert check("q7", data, write_rows(tmp_path / "result.jsonl", rows)).agrees


TEN: list[Event | str] = [bid(number, 123, 100 + number) for number in range(10)]
RIGHT = [{"auction": 123, "price": 100 + number} for number in range(10)]


@pytest.mark.parametrize(
    ("rows", "missing", "extra", "shown"),
    [
        (RIGHT[:-1], 1, 0, "missing: auction 123, price 109"),
        ([*RIGHT, RIGHT[3]], 0, 1, "extra (line 11): auction 123, price 103"),
        ([*RIGHT[:4], RIGHT[4] | {"price": 5}, *RIGHT[5:]], 1, 1, "extra (line 5): auction 123, price 5"),
        ([*RIGHT[:-1], '{"auction": 123'], 1, 1, "extra (line 10): not a row of this query: no JSON"),
        ([*RIGHT[:-1], {"auction": 123}], 1, 1, 'not a row of this query: {"auction": 123}'),
        ([*RIGHT[:-1], RIGHT[-1] | {"more": 1}], 1, 1, '"more": 1'),
        ([], 10, 0, "10 rows expected, 0 found; 10 missing"),
    ],
)
def test_every_wrong_row_is_found_and_shown(
    tmp_path: Path, rows: Rows, missing: int, extra: int, shown: str
) -> None:
    agreement = checked(tmp_path, "q2", TEN, rows)
    assert (agreement.agrees, agreement.missing, agreement.extra) == (False, missing, extra)
    assert shown in str(agreement)
    assert str(agreement).startswith("q2 does not agree: 10 rows expected")


def test_the_order_of_rows_is_free_where_none_is_fixed(tmp_path: Path) -> None:
    agreement = checked(tmp_path, "q2", TEN, RIGHT[::-1])
    assert str(agreement) == "q2 agrees: 10 rows"
    assert agreement.described()["agrees"] is True


def test_averages_agree_to_the_ninth_digit(tmp_path: Path) -> None:
    events: list[Event | str] = [auction(0, 1, 100, reserve=0), bid(1, 1, 1_000_000)]
    row = closing("category", 10, 1_000_000.0001, 100)
    assert checked(tmp_path, "q4", events, [row]).agrees
    off = checked(tmp_path, "q4", events, [row | {"avg": 1_000_000.01}])
    assert off.changed == 1
    assert "differs (line 1): expected category 10, avg 1000000.0" in str(off)
    assert checked(tmp_path, "q4", events, [row | {"avg": "NaN"}]).changed == 1


def test_times_are_written_with_three_digits_by_us_and_as_they_like_by_others(tmp_path: Path) -> None:
    data = write_events(tmp_path / "data", [bid(0, 1, 100)])
    row = {"auction": 1, "bidder": 2, "price": 90.8, "dateTime": "2015-07-15 00:00:00"}
    result = write_rows(tmp_path / "result.jsonl", [row])
    assert not check("q1", data, result).agrees
    assert check("q1", data, [result], exact=False).agrees


def test_two_systems_are_compared_with_each_other(tmp_path: Path) -> None:
    first = write_rows(tmp_path / "a.jsonl", RIGHT)
    parts = [write_rows(tmp_path / "b.jsonl", RIGHT[5:]), write_rows(tmp_path / "c.jsonl", RIGHT[:5])]
    assert contrast("q2", first, parts).agrees
    assert contrast("q2", first, parts[:1]).missing == 5


def test_faults_are_told_in_a_line(tmp_path: Path) -> None:
    data = write_events(tmp_path / "data", TEN)
    result = write_rows(tmp_path / "result.jsonl", RIGHT)
    with pytest.raises(AuroraError, match="no check for 'q99'"):
        check("q99", data, result)
    with pytest.raises(AuroraError, match="no profile 'old'"):
        check("q2", data, result, "old")
    with pytest.raises(AuroraError, match=r"no result to check at .*absent"):
        check("q2", data, tmp_path / "absent.jsonl")
    with pytest.raises(AuroraError, match=r"has no events-NNNNN\.jsonl"):
        check("q2", tmp_path, result)
