"""The parameters of a network file: declared with their defaults, and put where `{{name}}` stands, as values.

A parameter is a whole value of the file, with the type that it has, or one literal in an SQL expression. It is never
text that is read again: nothing that is set can change what an expression does besides this one value.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from aurora.characters import printable
from aurora.errors import AuroraError, did_you_mean

__all__ = ["Value", "Written", "fill_parameters", "shown_value"]

Value = bool | int | float | str
NAME = re.compile(r"[A-Za-z_]\w*")
PLACE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
# What an expression consists of, as far as parameters go: quoted text and names, and places of parameters.
PARTS = re.compile(
    r"""(?P<quoted>\b[rR]'[^']*'|\b[rR]"[^"]*"|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`)|"""
    + PLACE.pattern.replace("(", "(?P<name>", 1),
    re.DOTALL,
)
# The parts of a box that are expressions; of a join also what it keeps, of a top what it goes by.
EXPRESSIONS = ("filter", "map", "aggregate", "explode", "join", "resample", "match", "between")
# These may also name a function of the user's.
FUNCTIONS = ("aggregate", "resample")


class Written(str):
    """A value as it stands on a command line: the type of the default says how it is read."""

    __slots__ = ()


def fill_parameters(content: Any, given: Mapping[str, Any], source: str) -> tuple[Any, dict[str, Value]]:
    """Return the content of a network file with its parameters filled in and left out, and their values.

    `given` are values in the place of defaults.

    >>> text = {"parameters": {"least": 30}, "boxes": {"over": {"filter": ["Pos >= {{least}}"], "from": "reports"}}}
    >>> fill_parameters(text, {"least": 40}, "border.yaml")
    ({'boxes': {'over': {'filter': ['Pos >= 40'], 'from': 'reports'}}}, {'least': 40})
    """
    if not isinstance(content, Mapping):
        return content, {}
    declared = _declared(content.get("parameters"), source)
    for name in given:
        if name not in declared:
            known = f"its parameters are {', '.join(declared)}" if declared else "it has none"
            raise AuroraError(
                f"{source}: there is no parameter {name}{did_you_mean(name, declared)}; {known}"
            )
    values: dict[str, Value] = {}
    for name, default in declared.items():
        where = f"{source}: parameter {name}"
        if name in given:
            values[name] = _read(given[name], default, where)
        elif default is not None:
            values[name] = default
        else:
            raise AuroraError(f"{where} has no default, so it needs a value: --set {name}=VALUE")
    filling = _Filling(values, source)
    filled = {
        filling.key(key): filling.section(key, entry) for key, entry in content.items() if key != "parameters"
    }
    return filled, values


def _declared(given: Any, source: str) -> dict[str, Value | None]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise AuroraError(
            f"{source}: parameters is a mapping of names to defaults, as {{rate: 5}}, found '{given}'"
        )
    for name, default in given.items():
        where = f"{source}: parameter {printable(str(name))}"
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise AuroraError(f"{where}: a name has letters, digits and _, and begins with no digit")
        if default is not None:
            _check_value(default, where)
    return dict(given)


def _check_value(value: Any, where: str) -> None:
    if not isinstance(value, bool | int | float | str):
        raise AuroraError(f"{where}: '{value}' is not a single text, number, true or false")
    if isinstance(value, str) and "{{" in value:
        raise AuroraError(
            f"{where}: '{printable(value)}' holds {{{{, with which a parameter begins; leave it out"
        )
    if isinstance(value, float) and not math.isfinite(value):
        raise AuroraError(f"{where}: {value} is not a number that a parameter can have")


def _read(given: Any, default: Value | None, where: str) -> Value:
    """Return a given value, which must be of the type of the default."""
    if isinstance(given, Written):
        given = str(given) if isinstance(default, str) else _read_written(str(given), where)
    _check_value(given, where)
    if isinstance(default, float) and isinstance(given, int) and not isinstance(given, bool):
        given = float(given)
    if default is not None and type(given) is not type(default):
        fraction = isinstance(default, int) and not isinstance(default, bool) and isinstance(given, float)
        fix = f"; write the default as {float(default)!r} to allow it" if fraction else ""
        raise AuroraError(
            f"{where} is {_kind(default)}, as its default {shown_value(default)} is, found {shown_value(given)}{fix}"
        )
    value: Value = given
    return value


def _read_written(text: str, where: str) -> Any:
    """Return what a YAML file would have where this is written without quotes; else it is a text."""
    from aurora.network.plain_yaml import read_scalar

    value = read_scalar(text)
    if value is None:
        raise AuroraError(f"{where}: a value is missing behind the =")
    return value


def _kind(value: Value) -> str:
    if isinstance(value, bool):
        return "true or false"
    return {int: "a whole number", float: "a number", str: "a text"}[type(value)]


def shown_value(value: Value) -> str:
    """Return a value as YAML has it; a text without quotes."""
    return str(value).lower() if isinstance(value, bool) else printable(str(value))


