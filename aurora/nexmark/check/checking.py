"""A result held against the independent evaluation of its query, or against another system's."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb

from aurora.nexmark.check.agreement import Agreement
from aurora.nexmark.check.answer import Answer
from aurora.nexmark.check.answers import answer_of
from aurora.nexmark.check.events import load
from aurora.nexmark.check.rows import compare, read_rows
from aurora.nexmark.check.rules import Rules

__all__ = ["check", "contrast", "evaluate"]


def check(
    query: str,
    data: Path,
    result: Path | Sequence[Path],
    profile: str = "standard",
    settings: Mapping[str, Any] | None = None,
    *,
    exact: bool = True,
) -> Agreement:
    """Evaluates the query over the files of `data` and compares; `settings` are those of `Rules`.

    With `exact` the result is one in the format of this suite. Without it, it may be the files of another system:
    in no order, with times in any form.
    """
    with evaluate(query, data, profile, settings) as held_against:
        return held_against(result, exact)


@contextmanager
def evaluate(
    query: str, data: Path, profile: str = "standard", settings: Mapping[str, Any] | None = None
) -> Iterator[Callable[[Path | Sequence[Path], bool], Agreement]]:
    """The query, evaluated once: gives what `check` does with each result that it is called with."""
    answer, rules = answer_of(query), Rules(profile, **(settings or {}))
    fields = answer.fields if answer.totals is None else answer.totals.fields
    with _base() as base:
        load(base, data, rules, answer.reads, ordered=answer.ordered)
        # The order in which missing rows are shown, where the query has no order of its own.
        order = answer.order or [name for name, kind in fields.items() if kind == "time" and answer.ordered]
        numbered = f"row_number() OVER ({'ORDER BY ' + ', '.join(order) if order else ''})"
        base.execute(
            f"CREATE TABLE expected AS SELECT {numbered} AS line, {', '.join(fields)} FROM ({answer.sql(rules)})"
        )
        counts = base.execute(
            "SELECT count(*) FILTER (late), count(*) FILTER (NOT whole) FROM arrived"
        ).fetchall()
        late, malformed = counts[0]
        note = "" if answer.totals is None else answer.totals.note

        def hold_against(result: Path | Sequence[Path], exact: bool) -> Agreement:
            comparable = _read(base, "found", result, answer, rules, exact)
            agreement = compare(base, query, comparable, "expected", "found", sequence=exact)
            return replace(agreement, late=late, malformed=malformed, note=note)

        yield hold_against


def contrast(query: str, first: Path | Sequence[Path], second: Path | Sequence[Path]) -> Agreement:
    """Compares the results of two systems, the first taken for what is expected."""
    answer = answer_of(query)
    with _base() as base:
        _read(base, "first", first, answer, Rules(), exact=False)
        base.execute("CREATE VIEW expected AS SELECT * EXCLUDE (raw) FROM first WHERE raw IS NULL")
        answer = _read(base, "found", second, answer, Rules(), exact=False)
        return compare(base, query, answer, "expected", "found", sequence=False)


def _read(
    base: duckdb.DuckDBPyConnection,
    table: str,
    result: Path | Sequence[Path],
    answer: Answer,
    rules: Rules,
    exact: bool,
) -> Answer:
    """The rows of a result as a table, or what can be compared of them; gives the answer that this is held against."""
    if answer.totals is None:
        read_rows(base, table, _files(result), answer, rules, exact=exact)
        return answer
    totals, each = answer.totals, f"{table}_rows"
    read_rows(base, each, _files(result), answer, rules, exact=exact)
    good, names = f"raw IS NULL AND {totals.good}", ", ".join(totals.fields)
    bad = ", ".join(f"NULL AS {name}" for name in totals.fields)
    base.execute(f"""
        CREATE OR REPLACE TABLE {table} AS
        WITH rows AS (SELECT * FROM {each} WHERE {good}), totals AS ({totals.select})
        SELECT row_number() OVER (ORDER BY {names}) AS line, {names}, NULL::VARCHAR AS raw FROM totals
        UNION ALL
        SELECT -line, {bad}, coalesce(raw, 'line ' || line || ' has another window') FROM {each} WHERE NOT ({good})
    """)
    return replace(answer, fields=totals.fields)


def _files(result: Path | Sequence[Path]) -> Sequence[Path]:
    return [result] if isinstance(result, Path) else result


@contextmanager
def _base() -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in a file of its own: ten million rows need not fit into memory."""
    with TemporaryDirectory(prefix="nexmark-check-") as folder:
        base = duckdb.connect(str(Path(folder) / "check.duckdb"))
        try:
            base.execute("SET memory_limit = '4GB'; SET TimeZone = 'UTC'")
            yield base
        finally:
            base.close()
