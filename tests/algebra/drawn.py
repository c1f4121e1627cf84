"""Expressions drawn at random, as text."""

import re
from random import Random

from aurora.algebra.expressions import Expression
from aurora.errors import AuroraError
from tests.algebra.spark_values import SCHEMA

__all__ = ["KINDS", "draw", "written"]

LEAVES = {
    "whole": ["t", "s", "i", "j", "l", "i", "l", "0", "1", "-1", "7", "2147483647", "3000000000", "2Y"],
    "fraction": ["f", "d", "e", "d", "e", "0D", "-0D", "-1D", "1.5D", "1e300", "2.5F"],
    "truth": ["b", "c", "b", "c", "TRUE", "CAST(NULL AS BOOLEAN)"],
    "word": ["x", "y", "n", "x", "'a'", "''", "'日'"],
    "words": ["'-'", "''", "'日'"],
    "amount": ["m", "k", "q", "v", "m", "k", "CAST(3 AS decimal(3,1))", "CAST(NULL AS decimal(7,5))"],
    "moment": ["ts", "u", "day", "TIMESTAMP '2004-08-31 12:00:00.25'", "DATE '2020-02-29'"],
}
# {kind} is an expression of that kind, {number} a whole number or a fraction, {same} one of the kind to be
# made, (a|b) a choice. Only operations whose result is the same to the last bit.
SHAPES = {
    "any": [
        "if({truth}, {same}, {same})",
        "coalesce({same}, {same})",
        "nullif({same}, {same})",
        "greatest({same}, {same}, {same})",
        "least({same}, {same})",
        "CASE WHEN {truth} THEN {same} WHEN {truth} THEN {same} END",
    ],
    "whole": [
        *["({whole} (+|-|*|%|div|&|^) {whole})"] * 4,
        "CAST({number} AS (tinyint|smallint|int|bigint))",
        "CAST({word} AS (tinyint|int|bigint))",
        "(floor|ceil)({fraction})",
        "length({word})",
        "pmod({whole}, {whole})",
        "(shiftleft|shiftright)({whole}, (0|1|33|-1))",
        "(abs|-|~)({whole})",
        "(year|month|day|hour|minute|second|dayofweek|unix_timestamp)({moment})",
        "size(split({word}, '(a|b|,)'))",
        "crc32({word})",
        "map('a', {whole}, 'b', {whole})[{word}]",
        *["{whole} (+|-|*|%|div) {whole} (+|-|*) {whole}"] * 2,
        "- {whole}",
        "CAST({amount} AS (tinyint|int|bigint))",
        "((m|k|v|{whole}) div (m|k|v))",
    ],
    "fraction": [
        *["({fraction} (+|-|*|/|%) {number})"] * 4,
        "({whole} / {whole})",
        "pmod({fraction}, {number})",
        "CAST({number} AS (float|double))",
        "CAST({word} AS double)",
        "(abs|-|sqrt|sign)({fraction})",
        "{fraction} (+|-|*|/) {number} (+|-|*|/) {number}",
        "CAST({amount} AS (float|double))",
        "({amount} (+|-|*|/) {fraction})",
        "sqrt({amount})",
    ],
    # Spark loses digits of -q and abs(q) that stand behind the 34th, and fails where x % y has more than 39 digits
    # on the way: for these the amounts are shorter.
    # A double goes by its text, to which Java below 19 sometimes adds a digit: few digits are taken of it.
    "amount": [
        *["({amount} (+|-|*|/) {amount})"] * 3,
        "({amount} (+|-|*|/) {whole})",
        "({whole} (+|-|*|/) {amount})",
        "{amount} (+|-|*|/) {amount} (+|-|*|/) {whole}",
        "(CAST({amount} AS decimal(18,6)) % CAST({amount} AS decimal(12,4)))",
        "pmod(CAST({amount} AS decimal(18,6)), (m|k|7))",
        "(abs|-)(CAST({amount} AS decimal(20,5)))",
        "round({amount}, (0|1|3|-1|-4))",
        "(floor|ceil)({amount})",
        "CAST({amount} AS decimal((5,1|12,4|38,10|38,0)))",
        "CAST({whole} AS decimal((12,3|38,18)))",
        "CAST({fraction} AS decimal(12,3))",
        "CAST({word} AS decimal(20,5))",
    ],
    "truth": [
        "({whole} (=|<>|<|<=|>|>=|<=>) {whole})",
        *["({fraction} (=|<>|<|<=|>|>=|<=>) {number})"] * 3,
        "({word} (=|<>|<|<=|>|>=|<=>) {word})",
        "({amount} (=|<>|<|<=|>|>=|<=>) ({amount}|{number}))",
        "({amount} IN (m, {amount}, {number}))",
        "CAST({amount} AS boolean)",
        "({moment} (=|<>|<|<=|>|>=|<=>) {moment})",
        "({truth} (=|<>|<|<=|>|>=|<=>) {truth})",
        *["({truth} (AND|OR) {truth})"] * 3,
        "(NOT {truth})",
        "(({whole}|{fraction}|{word}|{moment}|{truth}) IS NULL)",
        "({fraction} IN ({fraction}, {number}))",
        "({whole} IN (1, {whole}, NULL))",
        "({whole} BETWEEN {number} AND {number})",
        "isnan({fraction})",
        "(contains|startswith|endswith)({word}, {word})",
        "({word} LIKE '(a%|%b_c|%|_)')",
        "CAST({number} AS boolean)",
        "CAST({word} AS boolean)",
        "array_contains(split({word}, '(a|b|,)'), {word})",
        "map_contains_key(map('a', {truth}, '', {truth}), {word})",
        "{truth} (AND|OR) {truth} (AND|OR) NOT {truth}",
        "{whole} (<|=|>=) {whole} (AND|OR) {word} (=|<>) {word}",
        "{whole} + 1 BETWEEN {whole} AND {number} (AND|OR) {truth}",
        "{word} (NOT LIKE|LIKE) '%a' (AND|OR) {whole} IN ({whole}, 3)",
    ],
    "word": [
        "concat({word}, {word})",
        "({word} || ({whole}|{truth}))",
        "substring({word}, (0|1|2|-2), (0|1|2|5))",
        "(upper|lower|trim|ltrim)({word})",
        "replace({word}, 'a', '(b|日|)')",
        "CAST(({whole}|{truth}|{amount}) AS string)",
        "regexp_replace({word}, '[ab]', '(x|$0$0|)')",
        "split({word}, '(a|b|,)')[(0|1|2)]",
        "element_at(split({word}, '(a|b)'), (1|-1|-2))",
        "array_join(split({word}, 'a'), {words})",
        "array({word}, {word})[pmod({whole}, 2)]",
        "date_format({moment}, '(yyyy-MM-dd HH:mm|d.M.yy|EEE d MMM|SSS|hh a)')",
        "from_unixtime(length({word}) * 1000000)",
        "(md5|sha1)({word})",
        "get_json_object({word}, '$.a')",
        "map('a', {word}, 'b', {word})['(a|b|c)']",
        "element_at(map('a', {word}, 'b', {word}), {word})",
        "map_values(map('a', {word}, '日', {word}))[(0|1)]",
    ],
    "moment": [
        "({moment} (+|-) INTERVAL '(1|2|-5|33)' (DAY|MONTH|HOUR|SECOND|YEAR))",
        "date_trunc('(week|hour|month)', {moment})",
        "(from_utc_timestamp|to_utc_timestamp)({moment}, '(Europe/Berlin|America/New_York|+05:30)')",
        "CAST({moment} AS (date|timestamp))",
        "to_timestamp(date_format({moment}, 'yyyy-MM-dd HH:mm'), 'yyyy-MM-dd HH:mm')",
        "to_timestamp({word}, '(yyyy-MM-dd|yyyy|H)')",
    ],
}
KINDS = [kind for kind in LEAVES if kind != "words"]
CHOICE = re.compile(r"\(([^()]*\|[^()]*)\)")


def written(random: Random, kind: str, depth: int) -> str:
    """An expression of that kind, at most so deep."""
    if kind == "words":
        return random.choice(LEAVES[kind])
    if kind == "number":
        kind = random.choice(["whole", "fraction"])
    if depth == 0 or random.random() < 0.1:
        return random.choice(LEAVES[kind])
    both = kind != "truth" and random.random() < 0.25
    shape = random.choice(SHAPES["any" if both else kind])
    shape = CHOICE.sub(lambda match: random.choice(match[1].split("|")), shape)
    return re.sub(
        r"\{(\w+)\}",
        lambda match: written(random, kind if match[1] == "same" else match[1], depth - 1),
        shape,
    )


def is_refused(text: str) -> bool:
    try:
        Expression.parse(text, SCHEMA)
    except AuroraError as fault:
        assert "two ways" in str(fault) or "compare" in str(fault) or "needs" in str(fault), fault
        return True
    return False


def draw(random: Random, count: int) -> list[str]:
    """So many texts of each kind, without those that are refused because they can be read in two ways."""
    texts = [written(random, kind, 3) for kind in KINDS for _ in range(count)]
    return [text for text in texts if not is_refused(text)]
