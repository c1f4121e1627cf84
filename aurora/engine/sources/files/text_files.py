"""Files of lines as they are read: unpacked where they are packed, and what the first line of each tells."""

import os
from codecs import BOM_UTF8 as BOM
from dataclasses import dataclass, field
from pathlib import Path

from aurora.algebra.tuples.schema import Schema
from aurora.engine.durable import Damaged, cannot_write, make_folder, read_whole, write_whole
from aurora.engine.sources.files.unpack import is_packed, remove_copy, unpack, unpacked_path
from aurora.engine.sources.text.encodings import is_wide
from aurora.engine.sources.text.lines import Form, Head, Style, read_head
from aurora.engine.sources.text.text import FileText
from aurora.errors import AuroraError

__all__ = ["TextFiles"]


@dataclass
class TextFiles:
    """`unpacked` is a folder for unpacked copies, each of which has `most` bytes at most."""

    style: Style
    schema: Schema
    unpacked: str | None = None
    most: int | None = None
    _heads: dict[str, Head] = field(default_factory=dict)

    def is_copied(self, path: str) -> bool:
        """Whether its bytes are read from a copy that is unpacked, and in UTF-8."""
        return is_packed(path) or is_wide(self.style.encoding)

    def text(self, path: str) -> FileText:
        if not self.is_copied(path):
            return FileText.of(path)
        if self.unpacked is None:
            raise AuroraError(f"{path} is compressed, and there is no folder in which to unpack it")
        note = self._size_note(path)
        if not os.path.exists(unpacked_path(path, self.unpacked)):
            size = FileText.of(path).size()
            try:
                make_folder(note.parent)
                write_whole(note, str(size))
            except OSError as fault:
                raise cannot_write(note, fault) from None
        encoding = self.style.encoding
        copy = unpack(path, self.unpacked, encoding if is_wide(encoding) else None, self.most)
        return FileText(copy, os.path.basename(path))

    def check_size(self, path: str) -> None:
        """Raises a fault if a file has grown, or was replaced, since its copy was made: the copy is not made again."""
        if not self.is_copied(path) or self.unpacked is None:
            return
        try:
            noted, size = int(read_whole(self._size_note(path))), os.path.getsize(path)
        except (OSError, ValueError, Damaged):
            # An earlier version noted no size, and a file of which there is a copy may be gone.
            return
        if size != noted:
            raise AuroraError(
                f"{path} was replaced, changed or removed: it had {noted:,} bytes when it was unpacked and has "
                f"{size:,} now, but it must be complete when it comes; put the old one back and what is new into a "
                "file of its own, or start over with --fresh"
            )

    def _size_note(self, path: str) -> Path:
        """The file beside a copy that tells how many bytes the original had before the copy was made."""
        return Path(unpacked_path(path, self.unpacked or "") + ".size")

    def head(self, path: str, complete: bool = True, size: int | None = None) -> Head | None:
        """What the first line tells; nothing if more of it may come, unless the file is complete.

        Only so many bytes of the file are looked at, or all.
        """
        if path not in self._heads:
            text = self.text(path)
            size = text.size() if size is None else size
            if size < len(BOM) and not complete and BOM.startswith(text.read(0, size)):
                return None
            head = read_head(text, 0, self.style, self.schema, complete, size)
            if head is None:
                return None
            self._heads[path] = head
        return self._heads[path]

    def form(self, path: str, complete: bool = True, size: int | None = None) -> Form:
        head = self.head(path, complete, size)
        return (
            head.form
            if head is not None
            else Form(self.style.csv if self.style.kind == "csv" else None, pattern=self.style.pattern)
        )

    def forget(self, path: str) -> None:
        """A copy of a file that is done with goes."""
        self._heads.pop(path, None)
        if self.is_copied(path) and self.unpacked is not None:
            remove_copy(path, self.unpacked)
            self._size_note(path).unlink(missing_ok=True)

    def forget_heads(self) -> None:
        """Files may have been replaced by others."""
        self._heads.clear()
