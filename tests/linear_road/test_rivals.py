"""The relational systems give the answers of the plain rules, however the seconds come together."""

import os
import re
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path

import pytest

from aurora.errors import AuroraError
from aurora.linear_road.delivery import delivered_seconds
from aurora.linear_road.drive import FolderReceiver, drive
from aurora.linear_road.reading import survey
from aurora.linear_road.rivals import server, systems
from aurora.linear_road.rivals.duck import DuckDatabase
from aurora.linear_road.rivals.feed import drive_in_real_time
from aurora.linear_road.rivals.lines import mend, plain
from aurora.linear_road.rivals.postgres import PostgresDatabase
from aurora.linear_road.rivals.procedure import Arrival
from aurora.linear_road.rivals.systems import Input, Relational, Telling
from tests.linear_road.test_validate import write, write_histories
from tests.linear_road.traffic import Traffic, corner_cases, crowd, histories
from tests.spec import linear_road as spec


class Delivered:
    """Seconds from a folder, on a virtual clock: each look at nothing takes `step` seconds, each batch `work`."""

    def __init__(self, folder, step, work):
        self.folder, self.step, self.work = folder, step, work
        self.time = 0.0
        self.last = delivered_seconds(folder)[-1]

    def now(self):
        return self.time

    def waiting(self):
        return [
            Arrival(second, self.folder / f"second-{second:06d}.csv")
            for second in delivered_seconds(self.folder)
            if second <= self.time
        ]

    def let_go(self, arrival):
        arrival.file.unlink()
        self.time += self.work

    def over(self):
        return self.time >= self.last

    def nap(self):
        self.time += self.step


def on_virtual_clock(step, work=0.0):
    @contextmanager
    def driver(data, found, replicate, scratch):
        now = 0.0

        def sleep(seconds):
            nonlocal now
            now += seconds

        drive(
            data, FolderReceiver(scratch / "delivered"), replicate=replicate, clock=lambda: now, sleep=sleep
        )
        yield Delivered(scratch / "delivered", step, work)

    return driver


@pytest.fixture(scope="module")
def installed():
    """PostgreSQL, which `make test` installs where it may."""
    if server.find_server() is None:
        pytest.skip(
            "no PostgreSQL server on this machine: install it, or let scripts/ensure-postgres do it as root"
        )


@pytest.fixture(scope="module", params=["duckdb", "postgres"])
def database(request):
    """Each system in turn."""
    if request.param == "duckdb":
        yield DuckDatabase()
        return
    request.getfixturevalue("installed")
    with server.running_server() as address:
        database = PostgresDatabase(address)
        yield database
        database.close()


def read_output(path):
    """The answers in an output, as in spec.Answers: keys and values; and the largest response time."""
    answers, responses = defaultdict(dict), []
    for line in path.read_text().splitlines():
        kind, *fields = line.split(",")
        if kind == "0":
            vid, time, emit, lav, toll = fields
            key, value = (int(vid), int(time)), (int(lav), int(toll))
        elif kind == "1":
            time, emit, vid, seg = fields
            key, value = (int(vid), int(time)), int(seg)
        elif kind == "2":
            time, emit, result, qid, balance = fields
            assert result == time
            key, value = int(qid), int(balance)
        elif kind == "3":
            time, emit, qid, balance = fields
            key, value = int(qid), int(balance)
        else:
            time, emit, qid, seconds, toll = fields
            key, value = int(qid), (int(seconds), int(toll))
        assert key not in answers[kind], line
        assert len(emit.partition(".")[2]) == 3
        answers[kind][key] = value
        responses.append(float(emit) - int(time))
    return answers, responses


def answered_right(answers, right):
    assert answers["0"] == right.tolls
    assert answers["1"] == right.alerts
    balances = {q.qid: right.balance(q.vid, q.time) for q in right.queries if q.kind == 2}
    assert answers["2"] == balances
    assert answers["3"] == right.expenditures
    assert answers["4"] == right.journeys


def run(database, data, out, step=1.0, work=0.0, **options):
    return Relational(database, on_virtual_clock(step, work)).run(Input(data, **options), out, Telling())


