"""SQL aggregates as Spark defines them, over a list of values in the order of the window."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

__all__ = ["FUNCTIONS", "wrapped"]


def wrapped(number: int, bits: int = 64) -> int:
    """The whole number as two's complement keeps it."""
    half = 1 << (bits - 1)
    return (number + half) % (1 << bits) - half


def present(values: list[Any]) -> list[Any]:
    return [value for value in values if value is not None]


def unsigned(values: list[Any]) -> list[Any]:
    """Without nulls, and with 0.0 for -0.0: what is compared loses its sign."""
    return [value + 0.0 if isinstance(value, float) else value for value in present(values)]


def size_key(value: Any) -> Any:
    """NaN is larger than every number."""
    return (1, 0) if isinstance(value, float) and math.isnan(value) else (0, value)


def distinct(values: list[Any]) -> list[Any]:
    found: dict[Any, Any] = {}
    for value in values:
        found.setdefault(size_key(value), value)
    return list(found.values())


def total(values: list[Any]) -> Any:
    values = present(values)
    if not values:
        return None
    if isinstance(values[0], int):
        return wrapped(sum(values))
    return exact_sum(values)


def exact_sum(values: list[Any]) -> Any:
    """Rounded once, in the end, if it is finite."""
    if all(math.isfinite(value) for value in values):
        return float(sum(map(Fraction, values)))
    return sum(values)


def mean(values: list[Any]) -> float | None:
    values = present(values)
    return float(exact_sum(values)) / len(values) if values else None


def spread(values: list[Any], less: int) -> float | None:
    values = [float(value) for value in present(values)]
    if len(values) <= less:
        return None
    middle = mean(values)
    assert middle is not None
    return sum((value - middle) * (value - middle) for value in values) / (len(values) - less)


def root(value: float | None) -> float | None:
    return None if value is None else math.sqrt(value)


def percentile(values: list[Any], share: float) -> float | None:
    """Between two values what lies there on a straight line (percentile_cont)."""
    values = sorted((float(value) for value in unsigned(values)), key=size_key)
    if not values:
        return None
    place = (len(values) - 1) * share
    below, above = math.floor(place), math.ceil(place)
    low, high = values[below], values[above]
    return low if below == above or low == high else (above - place) * low + (place - below) * high


def smallest(values: list[Any]) -> Any:
    return min(unsigned(values), key=size_key, default=None)


def largest(values: list[Any]) -> Any:
    return max(unsigned(values), key=size_key, default=None)


def value_at(pairs: list[tuple[Any, Any]], choose: Callable[..., Any]) -> Any:
    """min_by and max_by: pairs of value and what is compared; of equals the first."""
    pairs = [pair for pair in pairs if pair[1] is not None]
    return choose(pairs, key=lambda pair: size_key(pair[1]))[0] if pairs else None


def discrete(values: list[Any], share: float) -> Any:
    """The smallest value that at least so large a share of the values does not exceed."""
    values = sorted(unsigned(values), key=size_key)
    return values[max(math.ceil(share * len(values)), 1) - 1] if values else None


def mode(values: list[Any]) -> Any:
    """Of those that come most often the smallest."""
    values = unsigned(values)
    keys = [size_key(value) for value in values]
    most = max((keys.count(key) for key in keys), default=0)
    return min(
        (v for v, key in zip(values, keys, strict=True) if keys.count(key) == most),
        key=size_key,
        default=None,
    )


def moment(values: list[Any], power: int) -> float:
    middle = mean(values)
    assert middle is not None
    return math.fsum((float(value) - middle) ** power for value in present(values))


def skewness(values: list[Any]) -> float | None:
    if not present(values) or len(set(present(values))) == 1:
        return None
    return math.sqrt(len(present(values))) * moment(values, 3) / math.sqrt(moment(values, 2) ** 3)


def kurtosis(values: list[Any]) -> float | None:
    if not present(values) or len(set(present(values))) == 1:
        return None
    return len(present(values)) * moment(values, 4) / moment(values, 2) ** 2 - 3


FUNCTIONS: dict[str, Callable[[list[Any]], Any]] = {
    "count": lambda values: len(present(values)),
    "sum": total,
    "avg": mean,
    "min": smallest,
    "max": largest,
    "first": lambda values: values[0],
    "last": lambda values: values[-1],
    "stddev": lambda values: root(spread(values, 1)),
    "stddev_pop": lambda values: root(spread(values, 0)),
    "variance": lambda values: spread(values, 1),
    "var_pop": lambda values: spread(values, 0),
    "median": lambda values: percentile(values, 0.5),
    "percentile 0.95": lambda values: percentile(values, 0.95),
    "percentile 0": lambda values: percentile(values, 0.0),
    "percentile 1": lambda values: percentile(values, 1.0),
    "percentile 0.3": lambda values: percentile(values, 0.3),
    "percentile_approx 0.3": lambda values: discrete(values, 0.3),
    "percentile_approx 0.95": lambda values: discrete(values, 0.95),
    "mode": mode,
    "skewness": skewness,
    "kurtosis": kurtosis,
    "collect_list": present,
    "collect_set": lambda values: distinct([v + 0.0 if isinstance(v, float) else v for v in present(values)]),
    # So few values as there are in a test are counted exactly.
    "approx_count_distinct": lambda values: len(distinct(present(values))),
    "count distinct": lambda values: len(distinct(present(values))),
    "sum distinct": lambda values: total(distinct(present(values))),
    "avg distinct": lambda values: mean(distinct(present(values))),
    "count_if": lambda values: sum(1 for value in values if value),
    "bool_and": lambda values: all(present(values)) if present(values) else None,
    "bool_or": lambda values: any(present(values)) if present(values) else None,
    "min_by": lambda pairs: value_at(pairs, min),
    "max_by": lambda pairs: value_at(pairs, max),
}
