"""What a command tells on stderr while it works: plain lines, or with `--log json` one JSON object a line.

All of it goes through the logger `aurora`, so that the warnings of a running network come out the same way.
"""

import inspect
import json
import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Annotated, Any

import typer

from aurora.characters import printable
from aurora.errors import AuroraError

__all__ = [
    "choose",
    "format_line",
    "listen",
    "print_data",
    "shows_progress",
    "tell",
    "tell_fault",
    "warn",
    "with_choice",
]

LOGGER = logging.getLogger("aurora")
LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
JSON = "json"
FORMS = f"{', '.join(LEVELS)}, {JSON} or {JSON}:LEVEL"

Log = Annotated[
    str | None,
    typer.Option(
        "--log",
        metavar="LEVEL|json",
        help="What to print on stderr: debug, info, warning or error [info]; json for one JSON object per line.",
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", help="Print only warnings and errors on stderr, as --log warning does.")
]


class _Lines(logging.Handler):
    """Writes to whatever stderr is at the moment: a bar puts itself in between."""

    json = False

    def emit(self, record: logging.LogRecord) -> None:
        # Other packages are heard as they would be without this: py4j, whose faults are raised as well, is not.
        others = not record.name.startswith(LOGGER.name)
        if others and (record.levelno < logging.WARNING or record.name.startswith("py4j")):
            return
        try:
            print(_json(record) if self.json else _plain(record), file=sys.stderr, flush=True)
        except (OSError, ValueError):
            # Nobody listens any more, which is no reason to end.
            return


_handler = _Lines()


@contextmanager
def listen() -> Iterator[None]:
    """As long as it lasts, what is told comes out on stderr."""
    root, before = logging.getLogger(), LOGGER.level
    if _handler in root.handlers:
        yield
        return
    root.addHandler(_handler)
    LOGGER.setLevel(logging.INFO)
    _handler.json = False
    try:
        yield
    finally:
        root.removeHandler(_handler)
        LOGGER.setLevel(before)
        logging.captureWarnings(False)


def choose(log: str | None, quiet: bool) -> None:
    """What `--log` and `--quiet` ask for, from now on."""
    form, colon, level = (log or "info").partition(":")
    if form != JSON:
        form, level = "", form + colon + level
    elif not colon:
        level = "info"
    if level not in LEVELS:
        raise AuroraError(f"--log {log}: write {FORMS}")
    if quiet and log is not None and form != JSON:
        raise AuroraError("--quiet and --log LEVEL contradict each other: give one of them")
    LOGGER.setLevel(max(LEVELS[level], logging.WARNING if quiet else logging.DEBUG))
    _handler.json = form == JSON
    # What the packages below warn of would be lines that are no JSON.
    logging.captureWarnings(_handler.json)


def with_choice(function: Callable[..., Any]) -> Callable[..., Any]:
    """The command with two more options, `--log` and `--quiet`."""
    signature = inspect.signature(function)

    @wraps(function)
    def called(*arguments: Any, log: str | None = None, quiet: bool = False, **options: Any) -> Any:
        with listen():
            choose(log, quiet)
            return function(*arguments, **options)

    more = (("log", None, Log), ("quiet", False, Quiet))
    own = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, default, annotation in more
    ]
    called.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *own])  # type: ignore[attr-defined]
    return called


def tell(text: str, event: str = "told", level: int = logging.INFO, **figures: Any) -> None:
    """Tells something; what a line has in words, JSON has as figures."""
    LOGGER.log(level, text, extra={"event": event, "figures": figures})


def warn(text: str, event: str = "warning", **figures: Any) -> None:
    tell(text, event, logging.WARNING, **figures)


def print_data(text: str) -> None:
    """Print data to stdout: as it is for a file or a pipe, what a terminal would obey written out."""
    sys.stdout.flush()
    sys.stdout.buffer.write((printable(text) if sys.stdout.isatty() else text).encode())
    sys.stdout.buffer.flush()


def tell_fault(text: str) -> None:
    """The last line of a command that failed."""
    tell(text, "error", logging.ERROR)


def shows_progress() -> bool:
    """Whether there is a terminal for a bar, and somebody who wants to see one."""
    return sys.stderr.isatty() and not _handler.json and LOGGER.isEnabledFor(logging.INFO)


def format_line(text: str, event: str, level: int = logging.WARNING) -> str:
    """A line as the handler would write it, for who cannot wait for its locks."""
    record = LOGGER.makeRecord(LOGGER.name, level, "", 0, text, (), None, extra={"event": event})
    return _json(record) if _handler.json else _plain(record)


def _plain(record: logging.LogRecord) -> str:
    text = printable(logging.Formatter().format(record))
    return f"error: {text}" if getattr(record, "event", "") == "error" else text


def _json(record: logging.LogRecord) -> str:
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    own = record.name == LOGGER.name
    told = {
        "time": f"{seconds}.{int(record.msecs):03d}Z",
        "level": record.levelname.lower(),
        "event": getattr(record, "event", "warning" if own else "log"),
        **({} if own else {"logger": record.name}),
        # What follows a first line of our own is there as figures.
        "message": record.getMessage().partition("\n")[0] if own else logging.Formatter().format(record),
        **getattr(record, "figures", {}),
    }
    return json.dumps(told, default=str)
