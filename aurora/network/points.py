"""Connection points: where a network keeps the tuples that pass, and sets of tuples that are stored elsewhere."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aurora.network.network import Port

__all__ = ["Keep", "Point"]


@dataclass(frozen=True)
class Keep:
    """How much of the past stays: the last `rows` tuples, or those within a `span` of the latest, or all.

    A span is one of the field `on`, in the units of an order (microseconds for a timestamp), or milliseconds of arrival
    where there is no such field. `latest`: of each key its latest tuple, for good.
    """

    rows: int | None = None
    span: int | float | None = None
    latest: bool = False


@dataclass(frozen=True)
class Point:
    """A connection point on an arc. A view is one on the arc of an output, and has its name."""

    name: str
    port: "Port"
    keep: Keep
    on: str | None = None
    key: tuple[str, ...] = ()
    spec: Mapping[str, Any] = field(default_factory=dict, compare=False)
