"""The figures of a network as tables for a terminal."""

import time
from typing import Any

from rich.console import Group
from rich.table import Column, Table
from rich.text import Text

from aurora.characters import printable
from aurora.network.parameters import shown_value

__all__ = ["show_status"]


def show_status(found: dict[str, Any]) -> Group:
    """What `aurora status` prints; JSON has all of it."""
    where = f": see {found['rejects']}" if found.get("rejects") else ""
    rejected = f", {found['rejected']:,} rejected{where}" if found.get("rejected") else ""
    batches = found.get("batch", 0)
    made = f"{batches:,} {'batch' if batches == 1 else 'batches'}"
    parts: list[Any] = [_text(f"{found['state']}, {made}{rejected}")]
    if found.get("parameters"):
        told = ", ".join(f"{name} {shown_value(value)}" for name, value in found["parameters"].items())
        parts.append(_text(f"parameters: {told}"))
    for title, rows, columns in (
        ("input", found.get("inputs", {}), {"rows/s": "rate", "waiting": "waiting"}),
        (
            "box",
            found.get("boxes", {}),
            {"taken": "taken", "given": "given", "us/tuple": "cost_us", "state bytes": "state_bytes"},
        ),
        (
            "output",
            found.get("outputs", {}),
            {
                "rows": "rows",
                "rows/s": "rate",
                "p50 s": "latency_p50",
                "p99 s": "latency_p99",
                **_worth(found),
            },
        ),
        (
            "point",
            found.get("points", {}),
            {"keeps": "keep", "rows": "rows", "passed": "passed", "bytes": "bytes"},
        ),
        ("arc", _queues(found), {"waiting": "waiting"}),
        ("query", found.get("queries", {}), {"state": "state", "taken": "taken", "behind": "behind"}),
    ):
        if rows:
            parts += [Text(""), _table(title, rows, columns)]
    for name, query in found.get("queries", {}).items():
        if query.get("fault"):
            parts.append(_text(f"query {name}: {query['fault']}"))
            parts += [_text(text) for text in _held(name, found.get("points", {}))]
    parts += [
        _text(f"waits for {_ago(wait['since'])}: {wait['for']}", "bold") for wait in found.get("waits", [])
    ]
    parts += [_text(trouble, "bold") for trouble in found.get("troubles", [])]
    return Group(*parts)


def _ago(since: float) -> str:
    return f"{max(time.time() - since, 0):.0f} s"


def _held(query: str, points: dict[str, Any]) -> list[str]:
    """What a query that does not go on keeps on the disk."""
    held = {name: point["held"][query] for name, point in points.items() if query in point.get("held", {})}
    return [
        f"query {query}: for it alone {name} holds {rows:,} {'row' if rows == 1 else 'rows'} more than it keeps, and "
        "soon others: resume or detach it"
        for name, rows in held.items()
    ]


def _worth(found: dict[str, Any]) -> dict[str, str]:
    """What outputs are worth, where one has a graph, and what was left out, where something was."""
    outputs = found.get("outputs", {}).values()
    columns = {"utility": "utility"} if any(each.get("utility") is not None for each in outputs) else {}
    shed = any(each.get("shed") for each in outputs)
    return columns | ({"delivered": "delivered", "shed": "shed"} if shed else {})


def _queues(found: dict[str, Any]) -> dict[str, Any]:
    """The arcs at which tuples wait."""
    return {name: arc for name, arc in found.get("arcs", {}).items() if arc["waiting"]}


def _table(title: str, rows: dict[str, dict[str, Any]], columns: dict[str, str]) -> Table:
    table = Table(Column(Text(title), overflow="fold"), box=None, pad_edge=False)
    for column in columns:
        # Where there is little room, names are broken, and numbers stay whole.
        table.add_column(column, justify="right", no_wrap=True)
    for name, figures in rows.items():
        table.add_row(_text(name), *(_text(_figure(figures.get(key))) for key in columns.values()))
    return table


def _text(text: str, style: str = "") -> Text:
    """Return text that is shown as it is: a name or a message is neither markup nor a command to the terminal."""
    return Text(printable(text), style)


def _figure(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 100 else f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
