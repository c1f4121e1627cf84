"""The network against the plain rules, for any cut of the input into batches and buckets; without Spark."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from aurora import AuroraError, Memory, Network, Schema, from_text, prepare_stored
from aurora.cli.commands import app
from aurora.engine.local import LocalRun
from aurora.engine.plan.plan import plan_network
from aurora.engine.sources.address import open_source
from aurora.linear_road.addresses import stored_address
from aurora.linear_road.fused.queries import fused_linear_road
from aurora.linear_road.network.prepared import prepare
from aurora.linear_road.network.queries import OUTPUTS, linear_road
from aurora.linear_road.network.traffic import INPUT
from aurora.linear_road.reading import survey
from aurora.linear_road.stored_histories import find_histories
from tests.linear_road.test_validate import write, write_histories
from tests.linear_road.traffic import Traffic, corner_cases, crowd, histories
from tests.spec import linear_road as spec

Road = tuple[Path, spec.Answers]


def stored(folder: Path, traffic: Traffic) -> Road:
    """A folder with the traffic, files by expressway, and the right answers."""
    folder.mkdir(exist_ok=True)
    xways = sorted({r.xway for r in traffic.reports})
    for xway in xways:
        write(folder / f"xway-{xway}.csv", traffic.lines(xway))
    tolls, segments = histories(1, sorted({q.vid for q in traffic.queries}), xways)
    write_histories(folder, tolls, segments, "parquet")
    return folder, spec.answers(traffic.reports, traffic.queries, tolls, segments)


@pytest.fixture(scope="module")
def road(tmp_path_factory: pytest.TempPathFactory) -> Road:
    traffic = crowd(1, seconds=1000) + corner_cases()
    return stored(tmp_path_factory.mktemp("road"), traffic)


@pytest.fixture(scope="module")
def short_road(tmp_path_factory: pytest.TempPathFactory) -> Road:
    """With as much of everything as many short batches need."""
    folder, right = stored(
        tmp_path_factory.mktemp("road"), crowd(1, cars=330, xways=1, seconds=450) + corner_cases()
    )
    assert len(right.alerts) > 150 and sum(toll > 0 for _, toll in right.tolls.values()) > 150
    assert sum(map(len, right.charges.values())) > 50
    assert any(toll for _, toll in right.journeys.values())
    return folder, right


Made = Callable[..., Network]
BOTH = pytest.mark.parametrize("made", [linear_road, fused_linear_road], ids=["boxes", "fused"])


def ran(
    folder: Path, made: Made, rows: list[int], buckets: int, pieces: int = 2, replicate: int = 1
) -> LocalRun:
    """Through the engine's CSV source, as a run reads it."""
    found = survey(folder)
    copies = found.replication(replicate)
    steps = (copies.xways, copies.vid_step) if replicate > 1 else (0, 0)
    prepared = prepare(find_histories(folder, None), folder / "prepared", 2, *steps)
    network = made(prepared, copies=copies)
    schema = network.inputs["traffic"].schema
    source, _ = open_source("traffic", stored_address(found), schema, False, folder)
    stored = prepare_stored(network, {}, folder / "stored")
    run = LocalRun(plan_network(network).with_tables(stored), buckets)
    run.read({"traffic": source}, rows, pieces)
    return run


def right_balances(right: spec.Answers) -> dict[int, tuple[int, int]]:
    """For each request the balance without and with a charge in that very second."""
    return {
        q.qid: (right.balance(q.vid, q.time - 1), right.balance(q.vid, q.time))
        for q in right.queries
        if q.kind == 2
    }


def check(run: LocalRun, right: spec.Answers) -> None:
    tolls = [(row["VID"], row["Time"], row["Spd"], row["Toll"]) for row in run.rows("tolls")]
    assert sorted(tolls) == sorted((vid, time, *told) for (vid, time), told in right.tolls.items())
    alerts = [(row["VID"], row["Time"], row["Seg"]) for row in run.rows("alerts")]
    assert sorted(alerts) == sorted((vid, time, seg) for (vid, time), seg in right.alerts.items())
    expenditures = [(row["QID"], row["Bal"]) for row in run.rows("expenditures")]
    assert sorted(expenditures) == sorted(right.expenditures.items())
    journeys = [(row["QID"], (row["TravelTime"], row["Toll"])) for row in run.rows("journeys")]
    assert sorted(journeys) == sorted(right.journeys.items())
    balances = {row["QID"]: row["Bal"] for row in run.rows("balances")}
    allowed = right_balances(right)
    assert balances.keys() == allowed.keys() and len(run.rows("balances")) == len(allowed)
    assert {qid: (bal, allowed[qid]) for qid, bal in balances.items() if bal not in allowed[qid]} == {}


