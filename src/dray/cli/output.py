"""Text for people's terminals: nothing in it that could act on them.

Names, paths and values come from files other people wrote; a terminal obeys control characters.
Colour is for terminals only, and for people who did not ask to be spared it (NO_COLOR).
"""

from __future__ import annotations

import os
from typing import Final

import click

from dray.errors import shorten

__all__ = ["MESSAGE_CHARACTERS_MAX", "examples", "indented", "painted", "printable", "wants_colour"]

# Long enough for any rule with its value; a value of megabytes helps nobody.
MESSAGE_CHARACTERS_MAX: Final = 2_000


def printable(text: str, *, characters_max: int = MESSAGE_CHARACTERS_MAX) -> str:
    """The text on one line, with escapes for what does not print and without too long a middle."""
    text = shorten(text, characters_max=characters_max)
    if text.isprintable():
        return text
    return "".join(
        character
        if character.isprintable()
        else character.encode("unicode_escape", errors="backslashreplace").decode()
        for character in text
    )


def indented(text: str) -> str:
    """The text with its further lines indented: a caret under an expression stays where it was."""
    first, *more = shorten(text, characters_max=MESSAGE_CHARACTERS_MAX).split("\n")
    return "\n".join([printable(first), *(f"    {printable(line)}" for line in more)])


def painted(text: str, colour: str) -> str:
    """The text in a colour, where colours are wanted; click removes it everywhere else."""
    return click.style(text, fg=colour)


def examples(*lines: str) -> str:
    """The end of a command's help: examples as they are, which click would otherwise rewrap."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


def wants_colour() -> bool | None:
    """False where the user asked for none; None leaves it to what the output is."""
    return False if os.environ.get("NO_COLOR") else None
