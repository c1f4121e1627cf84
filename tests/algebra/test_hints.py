"""What is refused is refused with the nearest thing that works: every hint is itself accepted by the language."""

import re

import pyarrow as pa
import pytest

from aurora.algebra.expressions.aggregates import AGGREGATES, ALIASES, parse_aggregates
from aurora.algebra.expressions.expression import Expression
from aurora.algebra.expressions.hint_tables import AGGREGATED, BOXES, CLAUSES, MISSING, SYNTAX, WRITE
from aurora.algebra.expressions.rules import FUNCTIONS
from aurora.algebra.tuples.schema import Schema
from aurora.errors import AuroraError, suggest_spelling
from aurora.network.text import from_text

FIELDS = (
    "x double, y double, i int, j bigint, c decimal(10,2), s string, t timestamp, u timestamp, d date, "
    "a array<string>, m map<string, double>, ok boolean"
)
SCHEMA = Schema.parse(FIELDS)


def fault(text: str, aggregate: bool = False) -> str:
    with pytest.raises(AuroraError) as found:
        parse_aggregates(text, SCHEMA) if aggregate else Expression.parse(text, SCHEMA)
    return str(found.value)


def compile_box(snippet: str) -> None:
    ends = "left: rows, right: rows" if "join" in snippet else "from: rows"
    port = "box.1" if "filter" in snippet else "box"
    from_text(
        f'network: hint\ninputs:\n  rows: {{schema: "{FIELDS}"}}\n'
        f"boxes:\n  box: {snippet[:-1]}, {ends}}}\noutputs:\n  out: {{from: {port}}}\n"
    )


def advice() -> list[str]:
    return [*BOXES.values(), *(text for _, text in CLAUSES.values()), *(text for _, text in SYNTAX)]


@pytest.mark.parametrize("text", sorted(set(WRITE.values())))
def test_an_expression_to_write_compiles(text: str) -> None:
    for each in text.split(", or "):
        Expression.parse(each, SCHEMA)


@pytest.mark.parametrize("text", sorted(set(AGGREGATED.values())))
def test_an_aggregate_to_write_compiles(text: str) -> None:
    parse_aggregates(text, SCHEMA)


@pytest.mark.parametrize("text", sorted(set(advice())))
def test_a_box_or_a_clause_to_write_compiles(text: str) -> None:
    boxes, written = re.findall(r"\{.*\}", text), re.findall(r"write (.*)$", text)
    assert boxes or written or text.startswith("leave it out")
    for snippet in boxes:
        compile_box(snippet)
    for each in "".join(written).removesuffix(" to compare without case").split(", or ") if written else ():
        calls = any(re.search(rf"\b{name}\(", each) for name in AGGREGATES)
        parse_aggregates(each, SCHEMA) if calls else Expression.parse(each, SCHEMA)


