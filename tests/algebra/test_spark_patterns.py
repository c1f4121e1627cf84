"""Regular expressions against Spark's."""

from random import Random

import pyarrow as pa
from pyspark.sql import SparkSession

from aurora.algebra.expressions import Expression
from aurora.algebra.tuples.schema import Schema
from aurora.errors import AuroraError
from tests.algebra.spark_harness import differences

SCHEMA = Schema.parse("x string")
TEXTS = [
    "", "a", "b", "ab", "aB", "AB", "aab", "abab", "ba", "a\n", "a\r\n", "\r\n", "\n", "a\n\n", "b\r", "ab\u2028",
    "a\x85",
    "a\nb", "a\rb", "a b", " ", "\t", "a\x0bb", "\x0b", "_1", "a1b2", "0", "é", "É", "日本", "😀", "a😀b", "a-b", "a]b",
    "^a$", "x=1&y=2", "https://a.b/c/d", "{a}", "a.b", "\\d", "k", "K", "\u212a", "ſ", "a\x00b",
]  # fmt: skip
PATTERNS = r"""
^a$ $ ^$ a$ a$b (a|$) ($) ([^/]*)$ \n$ \r$ .$ (.*)$ (?s)(.*)$ . .. \s \S \w+ \W \d \D+ [\w-]+ [^\w] [^\s\d] (?i)k
(?i)[a-b]+ (?i)[^a] (?i)é (?i)[A-Z_] (?is)a.b []x] [a\]] \A(a)\z (a)(b)? (a|ab)(b|) ((a)|b)+ (?:(a)|(b))+ (a+?)(b*)
(a{1,2}?)b a{2} (?<first>a)b (&|^)y=([^&]*) ^(?:[^/]*/){2}([^/]*) \x41 \u00e9 \. \\ \{a\} a-b [a-] [-a] \- } ] [日-本]
[😀] \t (a|b)*c? () a||b (?i)[\x41-\x42] [^\s\S] [a&b] (?i)\w (?i)[^A-Z]+ ^*a a^ (^a|b$)+
[\^a] [a^] \x0b (a)|(b) (a)?b$
"""


def piece(random: Random, depth: int) -> str:
    kind = random.randrange(9 if depth else 5)
    if kind < 3:
        return random.choice(["a", "b", ".", r"\w", r"\s", "[ab]", "[^a]", r"[\d_]", "é", "/"])
    if kind == 3:
        return random.choice(["^", "$", r"\z", ""])
    if kind == 4:
        return random.choice(["a", "b", "[^b]"]) + random.choice(
            ["*", "+", "?", "*?", "+?", "??", "{1,2}", "{2}"]
        )
    inside = "|".join(
        "".join(piece(random, depth - 1) for _ in range(random.randrange(3)))
        for _ in range(random.choice([1, 1, 2, 3]))
    )
    group = f"({'?:' if kind == 8 else ''}{inside})"
    return group + random.choice(["", "", "*", "+", "?", "+?", "{2}"])


def accepted(pattern: str) -> list[str]:
    """The tests that a pattern can be put to, none where it is refused."""
    written = "'" + pattern.replace("\\", "\\\\") + "'"
    texts = [f"x RLIKE {written}", *(f"regexp_extract(x, {written}, {group})" for group in range(4))]
    texts += [f"split(x, {written})", f"split(x, {written}, 2)"]
    texts += [f"regexp_replace(x, {written}, '{by}')" for by in ("", "<$0>", r"$1\\\\\\$2", "$12", "$3")]
    found = []
    for text in texts:
        try:
            Expression.parse(text, SCHEMA)
        except AuroraError as fault:
            assert "\n" not in str(fault)
        else:
            found.append(text)
    return found


def test_regular_expressions_agree(compiling_spark: SparkSession) -> None:
    table = pa.table({"x": [*TEXTS, None]})
    random = Random(8)
    patterns = PATTERNS.split()
    patterns += ["(?i)" * (random.random() < 0.1) + piece(random, 2) + piece(random, 2) for _ in range(50)]
    texts = [text for pattern in dict.fromkeys(patterns) for text in accepted(pattern)]
    assert len(texts) > 200
    frame = compiling_spark.createDataFrame(table).coalesce(1)
    assert differences(texts, texts, frame, table, SCHEMA) == []
