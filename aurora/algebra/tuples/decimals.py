"""How many digits decimals have before the point."""

from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["fits_digits"]

WIDEST = 76


def fits_digits(values: pa.Array | pa.ChunkedArray, digits: int) -> pa.Array | pa.ChunkedArray:
    """Where decimals have no more digits before the point; null where they are null.

    >>> fits_digits(pa.array([Decimal("9.5"), Decimal("-10.0"), None]), 1).to_pylist()
    [True, False, None]
    """
    if digits + values.type.scale >= WIDEST:
        return pc.if_else(pc.is_valid(values), True, pa.scalar(None, pa.bool_()))
    wide = pa.decimal256(WIDEST, values.type.scale)
    return pc.less(pc.abs(values.cast(wide)), pa.scalar(Decimal(10) ** digits, wide))
