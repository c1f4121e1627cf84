"""Files that are packed, or in UTF-16: copied once into a folder of the checkpoint, and read from there by place."""

import bz2
import gzip
import io
import logging
import os
import zlib
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

from aurora.engine.durable import Damaged, make_folder, read_whole, sync_folder, write_whole
from aurora.errors import AuroraError

__all__ = ["CutOff", "is_packed", "open_packed", "remove_copy", "unpack", "unpacked_path"]

ENDINGS = (".gz", ".zst", ".bz2")
CHUNK = 1 << 20
# A file may become so many times as large as it is, or have so many bytes: logs that compress best are far below.
RATIO, SMALL = 200, 4 << 30
# Copies that this process has made, or read as a whole.
_checked: set[str] = set()

# What Arrow says of a file of zstd that ends too early.
TRUNCATED = "Truncated"


class CutOff(AuroraError):
    """A compressed file ends too early: it is damaged, or still being written."""


def is_packed(path: str) -> bool:
    return path.endswith(ENDINGS)


def unpacked_path(path: str, folder: str) -> str:
    name = os.path.basename(path)
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    return os.path.join(folder, f"{zlib.crc32(os.fsencode(path)):08x}-{name}")


def unpack(path: str, folder: str, encoding: str | None = None, most: int | None = None) -> str:
    """Return the path of the copy, unpacked and in UTF-8 if it is not, which is made if it is missing.

    So a restart finds the same bytes: one that is damaged is made again. The copy has `most` bytes at most, or else as
    many as files that are meant well.
    """
    target = unpacked_path(path, folder)
    if not _is_there(target, path):
        make_folder(folder)
        check = 0
        try:
            if is_packed(path) and not os.path.getsize(path):
                raise EOFError("it has no bytes yet")
            with open_packed(path) as packed, open(target + ".partial", "wb") as file:
                text: Any = packed if encoding is None else io.TextIOWrapper(packed, encoding, newline="")
                left = most if most is not None else max(SMALL, RATIO * os.path.getsize(path))
                while part := text.read(CHUNK):
                    data = part if isinstance(part, bytes) else part.encode()
                    left -= file.write(data)
                    check = zlib.crc32(data, check)
                    if left < 0 and is_packed(path):
                        raise _too_large(path, file.tell(), most)
                # A batch that is done relies on the same bytes being there.
                file.flush()
                os.fsync(file.fileno())
        except AuroraError:
            os.remove(target + ".partial")
            raise
        except UnicodeError:
            raise AuroraError(f"{path} is not {encoding} text; check ?encoding=") from None
        except (OSError, EOFError, zlib.error) as fault:
            # Two bytes say that it is a file of gzip.
            begun = path.endswith(".gz") and os.path.getsize(path) < 2
            cut = begun or isinstance(fault, EOFError) or str(fault).startswith(TRUNCATED)
            kind = CutOff if cut else AuroraError
            raise kind(f"{path} cannot be unpacked: {str(fault).splitlines()[0]}") from None
        write_whole(_note(target), f"{check:08x}")
        os.replace(target + ".partial", target)
        sync_folder(folder)
        _checked.add(target)
    return target


def remove_copy(path: str, folder: str) -> None:
    """Remove the copy of a file that is done with."""
    target = unpacked_path(path, folder)
    for name in (Path(target), _note(target)):
        name.unlink(missing_ok=True)
    _checked.discard(target)


def _note(target: str) -> Path:
    """The file beside a copy that tells its checksum."""
    return Path(f"{target}.sum")


def _is_there(target: str, path: str) -> bool:
    """Whether there is a copy that is what was written; one that an earlier version made is taken as it is."""
    if not os.path.exists(target):
        return False
    if target in _checked:
        return True
    found = 0
    with open(target, "rb") as file:
        while part := file.read(CHUNK):
            found = zlib.crc32(part, found)
    try:
        if read_whole(_note(target)) != f"{found:08x}":
            raise Damaged(f"{target} is damaged")
    except FileNotFoundError:
        pass
    except Damaged:
        logging.getLogger("aurora").warning(f"{target} was damaged and is made again from {path}")
        return False
    _checked.add(target)
    return True


def _too_large(path: str, size: int, most: int | None) -> AuroraError:
    given = "" if most is None else f" of {most:,}"
    return AuroraError(
        f"{path} has {os.path.getsize(path):,} bytes and unpacked more than {size - CHUNK:,}, beyond the limit{given}; "
        "if that is right, set another limit, as ?max_unpacked=500GB"
    )


def open_packed(path: str) -> BinaryIO:
    if path.endswith(".gz"):
        return cast(BinaryIO, gzip.open(path, "rb"))
    if path.endswith(".bz2"):
        return cast(BinaryIO, bz2.open(path, "rb"))
    if path.endswith(".zst"):
        return cast(BinaryIO, pa.CompressedInputStream(pa.OSFile(path), "zstd"))
    return open(path, "rb")
