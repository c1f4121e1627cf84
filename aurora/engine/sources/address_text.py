"""The text of an address, taken apart: its kind, its place, and the options behind a question mark."""

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from aurora.engine.address_options import without_secrets
from aurora.engine.sources.text.csv_records import UTF_8
from aurora.engine.sources.text.encodings import read_encoding
from aurora.engine.sources.text.lines import Style
from aurora.engine.sources.text.patterns import check_pattern
from aurora.errors import AuroraError, did_you_mean
from aurora.network.amounts import duration

__all__ = ["Address", "host_and_port", "read_address"]

# The kinds of addresses, and the options that may stand behind a question mark.
KINDS: dict[str, tuple[str, ...]] = {
    "csv": (
        "decimal",
        "delimiter",
        "encoding",
        "end",
        "header",
        "max_unpacked",
        "merge",
        "null",
        "shed",
        "unreadable",
    ),
    "json": ("end", "max_unpacked", "shed"),
    "lines": ("end", "max_unpacked", "pattern", "shed"),
    "parquet": ("max_unpacked",),
    "sqlite": ("table",),
    "tcp": ("decimal", "delimiter", "encoding", "header", "null", "pattern", "reconnect", "unreadable"),
}
OPTIONS = re.compile(r"(.+?)\?(\w+=[^&]*(?:&\w+=[^&]*)*)", re.DOTALL)
DELIMITERS = {"tab": "\t", "\\t": "\t"}
SIZES = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
SIZE = re.compile(r"(\d{1,12})\s*(KB|MB|GB|TB)", re.IGNORECASE)
YES_OR_NO = {"": None, "yes": True, "true": True, "no": False, "false": False}


