"""What a record of CSV is: against a plain specification, for all cuts, and with odd quotes and line breaks."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aurora import Schema
from aurora.engine.sources.files.line_files import LineFiles
from aurora.engine.sources.text import csv_records
from aurora.engine.sources.text.csv_records import Csv
from tests.engine.test_sources import drained
from tests.thoroughness import examples

TWO = Schema.parse("Num int, Txt string")
ONE = Schema.parse("Txt string")
TIMES = Schema.parse("Num int, At timestamp")
BYTES = st.lists(st.sampled_from(list('1a,"\n\r')), max_size=40).map("".join)
PIECES = [
    "1,a\n",
    '1,"a"\n',
    '1,"a\na"\r\n',
    '1,"',
    '"\n',
    "\n",
    "1,a\ra\n",
    '1,""\n',
    ',"',
    '"",',
    "\ufeff1,a\n",
]
LINES = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


def specified(text: str, limit: int) -> list[tuple[str, bool]]:
    """The records of a text and whether they are good, one character at a time."""
    records: list[tuple[str, bool]] = []
    start = 0
    while start < len(text):
        at, quote, good = start, -1, True
        field_begins = True
        while at < len(text):
            if quote >= 0:
                line_break = text.find("\n", quote)
                bound = max(quote + limit, line_break if line_break >= 0 else len(text) + 1)
                if at >= bound:
                    good = False
                    break
                if text[at] == '"' and text[at + 1 : at + 2] == '"' and at + 1 < bound:
                    at += 2
                elif text[at] == '"':
                    rest = text[at + 1 :]
                    if not (rest in ("", "\r") or rest[0] in ",\n" or rest.startswith("\r\n")):
                        good = False
                        break
                    quote = -1
                    at += 1
                else:
                    at += 1
            elif field_begins and text[at] == '"':
                quote, field_begins = at, False
                at += 1
            else:
                field_begins = text[at] == ","
                at += 1
                if text[at - 1] == "\n":
                    break
        if quote >= 0 or not good:
            good = False
            at = text.find("\n", start) + 1 or len(text)
        records.append((text[start:at], good))
        start = at
    return records


@given(BYTES | LINES, st.integers(3, 12))
@settings(deadline=None, max_examples=examples(80, 400))
@example('1,"a\n1,"a\na,a"\n', 100)
def test_records_are_those_of_the_specification(text: str, limit: int) -> None:
    data = text.encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_records, "LIMIT", limit)
        found = Csv().split(data, True)
        cut = [Csv().split(data[:end], False) for end in range(len(data))]
    starts = [0, *found.ends.tolist()]
    records = [data[low:high] for low, high in pairwise(starts)]
    expected = specified(text.encode().decode("latin-1"), limit)
    assert records == [record.encode("latin-1") for record, _ in expected]
    assert found.bad.tolist() == [not good for _, good in expected]
    assert found.lines.tolist() == [
        data[:end].count(b"\n") + (data[:end][-1:] != b"\n") for end in starts[1:]
    ]
    # What is told before all is there is never taken back.
    for early in cut:
        count = len(early.ends)
        assert early.ends.tolist() == found.ends.tolist()[:count]
        assert early.bad.tolist() == found.bad.tolist()[:count]


@given(BYTES | LINES, st.sampled_from([TWO, ONE, TIMES]), st.integers(2, 6), st.integers(1, 4))
@settings(deadline=None, max_examples=examples(40, 150))
@example("1,a\r1,a\n", TWO, 2, 1)
@example("\r", ONE, 2, 1)
@example("\n\n1\n", ONE, 2, 1)
def test_any_bytes_give_the_same_rows_and_rejects_however_they_are_cut(
    tmp_path_factory: pytest.TempPathFactory, text: str, schema: Schema, rows: int, pieces: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(text.encode())

    def read(rows: int, pieces: int) -> tuple[list[object], list[object]]:
        portions = drained(LineFiles(str(path), "csv", schema), schema, rows, pieces)
        found = [
            (number, row)
            for portion in portions
            for number, row in zip(portion.numbers.tolist(), portion.rows.to_pylist(), strict=True)
        ]
        return found, [bad for portion in portions for bad in portion.rejects]

    expected = read(1, 1)
    assert read(rows, pieces) == expected
    assert read(1000, pieces) == expected


@pytest.mark.parametrize("rows", [1, 7, 2000])
@pytest.mark.parametrize(
    ("line", "bad"),
    [('1,5" pipe', None), ('1,"open', "quote is not closed"), ('1,"a"b', "quote is not closed")],
)
def test_a_stray_quote_costs_at_most_its_own_line(
    tmp_path: Path, rows: int, line: str, bad: str | None
) -> None:
    path = tmp_path / "in.csv"
    path.write_text(line + "\n" + "".join(f'{i},"good, {i}"\n' for i in range(2, 1000)))
    portions = drained(LineFiles(str(path), "csv", TWO), TWO, rows)
    assert sum(portion.rows.num_rows for portion in portions) == 998 + (bad is None)
    rejects = [
        (reject.line, reject.reason, reject.text) for portion in portions for reject in portion.rejects
    ]
    assert rejects == ([(1, bad, line)] if bad else [])


def test_a_quote_that_is_never_closed_is_given_up_after_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    good = "2,good\n" * (csv_records.LIMIT // 7 + 1)
    path.write_text('1,"open\n' + good)
    source = LineFiles(str(path), "csv", TWO, follow=True)
    cursor = source.advance(source.begin(), 10)
    assert cursor["row"] == 10
    path.write_text('1,"open\n2,good\n')
    waiting = LineFiles(str(path), "csv", TWO, follow=True)
    assert waiting.advance(waiting.begin(), 10)["row"] == 0


def test_empty_lines_are_nulls_of_a_single_column_and_nothing_among_several(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("a\n\nb\r\n\r\n")
    portions = drained(LineFiles(str(path), "csv", ONE), ONE, 10, 1)
    assert [row["Txt"] for portion in portions for row in portion.rows.to_pylist()] == ["a", None, "b", None]
    path.write_text("1,a\n\n2,b\r\n\r\n")
    portions = drained(LineFiles(str(path), "csv", TWO), TWO, 10, 1)
    assert [row["Txt"] for portion in portions for row in portion.rows.to_pylist()] == ["a", "b"]
    assert not any(portion.rejects for portion in portions)


def test_a_carriage_return_within_a_line_belongs_to_its_field(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b'1,a\rb\n2,"c\rd"\r\n3,"say ""x"""\n4\r,e\n')
    portions = drained(LineFiles(str(path), "csv", TWO), TWO, 10, 1)
    assert [row["Txt"] for portion in portions for row in portion.rows.to_pylist()][:3] == [
        "a\rb",
        "c\rd",
        'say "x"',
    ]


def test_other_delimiters_and_declared_headers(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text('Txt;Num\n"a;b";1\n')
    portions = drained(LineFiles(str(path), "csv", TWO, delimiter=";"), TWO, 10)
    assert [row for portion in portions for row in portion.rows.to_pylist()] == [{"Num": 1, "Txt": "a;b"}]
    path.write_text("Txt\nx\n")
    portions = drained(LineFiles(str(path), "csv", ONE, header=False), ONE, 10)
    assert [row["Txt"] for portion in portions for row in portion.rows.to_pylist()] == ["Txt", "x"]
