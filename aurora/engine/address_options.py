"""What stands behind the question mark of an address of a server; no secret is shown, whatever is wrong."""

import ipaddress
import os
import re
from collections.abc import Sequence
from urllib.parse import unquote

from aurora.errors import AuroraError, did_you_mean

__all__ = [
    "choose",
    "is_loopback",
    "is_variable",
    "look_up",
    "read_options",
    "without_secrets",
    "without_slashes",
]

VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")


def read_options(what: str, kind: str, text: str | None, known: Sequence[str]) -> dict[str, str]:
    """The options of `a=b&c=d`; `what` is the source or sink in messages.

    >>> read_options("sink x", "mqtt", "qos=1&topic=a%26b", ("qos", "topic"))
    {'qos': '1', 'topic': 'a&b'}
    """
    given: dict[str, str] = {}
    for option in filter(None, (text or "").split("&")):
        name, equals, value = option.partition("=")
        if name not in known:
            raise AuroraError(
                f"{what}: there is no option {name}{did_you_mean(name, known)}; the options of {kind} are "
                f"{', '.join(known)}"
            )
        if not equals or not value:
            raise AuroraError(f"{what}: option {name} has no value; write {name}=VALUE")
        given[name] = unquote(value)
    return given


def without_slashes(place: str) -> str:
    """For the end of a message: what to do about an address that begins as those of the web do."""
    return "; leave the // out" if place.startswith("//") else ""


def choose(
    what: str, given: dict[str, str], name: str, choices: dict[str, bool | None], default: str
) -> bool | None:
    """What the choice of an option stands for."""
    chosen = given.get(name, default)
    if chosen not in choices:
        raise AuroraError(f"{what}: {name} is {' or '.join(filter(None, choices))}, found '{chosen}'")
    return choices[chosen]


def is_variable(value: str) -> bool:
    """Whether a value is the name of a variable of the environment: $NAME or ${NAME}."""
    return VARIABLE.fullmatch(value) is not None


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, so that nobody else hears what is sent there."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def look_up(what: str, option: str, value: str) -> str:
    """The value of an option, from the environment where it names a variable."""
    variable = VARIABLE.fullmatch(value)
    if variable is None:
        return value
    word = variable[1] or variable[2]
    if not os.environ.get(word):
        state = "is empty" if word in os.environ else "is not set"
        raise AuroraError(f"{what}: {option} is in the variable {word}, which {state}; export {word} first")
    return os.environ[word]


def without_secrets(address: str) -> str:
    """An address as it may be shown: without options, and without what stands before an @.

    >>> without_secrets("postgresql://me:secret@here/x?password=secret"), without_secrets("csv:a@b.csv")
    ('postgresql:..@here/x', 'csv:..@b.csv')
    """
    shown = address.partition("?")[0]
    kind, colon, rest = shown.partition(":")
    return f"{kind}:..@{rest.rpartition('@')[2]}" if colon and "@" in rest else shown
