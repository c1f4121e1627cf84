"""Rows on their way to a topic, without a broker: which partition each goes to, and what its marks say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.engine.kafka.encode import Lines, Share
from aurora.engine.kafka.partitions import SPREAD, choose_partitions, murmur2

# Of the tests of Kafka's own client.
HASHES = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


def test_keys_find_the_partitions_of_other_clients() -> None:
    assert murmur2(list(HASHES)).astype(np.int32).tolist() == list(HASHES.values())
    chosen = choose_partitions(list(HASHES), len(HASHES), 0, 7)
    assert chosen.tolist() == [(value & 0x7FFFFFFF) % 7 for value in HASHES.values()]


@given(st.lists(st.none() | st.binary(max_size=9), max_size=300), st.integers(0, 250), st.integers(1, 5))
def test_a_row_goes_to_the_same_partition_however_the_rows_are_cut(
    keys: list[bytes | None], first: int, partitions: int
) -> None:
    whole = choose_partitions(keys, len(keys), first, partitions)
    at = len(keys) // 3
    parts = [choose_partitions(keys[:at], at, first, partitions)]
    parts.append(choose_partitions(keys[at:], len(keys) - at, first + at, partitions))
    assert np.concatenate(parts).tolist() == whole.tolist()


def test_rows_without_keys_are_spread() -> None:
    assert np.bincount(choose_partitions(None, 6 * SPREAD, 0, 3)).tolist() == [2 * SPREAD] * 3


@pytest.mark.parametrize("keys", [None, [b"k%d" % number for number in range(6)]])
def test_lines_in_another_order_and_their_shares(keys: list[bytes | None] | None) -> None:
    texts = [b"a", b"bb", b"", b"dddd", b"e", b"ff"]
    lines = Lines(
        b"".join(text + b"\n" for text in texts), np.cumsum([len(text) + 1 for text in texts]), keys
    )
    order = np.array([0, 2, 5, 1, 3, 4])
    sorted_lines = lines.take(order)
    assert [each["value"] for each in sorted_lines.messages(0, 6)] == [texts[at] for at in order]
    if keys is not None:
        assert [each["key"] for each in sorted_lines.messages(0, 6)] == [keys[at] for at in order]
    share = Share(sorted_lines, 3, order[3:])
    assert [each["value"] for each in share.behind(2).messages(0, 2)] == [b"dddd", b"e"]
    assert len(share.behind(5)) == 0 and len(share.behind(-4)) == 3 and len(share.before(3)) == 1
    for position in range(7):
        assert share.behind(position).mark(share.before(position).mark(7)) == share.mark(7)
    assert lines.take(np.arange(6)) is lines
