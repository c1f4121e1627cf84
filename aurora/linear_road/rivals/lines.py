"""Lines that a database must not judge: which files need a closer look, and leaving only tuples in them."""

from pathlib import Path

import numpy as np

from aurora.linear_road.records import DEFINED, FIELDS, Reject, parse_input

__all__ = ["mend", "plain"]


def plain(data: bytes) -> bool:
    """Whether the lines hold integers only: what else a database takes for a number is none here (1e3, 5.0, " 7")."""
    return not data.translate(None, b"0123456789-,\n")


def mend(file: Path) -> list[Reject]:
    """Leaves only the tuples in a file, with -1 where their type defines no field; returns the other lines."""
    data = np.fromfile(file, np.uint8)
    rows = parse_input(data)
    rejects = []
    for at, reason in rows.reasons.items():
        text = data[rows.starts[at] : min(rows.starts[at + 1], rows.starts[at] + 200)].tobytes()
        rejects.append(Reject(file.name, at + 1, reason, text.decode("utf-8", "replace").rstrip("\r\n")))
    values = rows.values[rows.good]
    for kind, defined in DEFINED.items():
        undefined = [at for at, field in enumerate(FIELDS) if at and field not in defined]
        values[np.ix_(values[:, 0] == kind, undefined)] = -1
    lines = "".join(",".join(map(str, row)) + "\n" for row in values.tolist())
    file.write_text(lines)
    return rejects
