"""Bytes that are read by their place: those of a file, and marks by which a file is known again."""

import os
import zlib
from dataclasses import dataclass
from typing import Protocol

from aurora.errors import AuroraError

__all__ = ["FileText", "Text", "mark_before"]

MARK = 1024


class Text(Protocol):
    """`label` is what rejects call it."""

    @property
    def label(self) -> str: ...

    def size(self) -> int: ...

    def read(self, start: int, stop: int) -> bytes:
        """The bytes from `start` up to `stop`, fewer where there are no more."""
        ...


@dataclass(frozen=True)
class FileText:
    path: str
    label: str

    @staticmethod
    def of(path: str) -> "FileText":
        return FileText(path, os.path.basename(path))

    def size(self) -> int:
        try:
            return os.path.getsize(self.path)
        except OSError as fault:
            raise AuroraError(f"cannot read {self.path}: {fault.strerror}") from None

    def read(self, start: int, stop: int) -> bytes:
        try:
            with open(self.path, "rb") as file:
                file.seek(start)
                return file.read(max(0, stop - start))
        except OSError as fault:
            raise AuroraError(f"cannot read {self.path}: {fault.strerror}") from None


def mark_before(text: Text, byte: int) -> int:
    """A checksum of what lies just before a place: another one means other bytes."""
    data = text.read(max(0, byte - MARK), byte) if byte else b""
    return zlib.crc32(data) if len(data) == min(byte, MARK) else -1
