"""Events of the firehose: the same wherever they are made, and true to each other."""

import hashlib
import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.errors import AuroraError
from aurora.nexmark.firehose import SCALES, Pace, Settings, arrow_schema, events
from aurora.nexmark.firehose.categories import categories_csv
from aurora.nexmark.firehose.facts import BID, KIND, STREAM
from aurora.nexmark.firehose.formats import json_lines
from aurora.nexmark.firehose.kernel import forget_older
from aurora.nexmark.firehose.making import facts_of

MILLISECOND = timedelta(milliseconds=1)
CASES = {
    "standard": Settings("standard", seed=5),
    "standard, late": Settings("standard", seed=6, late=0.1, late_by=0.5),
    "standard, waves": Settings("standard", 7, Pace.parse("sine:2000..18000:2"), late=0.05, late_by=1.5),
    "draft": Settings("draft", seed=5, bid_streams=3),
    "draft, late": Settings("draft", seed=6, late=0.1, late_by=0.5),
    "draft, steps": Settings("draft", 7, Pace.parse("steps:1000,9000,4000:1"), late=0.05, late_by=1.5),
}
NUMBER = 20_000

Event = dict[str, Any]


@cache
def stream(case: str) -> list[tuple[str, Event]]:
    """All events of a case, in the order in which they come."""
    rows = events(CASES[case], 0, NUMBER).to_pylist()
    named = [[(kind, event) for kind, event in row.items() if event is not None] for row in rows]
    assert all(len(row) == 1 for row in named)
    return [row[0] for row in named]


def of_kind(case: str, kind: str) -> Iterator[Event]:
    return (event for name, event in stream(case) if name == kind)


@given(
    case=st.sampled_from(sorted(CASES)),
    start=st.integers(0, NUMBER),
    length=st.integers(0, 400),
    far=st.sampled_from([0, 10**6, 10**12]),
)
def test_any_range_is_the_same_bytes(case: str, start: int, length: int, far: int) -> None:
    settings, start = CASES[case], start + far
    whole = bytes(json_lines(facts_of(settings, start, start + 400))).splitlines()
    part = bytes(json_lines(facts_of(settings, start + 400 - length, start + 400))).splitlines()
    assert part == whole[400 - length :]
    # The rows too, and a few fields alone.
    rows = events(settings, start, start + 400)
    assert events(settings, start + 400 - length, start + 400).equals(rows.slice(400 - length))
    few = pa.schema([("bid", pa.struct([("url", pa.string()), ("price", pa.int64())]))])
    urls = [bid and bid["url"] for bid in rows.column("bid").to_pylist()]
    assert [bid and bid["url"] for bid in events(settings, start, start + 400, few)[0].to_pylist()] == urls


@pytest.mark.parametrize("case", CASES)
def test_lines_and_rows_say_the_same(case: str) -> None:
    facts = facts_of(CASES[case], 0, NUMBER)
    rows = events(CASES[case], 0, NUMBER)
    rows.validate(full=True)
    lines = bytes(json_lines(facts)).splitlines()
    assert len(lines) == NUMBER
    for line, (kind, event) in zip(lines, stream(case), strict=True):
        texts = {name: as_text(value) for name, value in event.items()}
        assert json.dumps({kind: texts}).encode() == line


def as_text(value: Any) -> Any:
    return value.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] if isinstance(value, datetime) else value


def test_the_bytes_are_those_of_every_machine() -> None:
    """A change here changes everybody's data: it is for the changelog."""
    found = {}
    for case in ("standard, waves", "draft, steps"):
        for start in (0, 10**9):
            lines = json_lines(facts_of(CASES[case], start, start + 20_000))
            found[case, start] = hashlib.sha256(lines).hexdigest()[:16]
    assert found == {
        ("standard, waves", 0): "8b08d524f82bd1cc",
        ("standard, waves", 10**9): "05f2e6153d36cd2b",
        ("draft, steps", 0): "035a064b4ec3380e",
        ("draft, steps", 10**9): "cd6bed34c7e96eaf",
    }


def test_seeds_have_nothing_in_common() -> None:
    lines = [set(bytes(json_lines(facts_of(Settings(seed=seed), 4, 50))).splitlines()) for seed in range(20)]
    assert len(set.union(*lines)) == 20 * 46


@pytest.mark.parametrize("case", CASES)
def test_proportions_and_ids(case: str) -> None:
    draft = CASES[case].profile == "draft"
    counts = Counter(kind for kind, _ in stream(case))
    assert counts["auction"] / counts["person"] == pytest.approx(10 if draft else 3, rel=0.01)
    assert counts["bid"] / counts["person"] == pytest.approx(100 if draft else 46, rel=0.01)
    for kind in ("person", "auction"):
        first = 0 if draft else 1000
        assert [event["id"] for event in of_kind(case, kind)] == list(range(first, first + counts[kind]))
    assert (counts["closed_auction"] > 1000) == draft


