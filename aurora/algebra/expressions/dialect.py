"""Spark's grammar, as far as an expression goes: text to a bare syntax tree."""

import re
import sys
import threading
from collections.abc import Callable
from typing import Any, ClassVar, cast

import sqlglot
from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.tokens import TokenType  # type: ignore[attr-defined]

from aurora.algebra.expressions.backslashes import WRITTEN, check_backslashes
from aurora.algebra.expressions.hints import syntax_hint
from aurora.algebra.expressions.tree import Node, size_of
from aurora.algebra.tuples.types import TYPES, check_nesting
from aurora.errors import AuroraError

__all__ = ["Positive", "ordered_tree", "source", "syntax_tree", "typed", "words"]

# The parser goes about 20 calls deep for each bracket.
DEEPEST = 15_000
MOST_PARTS = 50_000
# Digits in a row, outside of texts; more than that are no number that anything holds, and Python takes long for them.
DIGITS = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|(\d+)""", re.DOTALL)
MOST_DIGITS_WRITTEN = 300
SURROGATE = re.compile("[\ud800-\udfff]")
# CASE x WHEN .. stands for x = .. in each of its branches.
MOST_PARTS_IN_ALL = 10 * MOST_PARTS


class Positive(exp.Unary):
    """+x, which the parser would drop."""


def parse_cast(parser: Any, safe: bool | None) -> exp.Expression:
    """CAST(..), marked as written out: the parser makes one of 3Y, too."""
    node: exp.Expression = parser._parse_cast(False, safe=safe)
    node.meta["written"] = True
    return node


def parse_trim(parser: Any) -> exp.Expression:
    """TRIM(LEADING 'x' FROM s): without FROM the first word is no more than a name."""
    if not parser._match_texts(parser.TRIM_TYPES):
        return cast(exp.Expression, parser._parse_trim())
    position = parser._prev.text.upper()
    characters = parser._parse_bitwise()
    if not parser._match(TokenType.FROM):
        parser.raise_error("Expected FROM")
    trim = exp.Trim(this=parser._parse_bitwise(), position=position, expression=characters)
    return cast(exp.Expression, parser.expression(trim))


def parse_string(parser: Any, token: Any) -> exp.Expression:
    """A string that keeps the text as it was written, with its backslashes."""
    literal: exp.Expression = parser.expression(exp.Literal(this=token.text, is_string=True))
    literal.meta[WRITTEN] = parser.sql[token.start : token.end + 1]
    return literal


class Language(Spark):
    """Spark's dialect without sqlglot's own reading of functions: `rules` says what a function means."""

    # So that NULLS FIRST is told from nothing.
    NULL_ORDERING = "nulls_are_last"

    class Tokenizer(Spark.Tokenizer):
        # Since Spark 4 a doubled quote inside a string stands for one.
        STRING_ESCAPES: ClassVar[list[str]] = ["\\", "'", '"']

    class Parser(Spark.Parser):  # type: ignore[valid-type,misc]
        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            "CAST": lambda parser: parse_cast(parser, safe=None),
            "TRY_CAST": lambda parser: parse_cast(parser, safe=True),
            "TRIM": parse_trim,
        }
        UNARY_PARSERS: ClassVar[dict[Any, Any]] = {
            **Spark.Parser.UNARY_PARSERS,
            TokenType.PLUS: lambda parser: parser.expression(Positive(this=parser._parse_unary())),
        }
        PRIMARY_PARSERS: ClassVar[dict[Any, Any]] = {
            **Spark.Parser.PRIMARY_PARSERS,
            TokenType.STRING: parse_string,
        }
        # Spark has no array[1, 2]: array(1, 2)[0] is an element.
        ARRAY_CONSTRUCTORS: ClassVar[dict[str, Any]] = {}
        NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}
        NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: Spark.Parser.NO_PAREN_FUNCTION_PARSERS[name] for name in ("CASE", "IF")
        }

        def _parse_primary(self) -> Any:
            """Strings that stand next to each other, with the text as it was written."""
            first = self._curr
            node = super()._parse_primary()
            if isinstance(node, exp.Concat):
                node.meta[WRITTEN] = self.sql[first.start : self._prev.end + 1]
            return node

        def _parse_paren(self) -> Any:
            """Brackets, marked as written out: the parser puts some around the sides of <=> and IS."""
            node = super()._parse_paren()
            if isinstance(node, exp.Paren):
                node.meta["written"] = True
            return node

        def _parse_csv(self, parse_method: Any, sep: Any = TokenType.COMMA) -> list[Any]:
            """A list in which no comma stands for itself: the parser would overlook (1,,2)."""
            items = [parse_method()]
            while self._match(sep):
                items.append(None if items[-1] is None else parse_method())
                if items[-1] is None:
                    self.raise_error("Expected a value")
            return [item for item in items if item is not None]

    class Generator(Spark.Generator):  # type: ignore[valid-type,misc]
        TRANSFORMS: ClassVar[dict[Any, Any]] = {
            **Spark.Generator.TRANSFORMS,
            Positive: lambda generator, node: f"+{generator.sql(node, 'this')}",
        }


COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ)
SUFFIXES = (exp.Is, exp.In, exp.Between, exp.Like, exp.ILike, exp.RegexpLike)
PREDICATES = (*COMPARISONS, *SUFFIXES)
BITWISE = (
    exp.BitwiseAnd,
    exp.BitwiseOr,
    exp.BitwiseXor,
    exp.BitwiseLeftShift,
    exp.BitwiseRightShift,
    exp.DPipe,
)


def words(text: str) -> list[tuple[str, str]] | None:
    """Return the kinds of an expression's words with their texts and comments, of literals the kind alone.

    None stands for a text that has no words, such as one in which a quote is not closed.
    """
    try:
        found = Language().tokenize(text)
    except SqlglotError:
        return None
    literals = (TokenType.STRING, TokenType.NUMBER)
    return [
        (word.token_type.name, f"{'' if word.token_type in literals else word.text} {word.comments}")
        for word in found
    ]


def ordered_tree(text: str) -> tuple[exp.Expression, bool]:
    """The tree of an expression with ASC or DESC behind it, and whether it was DESC."""
    tree = syntax_tree(text, exp.Ordered)
    if tree.args.get("nulls_first") or tree.args.get("with_fill"):
        raise AuroraError(f"{shown(text)}: only ASC or DESC can follow the expression; nulls come last")
    return tree.this, bool(tree.args.get("desc"))


def syntax_tree(text: str, kind: Any = exp.Condition) -> exp.Expression:
    """The tree of an expression; fails with the place of the fault."""
    if not text.strip():
        raise AuroraError("the expression is empty: write one, for example Pos > 3")
    if (wrong := SURROGATE.search(text)) is not None:
        raise AuroraError(f"{shown(text)} holds {wrong[0]!r}, which is half of a character: leave it out")
    digits = max(map(len, DIGITS.findall(text)), default=0)
    if digits > MOST_DIGITS_WRITTEN:
        raise AuroraError(
            f"{shown(text)} has a number with {digits:,} digits: a bigint has up to 19; write a double, such as 1e40"
        )
    check_nesting(text)
    try:
        tree = cast(exp.Expression, sqlglot.parse_one(text, read=Language, into=kind))
    except ParseError as fault:
        raise AuroraError(syntax_fault(text, fault)) from None
    except SqlglotError:
        raise AuroraError(f"syntax error in {text!r}: a quote or a comment is not closed") from None
    for count, node in enumerate(tree.walk()):
        if count == MOST_PARTS:
            raise AuroraError(f"{shown(text)} has more than {MOST_PARTS:,} parts: use a table and a join")
        check_precedence(cast(exp.Expression, node))
        check_backslashes(node)
    return tree


def typed(text: str, read: Callable[[], Node]) -> Node:
    """The tree that reading a text gives, with room for brackets inside brackets."""
    try:
        with _deep_calls:
            tree = read()
            if size_of(tree) > MOST_PARTS_IN_ALL:
                raise AuroraError(f"{shown(text)} repeats its parts too often: compute a part in a map")
            return tree
    except RecursionError:
        raise AuroraError(
            f"{shown(text)} has too many brackets inside brackets: compute a part in a map"
        ) from None


class _DeepCalls:
    """Lets calls go deeper as long as any thread needs it: the limit is one for the whole process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._limit = 0

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                self._limit = sys.getrecursionlimit()
                sys.setrecursionlimit(max(self._limit, DEEPEST))
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                sys.setrecursionlimit(self._limit)


