"""Text that is parsed block by block gives the rows, and the faults, of text that is parsed at once."""

import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora import Schema
from aurora.engine.sources.text import parse
from aurora.engine.sources.text.parse import FAULTS, Parser, parse_csv, parse_json

SCHEMA = Schema.parse("id bigint, name string")
ONE = Schema.parse("name string")
WORDS = st.text(
    st.characters(codec="utf-8", exclude_characters='",\r\n', exclude_categories=["C"]), max_size=80
)
ROWS = st.lists(st.tuples(st.integers(-5, 10**12), WORDS), min_size=1, max_size=40)


def by_blocks(parser: Parser, data: bytes, block: int) -> pa.RecordBatch:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parse, "BLOCK", block)
        return parser(data)


@given(ROWS, st.integers(16, 200), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_the_rows_are_the_same(rows: list[tuple[int, str]], block: int, end: str, ended: bool) -> None:
    texts = {
        parse_csv(SCHEMA): [f"{number},{word}" for number, word in rows],
        parse_csv(ONE): [word for _, word in rows],
        parse_json(SCHEMA): [json.dumps({"id": number, "name": word}) for number, word in rows],
    }
    for parser, lines in texts.items():
        data = (end.join(lines) + (end if ended else "")).encode()
        # Of a text without any byte there is nothing to compare.
        assert not data or by_blocks(parser, data, block).equals(by_blocks(parser, data, len(data)))


def test_a_line_that_is_longer_than_a_block() -> None:
    data = b"1,a\n2," + 500 * b"x" + b"\n3,c\n"
    assert by_blocks(parse_csv(SCHEMA), data, 64).column("id").to_pylist() == [1, 2, 3]


@pytest.mark.parametrize("parser", [parse_csv(SCHEMA), parse_json(SCHEMA)])
def test_a_bad_record_in_a_late_block_is_a_fault(parser: Parser) -> None:
    good, bad = (
        (b"7,x\n", b"z,x\n") if isinstance(parser, parse.CsvParser) else (b'{"id": 7}\n', b'{"id": "z"}\n')
    )
    assert by_blocks(parser, 50 * good, 64).num_rows == 50
    with pytest.raises(FAULTS):
        by_blocks(parser, 50 * good + bad, 64)
