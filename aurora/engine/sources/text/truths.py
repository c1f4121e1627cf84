"""Truths in text, as CSV has them."""

import pyarrow as pa
import pyarrow.compute as pc

from aurora.engine.sources.text.reasons import Unreadable, not_a

__all__ = ["read_truths"]

# As Arrow reads them.
TRUE, FALSE = ("1", "True", "TRUE", "true"), ("0", "False", "FALSE", "false")


def read_truths(texts: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Return the truths that texts mean.

    >>> read_truths(pa.chunked_array([["true", "0", None]]), "t").to_pylist()
    [True, False, None]
    """
    true = pc.is_in(texts, pa.array(TRUE))
    known = pc.or_(true, pc.or_(pc.is_in(texts, pa.array(FALSE)), pc.is_null(texts)))
    if not pc.all(known, min_count=0).as_py():
        raise Unreadable(not_a(name, texts.filter(pc.invert(known))[0].as_py(), pa.bool_()))
    return pc.if_else(pc.is_null(texts), None, true)
