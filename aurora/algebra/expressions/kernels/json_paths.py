"""get_json_object: what a path leads to inside of a JSON text, written as Spark writes it."""

import json
import re
from enum import Enum
from typing import Any

import numpy as np

from aurora.algebra.expressions.kernels.writing import java_text

__all__ = ["PATH", "Step", "found_in", "read_path"]

PATH = re.compile(r"\$(\.[^.\[\]*]+|\[\d+\]|\[\*\]|\['[^']+'\])*")
STEPS = re.compile(r"\.([^.\[\]*]+)|\[(\d+)\]|\['([^']+)'\]|\[\*\]")

# A name, a place in an array, or None for all elements of one.
Step = str | int | None


class Style(Enum):
    """How a value is written: a text as it is; everything as JSON; that, and arrays as their elements."""

    RAW = 0
    QUOTED = 1
    FLAT = 2


def read_path(path: str) -> tuple[Step, ...]:
    return tuple(
        int(place) if place else name or quoted or None for name, place, quoted in STEPS.findall(path)
    )


def found_in(text: str, path: tuple[Step, ...]) -> str | None:
    try:
        value, _ = DECODER.raw_decode(text.lstrip(" \t\r\n"))
    except (ValueError, RecursionError):
        return None
    out: list[str] = []
    return "".join(out) if write(value, path, Style.RAW, out) else None


def write(value: Any, path: tuple[Step, ...], style: Style, out: list[str]) -> bool:
    """Writes what the path leads to; whether there is something.

    Spark follows Hive: a single match of [*] stands without brackets, and [*][*] makes one array of all.
    """
    if not path:
        return write_end(value, style, out)
    step, rest = path[0], path[1:]
    if isinstance(step, str):
        members = value if isinstance(value, Object) else ()
        return any(name == step and own is not None and write(own, rest, style, out) for name, own in members)
    if not isinstance(value, list):
        return False
    if isinstance(step, int):
        style = Style.QUOTED if rest[:1] == (None,) else style
        return step < len(value) and write(value[step], rest, style, out)
    inner: list[str] = []
    if rest[:1] == (None,):
        count = sum([write(each, rest[1:], Style.FLAT, inner) for each in value])
        out.append("[" + ",".join(inner) + "]")
        return count > 0
    own = Style.FLAT if style == Style.FLAT else Style.QUOTED
    count = sum([write(each, rest, own, inner) for each in value])
    if count > 1 or style == Style.QUOTED:
        out.append("[" + ",".join(inner) + "]")
    elif count:
        out.append(",".join(inner))
    return count > 0


def write_end(value: Any, style: Style, out: list[str]) -> bool:
    if isinstance(value, str) and style == Style.RAW:
        out.append(value)
        return True
    if isinstance(value, list) and style == Style.FLAT:
        return sum([write_end(each, style, out) for each in value]) > 0
    out.append(written(value))
    return True


class Number(float):
    """A number with a point, which is written as Java does."""


class Object(tuple[tuple[str, Any], ...]):
    """The fields of an object, those that are there twice included."""

    __slots__ = ()


def refuse(word: str) -> None:
    raise ValueError(word)


DECODER = json.JSONDecoder(object_pairs_hook=Object, parse_float=Number, parse_constant=refuse, strict=True)


def written(value: Any) -> str:
    """JSON without blanks."""
    if isinstance(value, Object):
        inside = (f"{json.dumps(name, ensure_ascii=False)}:{written(own)}" for name, own in value)
        return "{" + ",".join(inside) + "}"
    if isinstance(value, list):
        return "[" + ",".join(written(own) for own in value) + "]"
    if isinstance(value, Number):
        return java_text(np.float64(value))
    return json.dumps(value, ensure_ascii=False)
