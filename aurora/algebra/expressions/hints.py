"""The nearest thing that works, for the end of a fault: a counterpart, a box, or a name that is spelt alike."""

import re

from sqlglot import exp

from aurora.algebra.expressions.aggregates import AGGREGATES, ALIASES
from aurora.algebra.expressions.hint_tables import AGGREGATED, BOXES, CLAUSES, MISSING, SYNTAX, WRITE
from aurora.algebra.expressions.rules import FUNCTIONS
from aurora.algebra.expressions.time_functions import TRUNCATIONS
from aurora.errors import suggest_spelling

__all__ = ["clause_hint", "function_hint", "syntax_hint", "unit_hint"]


def function_hint(name: str, in_aggregate: bool) -> str:
    """For the end of a fault: what to write instead of a function that does not exist, or nothing."""
    if name in WRITE:
        return f": write {WRITE[name]}"
    if name in AGGREGATED:
        return f": write {AGGREGATED[name]}" + ("" if in_aggregate else ", in the box aggregate")
    if name in BOXES:
        return f": use {BOXES[name]}"
    if name in MISSING:
        return ": no function does this; compute it in a user box (docs/python.md)"
    known = [
        known for known in (*FUNCTIONS, *AGGREGATES, *ALIASES) if known[0].isalpha() and known != "negate"
    ]
    return suggest_spelling(name, known) or "; docs/networks.md lists the functions"


def clause_hint(node: exp.Expression, text: str) -> str:
    """The whole fault of a clause or operator that the language does not have."""
    what, instead = CLAUSES.get(type(node), ("", ""))
    inner = node.this if isinstance(node, exp.Window) else None
    if isinstance(inner, exp.Anonymous) and str(inner.this).lower() in BOXES:
        instead = f"use {BOXES[str(inner.this).lower()]}"
    if not what:
        return f"'{text}' is not part of the language: docs/networks.md lists the operators and functions"
    return f"{what} is not part of the language, in '{text}': {instead}"


def syntax_hint(text: str) -> str:
    return next((f": {instead}" for found, instead in SYNTAX if re.search(found, text, re.IGNORECASE)), "")


def unit_hint(name: str, node: exp.Anonymous, text: str) -> str:
    """The fault of a unit where other databases take one: datediff(second, ..), date_trunc(minute, ..)."""
    args = node.expressions
    if name in ("datediff", "date_diff") and len(args) == 3:
        return f"{name} takes two dates and counts days, in '{text}': write {WRITE['timestampdiff']}"
    if name in ("dateadd", "date_add") and len(args) == 3:
        return f"{name} takes a date and a number of days, in '{text}': write {WRITE['timestampadd']}"
    if (
        name == "date_trunc"
        and len(args) == 2
        and isinstance(args[0], exp.Column)
        and args[0].name.lower() in TRUNCATIONS
    ):
        return (
            f"date_trunc takes its unit in quotes, in '{text}': write date_trunc('{args[0].name.lower()}', t)"
        )
    return ""
