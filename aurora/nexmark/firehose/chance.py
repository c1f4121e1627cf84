"""Chance by number: every draw is a hash of the seed, the number of an event, and what is drawn.

Whole numbers only: a logarithm or a power may differ in its last bit between two machines.
"""

from decimal import Decimal, localcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aurora.nexmark.firehose.kernel import kernel

__all__ = ["below", "drawn", "key_of", "log_uniform", "mixed", "seed_key"]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_LANE = np.uint64(0xD1B54A32D192ED03)
_PRICE_STEPS = 1024
_FRACTION = 16


def _prices() -> NDArray[np.int64]:
    """Cents from 1 to 1,000,000 dollars in equal ratios, in units of 2^-16."""
    with localcontext() as context:
        context.prec = 40
        ratio = Decimal(10) ** (Decimal(6) / _PRICE_STEPS)
        return np.array([int(100 * 2**_FRACTION * ratio**step) for step in range(_PRICE_STEPS + 1)], np.int64)


_PRICES = _prices()


@kernel
def mixed(value: Any) -> Any:
    """Every bit of the result depends on every bit of the 64 (the finaliser of splitmix64)."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@kernel
def key_of(seed: Any, number: Any) -> Any:
    """What all draws of an event come from."""
    return mixed(seed + _STEP * np.uint64(number + 1))


@kernel
def drawn(key: Any, lane: Any) -> Any:
    """64 bits for one purpose."""
    return mixed(key + _LANE * np.uint64(lane + 1))


@kernel
def below(draw: Any, bound: Any) -> Any:
    """A number from 0 to bound - 1, with a bound of at most 2^32."""
    return np.int64(((draw >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@kernel
def log_uniform(draw: Any) -> Any:
    """Cents, as often between 1 and 10 dollars as between 100,000 and a million."""
    step = np.int64(draw >> np.uint64(54))
    part = np.int64((draw >> np.uint64(34)) & np.uint64(0xFFFFF))
    low = _PRICES[step]
    return (low + (((_PRICES[step + 1] - low) * part) >> 20) + (1 << (_FRACTION - 1))) >> _FRACTION


def seed_key(seed: int) -> np.uint64:
    """Seeds that lie side by side give streams that have nothing in common."""
    value = (seed + 0x9E3779B97F4A7C15) % 2**64
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        value = ((value ^ (value >> shift)) * factor) % 2**64
    return np.uint64(value ^ (value >> 31))
