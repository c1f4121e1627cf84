"""Events as JSON lines, and those of the draft as XML: texts between fields, and one loop that writes both."""

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aurora.nexmark.firehose.facts import (
    CATEGORY,
    EXPIRES,
    ID,
    KIND,
    KINDS,
    OTHER,
    PRICE,
    RESERVE,
    TIME,
    Facts,
)
from aurora.nexmark.firehose.fields import FIELDS, NOTHING, as_time, longest, put_field
from aurora.nexmark.firehose.kernel import cached_kernel
from aurora.nexmark.firehose.letters import joined, put_word
from aurora.nexmark.firehose.words import CARD, CITY, DESCRIPTION, EMAIL, ITEM, NAME, STATE

__all__ = ["XML_BEGIN", "XML_END", "json_lines", "xml_lines"]

XML_BEGIN, XML_END = b"<?xml version='1.0' encoding='UTF-8'?>\n<site>\n", b"</site>\n"

Step = tuple[str, int]


class Layout(NamedTuple):
    """The steps of all kinds, one kind behind the other: a text, then what a field shows."""

    texts: NDArray[np.uint8]
    text_at: NDArray[np.int64]
    shows: NDArray[np.int64]
    # Where the steps of each kind start, and how long its longest line is.
    kind_at: NDArray[np.int64]
    longest: NDArray[np.int64]


def _layout(kinds: Sequence[Sequence[Step]]) -> Layout:
    steps = [step for kind in kinds for step in kind]
    shows = np.array([step[1] for step in steps], np.int64)
    kind_at = np.cumsum([0, *(len(kind) for kind in kinds)]).astype(np.int64)
    lengths = [
        sum(len(text) + longest(number, what) for text, what in kind) for number, kind in enumerate(kinds)
    ]
    return Layout(*joined([text for text, _ in steps]), shows, kind_at, np.array(lengths, np.int64))


@cached_kernel
def _write(facts: Facts, layout: Any, null: Any, null_at: Any, out: NDArray[np.uint8]) -> int:
    at: Any = np.int64(0)
    for row in range(facts.shape[1]):
        kind = facts[KIND, row]
        for step in range(layout.kind_at[kind], layout.kind_at[kind + 1]):
            at = put_word(out, at, layout.texts, layout.text_at, step)
            start = at
            at = put_field(out, at, layout.shows[step], facts, row)
            if at == start and layout.shows[step] == OTHER:
                at = put_word(out, at, null, null_at, null_at[0])
    return at  # type: ignore[no-any-return]


def _written(facts: Facts, layout: Layout, null: str) -> memoryview:
    out = np.empty(int(layout.longest[facts[KIND]].sum()), np.uint8)
    return out[: _write(facts, layout, *joined([null]), out)].data


@cache
def _json() -> Layout:
    kinds = []
    for kind, fields in zip(KINDS, FIELDS, strict=True):
        steps, before = [], f'{{"{kind}": {{'
        for field in fields:
            quote = "" if field.type == pa.int64() else '"'
            steps.append((f'{before}"{field.name}": {quote}', field.shows))
            before = f"{quote}, "
        kinds.append([*steps, (f"{before[:-2]}}}}}\n", NOTHING)])
    return _layout(kinds)


@cache
def _xml() -> Layout:
    """The entities and names of the draft; an auction is an item and its open_auction."""
    return _layout(
        (
            (
                ('<person id="', ID),
                ('"><name>', NAME),
                ("</name><emailAddress>", EMAIL),
                ("</emailAddress><creditCard>", CARD),
                ("</creditCard><city>", CITY),
                ("</city><state>", STATE),
                ("</state><dateTime>", as_time(TIME)),
                ("</dateTime></person>\n", NOTHING),
            ),
            (
                ('<item id="', ID),
                ('"><name>', ITEM),
                ("</name><description>", DESCRIPTION),
                ("</description><categoryId>", CATEGORY),
                ('</categoryId></item><open_auction id="', ID),
                ('"><itemId>', ID),
                ("</itemId><sellerId>", OTHER),
                ("</sellerId><initial>", PRICE),
                ("</initial><reserve>", RESERVE),
                ("</reserve><start>", as_time(TIME)),
                ("</start><end>", as_time(EXPIRES)),
                ("</end></open_auction>\n", NOTHING),
            ),
            (
                ("<bid><itemId>", ID),
                ("</itemId><bidderId>", OTHER),
                ("</bidderId><price>", PRICE),
                ("</price><bidTime>", as_time(TIME)),
                ("</bidTime></bid>\n", NOTHING),
            ),
            (
                ("<closed_auction><itemId>", ID),
                ("</itemId><buyerId>", OTHER),
                ("</buyerId><closeTime>", as_time(TIME)),
                ("</closeTime></closed_auction>\n", NOTHING),
            ),
        )
    )


def json_lines(facts: Facts) -> memoryview:
    """An object a line; a closed auction without a buyer has null."""
    return _written(facts, _json(), "null")


def xml_lines(facts: Facts) -> memoryview:
    """An event a line, between XML_BEGIN and XML_END; a closed auction without a buyer has an empty one."""
    return _written(facts, _xml(), "")
