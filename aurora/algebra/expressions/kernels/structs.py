"""Fields inside structs."""

import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.expressions.kernels.columns import Kernel, Maker, Value
from aurora.algebra.expressions.tree import INSIDE, Call, Constant

__all__ = ["KERNELS"]


def inside(node: Call) -> Kernel:
    """A field of a struct; where the struct is null, so is its field."""
    struct, name = node.args
    assert isinstance(name, Constant)
    place = struct.type.get_field_index(name.value)

    def kernel(value: Value, _: Value) -> pa.Array:
        return pc.struct_field(value, [place])

    return kernel


KERNELS: dict[str, Maker] = {INSIDE: inside}
