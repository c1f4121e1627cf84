"""The rows that windows hold: group, value of the order field, and what is needed of the tuples."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from aurora.algebra.state.groups import Groups
from aurora.algebra.tuples.train import Ints, Mask, Values

__all__ = ["WindowRows"]


@dataclass(frozen=True)
class WindowRows:
    """`begun`: the local time when the row came (for timeouts). `opens`: whether a window starts at it."""

    group: Ints
    value: Values
    arrived: Ints
    begun: Ints | None
    opens: Mask | None
    columns: list[pa.Array]

    def __len__(self) -> int:
        return len(self.group)

    def take(self, index: Ints) -> "WindowRows":
        places = pa.array(index)
        return WindowRows(
            self.group[index],
            self.value[index],
            self.arrived[index],
            None if self.begun is None else self.begun[index],
            None if self.opens is None else self.opens[index],
            [column.take(places) for column in self.columns],
        )

    def filter(self, mask: Mask) -> "WindowRows":
        return self if mask.all() else self.take(np.flatnonzero(mask))

    def replace(self, value: Values, columns: list[pa.Array]) -> "WindowRows":
        return replace(self, value=value, columns=columns)

    def reduce(self, starts: Ints, columns: list[pa.Array]) -> "WindowRows":
        """One row for each run of rows, with the columns that sum it up."""
        return WindowRows(
            self.group[starts],
            self.value[starts],
            np.minimum.reduceat(self.arrived, starts),
            None if self.begun is None else np.minimum.reduceat(self.begun, starts),
            None if self.opens is None else self.opens[starts],
            columns,
        )

    @staticmethod
    def concat(parts: Sequence["WindowRows"]) -> "WindowRows":
        first = parts[0]
        return WindowRows(
            np.concatenate([part.group for part in parts]),
            np.concatenate([part.value for part in parts]),
            np.concatenate([part.arrived for part in parts]),
            None if first.begun is None else np.concatenate([_given(part.begun) for part in parts]),
            None if first.opens is None else np.concatenate([_given(part.opens) for part in parts]),
            [pa.concat_arrays(list(columns)) for columns in zip(*(p.columns for p in parts), strict=True)],
        )

    def store(self, groups: Groups, part: str) -> None:
        hidden: dict[str, object] = {"#value": self.value, "#ts": self.arrived}
        if self.begun is not None:
            hidden["#begun"] = self.begun
        if self.opens is not None:
            hidden["#opens"] = self.opens
        arrays = [*(pa.array(column) for column in hidden.values()), *self.columns]
        names = [*hidden, *(str(i) for i in range(len(self.columns)))]
        groups.put(part, self.group, pa.RecordBatch.from_arrays(arrays, names=names))

    @staticmethod
    def load(groups: Groups, part: str) -> "WindowRows | None":
        stored = groups.rows(part)
        if stored is None:
            return None
        group, rows = stored
        names = rows.schema.names

        def hidden(field: str) -> Values:
            column: Values = rows.column(field).to_numpy(zero_copy_only=False)
            return column

        return WindowRows(
            group,
            hidden("#value"),
            hidden("#ts"),
            hidden("#begun") if "#begun" in names else None,
            hidden("#opens") if "#opens" in names else None,
            [rows.column(i) for i, field in enumerate(names) if not field.startswith("#")],
        )


def _given(column: Values | None) -> Values:
    assert column is not None
    return column
