"""Moments as the clocks of a place show them, and back; a zone that does not exist gives null."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aurora.algebra.expressions.kernels.columns import Kernel, Maker, Value, column, nulls, plain, repeated
from aurora.algebra.expressions.tree import Call
from aurora.algebra.tuples.types import TIMESTAMP
from aurora.algebra.tuples.zones import Zone, find_zone

__all__ = ["KERNELS", "in_each_zone"]

Moments = npt.NDArray[np.int64]
Change = Callable[[Zone, Moments], Moments]


def changed(change: Change) -> Maker:
    def make(_: Call) -> Kernel:
        def kernel(value: Value, names: Value) -> pa.Array:
            if isinstance(value, pa.Scalar):
                value = repeated(value, len(names))
            if isinstance(names, pa.Scalar):
                names = repeated(names, len(value))
            # A null has any number in its place.
            missing = nulls(value, names)
            moments = plain(value) if missing is None else np.where(missing, 0, plain(value))
            result, unknown = in_each_zone(change, moments, names)
            return column(result, unknown if missing is None else unknown | missing, TIMESTAMP)

        return kernel

    return make


def in_each_zone(change: Change, moments: Moments, names: pa.Array) -> tuple[Moments, npt.NDArray[np.bool_]]:
    """Return the moments, each changed by the zone with its name, and which have a name that no zone has."""
    words = names.dictionary_encode()
    which = words.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    result, unknown = moments.copy(), which < 0
    for number, name in enumerate(words.dictionary.to_pylist()):
        zone, own = find_zone(name), which == number
        if zone is None:
            unknown |= own
        else:
            result[own] = change(zone, moments[own])
    return result, unknown


KERNELS: dict[str, Maker] = {
    "from_utc_timestamp": changed(Zone.to_local),
    "to_utc_timestamp": changed(Zone.to_utc),
}