@pytest.mark.parametrize(
    ("rows", "buckets", "pieces"),
    [([10_000_000], 1, 1), ([5000, 1, 1700], 3, 2), ([400, 9000], 7, 3)],
)
@BOTH
def test_the_rules_hold_for_every_cut(road, made, rows, buckets, pieces):
    folder, right = road
    check(ran(folder, made, rows, buckets, pieces), right)


@BOTH
def test_the_rules_hold_for_short_batches(short_road, made):
    folder, right = short_road
    check(ran(folder, made, [250], buckets=2, pieces=5), right)


def test_boxes_and_kernels_give_the_same_rows(road):
    folder, _ = road
    boxes, fused = (ran(folder, made, [4000], 2) for made in (linear_road, fused_linear_road))
    for output in OUTPUTS:
        by_boxes, by_kernels = (sorted(map(sorted_fields, run.rows(output))) for run in (boxes, fused))
        assert by_boxes == by_kernels


@BOTH
def test_copies_are_answered_like_their_originals(short_road, made):
    """With numbers of their own: the answers of every copy are those of the original."""
    folder, right = short_road
    copies = survey(folder).replication(3)
    run = ran(folder, made, [900], 2, replicate=3)
    asked = {
        "tolls": ("VID", copies.vid_step, {(vid, time) for vid, time in right.tolls}),
        "alerts": ("VID", copies.vid_step, {(vid, time) for vid, time in right.alerts}),
        "expenditures": ("QID", copies.qid_step, {(q.qid, q.time) for q in right.queries if q.kind == 3}),
    }
    for output, (name, step, originals) in asked.items():
        rows = run.rows(output)
        for copy in range(3):
            mine = [row for row in rows if row[name] // step == copy]
            assert sorted((row[name] % step, row["Time"]) for row in mine) == sorted(originals)
        told = [sorted_fields({**row, name: row[name] % step}) for row in rows]
        assert all(told.count(one) == 3 for one in told[:20])
    assert run.counts["kinds"].taken == 3 * sum(survey(folder).counts.values())


def test_a_reader_looks_only_at_the_fields_that_the_type_defines(tmp_path):
    """What a type does not define may hold anything; what it defines is checked, and the reason told."""
    good = ["0,1,7,50,0,1,0,3,16000,x,,300,-,1.5,99999", "2,1,7,a,b,c,d,e,f,1,g,h,i,j,k"]
    bad = {
        "0,1,7,150,0,1,0,3,16000,-1,-1,-1,-1,-1,-1": "Spd is not an integer, 0..100 (Type 0, Spd null)",
        "0,1,7,101,0,1,0,3,16000,-1,-1,-1,-1,-1,-1": "Spd is not an integer, 0..100 (Type 0, Spd 101)",
        "2,1,7,-1,-1,-1,-1,-1,-1,x,-1,-1,-1,-1,-1": "QID is not an integer, 0 or more (Type 2, QID null)",
        "1,1,7,-1,-1,-1,-1,-1,-1,1,-1,-1,-1,-1,-1": "unknown type, 0, 2, 3 or 4 expected (Type 1)",
        "0,1,7,50,0,1,0,4,16000,-1,-1,-1,-1,-1,-1": "Seg is not that of Pos (Type 0, Seg 4, Pos 16000)",
        "0,1,7,50": "expected 15 fields, found 4",
        "4,1,7,-1,0,-1,-1,-1,-1,1,0,0,0,0,-1": "DOW is not an integer, 1..7 (Type 4, DOW 0)",
    }
    write(tmp_path / "in.csv", [*good, *bad])
    run = ran(tmp_path, linear_road, [3], 2)
    assert run.counts["kinds"].taken == 2 and len(run.rows("tolls")) == len(run.rows("balances")) == 1
    found = [(reject.file, reject.line, reject.text, reject.reason) for _, reject in run.rejects]
    assert found == [("in.csv", 3 + at, *line) for at, line in enumerate(bad.items())]
    survey_says = {reject.line for reject in survey(tmp_path).rejects}
    assert survey_says == {line for _, line, _, _ in found}


def test_the_printed_network_gives_the_right_answers_from_a_plain_csv_file(tmp_path):
    folder, right = stored(tmp_path / "road", crowd(1, cars=330, xways=1, seconds=450))
    words = ["linear-road", "network", "--history", str(folder), "--prepared", str(tmp_path / "prepared")]
    printed = CliRunner().invoke(app, words)
    network = from_text(printed.stdout)
    tables = prepare_stored(network, {}, tmp_path / "stored")
    run = LocalRun(plan_network(network).with_tables(tables), 2)
    address = f"csv:{folder}/xway-0.csv?header=no"
    source, _ = open_source("traffic", address, network.inputs["traffic"].schema, False, tmp_path)
    run.read({"traffic": source}, [4000])
    assert right.expenditures and right.journeys
    check(run, right)


def test_prepared_histories_with_a_note_that_is_cut_off_are_prepared_again(tmp_path):
    tolls, segments = histories(1, [3, 5, 70], [0, 1])
    write_histories(tmp_path, tolls, segments, "csv")
    made, note = [], tmp_path / "prepared" / "prepared.json"
    for text in ("", None, '{"sources": ', None, "[1]"):
        if text is not None:
            note.parent.mkdir(exist_ok=True)
            note.write_text(text)
        again = prepare(find_histories(tmp_path, None), note.parent, 2, progress=made.append)
        assert again.known["xways"] == [0, 1]
    assert made.count("segment history") == 3


def test_the_histories_may_be_csv(tmp_path):
    """Copies of a car and an expressway ask for the tolls of their original, by key and by the compiled kernel."""
    tolls, segments = histories(1, [3, 5, 70], [0, 1])
    write_histories(tmp_path, tolls, segments, "csv")
    prepared = prepare(find_histories(tmp_path, None), tmp_path / "prepared", 2, 2, 100)
    asked = [(vid, day, xway) for vid in (3, 5, 70, 71) for day in (1, 5) for xway in (0, 1, 2)]
    rows = [dict.fromkeys(Schema.parse(INPUT).names, -1) for _ in range(2 * len(asked))]
    for number, row in enumerate(rows):
        vid, day, xway = asked[number // 2]
        copy = number % 2
        row.update(Type=3, Time=1, VID=vid + 100 * copy, XWay=xway + 2 * copy, QID=number, Day=day)
    for made in (linear_road, fused_linear_road):
        network = made(prepared)
        stored = prepare_stored(network, {}, tmp_path / "stored")
        run = LocalRun(plan_network(network).with_tables(stored), 2)
        run.read({"traffic": Memory.of(INPUT, rows)}, [7])
        found = {row["QID"]: row["Bal"] for row in run.rows("expenditures")}
        assert found == {
            number: tolls.get((asked[number // 2][0], asked[number // 2][1], asked[number // 2][2] % 2), 0)
            for number in range(len(rows))
        }
        assert any(found.values())


@BOTH
def test_a_toll_history_with_two_rows_for_one_key_is_refused(tmp_path, made):
    """Their sum and the first of them are both an answer, and one could not say which."""
    tolls, segments = histories(1, [3, 5, 70], [0, 1])
    write_histories(tmp_path, tolls, segments, "csv")
    history, fused = find_histories(tmp_path, None), made is fused_linear_road
    prepare(history, tmp_path / "prepared", 2, fused=fused)
    with (tmp_path / "toll_history" / "part-0.csv").open("a") as file:
        file.write(f"{','.join(map(str, next(iter(tolls))))},1\n")
    vid, day, xway = next(iter(tolls))
    told = f"toll_history has two rows for car {vid}, day {day} and expressway {xway}; keep one of them, or add them up"
    with pytest.raises(AuroraError, match=told):
        prepare(history, tmp_path / "prepared", 2, fused=fused)


def sorted_fields(row: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(row.items())
