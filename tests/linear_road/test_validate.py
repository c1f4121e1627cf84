"""The validator agrees with the plain rules, and finds each injected fault, exactly."""

import csv
import json
from collections import Counter
from dataclasses import asdict

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aurora.errors import AuroraError
from aurora.linear_road.edition import EDITION_2004
from aurora.linear_road.judge import FAULTS
from aurora.linear_road.reading import survey
from aurora.linear_road.records import DIALECTS, OUTPUT_NAMES
from aurora.linear_road.reference import Reference, reference_answers
from aurora.linear_road.stored_histories import find_histories
from aurora.linear_road.validate import judge, validate
from tests.linear_road.traffic import corner_cases, crowd, histories
from tests.spec import linear_road as spec


def write_histories(folder, tolls, segments, form):
    toll = {"VID": [], "Day": [], "XWay": [], "Tolls": []}
    for (vid, day, xway), amount in tolls.items():
        for name, value in zip(toll, (vid, day, xway, amount), strict=True):
            toll[name].append(value)
    columns = list(zip(*segments, strict=True))
    segment = dict(zip(("Day", "Min", "XWay", "Dir", "Seg", "Lav", "Cnt"), map(list, columns), strict=True))
    segment["Toll"] = [0] * len(segments)
    for name, table in (("toll_history", toll), ("segment_history", segment)):
        (folder / name).mkdir(parents=True)
        if form == "parquet":
            pq.write_table(pa.table(table), folder / name / "part-0.parquet")
        else:
            rows = zip(*table.values(), strict=True)
            text = "".join(",".join(map(str, row)) + "\n" for row in rows)
            (folder / name / "part-0.csv").write_text(text)


def write(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line + "\n" for line in lines))
    return path


TOLL, ALERT = OUTPUT_NAMES[0], OUTPUT_NAMES[1]


def faults(verdict):
    return {
        (name, fault): getattr(output, fault)
        for name, output in verdict.outputs.items()
        for fault in FAULTS
        if getattr(output, fault)
    }


def test_agrees_with_the_plain_rules(spark, tmp_path):
    traffic = crowd(1, seconds=1000) + corner_cases()
    xways = sorted({r.xway for r in traffic.reports})
    for xway in xways:
        write(tmp_path / f"xway-{xway}.csv", traffic.lines(xway))
    tolls, segments = histories(1, sorted({q.vid for q in traffic.queries}), xways)
    write_histories(tmp_path, tolls, segments, "parquet")
    right = spec.answers(traffic.reports, traffic.queries, tolls, segments)
    assert len(right.alerts) > 200
    assert sum(toll > 0 for _, toll in right.tolls.values()) > 200
    assert sum(map(len, right.charges.values())) > 100
    assert sum(toll > 0 for _, toll in right.journeys.values()) > 5
    assert any(right.expenditures.values())
    output = write(tmp_path / "output" / "output.csv", spec.output_lines(right))
    verdict = validate(spark, tmp_path, output)
    assert verdict.right, json.dumps(asdict(verdict), indent=1)
    assert verdict.notes == []
    expected = {name: output.expected for name, output in verdict.outputs.items()}
    assert expected == {
        "toll notification": len(right.tolls),
        "accident alert": len(right.alerts),
        "account balance": sum(q.kind == 2 for q in traffic.queries),
        "daily expenditure": len(right.expenditures),
        "travel time": len(right.journeys),
    }


@pytest.fixture(scope="module")
def run(spark, tmp_path_factory):
    """A small run: its survey, the reference answers held in Spark, and the lines of a right output."""
    folder = tmp_path_factory.mktemp("run")
    traffic = corner_cases()
    write(folder / "in.csv", traffic.lines())
    tolls, segments = histories(1, [1103], [5])
    tolls[1103, 1, 5] = 42
    write_histories(folder, tolls, segments, "parquet")
    right = spec.answers(traffic.reports, traffic.queries, tolls, segments)
    found = survey(folder)
    with reference_answers(spark, found, find_histories(folder, None), folder, EDITION_2004) as reference:
        # Cut off from how they come about, which Spark would plan again for each verdict.
        kept = Reference(reference.expected.localCheckpoint(), 2)
        yield found, kept, right, spec.output_lines(right)


@pytest.fixture
def verdict_on(spark, run, tmp_path):
    def verdict(lines, dialect="native"):
        output = write(tmp_path / "output.csv", lines)
        return judge(spark, run[1], output, run[0], DIALECTS[dialect], EDITION_2004)

    return verdict


def change(line, **values):
    """The line with fields of its layout set anew."""
    kind, *parts = line.split(",")
    layout = DIALECTS["native"].layouts[int(kind)]
    return DIALECTS["native"].line(int(kind), **(dict(zip(layout, parts, strict=True)) | values))


