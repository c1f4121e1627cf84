"""The validator agrees with the plain rules, and finds each injected fault, exactly."""

import json
from dataclasses import asdict

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aurora.linear_road.comparison import FAULTS
from aurora.linear_road.edition import EDITION_2004
from aurora.linear_road.histories import find_histories
from aurora.linear_road.reading import survey
from aurora.linear_road.records import DIALECTS
from aurora.linear_road.reference import Reference, reference_answers
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


def faults(verdict):
    return {
        (name, fault): getattr(output, fault)
        for name, output in verdict.outputs.items()
        for fault in FAULTS
        if getattr(output, fault)
    }


@pytest.mark.parametrize(("seed", "form"), [(1, "parquet"), (2, "csv"), (3, "parquet")])
def test_agrees_with_the_plain_rules(spark, tmp_path, seed, form):
    traffic = crowd(seed) + corner_cases() if seed == 1 else crowd(seed)
    xways = sorted({r.xway for r in traffic.reports})
    for xway in xways:
        write(tmp_path / f"xway-{xway}.csv", traffic.lines(xway))
    tolls, segments = histories(seed, sorted({q.vid for q in traffic.queries}), xways)
    write_histories(tmp_path, tolls, segments, form)
    right = spec.answers(traffic.reports, traffic.queries, tolls, segments)
    assert len(right.alerts) > 100
    assert sum(toll > 0 for _, toll in right.tolls.values()) > 100
    assert sum(map(len, right.charges.values())) > 100
    assert any(right.expenditures.values())
    output = write(tmp_path / "output" / "output.csv", spec.output_lines(right))
    verdict = validate(spark, tmp_path, output)
    assert verdict.right, json.dumps(asdict(verdict), indent=1)
    expected = {name: output.expected for name, output in verdict.outputs.items()}
    assert expected == {
        "toll notification": len(right.tolls),
        "accident alert": len(right.alerts),
        "account balance": sum(q.kind == 2 for q in traffic.queries),
        "daily expenditure": len(right.expenditures),
        "travel time": len(right.journeys),
    }
