"""All operators and functions of the language, by name."""

from aurora.algebra.expressions.array_functions import ARRAYS
from aurora.algebra.expressions.map_functions import MAPS
from aurora.algebra.expressions.math_functions import MATH
from aurora.algebra.expressions.operators import OPERATORS
from aurora.algebra.expressions.signature import Function
from aurora.algebra.expressions.text_functions import TEXT
from aurora.algebra.expressions.text_parts import TEXT_PARTS
from aurora.algebra.expressions.time_functions import TIME

__all__ = ["FUNCTIONS"]

FUNCTIONS: dict[str, Function] = {**OPERATORS, **MATH, **TEXT, **TEXT_PARTS, **TIME, **ARRAYS, **MAPS}
