"""Kernels of user boxes: a function, or what a factory makes of plain arguments, so that both can be written down."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from aurora.errors import AuroraError
from aurora.network.modules import import_from

__all__ = ["Made", "described_kernel", "import_function", "kernel_of", "place_of"]


@dataclass(frozen=True)
class Made:
    """A kernel that knows how it was made: two of them are equal if factory and arguments are."""

    factory: Callable[..., Any]
    arguments: Mapping[str, Any]
    kernel: Callable[..., Any] = field(compare=False)

    def __call__(self, *args: Any) -> Any:
        return self.kernel(*args)


def kernel_of(spec: Mapping[str, Any], where: str) -> Any:
    """What `user` names or, if there is a `with`, what it makes of these arguments."""
    given: Any = import_function(spec["user"], where)
    shown = spec["user"] if isinstance(spec["user"], str) else getattr(given, "__qualname__", repr(given))
    if not callable(given):
        raise AuroraError(f"{where}: {shown} is not a function, found {given!r}")
    if "with" not in spec:
        if inspect.isclass(given):
            raise AuroraError(
                f"{where}: {shown} is a class; with: {{..}} gives the arguments that make a kernel of it"
            )
        return given
    arguments = _arguments(spec["with"], f"{where}: with")
    try:
        kernel = given(**arguments)
    except Exception as fault:
        reason = f"{type(fault).__name__}: {fault}" if str(fault) else type(fault).__name__
        raise AuroraError(
            f"{where}: {shown} cannot make a kernel with {_shown(arguments)}: {reason}"
        ) from fault
    if not callable(kernel):
        raise AuroraError(f"{where}: {shown} gives {kernel!r}; a factory must return the kernel, a function")
    return kernel if type(kernel) is given and _is_frozen(kernel) else Made(given, arguments, kernel)


def described_kernel(spec: Mapping[str, Any]) -> dict[str, Any]:
    """`user` and `with` of a description; an object of a frozen dataclass becomes its class and its fields."""
    kernel = spec["user"]
    if "with" in spec:
        return {"user": kernel, "with": _sealed(spec["with"])}
    if isinstance(kernel, Made):
        return {"user": kernel.factory, "with": dict(kernel.arguments)}
    if _is_frozen(kernel):
        values = {entry.name: getattr(kernel, entry.name) for entry in fields(kernel) if entry.init}
        # A kernel with other things than plain values in it, lists for example, would be read as another one.
        if set(inspect.signature(type(kernel)).parameters) == set(values) and _is_plain(values):
            return {"user": type(kernel), "with": values}
    return {"user": kernel}


def import_function(given: Any, where: str) -> Any:
    """A user's function: the thing itself, or `module:name`."""
    if not isinstance(given, str):
        return given
    module, _, name = given.partition(":")
    try:
        found: Any = import_from(module)
        for part in name.split("."):
            found = getattr(found, part)
    except AuroraError as fault:
        raise AuroraError(f"{where}: {fault}") from fault
    except Exception as fault:
        raise AuroraError(f"{where}: cannot import '{given}' ({fault}); write module:name") from fault
    return found


def place_of(value: Any) -> str | None:
    """`module:name` of a function or class that can be imported so, None for all others."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    return None if not module or not name or "<" in name or module == "__main__" else f"{module}:{name}"


def _is_frozen(value: Any) -> bool:
    kind = type(value)
    return is_dataclass(kind) and bool(kind.__dataclass_params__.frozen)  # type: ignore[attr-defined]


def _arguments(given: Any, where: str) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise AuroraError(f"{where}: expects a mapping of arguments, found '{given}'")
    for name, value in given.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise AuroraError(f"{where}: '{name}' is not the name of an argument")
        if not _is_plain(_sealed(value)):
            raise AuroraError(
                f"{where}: {name} is {value!r}; an argument is text, a number, true, false, null, or a list or "
                "mapping of these"
            )
    return {name: _sealed(value) for name, value in given.items()}


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple):
        return type(value) is tuple and all(_is_plain(entry) for entry in value)
    if isinstance(value, dict):
        return all(type(key) is str and _is_plain(entry) for key, entry in value.items())
    return value is None or type(value) in (str, int, float, bool)


def _sealed(value: Any) -> Any:
    """Lists as tuples: a kernel's arguments do not change, and text and Python give it the same."""
    if isinstance(value, list | tuple):
        return tuple(_sealed(entry) for entry in value)
    if isinstance(value, Mapping):
        return {key: _sealed(entry) for key, entry in value.items()}
    return value


def _shown(arguments: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items()) or "no arguments"