_deep_calls = _DeepCalls()


def shown(text: str) -> str:
    return repr(text) if len(text) <= 80 else f"{text[:80]!r} .."


def syntax_fault(text: str, fault: ParseError) -> str:
    first = fault.errors[0] if fault.errors else {}
    near, line, column = first.get("highlight") or "", first.get("line") or 1, first.get("col") or 0
    # sqlglot counts the column of a token at its last character.
    start = max(column - len(near) + 1, 1)
    place = f"column {start}" if line == 1 else f"line {line}, column {start}"
    if "Expected TYPE" in str(first.get("description")):
        return f"unknown type '{near}' in {text!r} at {place}: the types are {', '.join(TYPES)}"
    return f"syntax error in {text!r} at {place}, near '{near}'{syntax_hint(text)}"


def check_precedence(node: exp.Expression) -> None:
    """Where sqlglot and Spark group operators differently, the author has to put brackets."""
    if isinstance(node, COMPARISONS):
        mixed = any(isinstance(unwrapped(side), (*PREDICATES, exp.Not)) for side in (node.left, node.right))
    elif isinstance(node, SUFFIXES):
        # Spark's grammar has one of these behind a value, not two.
        inner = unwrapped(node.this)
        mixed = isinstance(inner.this if isinstance(inner, exp.Not) else inner, SUFFIXES)
    elif isinstance(node, BITWISE):
        others = (*BITWISE, exp.Add, exp.Sub)
        mixed = any(
            isinstance(side, others) and type(side) is not type(node) for side in (node.left, node.right)
        )
    else:
        return
    if mixed:
        shown = source(cast(exp.Expression, node.transform(unwrapped)))
        raise AuroraError(f"'{shown}' can be read in two ways: put brackets around the inner part")


def unwrapped(node: Any) -> Any:
    """What stands inside brackets that nobody wrote."""
    while isinstance(node, exp.Paren) and not node.meta.get("written"):
        node = node.this
    return node


def source(node: exp.Expression) -> str:
    """The text of a part of the expression, for messages."""
    return node.sql(dialect=Language, normalize_functions=False)
