"""What every source can do: say how far it goes, and cut what lies between two places into pieces."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aurora.algebra.tuples.schema import Schema

__all__ = [
    "NOTICE",
    "REJECTS",
    "Cursor",
    "EmptyPiece",
    "Feed",
    "Opening",
    "Piece",
    "Portion",
    "Reject",
    "SkippingPiece",
    "Source",
    "Wanted",
    "add_notice",
    "bytes_of_row",
    "can_shed",
    "can_skip",
    "catch_up",
    "check_reached",
    "forget_before",
    "has_moved",
    "is_replaced",
    "notices",
    "paths_read",
    "rows_waiting",
    "source_identity",
    "unit_of",
    "why_uncut",
]

# A place in a source; it is kept in Spark's offset log, so it is plain JSON. Every cursor has "row": rows before it.
# One may have a "notice": something that the user of the run should know about the way to this place.
Cursor = dict[str, Any]
NOTICE = "notice"

# Which rows are wanted, of those with these numbers.
Wanted = Callable[[npt.NDArray[np.int64]], npt.NDArray[np.bool_]]

REJECTS = Schema.parse("source string, file string, line bigint, reason string, text string")


@dataclass(frozen=True)
class Reject:
    """A line that could not be read: where it is, why, and its text."""

    file: str
    line: int
    reason: str
    text: str


@dataclass(frozen=True)
class Portion:
    """Rows that were read, the number of each row in its source, and the rows that could not be read.

    `arrived` says when each row arrived, in milliseconds since 1970; the default is the start of its batch. `order` is
    the position of each row among the rows of all inputs in its batch; by default, the inputs take turns. `origins`
    says where the rows with the given numbers were read, as rejects without a reason, for rows that break a check.
    """

    rows: pa.RecordBatch
    numbers: npt.NDArray[np.int64]
    rejects: tuple[Reject, ...] = ()
    arrived: npt.NDArray[np.int64] | None = None
    order: npt.NDArray[np.int64] | None = None
    origins: Callable[[npt.NDArray[np.int64]], list[Reject]] | None = None


class Piece(Protocol):
    """A part of a source that one task reads, on any machine."""

    def read(self, schema: Schema) -> Portion:
        """The rows of the piece, with the fields of the schema."""
        ...


@dataclass(frozen=True)
class EmptyPiece:
    """No rows: whoever reads it has loaded what reads and what follows."""

    def read(self, schema: Schema) -> Portion:
        return Portion(pa.RecordBatch.from_pylist([], schema.arrow()), np.empty(0, np.int64))


@runtime_checkable
class SkippingPiece(Piece, Protocol):
    """A piece that can pass over rows before they are read, which costs much less."""

    def read_some(self, schema: Schema, wanted: Wanted) -> tuple[Portion, int]:
        """The rows that are wanted, and how many were passed over."""
        ...


@runtime_checkable
class Source(Protocol):
    """What a network may read from. Pass a source of your own to `run` as an object.

    It may have more methods: `identity() -> str` distinguishes it from other sources, so that a run does not continue
    with another one; `forget(cursor)` is called when nothing before that position will be read again;
    `waiting(cursor) -> int` is about how many rows are available after that position; `row_bytes(cursor) -> int` is
    about how many bytes each of the next rows has, so that a batch of wide rows has fewer of them; `portions(rows)`
    gives all its rows in portions of at most `rows` rows; `uncut(cursor) -> str` is the reason why `advance` may stop
    elsewhere than at the row that is asked for, if it may, so that such a source is not put in the order of a field;
    `replaced(cursor) -> bool` says whether the source is another one by now, so that it begins anew behind that place.
    It may have five attributes: `keeps`, if its rows wait at the source until they are read, as those of a file do, so
    that load is never shed from it; `skips`, if its pieces can skip rows (`SkippingPiece`); `history`, if it is live
    but begins with old rows, which then come in the longest batches, as those of a stored file do; `unit`, if its
    positions count something smaller than rows, such as bytes: how many of them make a row; and `reads`, the paths of
    the files, folders or patterns that it reads, so that a run that would write there is refused.
    """

    @property
    def live(self) -> bool:
        """Whether tuples arrive while the network runs; only then does local time pass for timeouts."""
        ...

    def begin(self) -> Cursor:
        """The position before the first row."""
        ...

    def advance(self, cursor: Cursor, rows: int) -> Cursor:
        """The position at most `rows` rows further, as far as rows are available now."""
        ...

    def finished(self, cursor: Cursor) -> bool:
        """Whether no row will ever come after this position."""
        ...

    def pieces(self, start: Cursor, end: Cursor, number: int) -> list[Piece]:
        """About `number` pieces that together cover the rows between the two positions."""
        ...


class Feed(Protocol):
    """What works beside a source while it is read; `once` is true if its data cannot be fetched a second time.

    It may also have `catch_up()`, which returns when everything has been fetched that was available at the call.
    """

    @property
    def once(self) -> bool:
        """Whether its data cannot be fetched a second time."""
        ...

    def connect(self) -> None:
        """Begins to work, before the first batch of a run."""
        ...

    def stop(self) -> None:
        """Ends the work, after the last batch of a run."""
        ...


@runtime_checkable
class Opening(Protocol):
    """Makes a source when a run begins, for a source that needs a folder of its own, or a feed.

    `folder` is part of the checkpoint: the next run finds what a killed run left in it. It need not exist yet. Without
    `follow` the source ends with the data that is available now.
    """

    def open_source(
        self, name: str, schema: Schema, folder: Path, follow: bool
    ) -> tuple[Source, Feed | None]:
        """The source for the input `name`, and the feed that works beside it, if there is one."""
        ...


def catch_up(feed: Feed) -> None:
    """Waits for a feed, if it can say how far it is."""
    wait = getattr(feed, "catch_up", None)
    if callable(wait):
        wait()


def source_identity(source: Source) -> str:
    """What tells a source from others; two with the same identity are taken for one."""
    own = getattr(source, "identity", None)
    return str(own()) if callable(own) else f"{type(source).__module__}.{type(source).__qualname__}"


def paths_read(source: object) -> tuple[str, ...]:
    """The files, folders or patterns that a source reads, if it says so; one path will do."""
    found = getattr(source, "reads", ())
    return tuple(map(os.fspath, (found,) if isinstance(found, str | os.PathLike) else found))


def forget_before(source: Source, cursor: Cursor) -> None:
    """Tells the source, if it wants to know, that all before the cursor is done with."""
    forget = getattr(source, "forget", None)
    if callable(forget):
        forget(cursor)


def check_reached(source: Source, cursor: Cursor) -> None:
    """Asks a source that keeps what it has received whether it still has what came up to a cursor."""
    check = getattr(source, "check_reached", None)
    if callable(check):
        check(cursor)


def is_replaced(source: Source, cursor: Cursor) -> bool:
    """Whether a source is another one by now than that in which a place was found, so that it begins anew."""
    ask = getattr(source, "replaced", None)
    return bool(ask(cursor)) if callable(ask) else False


def rows_waiting(source: Source, cursor: Cursor) -> int | None:
    """How many rows lie behind a place by now, about; None where the source does not say."""
    ask = getattr(source, "waiting", None)
    found = ask(cursor) if callable(ask) else None
    return None if found is None else int(found)


def bytes_of_row(source: Source, cursor: Cursor) -> int:
    """How many bytes a row behind a place has, about; 0 where the source does not say."""
    ask = getattr(source, "row_bytes", None)
    return int(ask(cursor)) if callable(ask) else 0


def can_shed(source: Source) -> bool:
    """Whether load can be shed from a source: its rows come while the network runs, and do not wait."""
    return source.live and not getattr(source, "keeps", False)


def can_skip(source: Source) -> bool:
    return bool(getattr(source, "skips", False))


def has_moved(before: Cursor, after: Cursor) -> bool:
    """Whether two cursors are different places; what was noticed on the way is left out."""
    keys = (before.keys() | after.keys()) - {
        NOTICE,
        "inode",
        "mark",
        "form",
        "passed",
        "dates",
        "size",
        "seen",
        "sum",
    }
    return any(before.get(key, 0) != after.get(key, 0) for key in keys)


def add_notice(cursor: Cursor, notice: str) -> None:
    """Adds a sentence for the user to a cursor."""
    if notice:
        cursor[NOTICE] = f"{cursor[NOTICE]}; {notice}" if NOTICE in cursor else notice


def notices(places: dict[str, Cursor]) -> list[str]:
    """What a batch that ended at these places, by input, has to tell."""
    return [f"input {name}: {place[NOTICE]}" for name, place in places.items() if NOTICE in place]


def unit_of(source: Source) -> int:
    """How many steps of its cursors make a row, about."""
    return int(getattr(source, "unit", 1))


def why_uncut(source: Source, cursor: Cursor) -> str:
    """Return why a source cannot stop at any row behind a place; an empty text if it can."""
    ask = getattr(source, "uncut", None)
    return str(ask(cursor)) if callable(ask) else ""
