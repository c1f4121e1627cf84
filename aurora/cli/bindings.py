"""Sources and sinks on the command line: NAME=ADDRESS."""

from typing import Annotated, Any

import typer

from aurora.engine.address_options import without_secrets
from aurora.errors import AuroraError

__all__ = ["Parameters", "read_bindings", "read_parameters"]

Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="A value for a parameter of the network; once for each parameter."
    ),
]


def read_parameters(given: list[str] | None) -> dict[str, Any]:
    """Return the values of `--set NAME=VALUE` by their names, to be read by the types of the defaults."""
    from aurora.network.parameters import Written

    found: dict[str, Any] = {}
    for text in given or []:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise AuroraError(f"--set {text}: write NAME=VALUE, for example rate=5")
        if name in found:
            raise AuroraError(f"--set {name} is given twice")
        found[name] = Written(value)
    return found


EXAMPLES = {
    "rate": "NAME=ROWS_PER_SECOND, for example reports=50000",
    "sample": "NAME=ADDRESS, for example reports=csv:reports.csv",
    "source": "NAME=ADDRESS, for example reports=csv:reports.csv",
}


def read_bindings(given: list[str], what: str) -> dict[str, str]:
    bound: dict[str, str] = {}
    for text in given:
        name, equals, address = text.partition("=")
        if not equals or not name or not address:
            form = EXAMPLES.get(what, "NAME=ADDRESS, for example alarms=csv:out.csv")
            raise AuroraError(f"--{what} {without_secrets(text)}: write {form}")
        if name in bound:
            raise AuroraError(f"--{what} {name} is given twice")
        bound[name] = address
    return bound
