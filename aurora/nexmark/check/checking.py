"""A result held against the independent evaluation of its query, or against another system's."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb

from aurora.nexmark.check.agreement import Agreement
from aurora.nexmark.check.answers import answer_of
from aurora.nexmark.check.events import load
from aurora.nexmark.check.rows import compare, read_rows
from aurora.nexmark.check.rules import Rules

__all__ = ["check", "contrast"]


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
    answer, rules = answer_of(query), Rules(profile, **(settings or {}))
    with _base() as base:
        read_rows(base, "found", _files(result), answer, rules, exact=exact)
        load(base, data, rules, answer.reads, ordered=answer.ordered)
        # The order in which missing rows are shown, where the query has no order of its own.
        order = answer.order or [
            name for name, kind in answer.fields.items() if kind == "time" and answer.ordered
        ]
        numbered = f"row_number() OVER ({'ORDER BY ' + ', '.join(order) if order else ''})"
        base.execute(
            f"CREATE TABLE expected AS SELECT {numbered} AS line, {', '.join(answer.fields)} FROM ({answer.sql(rules)})"
        )
        agreement = compare(base, query, answer, "expected", "found", sequence=exact)
        counts = base.execute(
            "SELECT count(*) FILTER (late), count(*) FILTER (NOT whole) FROM arrived"
        ).fetchall()
        late, malformed = counts[0]
        return replace(agreement, late=late, malformed=malformed)


def contrast(query: str, first: Path | Sequence[Path], second: Path | Sequence[Path]) -> Agreement:
    """Compares the results of two systems, the first taken for what is expected."""
    answer = answer_of(query)
    with _base() as base:
        read_rows(base, "first", _files(first), answer, Rules(), exact=False)
        base.execute("CREATE VIEW expected AS SELECT * EXCLUDE (raw) FROM first WHERE raw IS NULL")
        read_rows(base, "found", _files(second), answer, Rules(), exact=False)
        return compare(base, query, answer, "expected", "found", sequence=False)


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
