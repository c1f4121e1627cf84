"""Stored sets: built once, in bounded memory, complete or not at all; and what a run makes of them."""

import gzip
import json
import os
import pickle
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from aurora import AuroraError, Settings, from_text
from aurora.algebra.tuples.schema import Schema
from aurora.engine.plan.plan import plan_network
from aurora.history import stored as building
from aurora.history.keyed_rows import StoredSet
from aurora.history.prepare import prepare_stored
from aurora.history.stored import store_by_key
from tests.engine.without_spark import run_here

PEOPLE = Schema.parse("Sid int, Name string")
ROWS = [{"Sid": number % 7 if number % 11 else None, "Name": f"n{number}"} for number in range(100)]


def write_csv(path: Path, rows: list[dict[str, Any]] = ROWS) -> str:
    lines = [f"{'' if row['Sid'] is None else row['Sid']},{row['Name']}\n" for row in rows]
    path.write_text("Sid,Name\n" + "".join(lines))
    return f"csv:{path}"


def write_all(folder: Path) -> list[str]:
    """The same rows in every form, as a file or a folder."""
    table = pa.Table.from_pylist(ROWS, PEOPLE.arrow())
    pyarrow.parquet.write_table(table, folder / "p.parquet", row_group_size=17)
    (folder / "parts").mkdir()
    for part, start in enumerate((0, 30, 31)):
        rows = table.slice(start, (30, 1, 100)[part])
        pyarrow.parquet.write_table(rows, folder / "parts" / f"{part}.parquet")
    (folder / "p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    with sqlite3.connect(folder / "p.db") as database:
        database.execute("CREATE TABLE people (Name text, Sid int)")
        database.executemany("INSERT INTO people VALUES (:Name, :Sid)", ROWS)
    database.close()
    forms = ["parquet:p.parquet", "parquet:parts", "json:p.jsonl", "sqlite:p.db?table=people"]
    own = [f"{form.split(':')[0]}:{folder}/{form.split(':')[1]}" for form in forms]
    plain = write_csv(folder / "p.csv")
    (folder / "packed.csv.gz").write_bytes(gzip.compress((folder / "p.csv").read_bytes()))
    return [*own, plain, f"csv:{folder}/packed.csv.gz"]


def wanted(*sids: int) -> list[tuple[int, str]]:
    return [(number, row["Name"]) for number, row in enumerate(ROWS) if row["Sid"] in sids]


def fetched(held: StoredSet, *sids: int) -> list[tuple[int, str]]:
    rows, places = held.fetch(pa.record_batch({"Sid": pa.array(sids, pa.int64())}))
    return list(zip(places.tolist(), rows.column("Name").to_pylist(), strict=True))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "GROUP", 10)
    monkeypatch.setattr(building, "RUN", 25)


def test_the_same_rows_are_the_same_set_whatever_they_came_from(tmp_path: Path, small: None) -> None:
    marks = set()
    for address in write_all(tmp_path):
        held = store_by_key("people", address, PEOPLE, ("Sid",), tmp_path / "stored")
        assert held.rows == 100 and fetched(held, 2, 5) == wanted(2, 5) and fetched(held, 99) == []
        assert held.read().to_pylist() == ROWS and held.size > 0
        marks.add(held.identity())
    assert len(marks) == 1