def injected(lines):
    """Old line, new lines, the faults (none where the change is allowed) and their words: each in its own row."""
    tolls = iter([line for line in lines if line[0] == "0"])
    alerts = iter([line for line in lines if line[0] == "1"])
    balances = iter([line for line in lines if line.startswith("2,202,")])
    at_charge = next(line for line in lines if line.startswith("2,201,"))
    spent, journey = (next(line for line in lines if line.startswith(start)) for start in ("3,141,", "4,"))

    def row(source, build):
        line = next(source)
        kind, *parts = line.split(",")
        fields = dict(zip(DIALECTS["native"].layouts[int(kind)], parts, strict=True))
        new, faults, words = build(line, {k: v if k == "Emit" else int(v) for k, v in fields.items()})
        return line, new, faults, words

    yield row(
        tolls, lambda x, f: ([], ["missing"], f"car {f['VID']} at {f['Time']}: no toll notification given")
    )
    yield row(
        tolls, lambda x, f: ([x, x], ["duplicate"], f"car {f['VID']} at {f['Time']}: toll notification given")
    )
    yield row(
        tolls,
        lambda x, f: (
            [change(x, Toll=f["Toll"] + 1)],
            ["wrong"],
            f"car {f['VID']} at {f['Time']}: toll {f['Toll']} expected, {f['Toll'] + 1} given",
        ),
    )
    yield row(
        tolls,
        lambda x, f: (
            [change(x, Spd=f["Spd"] - 1)],
            ["wrong"],
            f"car {f['VID']} at {f['Time']}: LAV {f['Spd']} expected, {f['Spd'] - 1} given",
        ),
    )
    yield row(tolls, lambda x, f: ([change(x, Emit=f"{f['Time'] + 5}.000")], [], ""))
    yield row(
        tolls, lambda x, f: ([change(x, Emit=f"{f['Time'] + 5}.001")], ["late"], "after 5.001 s, 5 s allowed")
    )
    yield row(tolls, lambda x, f: ([change(x, Emit=f["Time"] - 0.25)], ["early"], ", before its Time"))
    yield row(
        tolls,
        lambda x, f: (
            [change(x, VID=77)],
            ["missing", "extra"],
            f"car 77 at {f['Time']}: toll notification given (line",
        ),
    )
    yield row(alerts, lambda x, f: ([change(x, Emit=f["Time"] + 60)], ["late"], "after 60 s, 5 s allowed"))
    yield row(
        alerts,
        lambda x, f: (
            [change(x, Time=f["Time"] + 60, Emit=f["Time"] + 61)],
            ["missing", "extra"],
            f"car {f['VID']} at {f['Time']}: no accident alert given, accident in segment {f['Seg']} expected",
        ),
    )
    yield row(alerts, lambda x, f: ([change(x, Seg=98)], ["wrong"], f"segment {f['Seg']} expected, 98 given"))
    # The charge of 200 at 201 may or may not be in a balance at 201; it is not in one before, but in one after.
    yield at_charge, [change(at_charge, Bal=0)], [], ""
    yield row(balances, lambda x, f: ([change(x, Bal=0)], ["wrong"], "balance 200 at 202 expected, 0 given"))
    yield row(balances, lambda x, f: ([change(x, Bal=0, ResultTime=200)], [], ""))
    yield row(
        balances, lambda x, f: ([change(x, ResultTime=142)], ["wrong"], "balance 0 at 142 expected, 200")
    )
    yield row(
        balances, lambda x, f: ([change(x, Bal=0, ResultTime=141)], ["wrong"], "142..202 expected, 141 given")
    )
    yield row(balances, lambda x, f: ([change(x, ResultTime=203)], ["wrong"], "142..202 expected, 203 given"))
    yield row(
        balances,
        lambda x, f: ([change(x, Time=201)], ["wrong"], "of car 1103 at 202: Time 202 expected, 201"),
    )
    yield row(
        balances,
        lambda x, f: ([x, x], ["duplicate"], f"query {f['QID']} at 202: account balance given again"),
    )
    yield row(
        balances, lambda x, f: ([], ["missing"], f"query {f['QID']} of car 1103 at 202: no account balance")
    )
    yield (
        spent,
        [change(spent, Bal=41, Emit="151.01")],
        ["wrong", "late"],
        "expenditure 42 expected, 41 given",
    )
    yield journey, [change(journey, TravelTime=1)], ["wrong"], "travel time 0 expected, 1 given"


