"""Messages that the broker will not send again: kept in files of the checkpoint until they are done with.

A spool is a folder of segments, each named by the number of its first message: the payloads one behind the other, and
an index with the end, the time of arrival, the topic and a checksum of each. `topics` has the topics, by number;
`ended` is there once no more will come, `broken` once it is given up.
"""

import json
import os
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from aurora.algebra.tuples.train import Ints
from aurora.engine.durable import Damaged, read_whole, seal_line, sync_folder, unseal_line, write_whole
from aurora.engine.mqtt.client import Message
from aurora.errors import AuroraError

__all__ = ["MessageSpool", "MessageWriter", "Messages"]

SEGMENT = 64 << 20
ENTRY = 24
# The lower bits of the last number of an entry are those of its topic, the upper ones its checksum.
TOPIC_BITS = 32
LOST = "what came is lost; start over with --fresh"


def _segments(folder: str) -> list[int]:
    try:
        return sorted(int(name) for name in os.listdir(folder) if name.isdigit())
    except FileNotFoundError:
        return []


def _data(folder: str, first: int) -> str:
    return os.path.join(folder, f"{first:020}")


def _index(folder: str, first: int) -> str:
    return f"{_data(folder, first)}.index"


def _entries(folder: str, first: int) -> Ints:
    """Lines of an end, a time and a topic; what a kill has cut off is none."""
    try:
        with open(_index(folder, first), "rb") as file:
            data = file.read()
    except FileNotFoundError:
        data = b""
    return np.frombuffer(data[: len(data) // ENTRY * ENTRY], np.int64).reshape(-1, 3)


def _topics(folder: str) -> list[bytes]:
    path = os.path.join(folder, "topics")
    try:
        with open(path, "rb") as file:
            return [json.loads(unseal_line(line[:-1])).encode() for line in file if line.endswith(b"\n")]
    except FileNotFoundError:
        return []
    except ValueError as fault:
        raise Damaged(f"{path} is damaged: {fault}; {LOST}") from None


def _topic_line(topic: str) -> bytes:
    return seal_line(json.dumps(topic).encode())


def _sums(entries: Ints, payloads: Sequence[bytes]) -> Ints:
    """Return the checksums of messages and of their entries; none is 0, which stands for that of an earlier version."""
    heads = np.ascontiguousarray(entries[:, :2])
    topics = entries[:, 2] & ((1 << TOPIC_BITS) - 1)
    seeds = [
        zlib.crc32(head.tobytes() + int(topic).to_bytes(8)) for head, topic in zip(heads, topics, strict=True)
    ]
    found = (zlib.crc32(payload, seed) or 1 for payload, seed in zip(payloads, seeds, strict=True))
    return np.fromiter(found, np.int64, len(payloads))


def _check(path: str, entries: Ints, payloads: Sequence[bytes], first: int) -> None:
    """Raise a fault if messages are not what came; `first` is the number of the first of them."""
    known = (entries[:, 2].view(np.uint64) >> np.uint64(TOPIC_BITS)).astype(np.int64)
    bad = np.flatnonzero((known != 0) & (known != _sums(entries, payloads)))
    if len(bad):
        raise Damaged(f"{path} is damaged: message {first + int(bad[0]):,} is not what came; {LOST}")


def _check_topics(folder: str, entries: Ints, known: int) -> None:
    if len(entries) and int((entries[:, 2] & ((1 << TOPIC_BITS) - 1)).max()) >= known:
        raise Damaged(f"{os.path.join(folder, 'topics')} is damaged: it lacks a topic; {LOST}")


@dataclass(frozen=True)
class Messages:
    payloads: list[bytes]
    topics: list[bytes]
    arrived: Ints


@dataclass(frozen=True)
class MessageSpool:
    """The side of the reader."""

    folder: str

    def count(self) -> int:
        segments = _segments(self.folder)
        if not segments:
            return 0
        try:
            return segments[-1] + os.path.getsize(_index(self.folder, segments[-1])) // ENTRY
        except FileNotFoundError:
            return segments[-1]

    def read(self, start: int, stop: int) -> Messages:
        segments = _segments(self.folder)
        if start < stop and (not segments or start < segments[0]):
            raise AuroraError(
                f"{self.folder}: messages that a repeated batch needs are no longer stored; start over with "
                "--fresh"
            )
        names = _topics(self.folder)
        payloads: list[bytes] = []
        topics: list[bytes] = []
        arrived = [np.empty(0, np.int64)]
        for first, after in zip(segments, [*segments[1:], stop], strict=True):
            low, high = max(start, first), min(stop, after)
            if low >= high:
                continue
            entries = _entries(self.folder, first)
            ends = np.concatenate([[0], entries[:, 0]])[low - first : high - first + 1].tolist()
            if ends != sorted(ends) or ends[0] < 0 or ends[-1] > os.path.getsize(_data(self.folder, first)):
                raise Damaged(f"{_index(self.folder, first)} is damaged: messages end where none can; {LOST}")
            with open(_data(self.folder, first), "rb") as file:
                file.seek(ends[0])
                data = file.read(ends[-1] - ends[0])
            own = [data[begin - ends[0] : end - ends[0]] for begin, end in pairwise(ends)]
            chosen = np.ascontiguousarray(entries[low - first : high - first])
            _check(_data(self.folder, first), chosen, own, low)
            payloads += own
            _check_topics(self.folder, chosen, len(names))
            topics += [names[number] for number in (chosen[:, 2] & ((1 << TOPIC_BITS) - 1)).tolist()]
            arrived.append(chosen[:, 1])
        return Messages(payloads, topics, np.concatenate(arrived))

    def forget(self, row: int) -> None:
        for first, after in pairwise(_segments(self.folder)):
            if after <= row:
                Path(_index(self.folder, first)).unlink(missing_ok=True)
                Path(_data(self.folder, first)).unlink(missing_ok=True)

    def ended(self) -> bool:
        return os.path.exists(os.path.join(self.folder, "ended"))

    def broken(self) -> str | None:
        try:
            return read_whole(Path(self.folder, "broken"))
        except FileNotFoundError:
            return None


class MessageWriter:
    """The side of the receiver. `segment` is the size from which on a new file is begun."""

    def __init__(
        self,
        folder: Path,
        segment: int = SEGMENT,
        clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self.folder = folder
        self._limit = segment
        self._clock = clock
        self._first = self._count = self._end = 0
        self._topics: dict[bytes, int] = {}

    def open(self) -> bool:
        """Makes ready to go on behind what is there; False if the stream has ended before."""
        self.folder.mkdir(parents=True, exist_ok=True)
        folder = str(self.folder)
        if MessageSpool(folder).ended():
            return False
        (self.folder / "broken").unlink(missing_ok=True)
        self._first = (_segments(folder) or [0])[-1]
        entries = _entries(folder, self._first)
        data, index = _data(folder, self._first), _index(folder, self._first)
        size = os.path.getsize(data) if os.path.exists(data) else 0
        # Whatever stands behind the last whole message was never acknowledged: it comes again.
        whole = int(np.searchsorted(entries[:, 0], size, "right"))
        self._count, self._end = self._first + whole, int(entries[whole - 1, 0]) if whole else 0
        for path, length in ((data, self._end), (index, whole * ENTRY)):
            with open(path, "ab") as file:
                file.truncate(length)
        names = _topics(folder)
        self._topics = {name: number for number, name in enumerate(names)}
        with open(self.folder / "topics", "wb") as file:
            file.writelines(_topic_line(name.decode()) for name in names)
        return True

    def append(self, messages: Sequence[Message]) -> None:
        """When this returns, they are on the disk."""
        if self._end >= self._limit:
            self._first, self._end = self._count, 0
        folder = str(self.folder)
        new = list(dict.fromkeys(topic for topic, *_ in messages if topic not in self._topics))
        if new:
            for topic in new:
                self._topics[topic] = len(self._topics)
            lines = [_topic_line(topic.decode("utf-8", "replace")) for topic in new]
            _append(os.path.join(folder, "topics"), b"".join(lines))
        sizes = np.fromiter((len(payload) for _, payload, _ in messages), np.int64, len(messages))
        entries = np.empty((len(messages), 3), np.int64)
        entries[:, 0] = np.cumsum(sizes) + self._end
        entries[:, 1] = self._clock()
        entries[:, 2] = [self._topics[topic] for topic, *_ in messages]
        payloads = [payload for _, payload, _ in messages]
        sums = _sums(entries, payloads).astype(np.uint64) << np.uint64(TOPIC_BITS)
        entries[:, 2] |= sums.view(np.int64)
        _append(_data(folder, self._first), b"".join(payloads))
        # Behind the payloads: who sees an entry finds its message.
        _append(_index(folder, self._first), entries.tobytes())
        if self._end == 0:
            sync_folder(self.folder)
        self._count += len(messages)
        self._end = int(entries[-1, 0]) if len(messages) else self._end

    def end(self) -> None:
        (self.folder / "ended").touch()

    def give_up(self, reason: str) -> None:
        write_whole(self.folder / "broken", reason)


def _append(path: str, data: bytes) -> None:
    with open(path, "ab", buffering=0) as file:
        view = memoryview(data)
        while view:
            view = view[file.write(view) or 0 :]
        os.fsync(file.fileno())