@pytest.mark.parametrize("case", CASES)
def test_what_an_event_refers_to_is_there(case: str) -> None:
    """By the order of arrival and by the times: persons have registered, auctions are open."""
    registered: dict[int, datetime] = {}
    opened: dict[int, Event] = {}
    bids = 0
    for kind, event in stream(case):
        now = event["dateTime"]
        if kind == "person":
            registered[event["id"]] = now
        elif kind == "auction":
            assert registered[event["seller"]] <= now < event["expires"]
            assert 0 < event["initialBid"] <= event["reserve"]
            opened[event["id"]] = event
        elif kind == "bid":
            auction = opened[event["auction"]]
            assert registered[event["bidder"]] <= now
            assert auction["dateTime"] <= now <= auction["expires"]
            bids += 1
    assert bids > 15_000


@pytest.mark.parametrize("case", CASES)
def test_late_events(case: str) -> None:
    """On time, the time is that of the number; late, it is earlier by at most what was asked for."""
    settings = CASES[case]
    start = datetime.fromisoformat("2015-07-15T00:00:00+00:00")
    late = 0
    for number, (_, event) in enumerate(stream(case)):
        due = start + timedelta(milliseconds=settings.pace.moment(number) // 1000)
        assert due - timedelta(seconds=settings.late_by) <= event["dateTime"] <= due
        late += event["dateTime"] < due
    assert late / NUMBER == pytest.approx(settings.late, abs=0.01)


@pytest.mark.parametrize("case", ["draft", "draft, late", "draft, steps"])
def test_bids_of_the_draft_raise_the_price_until_the_auction_closes(case: str) -> None:
    settings = CASES[case]
    auctions = {event["id"]: event for event in of_kind(case, "auction")}
    bids: dict[int, list[Event]] = defaultdict(list)
    closed: dict[int, Event] = {}
    latest = datetime.min
    for kind, event in stream(case):
        latest = max(latest, event["dateTime"].replace(tzinfo=None))
        on_time = event["dateTime"].replace(tzinfo=None) == latest
        if kind == "closed_auction":
            assert event["auction"] not in closed
            assert event["dateTime"] == auctions[event["auction"]]["expires"]
            closed[event["auction"]] = event
        elif kind == "bid":
            assert event["auction"] not in closed or (settings.late and not on_time)
            bids[event["auction"]].append(event)
    sold = unwanted = 0
    for auction, event in closed.items():
        made = bids[auction]
        unwanted += not made
        best = max(made, key=lambda bid: bid["price"], default=None)
        reached = best is not None and best["price"] >= auctions[auction]["reserve"]
        assert event["buyer"] == (best["bidder"] if best is not None and reached else None)
        sold += reached
        if best is not None:
            assert min(bid["price"] for bid in made) >= auctions[auction]["initialBid"]
        if not settings.late:
            assert all(before["price"] < after["price"] for before, after in pairwise(made))
    # By time the prices rise too, late ones included; those of one millisecond may have changed places.
    for made in bids.values():
        by_price = sorted(made, key=lambda bid: bid["price"])
        assert all(one["dateTime"] <= two["dateTime"] for one, two in pairwise(by_price))
    assert 0.6 < sold / len(closed) < 0.9 and 0.03 < unwanted / len(closed) < 0.12
    counts = sorted(len(bids[auction]) for auction in closed)
    assert counts[-1] > 40 and 4 < counts[len(counts) // 2] < 12


def test_auctions_of_the_draft_close_in_another_order_than_they_open() -> None:
    lives = [event["expires"] - event["dateTime"] for event in of_kind("draft", "auction")]
    closings = [event["auction"] for event in of_kind("draft", "closed_auction")]
    assert closings != sorted(closings) and len(set(closings)) == len(closings)
    assert max(lives) > 5 * min(lives)


def test_bid_streams_take_turns() -> None:
    facts = facts_of(CASES["draft"], 0, NUMBER)
    streams = facts[STREAM][facts[KIND] == BID]
    assert (streams == np.arange(len(streams)) % 3).all()


def test_bids_of_the_standard_profile_are_like_those_of_the_suites() -> None:
    bids = list(of_kind("standard", "bid"))
    auctions = Counter(bid["auction"] for bid in bids)
    hot = sum(count for auction, count in auctions.items() if auction % 100 == 0)
    assert hot / len(bids) == pytest.approx(0.5, abs=0.02)
    prices = np.log10([bid["price"] / 100 for bid in bids])
    assert prices.min() >= 0 and prices.max() <= 6
    assert np.histogram(prices, 6, (0, 6))[0] / len(bids) == pytest.approx([1 / 6] * 6, abs=0.01)
    assert {bid["channel"] for bid in bids} > {"Google", "Facebook", "Baidu", "Apple"}
    addresses = {bid["channel"]: bid["url"] for bid in bids}
    assert all(addresses[bid["channel"]] == bid["url"] for bid in bids)
    assert all(bid["url"].split("/")[2] == "www.nexmark.com" for bid in bids)
    named = sum("&channel_id=" in url for url in addresses.values())
    assert 0.85 < named / len(addresses) < 0.95


def test_persons_and_auctions_are_like_those_of_the_suites() -> None:
    persons, auctions = list(of_kind("standard", "person")), list(of_kind("standard", "auction"))
    assert {person["state"] for person in persons} == {"AZ", "CA", "ID", "OR", "WA", "WY"}
    assert {auction["category"] for auction in auctions} == {10, 11, 12, 13, 14}
    closed = sum(auction["expires"] < auctions[-1]["dateTime"] for auction in auctions)
    assert closed / len(auctions) > 0.9
    sellers = Counter(auction["seller"] for auction in auctions)
    assert sellers.most_common(1)[0][1] > 100


@pytest.mark.parametrize(("kind", "size"), [("person", 200), ("auction", 500), ("bid", 100)])
def test_sizes_are_those_of_the_suites(kind: str, size: int) -> None:
    """Eight bytes a number or a time of the auction, texts as long as they are; channels and urls do not count."""
    sizes = []
    for event in of_kind("standard", kind):
        texts = sum(len(event[name]) for name in event if isinstance(event[name], str))
        if kind == "bid":
            texts -= len(event["channel"]) + len(event["url"])
        sizes.append({"person": 8, "auction": 48, "bid": 32}[kind] + texts)
    assert np.mean(sizes) == pytest.approx(size, rel=0.01)


def test_texts_fit_and_do_not_repeat() -> None:
    extras = [event["extra"] for kind in ("person", "auction", "bid") for event in of_kind("standard", kind)]
    assert len(set(extras)) == len(extras)
    letters = Counter("".join(extras))
    assert len(letters) == 26 and max(letters.values()) < 1.2 * min(letters.values())
    for kind in ("itemName", "description"):
        assert all(event[kind] == event[kind].strip() for event in of_kind("standard", "auction"))


def test_categories_are_a_tree() -> None:
    for scale in ("small", "medium"):
        settings = Settings("draft", categories=SCALES[scale].categories)
        header, *rows = categories_csv(settings).splitlines()
        assert header == "id,parent,name" and len(rows) == SCALES[scale].categories
        seen: set[str] = set()
        for row in rows:
            number, parent, _ = row.split(",")
            assert parent == "" or parent in seen
            seen.add(number)
        assert len({row.split(",")[2] for row in rows}) == len(rows)
    used = {event["category"] for event in of_kind("draft", "auction")}
    assert used == set(range(300))
    assert [row[:3] for row in categories_csv(Settings()).splitlines()[1:]] == [
        "10,",
        "11,",
        "12,",
        "13,",
        "14,",
    ]


@pytest.mark.parametrize("level", SCALES.items())
def test_scale_levels(level: Any) -> None:
    name, scale = level
    assert scale.events("draft") == scale.bids * scale.minutes * 60 * 121 // 100
    pace = scale.pace("standard")
    assert pace.rates[0] * 46 / 50 == pytest.approx(scale.bids, abs=1)
    assert {"small": 300, "medium": 3000, "large": 30000}[name] == scale.categories


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"profile": "beam"}, "no profile 'beam': give draft or standard"),
        ({"seed": -1}, "--seed"),
        ({"late": 0.6}, "--late"),
        ({"late": float("nan")}, "--late"),
        ({"late_by": 0}, "--late-by"),
        ({"bid_streams": 0}, "--bid-streams"),
        ({"bid_streams": 2}, "--profile draft"),
        ({"categories": 5}, "--categories"),
    ],
)
def test_settings_out_of_range(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(AuroraError, match=said):
        Settings(**wrong)


def test_fields_that_are_not_there() -> None:
    for schema, said in (
        (pa.schema([("bids", pa.struct([("price", pa.int64())]))]), "no field 'bids"),
        (
            pa.schema([("bid", pa.struct([("cost", pa.int64())]))]),
            "no 'cost: int64' in bid, whose fields are auct",
        ),
        (pa.schema([("bid", pa.struct([("price", pa.string())]))]), "no 'price: string'"),
    ):
        with pytest.raises(AuroraError, match=said):
            events(Settings(), 0, 10, schema)
    with pytest.raises(AuroraError, match="no events -1 to 5"):
        events(Settings(), -1, 5)


def test_the_schema_of_the_standard_profile_has_no_closings() -> None:
    assert arrow_schema("standard").names == ["person", "auction", "bid"]
    assert arrow_schema("draft").names == ["person", "auction", "bid", "closed_auction"]


def test_kernels_that_are_older_than_a_module_are_forgotten(tmp_path: Path) -> None:
    (tmp_path / "__pycache__").mkdir()
    for name, age in (
        ("words.py", 50),
        ("lines.py", 90),
        ("__pycache__/new.nbi", 10),
        ("__pycache__/old.nbi", 70),
    ):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (1e9 - age, 1e9 - age))
    forget_older(tmp_path)
    assert [path.name for path in (tmp_path / "__pycache__").iterdir()] == ["new.nbi"]
