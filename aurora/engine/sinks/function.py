"""Rows that go to a function of the user's, or to the console."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from aurora.algebra.tuples.train import Ints
from aurora.characters import printable
from aurora.engine.sinks.notation import PLAIN, Notation
from aurora.engine.sinks.sink import Note

__all__ = ["FunctionSink", "Printer"]


@dataclass(frozen=True)
class FunctionSink:
    """Calls a function with the rows of each batch; after a crash a batch may come again."""

    function: Callable[[pa.RecordBatch], Any]

    @property
    def place(self) -> None:
        return None

    def open(self, note: Note) -> Note:
        return None

    def deliver(self, batch: int, rows: pa.RecordBatch, arrived: Ints, note: Note) -> Note:
        self.function(rows)

    def sync(self) -> None:
        pass

    def finish(self) -> None:
        pass


@dataclass(frozen=True)
class Printer:
    """Prints rows as CSV with the output's name in front, so that they can be piped."""

    name: str
    notation: Notation = PLAIN

    def __call__(self, rows: pa.RecordBatch) -> None:
        text = self.notation.to_csv(rows).decode()
        for line in (printable(text) if sys.stdout.isatty() else text).split("\n")[:-1]:
            print(f"{self.name}: {line}", flush=True)
