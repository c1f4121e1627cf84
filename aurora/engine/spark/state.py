"""The state of a bucket: kept by Spark, with a copy on the local disk that is read instead where it is current.

Spark hands a value to Python through a pickle, at some 50 MB/s; a file of the local disk is mapped. What counts is in
Spark's store: a list of the names with a mark for each, new with every write. A file carries the mark in its name, so
one that another attempt, or another machine, has written is never taken for the current one.
"""

import contextlib
import json
import os
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from aurora.algebra.tuples.train import from_bytes, to_bytes

__all__ = ["StoredState"]

# No box has this name: names of boxes are not empty.
MARKS = "/marks"


class StoredState:
    """`values` is Spark's map state of one bucket, `folder` the place of the local copies."""

    def __init__(self, values: Any, folder: Path) -> None:
        self._values = values
        self._folder = folder
        found = values.getValue((MARKS,))
        self._marks: dict[str, str] = {} if found is None else json.loads(bytes(found[0]))

    def read(self, name: str) -> pa.RecordBatch | None:
        mark = self._marks.get(name)
        if mark is None:
            return None
        path = self._path(name, mark)
        with contextlib.suppress(OSError), pa.memory_map(path) as file:
            return from_bytes(file.read_buffer())
        found = self._values.getValue((name,))
        content = bytes(found[0])
        self._keep(path, content)
        return from_bytes(content)

    def write(self, changes: Iterable[tuple[str, pa.RecordBatch | None]]) -> None:
        mark = uuid.uuid4().hex
        changed = False
        for name, value in changes:
            changed = True
            before = self._marks.pop(name, None)
            if value is None:
                self._values.removeKey((name,))
            else:
                content = to_bytes(value)
                self._values.updateValue((name,), (content,))
                self._marks[name] = mark
                self._keep(self._path(name, mark), content)
            if before is not None:
                with contextlib.suppress(OSError):
                    os.unlink(self._path(name, before))
        if changed:
            self._values.updateValue((MARKS,), (json.dumps(self._marks).encode(),))

    def _path(self, name: str, mark: str) -> str:
        return str(self._folder / f"{name.replace('/', '%')}-{mark}")

    def _keep(self, path: str, content: bytes) -> None:
        """A copy is a convenience: where the disk does not take it, Spark's value is read."""
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            partial = f"{path}.{os.getpid()}"
            with open(partial, "wb") as file:
                file.write(content)
            os.rename(partial, path)