class _Filling:
    """Puts values into the content of a file; `source` names it in faults."""

    def __init__(self, values: Mapping[str, Value], source: str) -> None:
        self.values = values
        self.source = source

    def key(self, key: Any) -> Any:
        if isinstance(key, str) and PLACE.search(key):
            raise AuroraError(
                f"{self.source}: '{key}': a parameter stands for a value, and cannot be part of a name"
            )
        return key

    def section(self, key: Any, entry: Any) -> Any:
        if key == "boxes":
            return self.boxes(entry)
        if key == "inputs" and isinstance(entry, Mapping):
            return {self.key(name): self.input(given) for name, given in entry.items()}
        return self.plain(entry)

    def boxes(self, boxes: Any) -> Any:
        if not isinstance(boxes, Mapping):
            return self.plain(boxes)
        return {self.key(name): self.box(spec) for name, spec in boxes.items()}

    def box(self, spec: Any) -> Any:
        if not isinstance(spec, Mapping):
            return self.plain(spec)
        if set(spec) == {"group"}:
            return {"group": self.boxes(spec["group"])}
        return {self.key(key): self.part(spec, key, value) for key, value in spec.items()}

    def part(self, spec: Mapping[Any, Any], key: Any, value: Any) -> Any:
        if key == "top" and isinstance(value, Mapping):
            return {
                self.key(name): (self.expressions if name == "by" else self.plain)(own)
                for name, own in value.items()
            }
        is_function = key in FUNCTIONS and isinstance(value, str)
        is_expression = key in EXPRESSIONS or (key == "keep" and "join" in spec)
        return self.expressions(value) if is_expression and not is_function else self.plain(value)

    def input(self, entry: Any) -> Any:
        if not isinstance(entry, Mapping):
            return self.plain(entry)
        return {
            self.key(key): (self.expressions if key == "check" else self.plain)(value)
            for key, value in entry.items()
        }

    def plain(self, value: Any) -> Any:
        return self._walk(value, self._whole)

    def expressions(self, value: Any) -> Any:
        return self._walk(value, self._literals)

    def _walk(self, value: Any, change: Callable[[str], Any]) -> Any:
        if isinstance(value, Mapping):
            return {self.key(key): self._walk(entry, change) for key, entry in value.items()}
        if isinstance(value, list):
            return [self._walk(entry, change) for entry in value]
        return change(value) if isinstance(value, str) else value

    def _whole(self, text: str) -> Any:
        """Return a value with its type where it stands alone."""
        whole = PLACE.fullmatch(text.strip())
        if whole is not None:
            return self._value(whole[1], text)
        if PLACE.search(text):
            raise AuroraError(
                f"{self.source}: '{text}': here a parameter is the whole value, as in \"{{{{rate}}}}\", not a part"
            )
        return text

    def _value(self, name: str, text: str) -> Value:
        if name not in self.values:
            known = ", ".join(self.values) or "there are none"
            raise AuroraError(
                f"{self.source}: '{text}': there is no parameter {name}{did_you_mean(name, self.values)}; "
                f"declare it: parameters: {{{name}: VALUE}} (declared: {known})"
            )
        return self.values[name]

    def _literals(self, text: str) -> str:
        """Return an expression with a literal for each parameter."""
        if not PLACE.search(text):
            return text
        filled = self._put(text, _literal)
        # Whatever stands around it: with any other value the words are the same but for the literals.
        if _words(filled) is None or _words(filled) != _words(self._put(text, _harmless)):
            raise AuroraError(
                f"{self.source}: {text!r}: a parameter must stand by itself, outside of quotes and comments"
            )
        return filled

    def _put(self, text: str, literal: Callable[[Value], str]) -> str:
        def put(found: re.Match[str]) -> str:
            if found["quoted"] is None:
                # Two words that touch would be one.
                before = "" if text[: found.start()][-1:] in ("", *" \t\n(,") else " "
                after = "" if text[found.end() :][:1] in ("", *" \t\n),") else " "
                return f"{before}{literal(self._value(found['name'], text))}{after}"
            inside = next((place[1] for place in PLACE.finditer(found[0]) if place[1] in self.values), None)
            if inside is not None:
                raise AuroraError(
                    f"{self.source}: {text!r}: write {{{{{inside}}}}} without quotes around it, for a text gets its own"
                )
            return found[0]

        return PARTS.sub(put, text)


def _literal(value: Value) -> str:
    """Return a value as one literal of Spark's SQL."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        quoted = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{quoted}'"
    # Two signs in a row would begin a comment.
    return repr(value) if value >= 0 and math.copysign(1, value) > 0 else f"({value!r})"


def _harmless(value: Value) -> str:
    """Return the literal of another value of the same kind."""
    if isinstance(value, bool):
        return _literal(value)
    if isinstance(value, str):
        return _literal("x")
    other = type(value)(1)
    return _literal(other if not _literal(value).startswith("(") else -other)


def _words(text: str) -> list[tuple[str, str]] | None:
    """Return the words of an expression as its parser takes them, literals without what they say; None for no words."""
    from aurora.algebra.expressions.dialect import words

    return words(text)
