"""Commands as the shell calls them, in this process."""

import sys

import pytest

from aurora.cli import main as cli


class Ended:
    """How a command ended: its status, and what it said."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err


@pytest.fixture
def aurora(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    def call(*arguments: object) -> Ended:
        monkeypatch.setattr(sys, "argv", ["aurora", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        code = ended.value.code
        captured = capsys.readouterr()
        return Ended(code if isinstance(code, int) else 0 if code is None else 1, captured.out, captured.err)

    return call
