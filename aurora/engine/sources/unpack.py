"""Files that are packed with gzip: unpacked once into a folder of the checkpoint, and read from there by place."""

import gzip
import os
import shutil
import zlib

from aurora.errors import AuroraError

__all__ = ["is_packed", "unpack", "unpacked_path"]


def is_packed(path: str) -> bool:
    return path.endswith(".gz")


def unpacked_path(path: str, folder: str) -> str:
    return os.path.join(
        folder, f"{zlib.crc32(path.encode()):08x}-{os.path.basename(path).removesuffix('.gz')}"
    )


def unpack(path: str, folder: str) -> str:
    """The path of the unpacked copy, which is made if it is missing; a restart finds the same bytes."""
    target = unpacked_path(path, folder)
    if not os.path.exists(target):
        os.makedirs(folder, exist_ok=True)
        try:
            with gzip.open(path, "rb") as packed, open(target + ".partial", "wb") as file:
                shutil.copyfileobj(packed, file, 1 << 20)
        except (OSError, EOFError, zlib.error) as fault:
            raise AuroraError(f"{path} cannot be unpacked: {str(fault).splitlines()[0]}") from None
        os.replace(target + ".partial", target)
    return target
