"""A topic as a source: a cursor holds the offset of every partition."""

import json
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import is_nested
from aurora.engine.avro.schema import parse_schema
from aurora.engine.durable import read_json, write_whole
from aurora.engine.kafka.address import SOURCE_OPTIONS, KafkaAddress, read_kafka
from aurora.engine.kafka.client import kafka
from aurora.engine.kafka.piece import KafkaPiece, Range
from aurora.engine.kafka.topic import EARLIEST, LATEST, Topic, topic_of
from aurora.engine.outages import Unreachable, try_patiently
from aurora.engine.sources.growth import Growth, date_rows, watch_growth
from aurora.engine.sources.source import Cursor, Piece, add_notice
from aurora.engine.sources.text.lines import check_flat
from aurora.errors import AuroraError, did_you_mean

__all__ = ["KafkaTopic", "check_kafka", "open_kafka"]

# What the broker told so many seconds ago is not asked again.
ENDS_AGE, PARTITIONS_AGE = 0.02, 1.0
# What the field for the time of a record can be.
TIMES = ("timestamp[us, tz=UTC]", "int64")


@dataclass(frozen=True)
class KafkaTopic:
    """The offset of each partition where the run began, and of those that end, where.

    Within a batch the partitions come one after the other, by their numbers, each in the order of its offsets: that
    follows from the cursors alone. `row` counts offsets, so marks of transactions count, too.
    """

    address: KafkaAddress
    schema: Schema
    first: tuple[tuple[int, int], ...]
    last: tuple[tuple[int, int], ...] | None

    @property
    def live(self) -> bool:
        return self.last is None

    @property
    def keeps(self) -> bool:
        """What is not read yet waits in the topic: a run that falls behind loses nothing."""
        return True

    def uncut(self, cursor: Cursor) -> str:
        """Return why the rows behind a place have no one order; an empty text if they have."""
        count = len(cursor["offsets"])
        return (
            ""
            if count == 1
            else f"topic {self.address.topic} has {count} partitions, which have no common order"
        )

    def identity(self) -> str:
        return self.address.identity()

    def begin(self) -> Cursor:
        return {"row": 0, "offsets": {str(number): offset for number, offset in self.first}}

    def advance(self, cursor: Cursor, rows: int) -> Cursor:
        offsets = {int(number): offset for number, offset in cursor["offsets"].items()}
        try:
            added, ends = self._look(offsets)
        except Unreachable:
            return cursor
        taken = share_rows(
            {number: max(ends[number] - offset, 0) for number, offset in offsets.items()}, rows
        )
        if not added and not any(taken.values()):
            return cursor
        reached = {number: offset + taken[number] for number, offset in offsets.items()} | added
        place: Cursor = {
            "row": cursor["row"] + sum(taken.values()),
            "offsets": {str(number): reached[number] for number in sorted(reached)},
        }
        if self.live:
            growth = _growth_of(self)
            growth.date(
                cursor,
                place,
                lambda seen: sum(
                    min(max(seen.get(number, 0) - offset, 0), taken[number])
                    for number, offset in offsets.items()
                ),
            )
        if added:
            add_notice(place, f"topic {self.address.topic} has new partitions: {', '.join(map(str, added))}")
        return place

    def _look(self, offsets: dict[int, int]) -> tuple[dict[int, int], dict[int, int]]:
        """New partitions with their first offsets, from where the next batch reads them; and the ends of the others."""
        if self.last is not None:
            return {}, dict(self.last)
        topic = topic_of(self.address)
        there = topic.partitions(PARTITIONS_AGE)
        new = [number for number in there if number not in offsets]
        ends = topic.ends(sorted(offsets), ENDS_AGE)
        for number, offset in offsets.items():
            if ends[number] < offset:
                raise AuroraError(
                    f"partition {number} of topic {self.address.topic} ends at offset {ends[number]}, and was read up "
                    f"to {offset}: it is another topic of that name; start over with --fresh"
                )
        _growth_of(self).see(dict(ends))
        return topic.offsets(new, EARLIEST) if new else {}, ends

    def finished(self, cursor: Cursor) -> bool:
        if self.last is None:
            return False
        return all(cursor["offsets"][str(number)] >= end for number, end in self.last)

    def waiting(self, cursor: Cursor) -> int | None:
        ends = dict(self.last) if self.last is not None else topic_of(self.address).last_ends
        offsets = cursor["offsets"].items()
        return sum(max(ends.get(int(number), 0) - int(offset), 0) for number, offset in offsets)

    def pieces(self, start: Cursor, end: Cursor, number: int) -> list[Piece]:
        share = max(1, -(-(end["row"] - start["row"]) // number))
        ranges: list[list[Range]] = [[]]
        room, row = share, start["row"]
        for partition, stop in sorted((int(name), offset) for name, offset in end["offsets"].items()):
            at = start["offsets"].get(str(partition), stop)
            while at < stop:
                if not room:
                    ranges.append([])
                    room = share
                size = min(room, stop - at)
                ranges[-1].append(Range(partition, at, at + size, row))
                at, row, room = at + size, row + size, room - size
        pieces: list[Piece] = [KafkaPiece(self.address, self.schema, tuple(part)) for part in ranges if part]
        return date_rows(pieces, end)


# How far the topics of this process were seen to go.
_growths: dict[KafkaTopic, Growth] = {}


def _growth_of(source: KafkaTopic) -> Growth:
    if source not in _growths:
        _growths[source] = Growth()
    address = source.address

    @cache
    def topic() -> Topic:
        return Topic(address)

    def look() -> dict[int, int]:
        return topic().offsets(topic().partitions(PARTITIONS_AGE), LATEST)

    watch_growth(_growths[source], look)
    return _growths[source]


def share_rows(backlog: dict[int, int], rows: int) -> dict[int, int]:
    """How many of the rows each partition gives: as much of its backlog as the others of theirs.

    >>> share_rows({0: 10, 1: 30, 2: 0}, 8), share_rows({0: 1, 1: 2}, 8)
    ({0: 2, 1: 6, 2: 0}, {0: 1, 1: 2})
    """
    total = sum(backlog.values())
    if total <= rows:
        return backlog
    found: dict[int, int] = {}
    before = given = 0
    for number, size in backlog.items():
        before += size
        found[number] = before * rows // total - given
        given += found[number]
    return found


def check_kafka(name: str, address: str) -> None:
    """Raises a fault unless the address can be understood, and there is a client."""
    read_kafka(f"source {name}", address, SOURCE_OPTIONS).resolved(f"source {name}")
    kafka()


def open_kafka(name: str, text: str, schema: Schema, follow: bool, note: Path) -> KafkaTopic:
    """`note` keeps where the run began, so that one that goes on begins there, too."""
    address = read_kafka(f"source {name}", text, SOURCE_OPTIONS)
    _check_fields(name, address, schema)
    if address.schema is not None:
        address = replace(address, avro=_read_schema(name, address, schema))
    if address.start == "latest" and not follow:
        raise AuroraError(f"source {name}: start=latest reads what comes from now on; add --follow")
    if note.exists():
        found = read_json(note)
    else:
        found = _look_at(name, address)
        write_whole(note, json.dumps(found))
    last = None if follow else tuple((number, end) for number, end in found["last"])
    return KafkaTopic(address, schema, tuple((number, at) for number, at in found["first"]), last)


def _read_schema(name: str, address: KafkaAddress, schema: Schema) -> str:
    """The text of the Avro schema, which has all fields of the input that come from values."""
    path = Path(str(address.schema))
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise AuroraError(f"source {name}: cannot read schema={path}: {fault}") from None
    there = parse_schema(text, f"source {name}: {path}").names
    for field in schema.names:
        if field not in there and field not in (address.key, address.timestamp):
            near = did_you_mean(field, there)
            raise AuroraError(f"source {name}: {path} has no field {field}{near}; it has {', '.join(there)}")
    return text


def _look_at(name: str, address: KafkaAddress) -> dict[str, list[tuple[int, int]]]:
    topic = topic_of(address)
    moment = address.start_time()
    start = {"earliest": EARLIEST, "latest": LATEST}.get(address.start, moment)
    assert start is not None

    def look() -> dict[str, list[tuple[int, int]]]:
        numbers = topic.partitions()
        first, last = topic.offsets(numbers, start), topic.offsets(numbers, LATEST)
        return {"first": sorted(first.items()), "last": sorted(last.items())}

    return try_patiently(f"source {name}", address.server, look)


def _check_fields(name: str, address: KafkaAddress, schema: Schema) -> None:
    for option, field in (("key", address.key), ("timestamp", address.timestamp)):
        if field is not None and field not in schema:
            raise AuroraError(
                f"source {name}: {option}={field} is not a field of the input; its fields are {', '.join(schema.names)}"
            )
    if address.timestamp is not None and str(schema[address.timestamp]) not in TIMES:
        raise AuroraError(
            f"source {name}: the time of a record is a timestamp or a bigint of milliseconds, and "
            f"{address.timestamp} is neither; declare it so"
        )
    if address.key is not None and is_nested(schema[address.key]):
        raise AuroraError(
            f"source {name}: {address.key} is nested, and a key is one value; name another field"
        )
    if not set(schema.names) - {address.key, address.timestamp}:
        raise AuroraError(
            f"source {name}: the input has no field for the values of the records; declare at least one"
        )
    if address.format == "csv":
        check_flat(schema, f"source {name}")
    for field in schema.names if address.format == "avro" else ():
        if is_nested(schema[field]):
            raise AuroraError(
                f"source {name}: {field} is nested, and of Avro only plain fields are read; leave it out of the schema"
            )
