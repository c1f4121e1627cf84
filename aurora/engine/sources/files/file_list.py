"""The files of a path: one, or those of a folder or pattern in the order of their names, later ones behind."""

import glob
import json
import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from aurora.engine.durable import (
    RESTORE,
    Damaged,
    cannot_write,
    is_sealed,
    seal_line,
    sync_file,
    sync_folder,
    unseal_line,
)
from aurora.errors import AuroraError

__all__ = ["FileList", "list_files"]


@dataclass
class FileList:
    """`notes` is a file for the order of the files, which must not change between restarts.

    A file of the name `end` is none of them: it says that no other will come.
    """

    path: str
    follow: bool = False
    notes: str | None = None
    end: str | None = None
    _files: list[str] = field(default_factory=list)
    _known: set[str] = field(default_factory=set)

    @property
    def several(self) -> bool:
        return "*" in self.path or os.path.isdir(self.path)

    def known(self) -> list[str]:
        if not self._files:
            self.look()
        return self._files

    def look(self) -> bool:
        """Adds the files that are new, behind those known; their order is noted before it is relied upon."""
        if not self.several:
            self._files = [self.path] if os.path.exists(self.path) else []
            return False
        if not self._files and self.notes and os.path.exists(self.notes):
            self._add(_read_notes(self.notes))
        elif self._files and not self.follow:
            return False
        new = [path for path in self._list() if path not in self._known]
        if new and (self.follow or not self._files):
            if self.notes:
                _append_note(self.notes, new)
            self._add(new)
            return True
        return False

    def there(self) -> list[str]:
        """Those that are known, and behind them those that have come since; nothing is to rely on their order yet."""
        known = self.known()
        if not (self.follow and self.several):
            return known
        marker = None if self.end is None else self._marker(self.end)
        return [
            *known,
            *(path for path in list_files(self.path) if path not in self._known and path != marker),
        ]

    def ended(self) -> bool:
        """Whether a file says that no other will come; those that have come are known then."""
        if self.end is None or not os.path.exists(self._marker(self.end)):
            return False
        self.look()
        return True

    def _add(self, new: list[str]) -> None:
        self._files += new
        self._known.update(new)

    def _marker(self, name: str) -> str:
        return os.path.join(self.path if os.path.isdir(self.path) else os.path.dirname(self.path), name)

    def _list(self) -> list[str]:
        """A file that comes while a folder is listed may be left out, and a later one not: so it is listed twice.

        The second list is complete up to the last file of the first.
        """
        marker = None if self.end is None else self._marker(self.end)
        found = list_files(self.path)
        if self.follow and found:
            last = found[-1]
            found = [path for path in list_files(self.path) if path <= last]
        return [path for path in found if path != marker]


def _append_note(notes: str, new: list[str]) -> None:
    """It is on the disk before a batch relies on it."""
    try:
        begun = os.path.exists(notes)
        with open(notes, "ab") as file:
            file.write(seal_line(json.dumps(new).encode()))
        sync_file(notes)
        if not begun:
            sync_folder(os.path.dirname(os.path.abspath(notes)))
    except OSError as fault:
        raise cannot_write(notes, fault) from None


def _read_notes(notes: str) -> list[str]:
    """A line has the files of one look; one that a kill has cut off was not relied upon."""
    *lines, cut = Path(notes).read_bytes().split(b"\n")
    found = []
    for number, line in enumerate(lines, 1):
        found += _read_line(notes, line, number)
    if not cut:
        # A run that was killed may not have come to that.
        sync_file(notes)
        return list(dict.fromkeys(found))
    if is_sealed(cut[:-1]):
        # Its line end is another byte: no kill does that.
        _read_line(notes, cut, len(lines) + 1)
    with suppress(ValueError):
        # Those of an earlier version have no line break.
        found += json.loads(unseal_line(cut))
        lines.append(cut)
    _rewrite(notes, lines)
    return list(dict.fromkeys(found))


def _read_line(notes: str, line: bytes, number: int) -> list[str]:
    try:
        found: list[str] = json.loads(unseal_line(line))
    except ValueError:
        raise Damaged(
            f"{notes} is damaged in line {number}, and with it the order in which files were read; {RESTORE}"
        ) from None
    return found


def _rewrite(notes: str, lines: list[bytes]) -> None:
    """Replace the notes by those lines, in one step."""
    partial = f"{notes}.partial"
    with open(partial, "wb") as file:
        file.writelines(line + b"\n" for line in lines)
    sync_file(partial)
    os.replace(partial, notes)
    sync_folder(os.path.dirname(os.path.abspath(notes)))


def list_files(folder: str) -> list[str]:
    """The files of a folder, or those that fit a pattern, by name, without hidden and half-written ones."""
    if "*" in folder:
        return sorted(path for path in glob.glob(folder) if os.path.isfile(path))
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.is_file())
    except OSError as fault:
        raise AuroraError(f"cannot read folder {folder}: {fault.strerror}") from None
    return [os.path.join(folder, name) for name in names if not name.startswith((".", "_"))]
