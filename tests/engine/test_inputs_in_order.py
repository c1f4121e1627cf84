"""Inputs in the order of a field: their rows arrive as a plain sort has them, for every cut, piece and restart."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aurora import AuroraError, Memory, Network, Schema
from aurora.algebra.tuples.train import arrival_numbers
from aurora.engine.kafka.address import SOURCE_OPTIONS, read_kafka
from aurora.engine.kafka.source import KafkaTopic
from aurora.engine.sources.address import open_source
from aurora.engine.sources.in_order.inputs import InOrder, put_in_order
from aurora.engine.sources.paced import PacedSource
from aurora.engine.sources.source import Reject, Source, why_uncut
from aurora.engine.spark.source import Admission
from aurora.engine.waits import waits
from tests.engine.still_clock import StillClock, stop_the_clock
from tests.thoroughness import examples


@pytest.fixture(autouse=True)
def still(monkeypatch: pytest.MonkeyPatch) -> StillClock:
    """What waits for ever here is told nobody."""
    monkeypatch.setattr(waits, "_open", {})
    return stop_the_clock(monkeypatch)


SCHEMA = "t int, input int, n int"
Values = list[int | None]
Rows = list[tuple[int | None, int, int]]


def network_of(orders: list[bool], idle: str | None = None, schema: str = SCHEMA) -> Network:
    network = Network("ordered")
    for number, ordered in enumerate(orders):
        more = {"order": "t", "idle": idle} if ordered else {}
        network.output(f"out{number}", network.input(f"in{number}", schema, **more))
    return network


def rows_of(inputs: list[Values]) -> list[list[dict[str, Any]]]:
    return [
        [{"t": t, "input": number, "n": n} for n, t in enumerate(values)]
        for number, values in enumerate(inputs)
    ]


def merged(inputs: list[Values]) -> Rows:
    """By value, then by input; what has no value goes with the row before it."""
    found = []
    for number, values in enumerate(inputs):
        last = -(2**63)
        for n, t in enumerate(values):
            last = last if t is None else t
            found.append((last, number, n, t))
    return [(t, number, n) for _, number, n, t in sorted(found, key=lambda row: row[:3])]


class Driver:
    """What the reader of Spark does, batch by batch; `fresh` sources for each batch, as after a kill."""

    def __init__(self, make: Callable[[], dict[str, Source]], rows: int = 100, fresh: bool = False) -> None:
        self.make, self.rows, self.fresh = make, rows, fresh
        self.admission = self._admission(make())
        self.offset = self.admission.first()
        self.rejects: list[tuple[str, Reject]] = []
        self.batches: list[int] = []

    def _admission(self, sources: dict[str, Source]) -> Admission:
        for source in sources.values():
            if isinstance(source, InOrder):
                # Small, so that what is known of the rows ahead is often too little.
                source.merged.least = 2
        return Admission(None, sources, self.rows, 2, False, 1)  # type: ignore[arg-type]

    def batch(self, pieces: int = 2, limits: dict[str, int] | None = None) -> Rows | None:
        """The rows of the next batch as they arrive; None if there is none."""
        if self.fresh:
            self.admission = self._admission(self.make())
        start = self.offset
        end = json.loads(json.dumps(self.admission.next(start, 1, limits=limits)))
        if end == start:
            return None
        found = self._read(self.admission, start, end, pieces)
        # A batch that is run again by another process is the same batch.
        again = self._read(self._admission(self.make()), start, end, 1)
        assert found == again
        keys = [key for key, _ in found[0]]
        assert all(start["number"] < key < end["number"] for key in keys) and len(set(keys)) == len(keys)
        self.offset = end
        self.rejects += found[1]
        self.batches.append(len(keys))
        return [row for _, row in sorted(found[0])]

    def _read(self, admission: Admission, start: Any, end: Any, pieces: int) -> tuple[Any, Any]:
        rows, rejects = [], []
        inputs = admission.sources
        for index, (name, source) in enumerate(inputs.items()):
            low, high = start["inputs"][name], end["inputs"][name]
            for piece in source.pieces(low, high, pieces):
                portion = piece.read(Schema.parse(SCHEMA))
                if portion.order is not None:
                    keys = arrival_numbers(start["number"], portion.order, 0, 1)
                else:
                    keys = arrival_numbers(start["number"], portion.numbers - low["row"], index, len(inputs))
                told = [
                    tuple(row.values())[:3] for row in portion.rows.select(["t", "input", "n"]).to_pylist()
                ]
                rows += list(zip(keys.tolist(), told, strict=True))
                rejects += [(name, bad) for bad in portion.rejects]
        return sorted(rows, key=lambda row: row[0]), sorted(rejects, key=lambda bad: (bad[0], bad[1].line))

    def drain(self) -> Rows:
        found: Rows = []
        while not self.offset["end"] and (rows := self.batch()) is not None:
            found += rows
        return found


def ascending(values: Values) -> Values:
    """The same numbers in order, with the gaps where they are."""
    numbers = iter(sorted(value for value in values if value is not None))
    return [None if value is None else next(numbers) for value in values]


VALUES = st.lists(st.one_of(st.integers(-3, 6), st.none()), max_size=12).map(ascending)


def in_memory(network: Network, inputs: list[Values]) -> dict[str, Source]:
    sources = {f"in{n}": Memory.of(SCHEMA, rows) for n, rows in enumerate(rows_of(inputs))}
    return put_in_order(network, sources)


@settings(max_examples=examples(40, 1000), deadline=None)
@given(st.lists(VALUES, min_size=1, max_size=4), st.integers(1, 9), st.booleans())
def test_rows_arrive_as_a_sort_has_them(inputs: list[Values], rows: int, fresh: bool) -> None:
    network = network_of([True] * len(inputs))
    driver = Driver(lambda: in_memory(network, inputs), rows, fresh)
    assert driver.drain() == merged(inputs)
    assert driver.offset["end"] and not driver.rejects
    assert all(count == rows for count in driver.batches[:-2]), "a batch takes what it may"


@settings(max_examples=examples(20, 500), deadline=None)
@given(st.lists(st.tuples(VALUES, st.booleans()), min_size=1, max_size=4), st.integers(1, 9), st.booleans())
def test_inputs_without_an_order_take_turns_with_the_others(
    given: list[tuple[Values, bool]], rows: int, fresh: bool
) -> None:
    inputs, orders = [values for values, _ in given], [ordered for _, ordered in given]
    network = network_of(orders)
    turns: list[Rows] = []
    together = [number for number, ordered in enumerate(orders) if ordered]
    for number, values in enumerate(inputs):
        if not orders[number]:
            turns.append([(t, number, n) for n, t in enumerate(values)])
        elif number == together[0]:
            chosen = [own if ordered else [] for own, ordered in given]
            turns.append(merged(chosen))
    longest = max(map(len, turns), default=0)
    wanted = [own[at] for at in range(longest) for own in turns if at < len(own)]
    assert Driver(lambda: in_memory(network, inputs), rows, fresh).drain() == wanted


def write(path: Path, rows: list[dict[str, Any]], style: str) -> str:
    if style == "parquet":
        table = pa.Table.from_pylist(rows, Schema.parse(SCHEMA).arrow())
        pa.parquet.write_table(table, path, row_group_size=3)
        return f"parquet:{path}"
    if style == "json":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return f"json:{path}"
    lines = [f"{'' if row['t'] is None else row['t']},{row['input']},{row['n']}\n" for row in rows]
    path.write_text("".join(["t,input,n\n", *lines]))
    return f"csv:{path}"


def opened(
    network: Network, addresses: dict[str, str], notes: Path, follow: bool = False
) -> dict[str, Source]:
    notes.mkdir(exist_ok=True, parents=True)
    schema = Schema.parse(SCHEMA)
    return put_in_order(
        network, {name: open_source(name, at, schema, follow, notes)[0] for name, at in addresses.items()}
    )


@pytest.mark.parametrize("rows", [1, 3, 100])
@pytest.mark.parametrize("fresh", [False, True])
def test_files_of_all_kinds(rows: int, fresh: bool, tmp_path: Path) -> None:
    inputs: list[Values] = [[1, 4, 4, 9], [0, None, 4, 5], [], [2, 3, 4, 4, 11, 12]]
    told = rows_of(inputs)
    places = {}
    for number, style in enumerate(("csv", "json", "csv", "parquet")):
        places[f"in{number}"] = write(tmp_path / f"{number}.{style}", told[number], style)
    # A folder whose first file ends in the middle.
    folder = tmp_path / "folder"
    folder.mkdir()
    write(folder / "a.csv", told[3][:3], "csv")
    write(folder / "b.csv", [], "csv")
    write(folder / "c.csv", told[3][3:], "csv")
    network = network_of([True] * 4)
    for address in (places["in3"], f"csv:{folder}"):
        addresses = {**places, "in3": address}
        notes = tmp_path / f"notes-{address.partition(':')[0]}"
        driver = Driver(lambda at=addresses, to=notes: opened(network, at, to), rows, fresh)  # type: ignore[misc]
        assert driver.drain() == merged(inputs)
        assert driver.offset["end"]


def test_a_row_that_cannot_be_read_stands_with_the_one_before_it(tmp_path: Path) -> None:
    network = network_of([True, True])
    (tmp_path / "0.csv").write_text("t,input,n\n1,0,0\nx,0,1\n8,0,2\n")
    (tmp_path / "1.csv").write_text("t,input,n\n2,1,0\n3,1,y\n9,1,2\n")
    addresses = {f"in{n}": f"csv:{tmp_path}/{n}.csv" for n in (0, 1)}
    for rows in (1, 2, 9):
        driver = Driver(lambda: opened(network, addresses, tmp_path / "notes"), rows)
        assert driver.drain() == [(1, 0, 0), (2, 1, 0), (8, 0, 2), (9, 1, 2)]
        assert [(name, bad.line) for name, bad in driver.rejects] == [("in0", 3), ("in1", 3)]


def test_a_stored_file_that_is_not_in_order_is_refused(tmp_path: Path) -> None:
    network = network_of([True, True])
    places = {
        "in0": write(tmp_path / "0.csv", rows_of([[1, 5, 3]])[0], "csv"),
        "in1": write(tmp_path / "1.csv", rows_of([[2]])[0], "csv"),
    }
    with pytest.raises(AuroraError) as fault:
        Driver(lambda: opened(network, places, tmp_path / "notes")).drain()
    assert str(fault.value) == (
        "input in0 is not in the order of t: line 4 of 0.csv has 3 after 5; sort it first, or leave order out"
    )
    with pytest.raises(AuroraError, match=r"input in0 is not in the order of t: line 3 of in0 has 3 after 5"):
        Driver(lambda: in_memory(network, [[1, 5, 3], [2]])).drain()


class Growing:
    """A live source whose rows come when a test says so."""

    live = True

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows
        self.over = False

    def begin(self) -> dict[str, Any]:
        return {"row": 0}

    def advance(self, cursor: dict[str, Any], rows: int) -> dict[str, Any]:
        return {"row": min(cursor["row"] + rows, len(self.rows))}

    def finished(self, cursor: dict[str, Any]) -> bool:
        return self.over and cursor["row"] == len(self.rows)

    def pieces(self, start: dict[str, Any], end: dict[str, Any], number: int) -> list[Any]:
        return Memory.of(SCHEMA, self.rows).pieces(start, end, number)  # type: ignore[return-value]

    def give(self, *values: int) -> None:
        self.rows += [{"t": t, "input": 1, "n": len(self.rows) + n} for n, t in enumerate(values)]


class Live:
    """A stored input and a live one, with a clock of their own."""

    def __init__(self, stored: Values, idle: str | None, fresh: bool = False, rows: int = 100) -> None:
        self.network = network_of([True, True], idle)
        self.stored = Memory.of(SCHEMA, rows_of([stored])[0])
        self.growing = Growing([])
        self.now = 0
        self.driver = Driver(self._sources, rows, fresh)
        # Spark makes it whether there are rows or not.
        assert self.given() == []

    def _sources(self) -> dict[str, Source]:
        sources = put_in_order(self.network, {"in0": self.stored, "in1": self.growing})
        for source in sources.values():
            assert isinstance(source, InOrder)
            source.merged.clock = lambda: self.now
        return sources

    def given(self, seconds: int = 0, **more: Any) -> list[int | None]:
        self.now += 1000 * seconds
        found: list[int | None] = []
        while (rows := self.driver.batch(**more)) is not None:
            found += [t for t, _, _ in rows]
            if self.driver.offset["batch"] == 1 or self.driver.offset["end"]:
                break
        return found


@pytest.mark.parametrize("rows", [1, 2, 100])
@pytest.mark.parametrize("fresh", [False, True])
def test_a_live_input_holds_the_others_until_it_has_passed(rows: int, fresh: bool) -> None:
    live = Live([1, 3, 3, 5, 9], None, fresh, rows)
    assert live.given(10**6) == []
    live.growing.give(2, 3)
    # Of equal values, those of the input that is declared first come first.
    assert live.given() == [1, 2, 3, 3, 3]
    live.growing.give(4)
    assert live.given() == [4]
    live.growing.give(9, 12)
    assert live.given() == [5, 9, 9, 12]
    live.growing.give(14)
    live.growing.over = True
    assert live.given() == [14] and live.driver.offset["end"] and not live.driver.rejects


def test_who_holds_up_the_others_is_told(still: StillClock, caplog: pytest.LogCaptureFixture) -> None:
    live = Live([1, 3], None)
    assert live.given() == []
    still.move(5)
    told = "input in1 gives no row, and in0 must not run ahead of its t"
    assert [wait.what for wait in waits.lasting()] == [told]
    assert caplog.messages == [f"{told}; their rows wait for it; idle: 10s there would set a limit"]
    live.growing.give(7)
    assert live.given() == [1, 3, 7]
    assert waits.lasting() == [] and caplog.messages[1:] == ["input in1 holds up no other any more"]
    still.move(60)
    assert live.given() == [] and waits.lasting() == [], "nobody waits"


@pytest.mark.parametrize("rows", [1, 100])
def test_a_silent_input_is_waited_for_no_longer_than_it_says(rows: int) -> None:
    live = Live([1, 3, 5, 9], "10s", rows=rows)
    live.growing.give(2)
    assert live.given(8) == [1, 2]
    assert live.given(9) == []
    live.growing.give(4)
    assert live.given() == [3, 4], "it was not silent for so long"
    assert live.given(10) == [5, 9], "now it was"
    live.growing.give(6, 9, 8, 11)
    assert live.given() == [9, 11]
    assert [(name, bad.line, bad.reason) for name, bad in live.driver.rejects] == [
        ("in1", 3, "t 6 comes after 9, and the input is in the order of t"),
        ("in1", 5, "t 8 comes after 9, and the input is in the order of t"),
    ]


@settings(max_examples=examples(25, 600), deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=5),
    VALUES,
    st.integers(1, 5),
    st.integers(1, 5),
    st.booleans(),
)
def test_the_cut_does_not_matter_to_what_a_live_input_gives(
    arrivals: list[list[int]], stored: Values, one: int, other: int, fresh: bool
) -> None:
    """What it gives is in order or rejected, and with the rest it is the sort of both."""
    ran = []
    for rows in (one, other):
        live = Live(stored, None, fresh, rows)
        found: list[int | None] = []
        for values in arrivals:
            live.growing.give(*values)
            found += live.given()
        live.growing.over = True
        ran.append((found + live.given(), [bad for _, bad in live.driver.rejects]))
    assert ran[0] == ran[1]
    flat = [value for values in arrivals for value in values]
    good = [value for at, value in enumerate(flat) if value >= max(flat[:at], default=0)]
    assert ran[0][0] == [t for t, _, _ in merged([stored, good])]
    assert len(ran[0][1]) == len(flat) - len(good)


def test_a_run_of_what_is_there_now_stops_where_a_live_input_does() -> None:
    live = Live([1, 3, 5, 9], None, rows=1)
    live.growing.give(4)
    limits = live.driver.admission.find_limits(live.driver.offset["inputs"])
    assert limits == {"in0": 2, "in1": 1}
    live.growing.give(7)
    assert live.given(limits=limits) == [1, 3, 4]


def test_a_followed_file(tmp_path: Path) -> None:
    network = network_of([True, True])
    places = {
        "in0": write(tmp_path / "0.csv", rows_of([[1, 4]])[0], "csv"),
        "in1": write(tmp_path / "1.csv", rows_of([[], [2]])[1], "csv"),
    }
    driver = Driver(lambda: opened(network, places, tmp_path / "notes", True), fresh=True)
    assert driver.batch() == [(1, 0, 0), (2, 1, 0)]
    assert driver.batch() is None
    with open(tmp_path / "1.csv", "a") as file:
        file.write("5,1,1\n3,1,2\n")
    assert driver.batch() == [(4, 0, 1)]
    with open(tmp_path / "0.csv", "a") as file:
        file.write("6,0,2\n")
    assert driver.batch() == [(5, 1, 1)]
    assert [(name, bad.file, bad.line, bad.text) for name, bad in driver.rejects] == [
        ("in1", "1.csv", 4, "3,1,2")
    ]


def test_a_source_that_cannot_stop_at_any_row_is_refused() -> None:
    timed = Memory.timed(SCHEMA, [(5, [{"t": 1, "input": 0, "n": 0}])])
    with pytest.raises(
        AuroraError, match=r"input in0: order: t: the rows of a virtual clock come when it says; le"
    ):
        put_in_order(network_of([True]), {"in0": timed})
    with pytest.raises(AuroraError, match="the rows of a virtual clock"):
        put_in_order(network_of([True]), {"in0": PacedSource(timed, 5)})
    assert why_uncut(Memory.of(SCHEMA, []), {"row": 0}) == ""
    address = read_kafka("source in0", "kafka:127.0.0.1:9092/t", SOURCE_OPTIONS)
    for partitions, told in ((1, ""), (2, "topic t has 2 partitions, which have no common order")):
        topic = KafkaTopic(address, Schema.parse(SCHEMA), tuple((n, 0) for n in range(partitions)), None)
        assert why_uncut(topic, topic.begin()) == told


class Many(Growing):
    """It gives more than it is asked for."""

    def advance(self, cursor: dict[str, Any], rows: int) -> dict[str, Any]:
        return {"row": len(self.rows)}


def test_a_source_that_gives_too_many_rows_is_refused() -> None:
    source = Many([])
    source.give(1, 7)
    network = network_of([True, True])
    driver = Driver(
        lambda: put_in_order(network, {"in0": Memory.of(SCHEMA, rows_of([[4, 9]])[0]), "in1": source}), 2
    )
    with pytest.raises(AuroraError, match="input in1: order: its source gave 2 rows where 1 were asked for"):
        driver.drain()


class Few(Growing):
    """It gives one row at a time, however many are there."""

    live = False

    def advance(self, cursor: dict[str, Any], rows: int) -> dict[str, Any]:
        return {"row": min(cursor["row"] + 1, len(self.rows))}


def test_a_source_may_give_fewer_rows_than_it_has() -> None:
    source = Few([])
    source.give(1, 2, 3, 7, 8)
    source.over = True
    network = network_of([True, True])
    for rows in (1, 3, 100):
        for fresh in (False, True):
            driver = Driver(
                lambda: put_in_order(
                    network, {"in0": Memory.of(SCHEMA, rows_of([[0, 2, 7, 7, 9]])[0]), "in1": source}
                ),
                rows,
                fresh,
            )
            assert [t for t, _, _ in driver.drain()] == [0, 1, 2, 2, 3, 7, 7, 7, 8, 9]


def test_a_dense_input_is_not_read_ahead_for_ever_beside_a_sparse_one() -> None:
    network = network_of([True, True])
    dense = Growing([])
    dense.give(*range(5000))
    dense.over = True
    sources = put_in_order(network, {"in0": Memory.of(SCHEMA, rows_of([[0, 4000]])[0]), "in1": dense})
    driver = Driver(lambda: sources, rows=10)
    assert len(driver.batch() or []) == 10
    (merged_,) = {id(source.merged): source.merged for source in sources.values()}.values()  # type: ignore[attr-defined]
    assert sum(len(known.keys) for known in merged_._ahead.values()) < 30


def test_the_field_need_not_be_read_by_the_network(tmp_path: Path) -> None:
    """Where rows stand and which are late was found when the batch was made."""
    network = network_of([True, True])
    places = {
        "in0": write(tmp_path / "0.csv", rows_of([[1, 6]])[0], "csv"),
        "in1": write(tmp_path / "1.csv", rows_of([[], [2, 5, 3, 7]])[1], "csv"),
    }
    driver = Driver(lambda: opened(network, places, tmp_path / "notes", True))
    start = driver.offset
    end = driver.admission.next(start, 1)
    found = []
    for name, source in driver.admission.sources.items():
        for piece in source.pieces(start["inputs"][name], end["inputs"][name], 2):
            portion = piece.read(Schema.parse("n int"))
            assert portion.order is not None
            found += [
                (order, name, n)
                for order, n in zip(portion.order, portion.rows.column("n").to_pylist(), strict=True)
            ]
            driver.rejects += [(name, bad) for bad in portion.rejects]
    # A position for the row that is left out, and two inputs that take turns.
    assert sorted(found) == [(0, "in0", 0), (2, "in1", 0), (4, "in1", 1), (8, "in0", 1)]
    assert [(bad.line, bad.reason) for _, bad in driver.rejects] == [
        (4, "t 3 comes after 5, and the input is in the order of t")
    ]


@pytest.mark.parametrize("new", ["7,1,0\n8,1,1\n9,1,2\n", "2,1,0\n8,1,1\n9,1,2\n11,1,3\n"])
@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("grown", [False, True])
def test_a_followed_file_that_is_replaced_while_its_rows_wait_for_others(
    new: str, fresh: bool, grown: bool, tmp_path: Path
) -> None:
    """The rows of the new file are merged by their own values, not by those that were known of the old one."""
    network = network_of([True, True])
    places = {
        "in0": write(tmp_path / "0.csv", rows_of([[1, 2]])[0], "csv"),
        "in1": write(tmp_path / "1.csv", rows_of([[], [0, 3, 4, 5]])[1], "csv"),
    }
    driver = Driver(lambda: opened(network, places, tmp_path / "notes", True), fresh=fresh)
    assert driver.batch() == [(0, 1, 0), (1, 0, 0), (2, 0, 1)]
    others = [4, 6, 10] if grown else [4]
    with open(tmp_path / "0.csv", "a") as file:
        file.writelines(f"{t},0,{n}\n" for n, t in enumerate(others, 2))
    (tmp_path / "new.csv").write_text(f"t,input,n\n{new}")
    (tmp_path / "new.csv").replace(tmp_path / "1.csv")
    found = driver.drain()
    rows = [tuple(map(int, line.split(","))) for line in new.split()]
    known = sorted([*rows, *((t, 0, n) for n, t in enumerate(others, 2))])
    least = min(others[-1], rows[-1][0])
    assert found == [row for row in known if row[0] <= least] and not driver.rejects
