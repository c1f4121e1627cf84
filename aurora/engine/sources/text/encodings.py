"""How the characters of a text file are written: UTF-8, a byte each, or two bytes each."""

import codecs

from aurora.engine.sources.text.csv_records import UTF_8
from aurora.errors import AuroraError, did_you_mean

__all__ = ["is_wide", "read_encoding"]

WIDE = ("utf-16", "utf-16-le", "utf-16-be")
USUAL = ("utf-8", "latin1", "cp1252", "iso8859-15", "cp1250", "cp1251", "koi8-r", "utf-16")


def is_wide(encoding: str) -> bool:
    """Whether line breaks can be told from other bytes only by reading the whole: such files are read from a copy."""
    return encoding in WIDE


def read_encoding(name: str, given: str) -> str:
    """The encoding of that name, in the spelling of Python's codecs.

    >>> read_encoding("reports", "Latin1"), read_encoding("reports", "UTF8")
    ('iso8859-1', 'utf-8')
    """
    try:
        found = codecs.lookup(given).name
        if found in (UTF_8, "utf-8-sig", "ascii"):
            return UTF_8
        if found in WIDE or _has_byte_each(found):
            return found
    except (LookupError, ValueError):
        hint = did_you_mean(given, USUAL)
        raise AuroraError(
            f"source {name}: there is no encoding '{given}'{hint}; the usual ones are {', '.join(USUAL)}"
        ) from None
    raise AuroraError(
        f"source {name}: text in {given} cannot be split into records; convert it with iconv -f {given} -t utf-8"
    )


def _has_byte_each(encoding: str) -> bool:
    """Whether each byte is a character, those of ASCII as there."""
    ascii_bytes = bytes(range(128))
    if ascii_bytes.decode(encoding, "replace") != ascii_bytes.decode():
        return False
    alone = (_decoded(bytes([code]), encoding) for code in range(128, 256))
    pairs = (_decoded(bytes([code, 0x40]), encoding) for code in range(128, 256))
    return all(one is None or len(one) == 1 for one in alone) and not any(
        pair is not None and len(pair) == 1 for pair in pairs
    )


def _decoded(data: bytes, encoding: str) -> str | None:
    try:
        return str(codecs.decode(data, encoding))
    except (UnicodeDecodeError, LookupError):
        return None