@pytest.mark.parametrize(
    ("traffic", "step"),
    [
        (crowd(1, cars=330, xways=1, seconds=450) + corner_cases(), 31),
        (crowd(3, seconds=80), 1),
        # Cars come twice within a batch.
        (crowd(4, cars=300, seconds=100), 23),
    ],
    ids=["long", "each second", "late"],
)
def test_agrees_with_the_plain_rules(database, traffic, step, tmp_path):
    data = tmp_path / "data"
    xways = sorted({r.xway for r in traffic.reports})
    for xway in xways:
        write(data / f"xway-{xway}.csv", traffic.lines(xway))
    tolls, segments = histories(1, sorted({q.vid for q in traffic.queries}), xways)
    write_histories(data, tolls, segments, "parquet" if step > 1 else "csv")
    right = spec.answers(traffic.reports, traffic.queries, tolls, segments)
    assert right.tolls and right.journeys and any(right.expenditures.values())
    report = run(database, data, tmp_path / "out", step)
    answers, responses = read_output(tmp_path / "out" / "output.csv")
    answered_right(answers, right)
    assert min(responses) >= 0
    assert report.ended
    assert report.tuples == len(traffic.reports) + len(traffic.queries)
    assert report.notes == []
    assert report.responses["tolls"]["answers"] == len(right.tolls)
    assert [path.name for path in (tmp_path / "out").iterdir() if path.name.startswith(".")] == []


def test_copies_share_the_history(database, tmp_path):
    traffic = crowd(5, cars=100, xways=1, seconds=150)
    data = tmp_path / "data"
    write(data / "xway-0.csv", traffic.lines())
    tolls, segments = histories(2, sorted({q.vid for q in traffic.queries}), [0])
    write_histories(data, tolls, segments, "parquet")
    right = spec.answers(traffic.reports, traffic.queries, tolls, segments)
    run(database, data, tmp_path / "out", 5, replicate=3)
    answers, _ = read_output(tmp_path / "out" / "output.csv")
    cars = 10 ** len(str(max(r.vid for r in traffic.reports)))
    queries = 10 ** len(str(max(q.qid for q in traffic.queries)))
    for kind, expected in (("0", right.tolls), ("3", right.expenditures), ("4", right.journeys)):
        copied = {
            (key[0] + copy * cars, key[1]) if kind == "0" else key + copy * queries: value
            for key, value in expected.items()
            for copy in range(3)
        }
        assert answers[kind] == copied


def test_gaps_without_any_tuple(database, tmp_path):
    """Minutes and half minutes without input: nothing of before is taken for what is 30 s ago."""
    traffic = Traffic()
    for vid in range(60):
        traffic.car(vid, vid % 20, [(10, 0, 5), (10, 1, 15)], feet=10 * vid)
    for start in (75, 130, 195, 290, 700):
        traffic.car(1000 + start, start, [(9, 1, 50), (10, 1, 50), (11, 1, 50)])
    traffic.car(3, 280, [(10, 1, 50)])
    traffic.ask(2, 290, 1195)
    data = write(tmp_path / "data.csv", traffic.lines())
    right = spec.answers(traffic.reports, traffic.queries)
    assert {toll for _, toll in right.tolls.values()} == {0, 200}
    run(database, data, tmp_path / "out")
    answered_right(read_output(tmp_path / "out" / "output.csv")[0], right)


def test_what_is_no_tuple_is_rejected_and_the_rest_answered(database, tmp_path):
    traffic = Traffic()
    traffic.car(1, 0, [(10, 0, 5), (11, 1, 15), (12, 1, 15)])
    good = traffic.lines()
    bad = [
        "0,30,7,101,0,1,0,10,53320,-1,-1,-1,-1,-1,-1",
        "0,30,7,1e1,0,1,0,10,53320,-1,-1,-1,-1,-1,-1",
        "0,30,7,50,0,1,0,11,53320,-1,-1,-1,-1,-1,-1",
        "2,30,7",
        "3,30,7,-1,0,-1,-1,-1,-1,5,-1,-1,-1,-1,70",
        "hello",
    ]
    odd = "2,30,1,x,,-1,-1,-1,-1,9,-1,-1,-1,-1,-1"
    data = write(tmp_path / "data.csv", [good[0], good[1], *bad, odd, good[2]])
    report = run(database, data, tmp_path / "out")
    assert report.rejected == len(bad)
    rejects = (tmp_path / "out" / "rejects.csv").read_text().splitlines()
    assert rejects[1] == (
        'second-000030.csv,2,"Spd out of range: 101, 0..100 expected",'
        '"0,30,7,101,0,1,0,10,53320,-1,-1,-1,-1,-1,-1"'
    )
    assert len(rejects) == 1 + len(bad)
    answers, _ = read_output(tmp_path / "out" / "output.csv")
    assert answers["0"] == spec.answers(traffic.reports, []).tolls
    assert answers["2"] == {9: 0}


