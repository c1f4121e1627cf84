"""Dates and timestamps: all in UTC, so a timestamp is a plain number of microseconds."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.expressions.kernels.columns import (
    Kernel,
    Maker,
    Value,
    always,
    column,
    nulls,
    on_numbers,
    plain,
)
from aurora.algebra.expressions.kernels.far_years import bring_near
from aurora.algebra.expressions.kernels.rounding import saturated
from aurora.algebra.expressions.tree import Call, Constant
from aurora.algebra.tuples.types import DATE, INT, TIMESTAMP

__all__ = ["DAY", "KERNELS", "micros_of_seconds", "product"]

SECOND = 1_000_000
DAY = 86_400 * SECOND
# Without a zone Arrow needs no look into the zone tables.
LOCAL = pa.timestamp("us")


def part(function: Callable[..., pa.Array], **options: Any) -> Maker:
    def kernel(value: Value) -> pa.Array:
        value, taken = bring_near(value)
        if value.type == TIMESTAMP:
            value = value.view(LOCAL)
        found = pc.cast(function(value, **options), INT)
        return found if taken is None or function is not pc.year else pc.add(found, pa.array(taken, INT))

    return always(kernel)


def truncated(node: Call) -> Kernel:
    assert isinstance(node.args[0], Constant)
    unit = node.args[0].value

    def kernel(_: Value, value: Value) -> pa.Array:
        near, taken = bring_near(value)
        found = pc.floor_temporal(near.view(LOCAL), unit=unit, week_starts_monday=True).view(TIMESTAMP)
        if taken is None:
            return found
        # Back by as much as before: 400 years have 146,097 days.
        moved = plain(value) - plain(near)
        return column(plain(found) + moved, nulls(value), TIMESTAMP)

    return kernel


def since_1970(unit: int) -> Maker:
    return on_numbers(lambda micros: np.floor_divide(micros, unit))


def micros_of_seconds(node: Call) -> Kernel:
    """Seconds of any number type; NaN and the infinities are no moment."""

    def kernel(value: Value) -> pa.Array:
        seconds, missing = plain(value), nulls(value)
        if seconds.dtype.kind != "f":
            return column(saturated_product(seconds.astype(np.int64), SECOND), missing, TIMESTAMP)
        with np.errstate(all="ignore"):
            micros = saturated(seconds.astype(np.float64) * SECOND, np.int64)
        outside = ~np.isfinite(seconds)
        return column(micros, outside if missing is None else outside | missing, TIMESTAMP)

    return kernel


def saturated_product(values: Any, factor: int) -> Any:
    limits = np.iinfo(np.int64)
    product = np.clip(values, -(limits.max // factor), limits.max // factor) * factor
    return np.where(
        values > limits.max // factor,
        limits.max,
        np.where(values < -(limits.max // factor), limits.min, product),
    )


def add_months_to_days(days: Any, months: Any) -> Any:
    """The same day of another month, or that month's last day."""
    dates = days.astype("datetime64[D]")
    first = dates.astype("datetime64[M]")
    day_of_month = (dates - first.astype("datetime64[D]")).astype(np.int64)
    target = first + months.astype("timedelta64[M]")
    start, following = (month.astype("datetime64[D]").astype(np.int64) for month in (target, target + 1))
    return np.minimum(start + day_of_month, following - 1)


def add_months(node: Call) -> Kernel:
    if node.type == DATE:
        return on_numbers(lambda days, months: add_months_to_days(days, np.asarray(months)))(node)

    def later(micros: Any, months: Any) -> Any:
        days = np.floor_divide(micros, DAY)
        return add_months_to_days(days, np.asarray(months)) * DAY + (micros - days * DAY)

    return on_numbers(later)(node)


def add_days(node: Call) -> Kernel:
    if node.type == DATE:
        return on_numbers(lambda values, days: values + days)(node)
    return checked(lambda micros, days: total(micros, np.int64(days) * DAY))(node)


def checked(function: Callable[[Any, Any], tuple[Any, Any]]) -> Maker:
    """The kernel of a sum or product that is null where it is no moment any more, where Spark fails."""

    def make(node: Call) -> Kernel:
        def kernel(*values: Value) -> pa.Array:
            with np.errstate(all="ignore"):
                result, beyond = function(plain(values[0]).astype(np.int64), plain(values[-1]))
            missing = nulls(*values)
            return column(result, beyond if missing is None else beyond | missing, node.type)

        return kernel

    return make


def product(factor: int) -> Maker:
    limit = np.iinfo(np.int64).max // factor
    return checked(lambda values, _: (values * factor, (values > limit) | (values < -limit)))


def total(one: Any, other: Any) -> tuple[Any, Any]:
    result = one + other
    return result, ((one ^ result) & (other ^ result)) < 0


KERNELS: dict[str, Maker] = {
    "year": part(pc.year),
    "quarter": part(pc.quarter),
    "month": part(pc.month),
    "day": part(pc.day),
    "dayofyear": part(pc.day_of_year),
    "dayofweek": part(pc.day_of_week, count_from_zero=False, week_start=7),
    "weekday": part(pc.day_of_week, count_from_zero=True, week_start=1),
    "hour": part(pc.hour),
    "minute": part(pc.minute),
    "second": part(pc.second),
    # Unlike unix_seconds it cuts off, also before 1970.
    "unix_timestamp": on_numbers(
        lambda micros: np.floor_divide(micros + (micros < 0) * (SECOND - 1), SECOND)
    ),
    "unix_seconds": since_1970(SECOND),
    "unix_millis": since_1970(1000),
    "unix_micros": since_1970(1),
    "timestamp_seconds": micros_of_seconds,
    "timestamp_millis": product(1000),
    "timestamp_micros": on_numbers(lambda micros: micros),
    "date_trunc": truncated,
    "date_add": on_numbers(lambda days, count: days + count),
    "date_sub": on_numbers(lambda days, count: days - count),
    "datediff": on_numbers(lambda end, start: end - start),
    "add_months": add_months,
    "add months": add_months,
    "add days": add_days,
    "add microseconds": checked(total),
}
