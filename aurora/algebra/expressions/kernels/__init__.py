"""The kernels: for each operation of the typed tree, what makes its function on Arrow arrays.

A kernel takes arrays and scalars, at least one array among them, already of the types the tree says.
"""

from aurora.algebra.expressions.kernels import (
    arrays,
    conversion,
    digests,
    logic,
    maps,
    mathematics,
    numeric,
    rounding,
    structs,
    text,
    text_parts,
    time,
    time_patterns,
    zones,
)
from aurora.algebra.expressions.kernels.columns import Maker

__all__ = ["KERNELS"]

KERNELS: dict[str, Maker] = {
    **logic.KERNELS,
    **numeric.KERNELS,
    **rounding.KERNELS,
    **mathematics.KERNELS,
    **text.KERNELS,
    **text_parts.KERNELS,
    **time.KERNELS,
    **conversion.KERNELS,
    **structs.KERNELS,
    **arrays.KERNELS,
    **maps.KERNELS,
    **digests.KERNELS,
    **time_patterns.KERNELS,
    **zones.KERNELS,
}
