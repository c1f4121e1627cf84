"""The files of a path: one, or those of a folder or pattern in the order of their names, later ones behind."""

import glob
import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from aurora.errors import AuroraError

__all__ = ["FileList", "list_files"]


@dataclass
class FileList:
    """`notes` is a file for the order of the files, which must not change between restarts."""

    path: str
    follow: bool = False
    notes: str | None = None
    _files: list[str] = field(default_factory=list)

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
            self._files = json.loads(Path(self.notes).read_text())
        elif self._files and not self.follow:
            return False
        known = set(self._files)
        new = [path for path in list_files(self.path) if path not in known]
        if new and (self.follow or not self._files):
            self._files = self._files + new
            if self.notes:
                partial = Path(self.notes + ".partial")
                partial.write_text(json.dumps(self._files))
                partial.replace(self.notes)
            return True
        return False


def list_files(folder: str) -> list[str]:
    """The files of a folder, or those that fit a pattern, by name, without hidden and half-written ones."""
    if "*" in folder:
        return sorted(path for path in glob.glob(folder) if os.path.isfile(path))
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.is_file())
    except OSError as fault:
        raise AuroraError(f"cannot read folder {folder}: {fault.strerror}") from None
    return [os.path.join(folder, name) for name in names if not name.startswith((".", "_"))]