def test_a_name_is_in_one_table_and_does_not_exist() -> None:
    tables = [set(WRITE), set(AGGREGATED), set(BOXES), set(MISSING)]
    assert sum(map(len, tables)) == len(set().union(*tables))
    assert not set().union(*tables) & {*FUNCTIONS, *AGGREGATES, *ALIASES}


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("lag(i)", ": use a window of the last two tuples, {aggregate:"),
        ("lag(i) OVER (ORDER BY t)", ": use a window of the last two tuples, {aggregate:"),
        ("row_number() OVER (ORDER BY i)", ": use the box {top:"),
        ("window(t, '1 minute')", ": use a size in an aggregate"),
        ("hex(i)", ": no function does this; compute it in a user box (docs/python.md)"),
        ("struct(i, s)", ": no function does this"),
        ("flatten(a)", ": use the box {explode: a"),
        ("any_value(i)", ": write first(x), in the box aggregate"),
        ("initcap(s)", ": write upper(left(s, 1)) || lower(substring(s, 2))"),
        ("from_json(s, 'a int')", ": write get_json_object(s, '$.name')"),
        (
            "frobnicate(s)",
            "unknown function 'frobnicate' in 'frobnicate(s)'; docs/networks.md lists the functions",
        ),
        ("countt_if(ok)", "(did you mean count_if?)"),
        ("s ILIKE 'a%'", "ILIKE is not part of the language, in 's ILIKE 'a%'': write lower(s) LIKE"),
        ("extract(year from t)", "near 'from': write year(t)"),
        ("x ** 2", ": write pow(x, 2)"),
        ("datediff(second, t, u)", "counts days, in 'datediff(second, t, u)': write (unix_micros(t)"),
        ("dateadd(second, 1, t)", ": write t + INTERVAL 5 SECONDS"),
        ("date_trunc(minute, t)", ": write date_trunc('minute', t)"),
        ("getdate()", "getdate gives a different result in every run"),
        ("count(*)", "cannot use it; compute it in the box aggregate"),
    ],
)
def test_what_is_refused_names_what_works(text: str, hint: str) -> None:
    assert hint in fault(text)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("string_agg(s, ',')", ": write array_join(collect_list(s), ',')"),
        ("count(*) FILTER (WHERE ok)", ": write count_if(ok), or sum(if(ok, x, 0))"),
        ("first(x) IGNORE NULLS", ': put a filter before the aggregate, {filter: ["x IS NOT NULL"]}'),
        ("sum(s)", "sum needs a number, found string in 'sum(s)': write sum(CAST(s AS double))"),
        ("sum(ok)", ": write count_if(ok)"),
        ("count(DISTINCT ok, s)", ": write count(DISTINCT concat_ws(',', ok, s))"),
        ("count(x, s)", ": write count(concat_ws(',', x, s))"),
        ("first(x, true)", ': put a filter before the aggregate, {filter: ["x IS NOT NULL"]}'),
        ("max(t) - min(t)", ": write unix_micros(..) - unix_micros(..)"),
    ],
)
def test_what_is_refused_in_an_aggregate_names_what_works(text: str, hint: str) -> None:
    assert hint in fault(text, aggregate=True)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "t - u",
            "d - d",
            "t - d",
            "t + 1",
            "d - 1.5",
            "s + 1",
            "s + s",
            "ok + 1",
            "t * 2",
            "c & 1",
            "x div 2",
        ),
        *(
            "lower(i)",
            "upper(t)",
            "length(a)",
            "length(ok)",
            "trim(c)",
            "a || s",
            "size(s)",
            "array_contains(s, 'a')",
        ),
        *(
            "year(s)",
            "year(j)",
            "hour(x)",
            "date_add(s, 1)",
            "date_add(j, 1)",
            "unix_micros(s)",
            "unix_micros(d)",
        ),
        *(
            "abs(s)",
            "sqrt(ok)",
            "sqrt(t)",
            "round(d, 1)",
            "NOT i",
            "ok AND s",
            "if(x, 1, 2)",
            "shiftleft(i, j)",
        ),
        *("s = i", "i = '5'", "t = s", "d = s", "t > 5", "ok = 1", "ok = s", "c = s"),
        *(
            "coalesce(i, s)",
            "if(ok, 1, 's')",
            "greatest(x, ok)",
            "i IN ('a')",
            "coalesce(t, 1)",
            "coalesce(ok, x)",
        ),
    ],
)
def test_types_that_clash_name_a_conversion_that_compiles(text: str) -> None:
    found = re.search(r" in '.*': write (.*)$", fault(text))
    assert found, fault(text)
    Expression.parse(found[1], SCHEMA)


def test_several_fields_can_be_counted_as_one() -> None:
    parse_aggregates("count(DISTINCT concat_ws(',', x, s))", SCHEMA)


def test_a_word_boundary_can_be_written() -> None:
    for instead in (r"(^|\\W)car", r"car(\\W|$)"):
        Expression.parse(f"s RLIKE '{instead}'", SCHEMA)


@pytest.mark.parametrize(
    ("name", "known", "near"),
    [
        ("meedian", "median", True),
        ("coalesc", "coalesce", True),
        ("lenght", "length", True),
        ("colect_lst", "collect_list", True),
        ("hex", "exp", False),
        ("lag", "log", False),
        ("struct", "sqrt", False),
        ("flatten", "locate", False),
        ("transform", "", False),
    ],
)
def test_only_a_slip_of_the_keyboard_is_a_misspelling(name: str, known: str, near: bool) -> None:
    assert suggest_spelling(name, [known]) == (f" (did you mean {known}?)" if near else "")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            r"t RLIKE '^\d+$'",
            r"the pattern '^\d+$' has \d, which a string of SQL reads as 'd': write \\d, or r'^\d+$'",
        ),
        (r"t NOT RLIKE ('\\d\W')", r"has \W, which a string of SQL reads as 'W': write \\W"),
        (r"t RLIKE '\bfoo'", r"reads as a backspace: for the edge of a word write (^|\\W) or (\\W|$)"),
        (r"t RLIKE 'a' '\s'", r"the pattern 'a' '\s' has \s, which a string of SQL reads as 's': write \\s"),
        (r"regexp_like(t, '\S')", r"write \\S"),
        (r"regexp_extract(t, '(\w+)', 1)", r"write \\w"),
        (r"regexp_replace(t, '\D', '')", r"write \\D"),
        (r"split(t, '\.')[0]", r"write \\., or r'\.'"),
    ],
)
def test_backslashes_that_a_string_drops_are_refused_in_patterns(text: str, says: str) -> None:
    with pytest.raises(AuroraError) as refused:
        Expression.parse(text, Schema.parse("t string"))
    assert says in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        (r"t RLIKE '^\\d+$'", ["12"]),
        (r"t RLIKE r'^\d+$'", ["12"]),
        (r"t RLIKE '^\u0061\t\\W$'", ["a\t."]),
        (r"t = '\d\w'", ["dw"]),
    ],
)
def test_backslashes_that_reach_the_pattern(text: str, matches: list[str]) -> None:
    rows = pa.record_batch({"t": ["12", "a\t.", "dw", ""]})
    found = Expression.parse(text, Schema.parse("t string")).evaluate(rows)
    assert rows.column("t").filter(found).to_pylist() == matches
