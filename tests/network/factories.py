"""Kernels that tests name in networks."""

from collections.abc import Callable, Mapping
from dataclasses import InitVar, dataclass, field
from typing import Any

from aurora import Train, Turn

__all__ = ["Derived", "Held", "Limited", "Plain", "limited", "nothing", "number", "strict"]


def limited(size: str, limits: tuple[int, ...] = (), **more: Any) -> Callable[..., Any]:
    def kernel(inputs: Mapping[str, Train], turn: Turn) -> Mapping[str, Any]:
        return {"size": size, "limits": limits, **more}

    return kernel


def strict(size: int) -> Callable[..., Any]:
    if size < 1:
        raise ValueError("size must be\n1 or more")
    return limited(str(size))


def number(n: int) -> int:
    return n


@dataclass(frozen=True)
class Limited:
    size: int
    limits: tuple[int, ...] = ()
    names: Mapping[str, str] | None = None
    twice: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "twice", 2 * self.size)

    def __call__(self, inputs: Mapping[str, Train], turn: Turn) -> Mapping[str, Train]:
        return {}


@dataclass(frozen=True)
class Held:
    """Not one that text can give: it holds a list."""

    values: list[int]

    def __call__(self, inputs: Mapping[str, Train], turn: Turn) -> Mapping[str, Train]:
        return {}


@dataclass(frozen=True)
class Derived:
    """Its argument is not among its fields."""

    size: InitVar[int]
    area: int = 0

    def __post_init__(self, size: int) -> None:
        object.__setattr__(self, "area", size * size)

    def __call__(self, inputs: Mapping[str, Train], turn: Turn) -> Mapping[str, Train]:
        return {}


class Plain:
    def __init__(self, size: int = 1) -> None:
        self.size = size

    def __call__(self, inputs: Mapping[str, Train], turn: Turn) -> Mapping[str, Train]:
        return {}


def nothing(inputs: Mapping[str, Train], turn: Turn) -> Mapping[str, Train]:
    return {}