def test_injected_faults_are_found_exactly(run, verdict_on):
    lines, expected, explained = list(run[3]), Counter(), []
    assert verdict_on(lines).right
    for old, new, kinds, words in injected(run[3]):
        at = lines.index(old)
        lines[at : at + 1] = new
        expected.update((OUTPUT_NAMES[int(old[0])], kind) for kind in kinds)
        explained += [words] if kinds else []
    verdict = verdict_on(lines)
    assert faults(verdict) == expected
    told = [
        text for output in verdict.outputs.values() for group in output.examples.values() for text in group
    ]
    assert len(told) == expected.total()
    for words in explained:
        assert sum(words in text for text in told) == 1, (words, told)


def test_an_alert_may_name_any_accident_within_reach(run, verdict_on):
    """As Table 4 of the paper has it, eastbound and westbound; no segment without one, and none out of reach."""
    _, _, right, lines = run
    ways = {r.vid: r.dir for r in corner_cases().reports}
    others = {key: near - {right.alerts[key]} for key, near in right.near.items() if len(near) > 1}
    assert {ways[vid] for vid, _ in others} == {0, 1}

    def naming(segments):
        chosen = {(time, vid): seg for (vid, time), seg in segments.items()}
        found = []
        for line in lines:
            kind, time, *rest = line.split(",")
            seg = chosen.get((int(time), int(rest[1]))) if kind == "1" else None
            found.append(line if seg is None else change(line, Seg=seg))
        return found

    assert verdict_on(naming({key: max(near) for key, near in others.items()})).right
    wrong = {key: right.alerts[key] + (1 - 2 * ways[key[0]]) for key in others}
    assert all(seg not in right.near[key] for key, seg in wrong.items())
    assert faults(verdict_on(naming(wrong))) == {(ALERT, "wrong"): len(wrong)}
    last = next(key for key, seg in right.alerts.items() if seg == 30 and key not in others)
    assert faults(verdict_on(naming({last: 32}))) == {(ALERT, "wrong"): 1}


TWICE = ["0,1,60,60.5,50,0", "0,1,60,60.5,-1,0"]


def test_answers_to_two_reports_of_a_second_may_come_in_any_order(spark, tmp_path):
    cases = [
        (TWICE, {}),
        (TWICE[::-1], {}),
        (TWICE[1:], {"missing": 1}),
        (TWICE[:1] * 2, {"wrong": 1}),
        ([TWICE[1], TWICE[0].replace(",50,", ",49,")], {"wrong": 1}),
        ([TWICE[0].replace(",50,", ",49,"), *TWICE], {"duplicate": 1}),
        ([*TWICE[::-1], TWICE[0]], {"duplicate": 1}),
    ]
    rest = ",-1,-1,-1,-1,-1,-1"
    reports = ["0,0,1,50,0,1,0,3,15840", "0,60,1,50,0,1,0,3,15840", "0,60,1,50,0,1,0,4,21120"]
    found = survey(write(tmp_path / "in.csv", [report + rest for report in reports]))
    histories = find_histories(tmp_path / "in.csv", None)
    with reference_answers(spark, found, histories, tmp_path, EDITION_2004) as reference:
        kept = Reference(reference.expected.localCheckpoint(), 2)
    for given, expected in cases:
        output = write(tmp_path / "output.csv", ["0,1,0,0.5,-1,0", *given])
        verdict = judge(spark, kept, output, found, DIALECTS["native"], EDITION_2004)
        assert faults(verdict) == {(TOLL, fault): count for fault, count in expected.items()}, given


@pytest.mark.parametrize(("segments", "entries"), [((3, 4), 0), ((4, 3), 1)])
def test_two_reports_of_a_second_are_in_the_order_of_the_file(spark, tmp_path, segments, entries):
    """The second of them is the one that the report 30 s later goes on from."""
    rest = "-1,-1,-1,-1,-1,-1"
    reports = [*((60, segment) for segment in segments), (90, 4)]
    data = [f"0,{time},1,50,0,1,0,{segment},{segment * 5280},{rest}" for time, segment in reports]
    answers = ["0,1,60,60.5,-1,0"] * 2 + ["0,1,90,90.5,-1,0"] * entries
    verdict = validate(spark, write(tmp_path / "in.csv", data), write(tmp_path / "output.csv", answers))
    assert verdict.right, verdict.outputs[TOLL]


@pytest.mark.parametrize("dialect", ["original", "walmart"])
def test_the_older_dialects(run, verdict_on, dialect):
    target = DIALECTS[dialect]
    homes = {r.vid: r for r in corner_cases().reports}
    lines = []
    for line in run[3]:
        kind, *parts = line.split(",")
        if int(kind) in target.layouts:
            fields = dict(zip(DIALECTS["native"].layouts[int(kind)], parts, strict=True))
            if kind == "1":
                car = homes[int(fields["VID"])]
                fields |= {"XWay": car.xway, "Dir": car.dir}
            lines.append(target.line(int(kind), **fields))
    verdict = verdict_on(lines, dialect)
    assert verdict.right, verdict
    assert "travel time" not in verdict.outputs
    if dialect == "walmart":
        at = next(i for i, line in enumerate(lines) if line[0] == "1")
        kind, *parts = lines[at].split(",")
        lines[at] = ",".join([kind, *parts[:2], "6", *parts[3:]])
        assert faults(verdict_on([*lines, "4,1,2,3,4,5"], dialect)) == {(ALERT, "wrong"): 1}


