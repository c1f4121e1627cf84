"""Sources and sinks on the command line: NAME=ADDRESS."""

from aurora.engine.address_options import without_secrets
from aurora.errors import AuroraError

__all__ = ["read_bindings"]


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
