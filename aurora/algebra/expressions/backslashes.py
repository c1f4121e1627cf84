"""Backslashes in the strings that are regular expressions: in a string of SQL each one must be written twice."""

import re
from typing import Any

from sqlglot import exp

from aurora.errors import AuroraError

__all__ = ["WRITTEN", "check_backslashes"]

# The key of a string's `meta` under which the parser keeps its text as it was written.
WRITTEN = "text"
FUNCTIONS = frozenset({"rlike", "regexp_like", "regexp_extract", "regexp_replace", "split"})
# Before these a regular expression has a use for a backslash; \n, \t, \u00e9 and \101 are characters either way.
MEANT = frozenset("dDwWsSbBAzZGQEpPhHvVRXkx.*+?()[]{}|^$")


def check_backslashes(node: Any) -> None:
    """Raise if a pattern has a backslash that the string drops before the pattern sees it."""
    pattern = _pattern(node)
    while isinstance(pattern, exp.Paren):
        pattern = pattern.this
    written = "" if pattern is None else str(pattern.meta.get(WRITTEN) or "")
    # Pairs are taken first, so that what is found is a backslash that stands alone.
    for found in re.finditer(r"\\(.)", written, re.DOTALL):
        if found[1] in MEANT:
            read = "a backspace" if found[1] == "b" else f"'{found[1]}'"
            fix = f"write \\{found[0]}"
            if isinstance(pattern, exp.Literal) and "\\\\" not in written:
                fix += f", or r{written}"
            if found[1] in "bB":
                fix = r"for the edge of a word write (^|\\W) or (\\W|$)"
            raise AuroraError(
                f"the pattern {written} has {found[0]}, which a string of SQL reads as {read}: {fix}"
            )


def _pattern(node: Any) -> Any:
    if isinstance(node, exp.RegexpLike):
        return node.expression
    if isinstance(node, exp.Anonymous) and str(node.this).lower() in FUNCTIONS and len(node.expressions) > 1:
        return node.expressions[1]
    return None
