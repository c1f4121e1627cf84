"""Sources and sinks on the command line: NAME=ADDRESS."""

from aurora.errors import AuroraError

__all__ = ["read_bindings"]


def read_bindings(given: list[str], what: str) -> dict[str, str]:
    bound: dict[str, str] = {}
    for text in given:
        name, equals, address = text.partition("=")
        if not equals or not name or not address:
            raise AuroraError(f"--{what} {text}: write NAME=ADDRESS, for example alarms=csv:out.csv")
        if name in bound:
            raise AuroraError(f"--{what} {name} is given twice")
        bound[name] = address
    return bound