def test_memory_is_bounded_by_the_length_of_a_chunk(
    tmp_path: Path, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    steadily = building.read_all_rows

    def watched(what: str, source: Any, schema: Schema, rows: int) -> Iterator[pa.RecordBatch]:
        for batch in steadily(what, source, schema, rows):
            read.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(building, "read_all_rows", watched)
    told: list[tuple[str, int]] = []
    for address in write_all(tmp_path):
        read.clear()
        told.clear()
        folder = tmp_path / "stored" / str(len(address))
        held = store_by_key("people", address, PEOPLE, ("Sid",), folder, lambda *so: told.append(so))
        assert max(read) <= 10 and sum(read) == 100
        assert told == [("people", rows) for rows in range(10, 101, 10)]
        with pa.memory_map(f"{held.path}/rows.arrow") as data, pa.ipc.open_file(data) as file:
            assert [file.get_batch(i).num_rows for i in range(file.num_record_batches)] == [10] * 10
        assert held.starts == (0, 20, 40, 60, 80)
        runs = [np.load(f"{held.path}/hashes-{run}.npy") for run in range(5)]
        assert all(0 < len(run) <= 20 and (np.diff(run.astype(float)) >= 0).all() for run in runs)


@pytest.mark.parametrize("rows", [[], [{"Sid": None, "Name": "x"}] * 3])
def test_a_set_without_keys(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    held = store_by_key("people", write_csv(tmp_path / "p.csv", rows), PEOPLE, ("Sid",), tmp_path / "stored")
    assert held.rows == len(rows) and held.starts == () and fetched(held, 1) == []
    assert held.fetch(pa.record_batch({"Sid": pa.array([], pa.int32())}))[0].schema == PEOPLE.arrow()


def test_what_is_there_is_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address, folder = write_csv(tmp_path / "p.csv"), tmp_path / "stored"
    first = store_by_key("people", address, PEOPLE, ("Sid",), folder)
    with monkeypatch.context() as patch:
        patch.setattr(building, "read_all_rows", None)
        assert store_by_key("people", address, PEOPLE, ("Sid",), folder) == first
    os.utime(tmp_path / "p.csv", ns=(1, 1))
    assert store_by_key("people", address, PEOPLE, ("Sid",), folder) == first
    write_csv(tmp_path / "p.csv", ROWS[:-1])
    other = store_by_key("people", address, PEOPLE, ("Sid",), folder)
    assert other.identity() != first.identity() and other.rows == 99
    by_name = store_by_key("people", address, PEOPLE, ("Name",), folder)
    assert by_name.key == ("Name",) and by_name.identity() == other.identity()
    found, places = by_name.fetch(pa.record_batch({"Name": ["n7", "n3", "none"]}))
    assert places.tolist() == [3, 7] and found.column("Name").to_pylist() == ["n3", "n7"]
    assert [path.name for path in folder.iterdir()] == [Path(by_name.path).name]


def test_a_build_that_fails_leaves_nothing(
    tmp_path: Path, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, folder = write_csv(tmp_path / "p.csv"), tmp_path / "stored"

    def fails(name: str, rows: int) -> None:
        if rows == 30:
            raise OSError(28, "No space left on device")

    with pytest.raises(AuroraError, match=r"cannot write \S+stored: No space left on device; fix the cause"):
        store_by_key("people", address, PEOPLE, ("Sid",), folder, fails)
    assert list(folder.iterdir()) == []

    def changes(name: str, rows: int) -> None:
        os.utime(tmp_path / "p.csv", ns=(rows, rows))

    with pytest.raises(AuroraError, match=r"stored set people: \S+p.csv was changed while it was read"):
        store_by_key("people", address, PEOPLE, ("Sid",), folder, changes)
    assert list(folder.iterdir()) == []


KILLED = """
import os, sys
from pathlib import Path
from aurora.algebra.tuples.schema import Schema
from aurora.history import stored
stored.GROUP, stored.RUN = 10, 25
def kill(name, rows):
    if rows == 50:
        os._exit(9)
stored.store_by_key("people", sys.argv[1], Schema.parse("Sid int, Name string"), ("Sid",), Path(sys.argv[2]), kill)
"""


def test_a_killed_build_is_begun_anew(tmp_path: Path, small: None) -> None:
    address, folder = write_csv(tmp_path / "p.csv"), tmp_path / "stored"
    killed = subprocess.run([sys.executable, "-c", KILLED, address, str(folder)], check=False)
    assert killed.returncode == 9
    assert [path.name for path in folder.iterdir() if path.is_dir()] == ["people.partial"]
    held = store_by_key("people", address, PEOPLE, ("Sid",), folder)
    assert fetched(held, 3) == wanted(3)
    assert [path.name for path in folder.iterdir()] == [Path(held.path).name]


def test_a_set_that_is_half_removed_is_none(tmp_path: Path) -> None:
    address, folder = write_csv(tmp_path / "p.csv"), tmp_path / "stored"
    first = store_by_key("people", address, PEOPLE, ("Sid",), folder)
    (Path(first.path) / "note.json").unlink()
    (Path(first.path) / "rows.arrow").unlink()
    assert store_by_key("people", address, PEOPLE, ("Sid",), folder) == first
    assert (Path(first.path) / "rows.arrow").exists()


def test_a_bad_row_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("Sid,Name\n1,Ann\nx,Bo\n")
    pyarrow.parquet.write_table(pa.table({"Sid": [1, 2**40], "Name": ["a", "b"]}), tmp_path / "bad.parquet")
    pyarrow.parquet.write_table(pa.table({"Name": ["a", "b"]}), tmp_path / "less.parquet")
    with sqlite3.connect(tmp_path / "bad.db") as database:
        database.execute("CREATE TABLE people (Sid, Name)")
        database.executemany("INSERT INTO people VALUES (?, ?)", [(1, "Ann"), ("x", "Bo")])
    database.close()
    for address, reason in {
        "csv:{}/bad.csv": "bad.csv, line 3: field Sid: 'x' is not an int",
        "parquet:{}/bad.parquet": "bad.parquet, line 2: field Sid: '1099511627776' is not an int",
        "parquet:{}/less.parquet": "less.parquet: has no field Sid",
        "sqlite:{}/bad.db?table=people": "bad.db, line 2: field Sid: 'x' is not an int",
    }.items():
        with pytest.raises(AuroraError) as caught:
            store_by_key("people", address.format(tmp_path), PEOPLE, ("Sid",), tmp_path / "stored")
        assert str(caught.value).startswith(f"stored set people: {reason}")
    assert list((tmp_path / "stored").iterdir()) == []


def test_what_cannot_be_stored(tmp_path: Path) -> None:
    address, folder = write_csv(tmp_path / "p.csv"), tmp_path / "stored"
    for given, key, reason in (
        (address, (), "stored set people: it cannot be stored by key, because it has none"),
        (address, ("Zid",), r"stored set people: key Zid: no such field \(did you mean Sid\?\)"),
        (
            "tcp:localhost:1",
            ("Sid",),
            "stored set people: tcp:localhost:1 can be read only once; give a file",
        ),
        (f"csv:{tmp_path}/no.csv", ("Sid",), r"source people: there is no \S+no.csv"),
    ):
        with pytest.raises(AuroraError, match=reason):
            store_by_key("people", given, PEOPLE, key, folder)


NETWORK = """
network: names
inputs:
  reports: {schema: "Sid int, Time int"}
  everybody: {point: people}
boxes:
  named: {join: "PREDICATE", left: reports, right: people, outer: left}
  some: {filter: ["Sid = 3"], from: everybody}
points:
  people: {stored: "csv:people.csv", key: [Sid], schema: "Sid int, Name string"}
outputs:
  named: {from: named}
  some: {from: some}
"""
EQUAL = "left.Sid = right.Sid AND left.Time < 3"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "people.csv", [{"Sid": sid, "Name": name} for sid, name in ((1, "Ann"), (2, "Bo"))])
    (tmp_path / "reports.csv").write_text("Sid,Time\n2,1\n1,2\n1,3\n4,1\n")
    return tmp_path


def ran(predicate: str, **settings: Any) -> str:
    network = from_text(NETWORK.replace("PREDICATE", predicate))
    sources = prepare_stored(network, {"reports": "csv:reports.csv"}, "stored")
    assert isinstance(sources["people"], StoredSet) and sources["everybody"] == "csv:people.csv"
    run_here(network, sources, {"named": "csv:out/named.csv"}, Settings(partitions=1, **settings))
    return Path("out/named.csv").read_text()


NAMED = "Sid,Time,Sid_right,Name\n2,1,2,Bo\n1,2,1,Ann\n1,3,,\n4,1,,\n"


def test_a_run(desk: Path) -> None:
    assert ran(EQUAL) == NAMED


def test_a_small_set_is_read_whole_where_its_key_is_not_asked_for(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = "left.Sid + 0 = right.Sid AND left.Time < 3"
    assert ran(other) == NAMED
    monkeypatch.setattr("aurora.engine.plan.tables.MOST_TABLE_BYTES", 1)
    assert ran(EQUAL, fresh=True) == NAMED
    with pytest.raises(AuroraError) as caught:
        ran(other, fresh=True)
    assert str(caught.value).startswith(
        "box named: the predicate does not compare the whole key (Sid) of the stored set people with fields of the "
        "stream, and at 0 MB the set is too large to be read whole (0 MB at most): compare each field of the key with ="
    )


def test_a_run_does_not_go_on_with_another_set(desk: Path) -> None:
    ran(EQUAL, checkpoint="notes")
    with open("people.csv", "a") as file:
        file.write("4,Cy\n")
    with pytest.raises(AuroraError, match="notes is the checkpoint of a run with another table people"):
        ran(EQUAL, checkpoint="notes")
    assert "4,1,4,Cy" in ran(EQUAL, checkpoint="notes", fresh=True)


def test_a_sink_does_not_write_where_a_set_lies(desk: Path) -> None:
    network = from_text(NETWORK.replace("PREDICATE", EQUAL))
    sources = prepare_stored(network, {"reports": "csv:reports.csv"}, "stored")
    with pytest.raises(AuroraError, match="table people reads"):
        run_here(network, sources, {"named": "csv:people.csv"})
    with pytest.raises(AuroraError, match="a set that is stored by key is a table; give its address"):
        run_here(network, {**sources, "reports": sources["people"]}, {"named": "csv:out/named.csv"})


def test_what_travels_is_a_path(desk: Path) -> None:
    network = from_text(NETWORK.replace("PREDICATE", EQUAL))
    sources = prepare_stored(network, {}, "stored")
    plan = plan_network(network).with_tables({"people": sources["people"]})
    packed = pickle.dumps(plan)
    assert b"Ann" not in packed and sources["people"].path.encode() in packed
    assert pickle.loads(packed).fingerprint() == plan.fingerprint()


def test_only_sets_that_are_pulled_are_built(desk: Path) -> None:
    pushed = NETWORK.replace("PREDICATE", EQUAL).replace("  named: {join", "  # {join")
    pushed = pushed.replace("  named: {from: named}\n", "")
    network = from_text(pushed)
    sources = prepare_stored(network, {"reports": "csv:reports.csv"}, "stored")
    assert sources["people"] == "csv:people.csv" and not Path("stored").exists()
    run_here(network, sources, {"some": "csv:some.csv"})
    assert Path("some.csv").read_text() == "Sid,Name\n"
    keyless = from_text(NETWORK.replace("PREDICATE", EQUAL).replace("key: [Sid], ", ""))
    assert prepare_stored(keyless, {}, "stored")["people"] == "csv:people.csv"


def test_a_given_source_and_the_sets_of_another_network(desk: Path) -> None:
    network = from_text(NETWORK.replace("PREDICATE", EQUAL))
    write_csv(desk / "other.csv", [{"Sid": 4, "Name": "Cy"}])
    sources = prepare_stored(network, {"people": "csv:other.csv"}, "stored")
    assert sources["people"].rows == 1
    query = from_text(
        """
inputs:
  reports: {schema: "Sid int, Time int"}
  who: {point: people, static: true}
boxes: {named: {join: "left.Sid = right.Sid", left: reports, right: who}}
outputs: {named: named}
""",
        points=network.point_schemas(),
    )
    own = network.inputs["people"].stored
    assert own is not None
    pulled = prepare_stored(query, {}, "query", points={"people": own})["who"]
    assert pulled.rows == 2 and pulled.key == ("Sid",)


def test_a_set_that_is_gone(tmp_path: Path) -> None:
    gone = StoredSet(str(tmp_path / "gone"), ("Sid",), 1, 1, 1, (0,), "")
    with pytest.raises(AuroraError, match=r"the stored set in \S+gone cannot be read: .*every worker needs"):
        fetched(gone, 1)
