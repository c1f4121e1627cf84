"""`aurora completion`: the scripts are right for their shells, and bash completes with its one."""

import shutil
import subprocess
from pathlib import Path

import pytest

# What bash does at a tab: its function is called with the words so far.
PRESS = """
source {script}
COMP_WORDS=({words})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
COMPREPLY=()
_aurora aurora "${{COMP_WORDS[COMP_CWORD]}}" "${{COMP_WORDS[COMP_CWORD-1]}}"
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture
def script(aurora, tmp_path: Path):  # type: ignore[no-untyped-def]
    def write(shell: str) -> Path:
        ended = aurora("completion", shell)
        assert (ended.status, ended.err) == (0, "")
        path = tmp_path / f"aurora.{shell}"
        path.write_text(ended.out)
        return path

    return write


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("aurora lin", ["linear-road"]),
        ("aurora st", ["status", "step", "stop"]),
        ("aurora linear-road dr", ["drive"]),
        ("aurora nexmark ''", ["--help", "compare", "generate", "network", "run", "serve"]),
        ("aurora run net.yaml --so", ["--source"]),
        (
            "aurora run net.yaml --source r=csv:x --no-",
            ["--no-deferring", "--no-optimising", "--no-shedding"],
        ),
        ("aurora run --me", ["--metrics"]),
        ("aurora explain --no", ["--no-spark"]),
        ("aurora linear-road run --qu", ["--quiet"]),
        # The name of a file, though there is a command of that name; and then bash takes those of files.
        ("aurora check run --so", [""]),
        ("aurora check bor", [""]),
        ("aurora --v", ["--version"]),
    ],
)
def test_bash_completes(script, words: str, found: list[str]) -> None:  # type: ignore[no-untyped-def]
    done = subprocess.run(
        ["bash", "--norc", "-c", PRESS.format(script=script("bash"), words=words)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert (done.stdout.splitlines(), done.stderr) == (found, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_can_be_read(script, shell: str) -> None:  # type: ignore[no-untyped-def]
    text = script(shell).read_text()
    for word in ("linear-road", "draft", "--log", "--metrics", "completion"):
        assert word.removeprefix("--") in text
    # Quotes are even in each line, and nothing can be run by accident.
    assert all(line.count("'") % 2 == 0 and "`" not in line for line in text.splitlines())
    if shell != "bash" and shutil.which(shell) is None:
        pytest.skip(f"no {shell} to read it with")
    subprocess.run([shell, "-n", script(shell)], timeout=60, check=True)


def test_another_shell(aurora) -> None:  # type: ignore[no-untyped-def]
    ended = aurora("completion", "tcsh")
    told = "error: there is no completion for tcsh: write bash, zsh, fish\n"
    assert (ended.status, ended.out, ended.err) == (1, "", told)
