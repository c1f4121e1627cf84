"""Card numbers with the right last digit."""

import numpy as np


def valid(inputs, turn):
    """Luhn's rule: of the digits, from the right, every second counts double, less 9 where that is more than 9."""
    (train,) = inputs.values()
    left = train.rows["Card"].fill_null(1).to_numpy(zero_copy_only=False).copy()
    total = np.zeros(len(left), np.int64)
    for place in range(19):
        digit = left % 10 * (1 + place % 2)
        total += digit - 9 * (digit > 9)
        left //= 10
    return {"valid": train.filter(total % 10 == 0)}
