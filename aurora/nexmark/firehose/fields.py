"""The fields of events, as in the suites in use, and how each is written as text."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from aurora.nexmark.firehose.facts import (
    CATEGORY,
    CHANNEL,
    EXPIRES,
    ID,
    KEY,
    KIND,
    KINDS,
    OTHER,
    PRICE,
    RESERVE,
    TIME,
)
from aurora.nexmark.firehose.kernel import kernel
from aurora.nexmark.firehose.letters import TIME_LENGTH, put_number, put_time
from aurora.nexmark.firehose.words import (
    CARD,
    CITY,
    DESCRIPTION,
    EMAIL,
    EXTRA,
    ITEM,
    NAME,
    STATE,
    put_channel,
    put_own,
    put_url,
)

__all__ = ["FIELDS", "NOTHING", "Field", "arrow_schema", "as_time", "longest", "put_field", "schema_text"]

TIMESTAMP = pa.timestamp("us", tz="UTC")
# What a field shows: a number of that column, a time of it (16 more), a text of its own, or one of these.
_TIMES = 16
CHANNEL_NAME, URL, NOTHING = 40, 41, 42


def as_time(column: int) -> int:
    return _TIMES + column


@dataclass(frozen=True)
class Field:
    name: str
    shows: int

    @property
    def type(self) -> pa.DataType:
        if self.shows < _TIMES:
            return pa.int64()
        return TIMESTAMP if self.shows < 2 * _TIMES else pa.string()

    @property
    def column(self) -> int:
        """The column of a number or a time."""
        return self.shows % _TIMES


# By kind, in the order of the format.
FIELDS: tuple[tuple[Field, ...], ...] = (
    (
        Field("id", ID),
        Field("name", NAME),
        Field("emailAddress", EMAIL),
        Field("creditCard", CARD),
        Field("city", CITY),
        Field("state", STATE),
        Field("dateTime", as_time(TIME)),
        Field("extra", EXTRA),
    ),
    (
        Field("id", ID),
        Field("itemName", ITEM),
        Field("description", DESCRIPTION),
        Field("initialBid", PRICE),
        Field("reserve", RESERVE),
        Field("dateTime", as_time(TIME)),
        Field("expires", as_time(EXPIRES)),
        Field("seller", OTHER),
        Field("category", CATEGORY),
        Field("extra", EXTRA),
    ),
    (
        Field("auction", ID),
        Field("bidder", OTHER),
        Field("price", PRICE),
        Field("channel", CHANNEL_NAME),
        Field("url", URL),
        Field("dateTime", as_time(TIME)),
        Field("extra", EXTRA),
    ),
    (
        Field("auction", ID),
        Field("buyer", OTHER),
        Field("dateTime", as_time(TIME)),
    ),
)

# The bytes that a text takes at most; the extra letters depend on the kind.
_LONGEST = {NAME: 15, EMAIL: 15, CARD: 19, CITY: 13, STATE: 2, ITEM: 20, DESCRIPTION: 100}
_LONGEST |= {CHANNEL_NAME: 12, URL: 96, NOTHING: 0}
_LONGEST_EXTRA = (180, 560, 90, 0)


def longest(kind: int, shows: int) -> int:
    """The bytes that a field takes at most."""
    if shows < 2 * _TIMES:
        return TIME_LENGTH
    return _LONGEST_EXTRA[kind] if shows == EXTRA else _LONGEST[shows]


@kernel
def put_field(out: Any, at: Any, shows: Any, facts: Any, row: Any) -> Any:
    if shows < _TIMES:
        return put_number(out, at, facts[shows, row])
    if shows < 2 * _TIMES:
        return put_time(out, at, facts[shows - _TIMES, row])
    if shows == CHANNEL_NAME:
        return put_channel(out, at, facts[CHANNEL, row])
    if shows == URL:
        return put_url(out, at, facts[CHANNEL, row])
    if shows == NOTHING:
        return at
    return put_own(out, at, shows, np.uint64(facts[KEY, row]), facts[KIND, row])


def arrow_schema(profile: str) -> pa.Schema:
    """A column for each kind of event: a struct, null in the rows of the others."""
    kinds = len(KINDS) if profile == "draft" else len(KINDS) - 1
    return pa.schema(
        [
            (KINDS[kind], pa.struct([(field.name, field.type) for field in FIELDS[kind]]))
            for kind in range(kinds)
        ]
    )


def schema_text(profile: str) -> str:
    """The same as the text of a schema of a network."""
    names = {pa.int64(): "bigint", TIMESTAMP: "timestamp", pa.string(): "string"}
    columns = []
    for column in arrow_schema(profile):
        inner = ", ".join(f"{field.name}: {names[field.type]}" for field in column.type)
        columns.append(f"{column.name} struct<{inner}>")
    return ", ".join(columns)
