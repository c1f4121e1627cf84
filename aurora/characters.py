"""Characters that change what a terminal does or in which order text is read: no name has them, and none is printed."""

import re

from aurora.errors import AuroraError

__all__ = ["check_characters", "printable"]

# Controls, halves of characters, ends of lines and paragraphs, marks that turn the direction of text, and no characters
# at all: neither a terminal nor XML takes them as text.
CONTROLS = (
    "\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff"
)
HIDDEN = re.compile(f"[{CONTROLS}]")
# Of these, text on a terminal may have ends of lines and tabs.
UNPRINTABLE = re.compile(f"(?![\n\t])[{CONTROLS}]")


def check_characters(name: str, where: str) -> None:
    """Raise a fault if a name holds a character that a terminal would obey and nobody would see."""
    found = HIDDEN.search(name)
    if found is not None:
        raise AuroraError(
            f"{where}: the name {name!r} holds {found[0]!r}, a character that is not shown; leave it out"
        )


def printable(text: str) -> str:
    r"""Return the text with such characters written out, for a terminal.

    >>> printable("a\x1b]0;title\x07 b\n")
    'a\\x1b]0;title\\x07 b\n'
    """
    return UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
