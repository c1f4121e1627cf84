"""What a run did, and the rows of the outputs that it has kept in memory."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

import pyarrow as pa

from aurora.engine.sinks.rows import Rows
from aurora.engine.totals import Totals
from aurora.errors import AuroraError, did_you_mean

__all__ = ["Result"]


@dataclass(frozen=True, repr=False)
class Result:
    """What a run did: sums over all its batches, restarts included, and the seconds of this run.

    `already` is true if there was nothing to do, because an earlier run with this checkpoint finished the same input.
    `goes_on` is true if the input has not ended, and the same run, started again, continues where this one stopped;
    `waiting` is the number of tuples inside the network with which it then begins. `result["alarms"]` has the rows of
    an output that were kept in memory.
    """

    totals: Totals
    seconds: float
    ended: bool
    already: bool = False
    goes_on: bool = False
    waiting: int = 0
    tables: Mapping[str, Rows] = field(default_factory=dict)

    def __getitem__(self, output: str) -> Rows:
        if output not in self.tables:
            near = did_you_mean(output, self.tables)
            there = f"there are {', '.join(self.tables)}" if self.tables else "run the network without sinks"
            raise AuroraError(f"no rows of {output} are in memory{near}; {there}")
        return self.tables[output]

    def to_arrow(self, output: str | None = None) -> pa.Table:
        """The rows of an output as a pyarrow Table; without a name, of the only output."""
        return self._chosen(output).to_arrow()

    def to_pandas(self, output: str | None = None) -> Any:
        """The rows of an output as a pandas DataFrame; without a name, of the only output."""
        return self._chosen(output).to_pandas()

    def to_polars(self, output: str | None = None) -> Any:
        """The rows of an output as a Polars DataFrame; without a name, of the only output."""
        return self._chosen(output).to_polars()

    def _chosen(self, output: str | None) -> Rows:
        if output is None and len(self.tables) > 1:
            raise AuroraError(f"rows of {', '.join(self.tables)} are in memory; name one of them")
        return self[next(iter(self.tables), "any output") if output is None else output]

    def __repr__(self) -> str:
        return f"<Result: {self._told()}>"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self._told())}</p>{''.join(rows._repr_html_() for rows in self.tables.values())}"

    def _told(self) -> str:
        state = "already done" if self.already else "ended" if self.ended else "stopped"
        rows = [f"{name} {number:,}" for name, number in sorted(self.totals.rows.items())]
        left = sum(counts.total() for counts in self.totals.discarded.values())
        told = [f"{state} after {self.seconds:.1f} s", f"{self.totals.read:,} rows read", *rows]
        told += [f"{self.totals.rejected:,} rejected"] if self.totals.rejected else []
        return ", ".join(told + ([f"{left:,} left out"] if left else []))
