"""Regular expressions on hostile texts, and on texts that end with the end of a line."""

import pyarrow as pa
import pytest

from aurora.algebra.expressions import Expression
from aurora.algebra.tuples.schema import Schema
from aurora.errors import AuroraError

SCHEMA = Schema.parse("x string")
HOSTILE = ["a" * 30_000 + "!\n", "a" * 30_000 + "\r\n", "a" * 30_000 + "\n", "ab" * 10_000 + "\u2028", None]
EVERY = "".join(chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000)


def values(text: str, words: list[str | None]) -> list[object]:
    rows = pa.record_batch({"x": pa.array(words, pa.string())})
    return list(Expression.parse(text, SCHEMA).evaluate(rows).to_pylist())


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "([a-z]+)*x$", "(.*a){20}$", "(a|aa)+$", "(a|a)*b?$", "^(([a-z])+.)+[A-Z]([a-z])+$"]
)
def test_no_pattern_takes_for_ever(pattern: str) -> None:
    # Each of them takes longer than the universe is old in an engine that tries one way after the other.
    found = values(f"x RLIKE '{pattern}'", HOSTILE)
    assert found[-1] is None and None not in found[:-1]
    assert len(values(f"regexp_extract(x, '{pattern}', 1)", HOSTILE)) == len(HOSTILE)
    if not pattern.startswith("(a|a)*"):
        assert len(values(f"regexp_replace(x, '{pattern}', '$1')", HOSTILE)) == len(HOSTILE)
        assert "^" in pattern or len(values(f"split(x, '{pattern}')", HOSTILE)) == len(HOSTILE)


def test_a_cast_to_decimal_takes_no_time_on_long_texts() -> None:
    assert values("CAST(x AS decimal(10,2))", ["1" * 200_000 + "x", "1.25"])[0] is None


ENDS = ["\n", "\r\n", "\r", "\x85", "\u2028", "\u2029"]


@pytest.mark.parametrize("end", ENDS)
def test_the_end_is_also_before_the_last_end_of_a_line(end: str) -> None:
    words: list[str | None] = [f"a\nb{end}", f"b{end}{end}", "b", f"\r\n{end}", end, "", None]
    assert values("x RLIKE 'b$'", words) == [True, False, True, False, False, False, None]
    assert values("regexp_replace(x, 'b$', '<\\n$0>')", words)[:3] == [
        f"a\n<\nb>{end}", f"b{end}{end}", "<\nb>"
    ]  # fmt: skip
    assert values("split(x, '\\n?b$')", words)[:3] == [["a", end], [f"b{end}{end}"], ["", ""]]
    assert values("regexp_extract(x, '(?s)(.*)$', 1)", words)[0] == f"a\nb{end}"
    assert values("regexp_extract(x, '(?s)(.*?)$', 1)", words)[0] == "a\nb"
    assert values("x RLIKE 'b$\\\\s'", words)[0] is (end in ("\n", "\r\n", "\r"))


def test_texts_with_every_character() -> None:
    words: list[str | None] = [EVERY[:-9] + "b\n", EVERY[9:] + "b\n"]
    assert values("regexp_extract(x, '(.)b$', 1)", words) == [EVERY[-10], EVERY[-1]]


def test_a_split_at_the_start_of_the_text_is_refused() -> None:
    with pytest.raises(
        AuroraError, match=r"split cannot use the pattern '\^a': \^ and \\A hold at the start"
    ):
        Expression.parse("split(x, '^a')", SCHEMA)
