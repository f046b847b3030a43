"""What the audience sees: headings, plain sentences, commands, manifests in excerpts, small tables.

Colours only where somebody looks: on a terminal, unless NO_COLOR is set.
"""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

__all__ = ["Stage", "excerpt"]

WIDTH = 100
INDENT = "  "

BOLD, DIM, GREEN, RED, CYAN = "1", "2", "32", "31", "36"


class Stage:
    """Prints at once: whoever follows through a pipe sees things when they happen."""

    def __init__(self) -> None:
        self._colours = sys.stdout.isatty() and "NO_COLOR" not in os.environ

    def title(self, text: str) -> None:
        self._print(self._in(BOLD, text))

    def act(self, heading: str, story: str) -> None:
        self._print()
        self._print(self._in(BOLD, heading))
        self._print(self._in(BOLD, "-" * len(heading)))
        self.say(story)

    def say(self, text: str) -> None:
        self._print(textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False))

    def command(self, line: str) -> None:
        self._print()
        self._print(f"{INDENT}$ {self._in(CYAN, line)}")

    def output(self, text: str) -> None:
        """What a command said, with lines that are too long folded."""
        for line in text.splitlines():
            inner = len(line) - len(line.lstrip())
            folded = textwrap.wrap(
                line,
                WIDTH,
                initial_indent=INDENT,
                subsequent_indent=INDENT + " " * (inner + 4),
                break_long_words=False,
                break_on_hyphens=False,
            )
            self._print("\n".join(folded))

    def manifest(self, text: str) -> None:
        self._print()
        for line in text.splitlines():
            self._print(self._in(DIM, f"{INDENT}| {line}"))

    def table(self, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        lines = [list(header), *(list(row) for row in rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        self._print()
        for number, line in enumerate(lines):
            cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
            text = INDENT + "   ".join(cells).rstrip()
            self._print(self._in(BOLD, text) if number == 0 else text)

    def good(self, text: str) -> None:
        self._print()
        self._print(self._in(GREEN, text))

    def bad(self, text: str) -> None:
        self._print()
        self._print(self._in(RED, text))

    def _in(self, colour: str, text: str) -> str:
        return f"\033[{colour}m{text}\033[0m" if self._colours else text

    def _print(self, text: str = "") -> None:
        try:
            print(text, flush=True)
        except OSError:
            # Whoever listened has gone. The show goes on, and cleans up, for nobody.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def excerpt(path: Path, start: str) -> str:
    """The lines of a manifest from the first that begins with `start`, with all that is below."""
    lines = iter(path.read_text().splitlines())
    first = next(line for line in lines if line.strip().startswith(start))
    depth = _depth(first)
    taken = [first]
    for line in lines:
        is_below = _depth(line) > depth or (_depth(line) == depth and line[depth:].startswith("- "))
        if not is_below:
            break
        taken.append(line)
    return textwrap.dedent("\n".join(taken))


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
