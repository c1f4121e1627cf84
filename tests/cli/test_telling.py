"""`--log` and `--quiet`: what is told, in which form, and that nothing else gets in between."""

import json
import logging
import warnings

import pytest

from aurora.cli.telling import choose, format_line, listen, tell, tell_fault, warn
from aurora.errors import AuroraError


def all_levels() -> None:
    tell("a batch", "batch", logging.DEBUG, rows=1)
    tell("some progress", "progress", rows=2)
    warn("a warning")
    # As the engine does it.
    logging.getLogger("aurora").warning("a trouble")
    tell_fault("a fault")


@pytest.mark.parametrize(
    ("log", "quiet", "first"),
    [
        ("debug", False, 0),
        ("info", False, 1),
        (None, False, 1),
        ("warning", False, 2),
        (None, True, 2),
        ("error", False, 4),
    ],
)
def test_levels(capsys: pytest.CaptureFixture[str], log: str | None, quiet: bool, first: int) -> None:
    with listen():
        choose(log, quiet)
        all_levels()
    lines = ["a batch", "some progress", "a warning", "a trouble", "error: a fault"]
    assert capsys.readouterr().err.splitlines() == lines[first:]


def test_json_is_all_that_comes(capsys: pytest.CaptureFixture[str]) -> None:
    with listen(), warnings.catch_warnings():
        choose("json", False)
        warnings.simplefilter("always")
        all_levels()
        logging.getLogger("others").warning("from %s", "below")
        logging.getLogger("others").info("chatter")
        logging.getLogger("py4j.java_gateway").error("raised as well")
        warnings.warn("an old name", DeprecationWarning, stacklevel=1)
        tell("two\nlines", path=b"x")
    found = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert all(list(each)[:3] == ["time", "level", "event"] for each in found)
    assert [(each["level"], each["event"], each["message"]) for each in found[:5]] == [
        ("info", "progress", "some progress"),
        ("warning", "warning", "a warning"),
        ("warning", "warning", "a trouble"),
        ("error", "error", "a fault"),
        ("warning", "log", "from below"),
    ]
    assert found[0]["rows"] == 2 and found[4]["logger"] == "others"
    assert "an old name" in found[5]["message"] and found[6]["message"] == "two"
    assert len(found) == 7


def test_a_quiet_json_log_has_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    with listen():
        choose("json", True)
        all_levels()
        assert json.loads(format_line("stopped at once", "stopped"))["event"] == "stopped"
    assert [json.loads(line)["level"] for line in capsys.readouterr().err.splitlines()] == [
        "warning",
        "warning",
        "error",
    ]


@pytest.mark.parametrize(
    ("log", "quiet", "told"),
    [
        ("loud", False, "--log loud: write debug, info, warning, error, json or json:LEVEL"),
        ("json:loud", False, "--log json:loud: write debug"),
        ("info:json", False, "--log info:json: write debug"),
        ("debug", True, "--quiet and --log LEVEL contradict each other: give one of them"),
    ],
)
def test_faults(log: str, quiet: bool, told: str) -> None:
    with listen(), pytest.raises(AuroraError, match=told):
        choose(log, quiet)


def test_afterwards_all_is_as_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    handlers, level = list(logging.getLogger().handlers), logging.getLogger("aurora").level
    with listen():
        with listen():
            choose("json", False)
            tell("once")
        tell("again")
    assert len(capsys.readouterr().err.splitlines()) == 2
    assert logging.getLogger().handlers == handlers and logging.getLogger("aurora").level == level


@pytest.mark.parametrize(
    "words", [["check", "nothing.yaml"], ["status", "nowhere"], ["nexmark", "network", "q99"]]
)
def test_every_command_has_the_options(aurora, words: list[str]) -> None:  # type: ignore[no-untyped-def]
    ended = aurora(*words, "--log", "json")
    assert ended.status == 1 and json.loads(ended.err)["event"] == "error"
    assert aurora(*words, "--quiet").err.startswith("error: ")
    assert aurora(*words, "--log", "x").err.startswith("error: --log x: write debug, ")
