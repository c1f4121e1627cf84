"""The file of rows that could not be read: it is there only if there are such rows."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from aurora.algebra.tuples.train import Ints, Train
from aurora.engine.sinks.sink import Note
from aurora.engine.sinks.text import TextSink
from aurora.engine.sources.source import REJECTS, Reject
from aurora.errors import AuroraError

__all__ = ["REJECTS_SINK", "RejectsSink", "rejects_train"]

# No output has this name: the names of outputs are free, and `rejects` is one.
REJECTS_SINK = "#rejects"


def rejects_train(name: str, rejects: Sequence[Reject]) -> Train:
    """Rows for the file of rejects; `name` is that of the source."""
    rows = [
        {"source": name, "file": bad.file, "line": bad.line, "reason": bad.reason, "text": bad.text}
        for bad in rejects
    ]
    line = np.array([bad.line for bad in rejects], np.int64)
    return Train(pa.RecordBatch.from_pylist(rows, REJECTS.arrow()), np.zeros(len(rows), np.int64), line[None])


@dataclass(frozen=True)
class RejectsSink(TextSink):
    """Its note is None until the first row; what an earlier run has rejected does not survive a run without rejects."""

    def check(self) -> None:
        """Refuses a file that holds anything but rejects, before it is replaced."""
        if Path(self.place).exists() and not self._is_of_rejects():
            raise AuroraError(
                f"rejected rows would go to {self.place}, which holds something else: "
                "move it away, or name another file with --rejects"
            )

    def open(self, note: Note) -> Note:
        if note is not None:
            return super().open(note)
        self.check()
        Path(self.place).unlink(missing_ok=True)
        return None

    def deliver(self, batch: int, rows: pa.RecordBatch, arrived: Ints, note: Note) -> Note:
        if note is None:
            # The run has removed an earlier one: what is there now has come since.
            self._check_absent()
            note = super().open(None)
        return super().deliver(batch, rows, arrived, note)

    def _check_absent(self) -> None:
        if Path(self.place).exists():
            raise AuroraError(
                f"rejected rows would go to {self.place}, which something else has written while the run went on: "
                "move it away and give the same command again, or name another file with --rejects"
            )

    def stages(self, in_order: bool, local: bool) -> bool:
        return False

    def _is_of_rejects(self) -> bool:
        with open(self.place, "rb") as file:
            first = file.readline(1 << 20)
            if not first.strip():
                # A blank line may stand before something that is not ours.
                return not first and not file.read(1)
        if self.header and first.strip() == self.header.strip():
            return True
        try:
            found = json.loads(first)
        except ValueError:
            return False
        return isinstance(found, dict) and list(found) == list(REJECTS.names)
