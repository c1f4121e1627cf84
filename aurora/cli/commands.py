"""The commands, by name: the module of a command is loaded when it is called, so that help comes at once.

For the same reason these modules import what they work with inside their functions.
"""

import ast
import errno
import inspect
import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import TyperException as Misused
from typer.core import TyperCommand, TyperGroup

from aurora import __version__
from aurora.characters import printable
from aurora.cli.interrupts import INTERRUPTED, close_output
from aurora.cli.telling import tell_fault, warn, with_choice
from aurora.errors import AuroraError
from aurora.extras import explain_missing

__all__ = ["app", "call"]

# Where the function of each command is.
NETWORKS = {
    "draft": "aurora.cli.drafts:draft",
    "show": "aurora.cli.drafts:show",
    "run": "aurora.cli.networks:run_network",
    "check": "aurora.cli.networks:check",
    "explain": "aurora.cli.explain:explain",
    "picture": "aurora.cli.picture:picture",
    "capacity": "aurora.cli.capacity:capacity",
    **{
        name: f"aurora.cli.homes:{name}"
        for name in ("status", "pause", "resume", "step", "stop", "attach", "detach", "peek")
    },
    "prepare": "aurora.cli.prepare:prepare_machine",
    "completion": "aurora.cli.completion:completion",
}
LINEAR_ROAD = {
    name: f"aurora.cli.linear_road_{name}:{name}"
    for name in ("demo", "simulate", "history", "drive", "network", "run", "validate", "rate", "compare")
}
NEXMARK = {
    name: f"aurora.cli.nexmark_{name}:{name}" for name in ("generate", "serve", "run", "network", "compare")
}
# What a path or a disk can be guilty of.
PLACES = (
    errno.EACCES, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EISDIR, errno.ENOENT, errno.ENOSPC, errno.ENOTDIR,
    errno.EPERM, errno.EROFS,
)  # fmt: skip
AGAIN = "give the same command again"


class Interrupted(Exception):
    """Ctrl-C, past the parser of the command line, which would end without a word."""


def call() -> int:
    """Does what the words of the command line say; gives the status to end with."""
    try:
        status = app(standalone_mode=False, prog_name="aurora")
        sys.stdout.flush()
    except BrokenPipeError:
        return close_output()
    except AuroraError as fault:
        tell_fault(str(fault))
        return 1
    except OSError as fault:
        # Of what is wrong with a path or a disk, any other is a mistake of ours.
        if fault.errno not in PLACES:
            raise
        where = "" if fault.filename is None else f"{fault.filename}: "
        tell_fault(f"{where}{fault.strerror}; name another path, or fix the cause and {AGAIN}")
        return 1
    except Misused as fault:
        print(printable(tell_misuse(fault)), file=sys.stderr)
        return fault.exit_code
    except Interrupted:
        warn("stopped", "stopped")
        return INTERRUPTED
    return status if isinstance(status, int) else 0


class Commands(TyperGroup):
    """A group whose commands are loaded when they are called; `extra` is what all of them may need."""

    places: dict[str, str]
    extra: str | None = None

    def list_commands(self, ctx: Any) -> list[str]:
        return [*self.places, *super().list_commands(ctx)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in self.places:
            return _load(cmd_name, self.places[cmd_name])
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The first sentence of each command, whole."""
        rows = [(name, _summary(place)) for name, place in self.places.items()]
        rows += [(name, (group.help or "").strip()) for name, group in self.commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def make_context(self, *args: Any, **more: Any) -> Any:
        try:
            return super().make_context(*args, **more)
        except BrokenPipeError:
            # Help and the version are told here.
            raise typer.Exit(close_output()) from None

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted from None
        except BrokenPipeError:
            raise typer.Exit(close_output()) from None
        except SystemExit as ended:
            # Rich ends the process itself when nobody reads what it prints, with another status.
            if isinstance(ended.__context__, BrokenPipeError):
                raise typer.Exit(close_output()) from None
            raise
        except ImportError as fault:
            if (missing := explain_missing(fault, self.extra)) is not None:
                raise missing from None
            raise


def tell_misuse(fault: Misused) -> str:
    """What is wrong with the words of a command, in one line, and where to look; a group without a command has help."""
    told = fault.format_message().strip()
    if told.startswith("Usage:"):
        return told
    told = " ".join(told.split()).rstrip(".")
    context = getattr(fault, "ctx", None)
    return f"error: {told}; see {context.command_path} --help" if context is not None else f"error: {told}"


class _All(Commands):
    places = NETWORKS


class _LinearRoad(Commands):
    places = LINEAR_ROAD
    extra = "benchmarks"


class _Nexmark(Commands):
    places = NEXMARK
    extra = "benchmarks"


def _load(name: str, place: str) -> TyperCommand:
    module, _, function = place.partition(":")
    single = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    single.command(name)(with_choice(getattr(import_module(module), function)))
    command = typer.main.get_command(single)
    assert isinstance(command, TyperCommand)
    return command


@cache
def _summary(place: str) -> str:
    """The first sentence of a command's docstring, read without loading the command."""
    module, _, name = place.partition(":")
    found = find_spec(module)
    assert found is not None and found.origin is not None
    tree = ast.parse(Path(found.origin).read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            told = inspect.cleandoc(ast.get_docstring(node) or "")
            return " ".join(told.split("\n\n")[0].split())
    raise AssertionError(f"there is no function {place}")


app = typer.Typer(
    cls=_All,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(
    typer.Typer(cls=_LinearRoad, no_args_is_help=True, help="Run the Linear Road benchmark."),
    name="linear-road",
)
app.add_typer(
    typer.Typer(cls=_Nexmark, no_args_is_help=True, help="Run the NEXMark benchmark."),
    name="nexmark",
)


def _tell_version(asked: bool) -> None:
    if asked:
        typer.echo(f"aurora {__version__}")
        raise typer.Exit


@app.callback()
def _aurora(
    told: Annotated[
        bool, typer.Option("--version", help="Show the version.", is_eager=True, callback=_tell_version)
    ] = False,
) -> None:
    """Aurora on Spark: a stream data manager, with the benchmarks that measure one."""