def test_unreadable_lines_of_the_output_are_faults(run, verdict_on):
    verdict = verdict_on([*run[3], "0,1,2", "nonsense"])
    assert faults(verdict) == {}
    assert not verdict.right
    assert verdict.unreadable_examples == [
        f"line {len(run[3]) + 1}: 3 fields, 6 expected",
        f"line {len(run[3]) + 2}: unknown output type, 0..4 expected",
    ]


def test_travel_within_five_percent(spark, tmp_path):
    """Also: a history in CSV, copies of the expressway, and queries that are rejected."""
    traffic = corner_cases()
    for tod in (1, 1437, 480):
        traffic.ask(4, 700, 1300, xway=5, sinit=90, send=2, dow=3, tod=tod)
    bad = "4,700,1300,-1,5,-1,-1,-1,-1,500,0,0,0,0,-1"
    data = write(tmp_path / "in" / "any.csv", [*traffic.lines(), bad])
    tolls, segments = histories(3, [1103], [5])
    tolls[1103, 1, 5] = 42
    write_histories(tmp_path / "weeks", tolls, segments, "csv")
    right = spec.answers(traffic.reports, traffic.queries, tolls, segments)
    (low, high, wrong) = (q for q in traffic.queries if q.kind == 4 and q.time == 700)
    for query, factor in ((low, 0.951), (high, 1.049), (wrong, 1.06)):
        seconds, toll = right.journeys[query.qid]
        assert toll > 0
        right.journeys[query.qid] = round(seconds * factor), toll
    lines = spec.output_lines(right)
    copied = []
    for line in lines:
        kind, *parts = line.split(",")
        fields = dict(zip(DIALECTS["native"].layouts[int(kind)], parts, strict=True))
        fields |= (
            {"VID": int(fields["VID"]) + 10_000} if "VID" in fields else {"QID": int(fields["QID"]) + 100}
        )
        copied.append(DIALECTS["native"].line(int(kind), **fields))
    output = write(tmp_path / "output.csv", lines + copied)
    rejects = tmp_path / "rejects.csv"
    verdict = validate(spark, data.parent, output, history=tmp_path / "weeks", replicate=2, rejects=rejects)
    assert faults(verdict) == {("travel time", "wrong"): 2}
    assert verdict.rejected == 1
    with rejects.open(newline="") as file:
        header, row = csv.reader(file)
    assert header == ["file", "line", "reason", "text"]
    assert row == ["any.csv", str(len(traffic.lines()) + 1), "DOW out of range: 0, 1..7 expected", bad]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dialect": "klingon"}, "unknown dialect klingon: give one of native, original, walmart"),
        ({"edition": "1999"}, "unknown edition 1999"),
        ({"output": "nowhere.csv"}, "no output at"),
        ({"history": "nowhere"}, "no toll_history and no segment_history in"),
    ],
)
def test_what_cannot_be_validated_is_one_line(spark, tmp_path, options, message):
    write(tmp_path / "in.csv", corner_cases().lines())
    there = write(tmp_path / "output" / "output.csv", [])
    output = tmp_path / options.pop("output") if "output" in options else there
    if "history" in options:
        options["history"] = tmp_path / options["history"]
    with pytest.raises(AuroraError, match=message) as fault:
        validate(spark, tmp_path, output, **options)
    assert "\n" not in str(fault.value)


def test_a_history_with_two_rows_for_one_key_is_refused(spark, tmp_path):
    write(tmp_path / "in.csv", corner_cases().lines())
    write(tmp_path / "toll_history" / "part.csv", ["1103,1,5,42", "1103,1,5,42"])
    output = write(tmp_path / "output" / "output.csv", [])
    with pytest.raises(AuroraError, match="has two rows for car 1103, day 1 and expressway 5"):
        validate(spark, tmp_path, output)


def test_a_broken_history_is_one_line(spark, tmp_path):
    traffic = corner_cases()
    write(tmp_path / "in.csv", traffic.lines())
    write(tmp_path / "toll_history" / "part.csv", ["1103,1,5,42", "1103,two,5,42"])
    output = write(tmp_path / "output" / "output.csv", [])
    with pytest.raises(AuroraError, match="a line of the history in CSV is not a row") as fault:
        validate(spark, tmp_path, output)
    assert "\n" not in str(fault.value)