@dataclass(frozen=True)
class Address:
    name: str
    kind: str
    place: str
    options: dict[str, str] = field(default_factory=dict)

    @property
    def style(self) -> Style:
        given = self.options.get("delimiter", ",")
        delimiter = DELIMITERS.get(given, given)
        if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
            raise AuroraError(
                f"source {self.name}: a delimiter is one character, such as ; or tab, found '{given}'"
            )
        header = self.options.get("header", "").lower()
        if header not in YES_OR_NO:
            raise AuroraError(f"source {self.name}: header is yes or no, found '{header}'")
        kind = "lines" if self.kind == "tcp" else self.kind
        pattern = self.options.get("pattern")
        if self.kind == "lines" and pattern is None:
            raise AuroraError(
                f"source {self.name}: lines: needs a pattern with named groups for the fields, such as "
                "lines:app.log?pattern=(?P<at>\\S+) (?P<level>[A-Z]+) (?P<text>.*)"
            )
        if pattern is not None:
            check_pattern(f"source {self.name}", pattern)
            kind = "pattern"
        encoding = read_encoding(self.name, self.options.get("encoding", UTF_8))
        nulls = tuple(filter(None, self.options.get("null", "").split(",")))
        unreadable = self.options.get("unreadable", "reject")
        if unreadable not in ("null", "reject"):
            raise AuroraError(f"source {self.name}: unreadable is null or reject, found '{unreadable}'")
        decimal = self.options.get("decimal", ".")
        if decimal not in (".", ","):
            raise AuroraError(f"source {self.name}: decimal is . or , found '{decimal}'")
        return Style(
            kind, delimiter, YES_OR_NO[header], encoding, nulls, unreadable == "null", decimal, pattern
        )

    @property
    def reconnect(self) -> float:
        given = self.options.get("reconnect")
        return 0.0 if given is None else duration(given, f"source {self.name}: reconnect") / 1000

    @property
    def end(self) -> str | None:
        """The name of the file that says that no other will come to a folder."""
        return self.options.get("end")

    @property
    def most_unpacked(self) -> int | None:
        """How many bytes a compressed file, or a row group of Parquet, may have unpacked, if the address says so."""
        given = self.options.get("max_unpacked")
        if given is None:
            return None
        size = SIZE.fullmatch(given)
        bytes_ = int(size[1]) * SIZES[size[2].upper()] if size else 0
        if not bytes_:
            raise AuroraError(f"source {self.name}: max_unpacked is a size such as 500GB, found '{given}'")
        return bytes_

    def says_shed(self) -> bool:
        """Whether rows of the files of a folder may be left out under overload."""
        given = self.options.get("shed", "").lower()
        if given not in YES_OR_NO:
            raise AuroraError(f"source {self.name}: shed is yes or no, found '{given}'")
        return bool(YES_OR_NO[given])

    def check_folder(self) -> None:
        """Raises a fault if an option for the files of a folder or pattern does not fit the address."""
        given = [option for option in ("end", "merge", "shed") if option in self.options]
        if given and (self.is_pipe or not ("*" in self.place or os.path.isdir(self.place))):
            raise AuroraError(
                f"source {self.name}: {given[0]} is for the files of a folder or pattern, such as "
                f"DIR/part-*.csv, found {self.place}"
            )
        if "merge" in given and len(given) > 1:
            raise AuroraError(
                f"source {self.name}: files that are merged are read once, and stay; leave out "
                f"{next(option for option in given if option != 'merge')}"
            )
        name = self.end
        if name is not None and (not name or os.path.basename(name) != name):
            raise AuroraError(
                f"source {self.name}: end is the name of a file in the folder, as _SUCCESS, found '{name}'"
            )
        if name is not None and "*" in os.path.dirname(self.place):
            raise AuroraError(
                f"source {self.name}: end names a file of one folder; write the folder without *, found {self.place}"
            )
        self.says_shed()

    @property
    def is_pipe(self) -> bool:
        """Whether its bytes come once, and in their order: standard input, a named pipe, a device."""
        if self.kind == "tcp" or "*" in self.place:
            return False
        if self.place == "-":
            return True
        try:
            mode = os.stat(self.place).st_mode
        except OSError:
            return False
        return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def read_address(name: str, address: object) -> Address:
    """Return the parts of an address; raise a fault if it is none."""
    if not isinstance(address, str | os.PathLike):
        _refuse_object(name, address)
    kind, colon, place = str(address).partition(":")
    if not colon or kind not in KINDS or not place:
        near = did_you_mean(kind, (*KINDS, "kafka", "mqtt", "postgres")) if colon else ""
        raise AuroraError(
            f"source {name}: '{without_secrets(str(address))}' is not an address{near}; write csv:PATH, json:PATH, "
            "lines:PATH?pattern=.., parquet:PATH, sqlite:PATH?table=NAME, tcp:HOST:PORT, kafka:HOST:PORT/TOPIC, "
            "mqtt:HOST:PORT/TOPIC or postgres:HOST:PORT/DATABASE/TABLE?by=COLUMN"
        )
    found = OPTIONS.fullmatch(place)
    if found is None or os.path.exists(place):
        return Address(name, kind, _standard_input(place))
    options = dict(option.split("=", 1) for option in found[2].split("&"))
    for option in options:
        if option not in KINDS[kind]:
            known = ", ".join(KINDS[kind])
            has = f"the options of {kind} are {known}" if known else f"{kind} has no options"
            hint = did_you_mean(option, KINDS[kind])
            raise AuroraError(f"source {name}: there is no option {option}{hint}; {has}")
    return Address(name, kind, _standard_input(found[1]), options)


def _refuse_object(name: str, given: object) -> NoReturn:
    """Raise a fault that says how rows in memory become a source."""
    kind = type(given)
    if kind.__module__.startswith("pyspark.sql"):
        fix = "write Frame(df) for a DataFrame of Spark"
    elif isinstance(given, Mapping) or hasattr(given, "read") or given is None:
        fix = "write an address such as csv:PATH, or Memory.of(rows) for rows in memory"
    else:
        fix = "write Memory.of(rows) for a list of dicts, a DataFrame of pandas or Polars, or a Table of pyarrow"
    article = "an" if kind.__name__[0] in "aeiouAEIOU" else "a"
    raise AuroraError(f"source {name}: {article} {kind.__name__} is not an address; {fix}")


def _standard_input(place: str) -> str:
    """Standard input that is a file, from its beginning, is read as that file: then a restart goes on in it."""
    if place not in ("-", "/dev/stdin"):
        return place
    try:
        path = os.path.realpath("/dev/stdin")
        at_start = os.path.isfile(path) and os.lseek(0, 0, os.SEEK_CUR) == 0
    except OSError:
        return "-"
    return path if at_start else "-"


def host_and_port(name: str, place: str) -> tuple[str, int]:
    host, _, port = place.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise AuroraError(
            f"source {name}: 'tcp:{place}' needs a host and a port, for example tcp:localhost:9000"
        )
    return host, int(port)
