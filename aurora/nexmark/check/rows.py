"""Two tables of a query's rows, held against each other: as multisets, and as sequences where the order is fixed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from aurora.errors import AuroraError
from aurora.nexmark.check.agreement import Agreement, Difference, Row
from aurora.nexmark.check.answer import Answer
from aurora.nexmark.check.events import event_type, kinds, quote_text
from aurora.nexmark.check.rules import Rules

__all__ = ["compare", "read_rows"]

TYPES = {"whole": "BIGINT", "real": "DOUBLE", "text": "VARCHAR", "time": "BIGINT", "event": "VARCHAR"}
# Sums of reals in another order differ by less than this share.
TOLERANCE = 1e-9
SHOWN = 5


def read_rows(
    base: duckdb.DuckDBPyConnection,
    table: str,
    files: Sequence[Path],
    answer: Answer,
    rules: Rules,
    *,
    exact: bool,
) -> None:
    """JSON lines as a table of the query's fields, `line`, and `raw`, the text of a line that is no row of the query.

    If not `exact`, times may be written in other ways than with three digits behind the point.
    """
    missing = [str(path) for path in files if not path.is_file()]
    if missing:
        raise AuroraError(f"there is no result to check at {', '.join(missing)}: run the query first")
    fields = answer.fields
    columns = ", ".join(f"{_extracted(name, kind, rules, exact)} AS {name}" for name, kind in fields.items())
    whole = " AND ".join(f"{name} IS NOT NULL" for name in fields)
    if "event" not in fields:
        whole += f" AND list_sort(json_keys(json)) = {sorted(fields)}"
    names = ", ".join(quote_text(str(path)) for path in files)
    lines = f"read_json_objects([{names}], format = 'newline_delimited', ignore_errors = true)"
    # A system that finds nothing may write no file at all.
    lines = lines if files else "(SELECT NULL::JSON AS json WHERE false)"
    base.execute(f"""
        CREATE OR REPLACE TABLE {table} AS
        SELECT line, {", ".join(fields)}, CASE WHEN {whole} THEN NULL ELSE coalesce(json::VARCHAR, 'no JSON') END AS raw
        FROM (
            SELECT row_number() OVER () AS line, json, {columns}
            FROM {lines}
        )
    """)


def _extracted(name: str, kind: str, rules: Rules, exact: bool) -> str:
    text = f"json->>'$.{name}'"
    if kind == "event":
        columns = ", ".join(f"{each} {event_type(each)}" for each in kinds(rules))
        return f"to_json(TRY_CAST(json AS STRUCT({columns})))::VARCHAR"
    if kind == "time":
        time = f"epoch_ms(TRY_CAST({text} AS TIMESTAMP))"
        written = r"'\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}'"
        return f"CASE WHEN regexp_full_match({text}, {written}) THEN {time} END" if exact else time
    return f"TRY_CAST({text} AS {TYPES[kind]})"


def compare(
    base: duckdb.DuckDBPyConnection, query: str, answer: Answer, expected: str, found: str, *, sequence: bool
) -> Agreement:
    """Compares two tables with the query's fields and `line`; the one that was found also has `raw`."""
    reals = [name for name, kind in answer.fields.items() if kind == "real"]
    keys = {name: _key(name, kind) for name, kind in answer.fields.items() if kind != "real"}
    for table, readable in ((expected, ""), (found, "WHERE raw IS NULL")):
        # Equal rows are numbered, so that each has one partner; rows that differ in a real alone are partners too.
        columns = ", ".join(["line", *reals, *(f"{key} AS {name}" for name, key in keys.items())])
        turns = f"PARTITION BY {', '.join(keys)} ORDER BY {', '.join([*reals, 'line'])}"
        base.execute(f"""
            CREATE OR REPLACE TABLE {table}_numbered AS
            SELECT *, row_number() OVER ({turns}) AS nth FROM (SELECT {columns} FROM {table} {readable})
        """)
    partner = " AND ".join(f"e.{name} = f.{name}" for name in [*keys, "nth"])
    base.execute(f"""
        CREATE OR REPLACE TABLE unlike AS
        SELECT e.line AS e_line, f.line AS f_line
        FROM {expected}_numbered AS e FULL JOIN {found}_numbered AS f ON {partner}
        WHERE e.line IS NULL OR f.line IS NULL{_apart(reals)}
        UNION ALL
        SELECT NULL, line FROM {found} WHERE raw IS NOT NULL
    """)
    missing, extra, changed = _one(
        base,
        "SELECT count(*) FILTER (f_line IS NULL), count(*) FILTER (e_line IS NULL), "
        "count(*) FILTER (e_line IS NOT NULL AND f_line IS NOT NULL) FROM unlike",
    )
    misplaced = 0
    if sequence and answer.order and not missing + extra + changed:
        apart = "".join(f" OR e.{name} <> f.{name}" for name in keys) + _apart(reals)
        base.execute(f"""
            INSERT INTO unlike
            SELECT line, line FROM {expected} AS e JOIN {found} AS f USING (line) WHERE false{apart}
        """)
        (misplaced,) = _one(base, "SELECT count(*) FROM unlike")
    return Agreement(
        query=query,
        expected=_one(base, f"SELECT count(*) FROM {expected}")[0],
        found=_one(base, f"SELECT count(*) FROM {found}")[0],
        missing=missing,
        extra=extra,
        changed=changed,
        misplaced=misplaced,
        differences=_first(base, answer, expected, found),
    )


def _key(name: str, kind: str) -> str:
    """What stands for a field that must be equal: of whole events a digest, for they are long."""
    return f"md5_number({name})" if kind == "event" else name


def _apart(reals: list[str]) -> str:
    return "".join(
        f" OR abs(e.{name} - f.{name}) > {TOLERANCE} * greatest(abs(e.{name}), abs(f.{name})) OR isnan(f.{name})"
        for name in reals
    )


def _first(
    base: duckdb.DuckDBPyConnection, answer: Answer, expected: str, found: str
) -> tuple[Difference, ...]:
    """The first few differences, by their place in the result or among what was expected."""
    shown = ", ".join(
        f"strftime(make_timestamp_ms({side}.{name}), '%Y-%m-%d %H:%M:%S.%g') AS {side}_{name}"
        if kind == "time"
        else f"{side}.{name} AS {side}_{name}"
        for side in "ef"
        for name, kind in answer.fields.items()
    )
    cursor = base.execute(f"""
        SELECT e_line, f_line, raw, {shown}
        FROM (SELECT * FROM unlike ORDER BY coalesce(f_line, e_line), e_line LIMIT {SHOWN})
        LEFT JOIN {expected} AS e ON e.line = e_line LEFT JOIN {found} AS f ON f.line = f_line
        ORDER BY coalesce(f_line, e_line), e_line
    """)
    columns = [column[0] for column in cursor.description or []]
    rows = [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
    return tuple(
        Difference(
            expected=None if row["e_line"] is None else _side(row, "e", answer),
            found=None if row["f_line"] is None else _side(row, "f", answer),
            line=row["f_line"],
        )
        for row in rows
    )


def _side(row: Row, side: str, answer: Answer) -> Row:
    if side == "f" and row["raw"] is not None:
        return {"not a row of this query:": row["raw"]}
    return {name: row[f"{side}_{name}"] for name in answer.fields}


def _one(base: duckdb.DuckDBPyConnection, sql: str) -> tuple[Any, ...]:
    row: tuple[Any, ...] | None = base.execute(sql).fetchone()
    assert row is not None
    return row