def test_a_toll_history_with_two_rows_for_one_key_is_refused(database, tmp_path):
    data = write(tmp_path / "in" / "data.csv", crowd(6, cars=6, seconds=60).lines())
    write(tmp_path / "in" / "toll_history.csv", ["7,1,0,5", "7,2,0,5", "7,1,0,6"])
    with pytest.raises(AuroraError, match="has two rows for car 7, day 1 and expressway 0"):
        run(database, data, tmp_path / "out", history=None)


def test_a_system_that_is_hopelessly_late_gives_up(database, tmp_path, monkeypatch):
    monkeypatch.setattr(systems, "HOPELESS", 20.0)
    data = write(tmp_path / "data.csv", crowd(6, cars=60, seconds=200).lines())
    report = run(database, data, tmp_path / "out", work=3.0)
    assert not report.ended
    assert report.notes[-1].startswith("given up at second ")
    assert report.largest_lag > 20
    assert report.tuples < len(data.read_text().splitlines())


def test_the_real_driver_and_clock(tmp_path):
    traffic = Traffic()
    traffic.car(1, 0, [(10, 0, 5)])
    traffic.car(2, 1, [(11, 0, 5)])
    data = write(tmp_path / "data.csv", traffic.lines())
    report = Relational(DuckDatabase()).run(Input(data), tmp_path / "out", Telling())
    answers, responses = read_output(tmp_path / "out" / "output.csv")
    assert answers["0"] == {(1, 0): (-1, 0), (2, 1): (-1, 0)}
    assert all(0 <= response < 30 for response in responses)
    assert report.ended and report.seconds >= 1


def test_what_stops_the_driver_stops_the_run(tmp_path):
    data = write(tmp_path / "data.csv", crowd(6, cars=5, seconds=100).lines())
    found = survey(data)
    data.unlink()
    with pytest.raises(AuroraError, match="no data at"), drive_in_real_time(data, found, 1, tmp_path):
        pass


def test_lines_that_only_a_database_takes_for_numbers():
    assert plain(b"0,-1,23\n")
    for odd in (b"1e3\n", b"5.0\n", b" 5\n", b'"5"\n', b"+5\n", b"5\r\n"):
        assert not plain(odd), odd


def test_mending_leaves_the_tuples(tmp_path):
    file = write(tmp_path / "second-000001.csv", ["2,1,5,x,,,,,,7,,,,,", "9,1", "2,1, 6,,,,,,,8,,,,,"])
    rejects = mend(file)
    assert [(reject.line, reject.reason) for reject in rejects] == [(2, "2 fields, 15 expected")]
    assert file.read_text() == (
        "2,1,5,-1,-1,-1,-1,-1,-1,7,-1,-1,-1,-1,-1\n2,1,6,-1,-1,-1,-1,-1,-1,8,-1,-1,-1,-1,-1\n"
    )
    assert mend(file) == []


def test_a_server_is_looked_for_on_the_path_and_where_packages_put_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    assert server.find_server(tmp_path) is None
    for version in ("9.6", "15", "14"):
        folder = tmp_path / version / "bin"
        folder.mkdir(parents=True)
        for name in ("postgres", "initdb"):
            (folder / name).touch(0o755)
    assert server.find_server(tmp_path) == tmp_path / "15" / "bin"
    (tmp_path / "15" / "bin" / "initdb").chmod(0o644)
    assert server.find_server(tmp_path) == tmp_path / "14" / "bin"
    monkeypatch.setenv("PATH", str(tmp_path / "9.6" / "bin"))
    assert server.find_server(tmp_path) == tmp_path / "9.6" / "bin"


@pytest.mark.usefixtures("installed")
def test_the_server_goes_with_an_interrupt():
    """Whatever it started and stored is gone; it was reached through a folder of its own."""
    with pytest.raises(KeyboardInterrupt), server.running_server() as address:
        folder = Path(re.search(r"host=(\S+)", address)[1])
        process = int((folder / "data" / "postmaster.pid").read_text().split()[0])
        assert folder.stat().st_mode & 0o077 == 0
        raise KeyboardInterrupt
    assert not folder.exists()
    assert not Path(f"/proc/{process}").exists()


def test_without_a_server_the_user_is_told_what_to_install(monkeypatch):
    monkeypatch.setattr(server, "find_server", lambda: None)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(
        AuroraError, match=r"^no PostgreSQL server on this machine [^\n]*apt-get install postgresql"
    ):
        server.running_server().__enter__()


def test_an_unknown_system_is_named():
    with pytest.raises(AuroraError, match="unknown system oracle: give some of aurora, duckdb, postgres"):
        systems.open_system("oracle").__enter__()
