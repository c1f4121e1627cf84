"""Window functions that give whole numbers, so that any box can stand behind a window, with naive versions."""

import math
from collections.abc import Callable
from typing import Any

from tests.spec.window_functions import FUNCTIONS

__all__ = ["ALL", "APART", "SO_FAR", "Compute"]

Row = dict[str, Any]
Compute = Callable[[list[Row]], int]


# With so much added, simple fractions such as -3/2 are not rounded up here and down there.
ASIDE = 0.1234567


def of_values(name: str, times: int = 1, more: float = 0) -> Compute:
    """The function of the values, times a number and rounded as SQL rounds; 0 where there is none."""

    def compute(rows: list[Row]) -> int:
        value = times * (FUNCTIONS[name]([row["v"] for row in rows]) or 0) + more
        return int(math.copysign(math.floor(abs(value) + 0.5), value)) if isinstance(value, float) else value

    return compute


def of_pairs(name: str) -> Compute:
    """Of the values, that of the first or last T; of equal ones the first that came."""
    return lambda rows: FUNCTIONS[name]([(row["v"], row["T"]) for row in rows])


# Whatever the order of the tuples.
ORDERLESS: dict[str, Compute] = {
    "sum(v)": of_values("sum"),
    "count(*)": len,
    "count(DISTINCT v)": of_values("count distinct"),
    "sum(DISTINCT v)": of_values("sum distinct"),
    "max(v) - min(v)": lambda rows: of_values("max")(rows) - of_values("min")(rows),
    "count_if(v > 2)": lambda rows: sum(1 for row in rows if row["v"] > 2),
    "CAST(2 * median(v) AS bigint)": of_values("median", 2),
    "CAST(round(10 * percentile(v, 0.3)) AS bigint)": of_values("percentile 0.3", 10),
    "CAST(round(1000 * coalesce(stddev(v), 0)) AS bigint)": of_values("stddev", 1000),
    "CAST(round(1000 * avg(v)) AS bigint)": of_values("avg", 1000),
    "percentile_approx(v, 0.3)": of_values("percentile_approx 0.3"),
    **{
        f"CAST(round(1000 * coalesce({name}(v), 0) + {ASIDE}) AS bigint)": of_values(name, 1000, ASIDE)
        for name in ("skewness", "kurtosis")
    },
    "CAST(bool_and(v > 2) AS bigint)": lambda rows: int(all(row["v"] > 2 for row in rows)),
    "CAST(bool_or(v > 2) AS bigint)": lambda rows: int(any(row["v"] > 2 for row in rows)),
}
# What a window of all tuples so far can keep.
SO_FAR: dict[str, Compute] = {
    **ORDERLESS,
    "first(v)": of_values("first"),
    "last(v)": of_values("last"),
    "min_by(v, T)": of_pairs("min_by"),
    "max_by(v, T)": of_pairs("max_by"),
}
ALL: dict[str, Compute] = {
    **SO_FAR,
    "mode(v)": of_values("mode"),
    "approx_count_distinct(v)": of_values("approx_count_distinct"),
    "CAST(size(collect_set(v)) AS bigint)": of_values("count distinct"),
    "element_at(collect_list(v), -1)": of_values("last"),
}
# Those that come to the same, to the last digit, wherever tuples are summed up.
APART = [
    *(text for text in ORDERLESS if not any(name in text for name in ("stddev", "skewness", "kurtosis"))),
    "mode(v)",
    "approx_count_distinct(v)",
]
