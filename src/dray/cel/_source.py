"""The text of an expression, positions in it, and issues shown under their line.

An offset counts code points from the start; a location is a line from 1 and a column from 0. An
issue without a place has line -1 and column -1, and is shown without its line.

Upstream counterparts: cel-go common/source.go, common/error.go and common/errors.go.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Final

from dray.cel._limits import ISSUES_MAX, SNIPPET_LENGTH_MAX

__all__ = [
    "BEFORE_START",
    "DESCRIPTION",
    "NOWHERE",
    "Issue",
    "Issues",
    "Source",
    "render",
]

DESCRIPTION: Final = "<input>"
NOWHERE: Final = -1
"""The offset of what has no place in the text."""

BEFORE_START: Final = -2
"""The offset of what stands for something missing: the column before the first."""


@dataclass(frozen=True, slots=True)
class Issue:
    """One thing wrong with an expression: what, and where."""

    message: str
    line: int
    column: int


class Source:
    """An expression's text with its lines."""

    __slots__ = ("_line_starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        starts = [0]
        position = text.find("\n")
        while position >= 0:
            starts.append(position + 1)
            position = text.find("\n", position + 1)
        self._line_starts = starts

    def location(self, offset: int) -> tuple[int, int]:
        if offset == NOWHERE:
            return -1, -1
        if offset == BEFORE_START or not self.text:
            return 1, -1
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1]

    def line(self, number: int) -> str | None:
        if not self.text or not 1 <= number <= len(self._line_starts):
            return None
        start = self._line_starts[number - 1]
        if number < len(self._line_starts):
            return self.text[start : self._line_starts[number] - 1]
        return self.text[start:]


class Issues:
    """Collects issues in the order found; past the bound they are only counted."""

    __slots__ = ("_count", "_found", "_source")

    def __init__(self, source: Source) -> None:
        self._source = source
        self._found: list[Issue] = []
        self._count = 0

    def __bool__(self) -> bool:
        return self._count > 0

    def report(self, offset: int, message: str) -> None:
        self._count += 1
        if self._count <= ISSUES_MAX:
            line, column = self._source.location(offset)
            self._found.append(Issue(message, line, column))

    def take(self, other: Issues) -> None:
        self._found += other._found
        self._count += other._count

    @property
    def count(self) -> int:
        return self._count

    def forget_since(self, count: int) -> None:
        """Drop what was reported after there were this many."""
        del self._found[count:]
        self._count = count

    def sorted(self) -> tuple[Issue, ...]:
        return tuple(sorted(self._found, key=lambda issue: (issue.line, issue.column)))

    def render(self) -> str:
        """Every issue under its source line, one after the other in order of place."""
        shown = [render(issue, self._source) for issue in self.sorted()]
        if self._count > ISSUES_MAX:
            shown.append(f"{self._count - ISSUES_MAX} more errors were truncated")
        return "\n".join(shown)


def render(issue: Issue, source: Source) -> str:
    """The issue with its line and a caret; wide dots keep the caret under wide characters."""
    head = f"ERROR: {DESCRIPTION}:{issue.line}:{issue.column + 1}: {issue.message}"
    snippet = source.line(issue.line)
    if snippet is None or len(snippet.encode()) > SNIPPET_LENGTH_MAX:
        return head
    snippet = snippet.replace("\t", " ")
    column = max(issue.column, 0)
    dots = "".join("." if char < "\x80" else "\uff0e" for char in snippet[:column])
    caret = "\uff3e" if snippet[column : column + 1] >= "\x80" else "^"
    return f"{head}\n | {snippet}\n | {dots}{caret}"
