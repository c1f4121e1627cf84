"""`aurora completion`: scripts for shells that know every command and option, and start no Python at a tab."""

from typing import Annotated

import typer

from aurora.errors import AuroraError

__all__ = ["completion"]

# A word of the command line: what it does, and whether it wants a value.
Words = dict[str, tuple[str, bool]]


def completion(
    shell: Annotated[str, typer.Argument(metavar="bash|zsh|fish", help="The shell that you use.")],
) -> None:
    """Print a script that makes a shell complete the commands and options of aurora.

    Put it where your shell looks for such scripts, and start a new shell.

    \b
    Examples:
      aurora completion bash > ~/.local/share/bash-completion/completions/aurora
      aurora completion zsh > ~/.zfunc/_aurora   # a folder of your fpath
      aurora completion fish > ~/.config/fish/completions/aurora.fish
      source <(aurora completion bash)           # for this shell alone
    """
    if shell not in WRITERS:
        raise AuroraError(f"there is no completion for {shell}: write {', '.join(WRITERS)}")
    typer.echo(WRITERS[shell](_places()), nl=False)


def _places() -> dict[str, Words]:
    """What can be written behind each command, by its name; behind aurora itself the name is empty."""
    from aurora.cli.commands import app

    root = typer.main.get_command(app)
    found: dict[str, Words] = {}

    def look(name: str, command: object) -> None:
        words: Words = {"--help": ("Show the help of this command.", False)}
        below = getattr(command, "list_commands", None)
        for each in below(None) if below is not None else []:
            inner = command.get_command(None, each)  # type: ignore[attr-defined]
            words[each] = (_first(inner.help or ""), False)
            look(f"{name} {each}".strip(), inner)
        for param in command.params:  # type: ignore[attr-defined]
            if param.param_type_name == "option":
                for option in (*param.opts, *param.secondary_opts):
                    words[option] = (_first(param.help or ""), not param.is_flag)
        found[name] = words

    look("", root)
    return found


def _first(text: str) -> str:
    """The first sentence, in one line."""
    line = " ".join(text.split("\n\n")[0].split())
    return line.partition(". ")[0].rstrip(".")


def _commands(places: dict[str, Words]) -> list[str]:
    return [name for name in places if name]


def _bash(places: dict[str, Words]) -> str:
    known = "|".join(f'" {name}"' for name in _commands(places))
    cases = "\n".join(
        f'        "{" " + name if name else ""}") words="{" ".join(sorted(words))}" ;;'
        for name, words in places.items()
    )
    return f"""\
# Completion of aurora for bash; made by: aurora completion bash
_aurora() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} place="" words="" index
    for ((index = 1; index < COMP_CWORD; index++)); do
        case "$place ${{COMP_WORDS[index]}}" in
            {known}) place="$place ${{COMP_WORDS[index]}}" ;;
        esac
    done
    case "$place" in
{cases}
    esac
    COMPREPLY=()
    # Commands and options; where the word is neither, bash goes on with the names of files.
    if [[ $current == -* || $place == "" || $place == " linear-road" || $place == " nexmark" ]]; then
        while IFS="" read -r index; do COMPREPLY+=("$index"); done < <(compgen -W "$words" -- "$current")
    fi
}}
complete -o default -F _aurora aurora
"""


def _zsh(places: dict[str, Words]) -> str:
    known = "|".join(f'" {name}"' for name in _commands(places))
    cases = "\n".join(
        f'        "{" " + name if name else ""}") choices=({_zsh_words(words)}) ;;'
        for name, words in places.items()
    )
    return f"""\
#compdef aurora
# Completion of aurora for zsh; made by: aurora completion zsh
_aurora() {{
    local place="" index
    local -a choices
    for ((index = 2; index < CURRENT; index++)); do
        case "$place ${{words[index]}}" in
            {known}) place="$place ${{words[index]}}" ;;
        esac
    done
    case "$place" in
{cases}
    esac
    if [[ ${{words[CURRENT]}} == -* || -z $place || $place == " linear-road" || $place == " nexmark" ]]; then
        _describe 'aurora' choices
    else
        _files
    fi
}}
if [[ $funcstack[1] == _aurora ]]; then
    _aurora "$@"
else
    compdef _aurora aurora
fi
"""


def _zsh_words(words: Words) -> str:
    return " ".join(_quoted(f"{name}:{help}") for name, (help, _) in words.items())


def _fish(places: dict[str, Words]) -> str:
    known = " ".join(_quoted(f" {name}") for name in _commands(places))
    lines = []
    for place, words in places.items():
        when = f"-n '__aurora_at \"{' ' + place if place else ''}\"'"
        for name, (told, wants) in words.items():
            if name.startswith("--"):
                what = f"-l {name.removeprefix('--')}{' -r' if wants else ''}"
            elif name.startswith("-"):
                what = f"-s {name.removeprefix('-')}"
            else:
                what = f"-f -a {name}"
            lines.append(f"complete -c aurora {when} {what} -d {_quoted(told)}")
    return f"""\
# Completion of aurora for fish; made by: aurora completion fish
function __aurora_at
    set -l place ""
    set -l words (commandline -opc)
    for word in $words[2..-1]
        if contains -- "$place $word" {known}
            set place "$place $word"
        end
    end
    test "$place" = "$argv[1]"
end
{chr(10).join(lines)}
"""


def _quoted(text: str) -> str:
    """As one word, for any of the shells."""
    return (
        "'"
        + text.replace("\\", "").replace("`", "").replace("'", "’").replace("[", "(").replace("]", ")")
        + "'"
    )


WRITERS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
