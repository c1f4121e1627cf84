"""Which files a run reads and writes, compared before anything is written: none may be two things at once."""

import fnmatch
import glob
import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from aurora.engine.address_options import without_secrets
from aurora.errors import AuroraError

__all__ = ["Read", "Written", "check_local", "check_places", "survey"]

# How files are copied from where a path cannot lead.
COPIES = {
    "http": "fetch the file first, as with curl -O {}",
    "https": "fetch the file first, as with curl -O {}",
    "s3": "mount the bucket as a folder, or copy the files first, as with aws s3 cp {} .",
    "gs": "mount the bucket as a folder, or copy the files first, as with gcloud storage cp {} .",
    "hdfs": "copy the files first, as with hdfs dfs -get {}",
}


@dataclass(frozen=True)
class Read:
    """What is read: a file, a folder (the files in it), or a pattern; `what` it is in words."""

    what: str
    path: str


@dataclass(frozen=True)
class Written:
    """What is written: a file, or a folder (it ends in /) with all in it. Shared files may be written by several."""

    what: str
    path: str
    shared: bool = False

    @property
    def folder(self) -> bool:
        return self.path.endswith(os.sep)


def check_local(what: str, path: str) -> None:
    scheme = re.match(r"([A-Za-z][\w+.-]*)://", path)
    if scheme:
        path = without_secrets(path)
        copy = COPIES.get(scheme[1].lower(), f"mount {scheme[0]} as a folder, or copy the files")
        raise AuroraError(
            f"{what}: {path} is not a local path, and only local paths are supported; {copy.format(path)}"
        )


def check_places(reads: Sequence[Read], writes: Sequence[Written]) -> None:
    """Raises a fault that names both where one path is meant twice; links count as what they lead to."""
    for number, one in enumerate(writes):
        for other in writes[:number]:
            _check_two(other, one)
        for read in reads:
            _check_read(read, one)


def _check_two(first: Written, second: Written) -> None:
    if _same(first.path, second.path):
        if not (first.shared and second.shared):
            raise AuroraError(f"{first.what} and {second.what} both write {first.path}: give each its own")
        return
    for inner, outer in ((first, second), (second, first)):
        if _inside(inner.path, outer.path):
            raise AuroraError(
                f"{inner.what} writes {inner.path}, which lies in the folder of {outer.what}, {outer.path}: "
                "choose another path"
            )


def _check_read(read: Read, written: Written) -> None:
    where = f"{read.what} reads {read.path}"
    if "*" in read.path:
        meant = _fits(written.path, read.path)
    elif os.path.isdir(read.path):
        listed = not os.path.basename(written.path).startswith((".", "_"))
        meant = _same(read.path, written.path) or (
            not written.folder and listed and _same(os.path.dirname(written.path), read.path)
        )
    else:
        meant = _same(read.path, written.path)
    if meant or any(_same(path, written.path) for path in _linked(read.path, written)):
        raise AuroraError(f"{where}, and {written.what} writes {written.path}: choose another path")
    if _inside(_fixed(read.path), written.path):
        raise AuroraError(
            f"{where}, which lies in the folder of {written.what}, {written.path}: choose another path"
        )


def _same(one: str, other: str) -> bool:
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _inside(path: str, folder: str) -> bool:
    inner, outer = os.path.realpath(path), os.path.realpath(folder)
    return inner == outer or inner.startswith(outer.rstrip(os.sep) + os.sep)


def _fixed(path: str) -> str:
    """A path as far as it has no wildcards."""
    while "*" in path:
        path = os.path.dirname(path)
    return path


def _fits(path: str, pattern: str) -> bool:
    fixed = _fixed(os.path.abspath(pattern))
    wild = os.path.relpath(os.path.abspath(pattern), fixed)
    whole = os.path.join(os.path.realpath(fixed), wild).split(os.sep)
    parts = os.path.realpath(path).split(os.sep)
    return len(parts) == len(whole) and all(map(fnmatch.fnmatchcase, parts, whole))


def _linked(place: str, written: Written) -> Iterable[str]:
    """The links in a folder or pattern that is read; the others are told by their paths."""
    if written.folder or not os.path.exists(written.path) or not ("*" in place or os.path.isdir(place)):
        return []
    return [path for path in _files(place) if os.path.islink(path) or os.lstat(path).st_nlink > 1]


def _files(place: str) -> list[str]:
    if "*" in place:
        return sorted(glob.glob(place))
    return sorted(entry.path for entry in os.scandir(place)) if os.path.isdir(place) else [place]


def survey(place: str) -> str:
    """A mark that changes when a file there does, or one comes or goes."""
    mark = hashlib.sha256()
    for path in _files(place):
        if not os.path.basename(path).startswith((".", "_")) and os.path.isfile(path):
            found = os.stat(path)
            mark.update(f"{path}\0{found.st_size}\0{found.st_mtime_ns}\n".encode())
    return mark.hexdigest()
